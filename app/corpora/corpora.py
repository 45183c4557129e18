"""Corpora: create, list, find, delete."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.workbench import audit, people
from app.workbench.workbench import Workbench
from as2core.errors import As2Error, BadSetting
from as2core.retrieval.index import DamagedIndex
from db.models import Corpus
from db.repositories import corpora as rows

SHIPPED = STARTER, HANDBOOK = "starter", "handbook"  # the corpora that come with the program
MAX_NAME_CHARS = 80
DELETE = "delete a corpus"  # in the audit log


class UnknownCorpus(As2Error):
    """No corpus has that id or name."""


@dataclass(frozen=True, slots=True)
class CorpusView:
    """A corpus and its counts. `labels` are pairs of question and sentence with a current label."""

    id: int
    name: str
    documents: int
    sentences: int
    questions: int
    labels: int
    vectors_done: int
    vectors_total: int
    created: datetime

    @property
    def vectors_ready(self) -> int:
        """Per cent of the passages that have a vector; 100 only when all have."""
        return 100 * self.vectors_done // self.vectors_total if self.vectors_total else 100


def list_corpora(wb: Workbench) -> list[CorpusView]:
    """In the order they were created."""
    with wb.read() as s:
        pairs = [(c, _count(wb, s, c.id)) for c in rows.list_corpora(s)]
    return [_make_view(wb, c, counts) for c, counts in pairs]


def get_corpus(wb: Workbench, corpus_id: int) -> CorpusView:
    """Raises UnknownCorpus."""
    with wb.read() as s:
        corpus = _find(s, corpus_id)
        counts = _count(wb, s, corpus_id)
    return _make_view(wb, corpus, counts)


def check_exists(wb: Workbench, corpus_id: int) -> None:
    """Raises UnknownCorpus."""
    with wb.read() as s:
        _find(s, corpus_id)


def _find(s: Session, corpus_id: int) -> Corpus:
    corpus = s.get(Corpus, corpus_id)
    if corpus is None:
        raise UnknownCorpus(f"there is no corpus {corpus_id}: it was deleted, or belongs to another database")
    return corpus


def _count(wb: Workbench, s: Session, corpus_id: int) -> dict[str, int]:
    """Documents, sentences, questions and labels. Every page shows them, so the labels are counted again only after one
    of them or a question has changed."""
    counts: dict[str, int] = rows.count_contents(s, corpus_id)._asdict()
    key, mark = ("labels", corpus_id), (counts["questions"], *rows.mark_labels(s))
    cache_entry = wb.results.get(key)
    if cache_entry is None or cache_entry[0] != mark:
        cache_entry = wb.results[key] = mark, rows.count_labels(s, corpus_id)
    return counts | {"labels": cache_entry[1]}


def find_corpus(wb: Workbench, name: str) -> CorpusView:
    """By its name. Raises UnknownCorpus, which lists the existing ones."""
    with wb.read() as s:
        corpus = rows.find_corpus(s, name)
        names = [c.name for c in rows.list_corpora(s)]
    if corpus is None:
        raise UnknownCorpus(f"no corpus {name!r}; known: {', '.join(names) or 'none'}")
    return get_corpus(wb, corpus.id)


def check_has_sentences(wb: Workbench, corpus_id: int) -> None:
    """Raises UnknownCorpus, BadSetting."""
    if not get_corpus(wb, corpus_id).sentences:
        raise BadSetting("the corpus has no sentences yet: add documents first")


def lock_corpus(s: Session, corpus_id: int) -> None:
    """Until the transaction ends, so that two writers take turns. Raises UnknownCorpus."""
    if not rows.lock_corpus(s, corpus_id):
        raise UnknownCorpus("the corpus was deleted meanwhile")


def create_corpus(wb: Workbench, name: str, *, by: int | None = None) -> CorpusView:
    """Raises As2Error for a name that is empty, too long or taken, NotAllowed for a viewer."""
    name = " ".join(name.split())
    if not name:
        raise As2Error("a corpus needs a name: type one")
    if len(name) > MAX_NAME_CHARS:
        raise As2Error(f"the name has {len(name)} characters: keep it under {MAX_NAME_CHARS}")
    with wb.write() as s:
        people.allow(s, by, "create a corpus")
        if rows.find_corpus(s, name) is not None:
            raise As2Error(f"there is a corpus {name!r} already: choose another name")
        corpus = rows.add_corpus(s, name, wb.clock())
    wb.forget_index(corpus.id)
    return get_corpus(wb, corpus.id)


def delete_corpus(wb: Workbench, corpus_id: int, *, by: int | None = None) -> None:
    """With its documents, questions and labels. A shipped corpus is not loaded again until somebody asks for it. `by`
    None is the command line. Raises UnknownCorpus, NotAllowed unless `by` is an admin."""
    view = get_corpus(wb, corpus_id)
    with wb.write(durable=True) as s:
        people.allow(s, by, DELETE, people.ADMIN)
        row = s.get_one(Corpus, corpus_id)
        audit.record(s, wb.clock(), by, DELETE, view.name, f"{view.documents:,} documents, {view.labels:,} labels")
        is_shipped = view.name in SHIPPED and bool(row.digest)  # people may name theirs so, too
        s.delete(row)
    wb.forget_index(corpus_id)
    if is_shipped:
        wb.settings.removed_mark(view.name).touch()


def _make_view(wb: Workbench, corpus: Corpus, counts: Mapping[str, int]) -> CorpusView:
    done = total = 0
    if wb.has_index(corpus.id):
        with suppress(DamagedIndex):  # the next question builds it anew
            index = wb.index(corpus.id)
            done, total = index.count_vectors(), index.count()
    return CorpusView(corpus.id, corpus.name, **counts, vectors_done=done, vectors_total=total, created=corpus.created)
