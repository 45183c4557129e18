"""How a corpus is labelled: overlap, control share, target, and the guidelines with their versions."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TypedDict, Unpack

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.corpora.corpora import lock_corpus
from app.workbench import audit
from app.workbench.people import ADMIN, require
from app.workbench.workbench import Workbench, storable
from as2core.errors import As2Error, BadSetting
from db.models import Corpus
from db.repositories import reviews

MAX_OVERLAP, MAX_CHARS = 20, 20_000
CHANGE_RULES = "change the labelling rules"  # in the audit log
FIRST_GUIDELINES = """\
- **Correct**: read with its neighbours, the sentence answers the question. It need not be the best answer.
- **Incorrect**: it is on topic but does not answer, or answers only together with another sentence.
- Judge the text, not your own knowledge: a sentence with a wrong fact can still answer.
- **Unsure** is a valid label, and better than a guess. Flag what others should check.
"""


class EditConflict(As2Error):
    """Somebody else changed it after it was read."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How a corpus is labelled. `overlap`: people a pair. `control`: share of an adaptive queue drawn at random.
    `blind`: share of what is drawn at random that is shown without scores. `target`: pairs wanted, None for no end."""

    overlap: int = 1
    control: float = 0.1
    blind: float = 0.5
    target: int | None = None


class RuleChanges(TypedDict, total=False):
    """The same, each if it changes."""

    overlap: int
    control: float
    blind: float
    target: int | None


@dataclass(frozen=True, slots=True)
class GuidelineView:
    """One version of the guidelines; 0 is the text that comes with the program, by nobody."""

    version: int
    text: str
    by: str = ""
    created: datetime | None = None


def read_rules(wb: Workbench, corpus_id: int) -> Rules:
    with wb.read() as s:
        return rules_of_corpus(s, corpus_id)


def rules_of_corpus(s: Session, corpus_id: int) -> Rules:
    """Within a session; the defaults for a corpus that is gone."""
    return rules_of(s.get(Corpus, corpus_id))


def rules_of(corpus: Corpus | None) -> Rules:
    """The defaults where the corpus sets none."""
    return Rules(**((corpus.rules if corpus else None) or {}))


def set_rules(wb: Workbench, corpus_id: int, *, by: int, **changes: Unpack[RuleChanges]) -> Rules:
    """Change some of them. Raises NotAllowed unless `by` is an admin, BadSetting, UnknownCorpus."""
    with wb.write() as s:
        require(s, by, CHANGE_RULES, ADMIN)
        lock_corpus(s, corpus_id)
        before = rules_of_corpus(s, corpus_id)
        rules = replace(before, **changes)
        if not 1 <= rules.overlap <= MAX_OVERLAP:
            raise BadSetting(f"the overlap is 1 to {MAX_OVERLAP} people, not {rules.overlap}")
        for name in ("control", "blind"):
            if not 0 <= getattr(rules, name) <= 1:
                raise BadSetting(f"the {name} share is 0 to 1, not {getattr(rules, name)}")
        if rules.target is not None and rules.target < 1:
            raise BadSetting(f"the target is 1 pair or more, not {rules.target}")
        corpus = s.get_one(Corpus, corpus_id)
        corpus.rules = asdict(rules)
        if rules != before:
            audit.record(s, wb.clock(), by, CHANGE_RULES, corpus.name, _describe_changes(before, rules))
        return rules


def _describe_changes(before: Rules, after: Rules) -> str:
    """`overlap 1 to 2, target none to 100`"""
    pairs = ((name, old, asdict(after)[name]) for name, old in asdict(before).items())
    return ", ".join(f"{name} {_describe(old)} to {_describe(new)}" for name, old, new in pairs if old != new)


def _describe(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def read_guidelines(wb: Workbench, corpus_id: int) -> GuidelineView:
    """The version in force."""
    with wb.read() as s:
        return guidelines_of_corpus(s, corpus_id)


def guidelines_of_corpus(s: Session, corpus_id: int) -> GuidelineView:
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
    text = storable(text).strip() + "\n"
    if not text.strip() or len(text) > MAX_CHARS:
        raise BadSetting(f"guidelines have 1 to {MAX_CHARS:,} characters, not {len(text.strip()):,}")
    with wb.write() as s:
        require(s, by, "write guidelines", ADMIN)
        lock_corpus(s, corpus_id)
        newest = guidelines_of_corpus(s, corpus_id)
        if base not in (None, newest.version):
            raise EditConflict(f"{newest.by} saved version {newest.version} meanwhile, so nothing was saved")
        if text != newest.text:
            reviews.add_guideline(s, corpus_id, newest.version + 1, text, by, wb.clock())
        return guidelines_of_corpus(s, corpus_id)


def _view(row: Row) -> GuidelineView:
    guideline, name = row
    return GuidelineView(guideline.version, guideline.text, name, guideline.created)
