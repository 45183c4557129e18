"""The guidelines of a corpus, with their versions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.corpora.corpora import lock_corpus
from app.workbench import audit
from app.workbench.people import ADMIN, require
from app.workbench.workbench import Workbench, make_storable
from as2core.errors import As2Error, BadSetting
from db.models import Corpus
from db.repositories import reviews

MAX_CHARS = 20_000
WRITE = "write guidelines"  # in the audit log
FIRST_GUIDELINES = """\
- **Correct**: read with its neighbours, the sentence answers the question. It need not be the best answer.
- **Incorrect**: it is on topic but does not answer, or answers only together with another sentence.
- Judge the text, not your own knowledge: a sentence with a wrong fact can still answer.
- **Unsure** is a valid label, and better than a guess. Flag what others should check.
"""


class EditConflict(As2Error):
    """Somebody else changed it after it was read."""


@dataclass(frozen=True, slots=True)
class GuidelineView:
    """One version of the guidelines; 0 is the text that comes with the program, by nobody."""

    version: int
    text: str
    by: str = ""
    created: datetime | None = None

    @property
    def name(self) -> str:
        return f"Version {self.version}" if self.version else "Default version"


def read_guidelines(wb: Workbench, corpus_id: int) -> GuidelineView:
    """The version in force."""
    with wb.read() as s:
        return find_guidelines(s, corpus_id)


def find_guidelines(s: Session, corpus_id: int) -> GuidelineView:
    """`read_guidelines` within a session."""
    row = reviews.find_newest_guideline(s, corpus_id)
    return GuidelineView(0, FIRST_GUIDELINES) if row is None else _view(row)


def list_guidelines(wb: Workbench, corpus_id: int) -> tuple[GuidelineView, ...]:
    """Newest first, down to the text that comes with the program."""
    with wb.read() as s:
        return (*map(_view, reviews.list_guidelines(s, corpus_id)), GuidelineView(0, FIRST_GUIDELINES))


def write_guidelines(wb: Workbench, corpus_id: int, text: str, *, by: int, base: int | None = None) -> GuidelineView:
    """A new version, unless the text is the one in force. `base`: the version that the writer has read, None for
    whichever is in force. Raises EditConflict where that is another one by now, NotAllowed unless `by` is an admin,
    BadSetting, UnknownCorpus."""
    text = make_storable(text).strip() + "\n"
    if not text.strip() or len(text) > MAX_CHARS:
        raise BadSetting(f"guidelines have 1 to {MAX_CHARS:,} characters, not {len(text.strip()):,}")
    with wb.write() as s:
        require(s, by, WRITE, ADMIN)
        lock_corpus(s, corpus_id)
        newest = find_guidelines(s, corpus_id)
        if base not in (None, newest.version):
            raise EditConflict(f"{newest.by} saved version {newest.version} meanwhile, so nothing was saved")
        if text != newest.text:
            reviews.add_guideline(s, corpus_id, newest.version + 1, text, by, wb.clock())
            audit.record(s, wb.clock(), by, WRITE, s.get_one(Corpus, corpus_id).name, f"version {newest.version + 1}")
        return find_guidelines(s, corpus_id)


def _view(row: Row) -> GuidelineView:
    guideline, name = row
    return GuidelineView(guideline.version, guideline.text, name, guideline.created)
