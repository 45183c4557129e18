"""Corpora: create, list, find, rename, delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.workbench import audit, people
from app.workbench.names import fold_name, tidy_name
from app.workbench.workbench import Workbench
from as2core.data.catalog import SHIPPED_CORPORA
from as2core.errors import As2Error, BadSetting, UnreadableFile
from as2core.messages import count
from db.models import Corpus
from db.repositories import corpora as rows
from db.repositories import jobs as job_rows
from db.repositories import labels as label_rows

STARTER, HANDBOOK = SHIPPED_CORPORA
MAX_NAME_CHARS = 80
COUNT_SECONDS = 3600.0  # how long a count of labels is kept: PostgreSQL may commit an event after a newer one
CREATE = "create a corpus"
RENAME, DELETE = "rename a corpus", "delete a corpus"  # in the audit log
_DELETED = "the corpus was deleted meanwhile"
CORPUS_PREFIX = "labels:"  # of the name of a data set that is a corpus's labels


class UnknownCorpus(As2Error):
    """No corpus has that id or name."""


@dataclass(frozen=True, slots=True)
class CorpusView:
    """A corpus and its counts. `labels` are pairs of question and sentence with a current label. `changed`: when a
    document was last added or changed, None without documents. `is_shipped`: it came with the program."""

    id: int
    name: str
    documents: int
    sentences: int
    questions: int
    labels: int
    vectors_done: int
    vectors_total: int
    created: datetime
    changed: datetime | None = None
    is_shipped: bool = False


class _Counts(TypedDict):
    documents: int
    sentences: int
    questions: int
    labels: int
    changed: datetime | None


def list_corpora(wb: Workbench) -> list[CorpusView]:
    """In the order they were created."""
    with wb.read() as s:
        all_corpora = rows.list_corpora(s)
        counts = _count(wb, s, [c.id for c in all_corpora])
    return [_make_view(wb, c, counts[c.id]) for c in all_corpora if c.id in counts]


def get_corpus(wb: Workbench, corpus_id: int) -> CorpusView:
    """Raises UnknownCorpus."""
    with wb.read() as s:
        corpus = _find(s, corpus_id)
        counts = _count(wb, s, [corpus_id]).get(corpus_id)
    if counts is None:
        raise UnknownCorpus(_DELETED)
    return _make_view(wb, corpus, counts)


def name_corpus(wb: Workbench, corpus_id: int) -> str:
    """Its name, without the counts of what is in it. Raises UnknownCorpus."""
    with wb.read() as s:
        return _find(s, corpus_id).name


def check_exists(wb: Workbench, corpus_id: int) -> None:
    """Raises UnknownCorpus."""
    with wb.read() as s:
        _find(s, corpus_id)


def _find(s: Session, corpus_id: int) -> Corpus:
    corpus = s.get(Corpus, corpus_id)
    if corpus is None:
        raise UnknownCorpus(_DELETED)
    return corpus


def _count(wb: Workbench, s: Session, corpus_ids: Sequence[int]) -> dict[int, _Counts]:
    """By corpus; none of one that was deleted in this moment, which PostgreSQL shows to a transaction that goes on."""
    contents = rows.count_contents(s, corpus_ids)
    labels = _count_labels(wb, s, contents)
    return {
        corpus_id: _Counts(
            documents=of.documents,
            sentences=of.sentences,
            questions=of.questions,
            labels=labels[corpus_id],
            changed=of.changed,
        )
        for corpus_id, of in contents.items()
    }


def _count_labels(wb: Workbench, s: Session, contents: Mapping[int, Row]) -> dict[int, int]:
    """Every page shows them, so the labels of a corpus are counted again only after one of them or a question has
    changed: not after a label or a question of another corpus. `contents`: as `rows.count_contents` gives them."""
    newest = label_rows.find_newest_event_id(s)
    marks = {i: (of.questions, of.newest_question, newest) for i, of in contents.items()}
    earlier_counts = {i: entry for i in contents if (entry := wb.label_counts.get(i)) is not None}
    oldest = min((mark[-1] for mark, _ in earlier_counts.values()), default=newest)
    newer = label_rows.find_newest_event_ids(s, oldest) if oldest != newest else {}
    labels = {}
    for corpus_id, mark in marks.items():
        then, labels[corpus_id] = earlier_counts.get(corpus_id) or ((), 0)
        if not then or then[:-1] != mark[:-1] or newer.get(corpus_id, 0) > then[-1]:
            labels[corpus_id] = rows.count_labels(s, corpus_id)
            wb.label_counts.put(corpus_id, (mark, labels[corpus_id]), COUNT_SECONDS)
        elif then != mark:
            wb.label_counts.replace(corpus_id, (mark, labels[corpus_id]))
    return labels


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
        raise UnknownCorpus(_DELETED)


def create_corpus(wb: Workbench, name: str, *, by: int | None = None) -> CorpusView:
    """Raises As2Error for a name that is empty, too long or taken, NotAllowed for a viewer."""
    name = _normalize_name(name)
    with wb.write() as s:
        people.allow(s, by, CREATE)
        _check_is_free(s, name)
        corpus = rows.add_corpus(s, name, wb.clock())
        if by is not None:
            audit.record(s, wb.clock(), by, CREATE, name)
    wb.forget_index(corpus.id)
    return get_corpus(wb, corpus.id)


def rename_corpus(wb: Workbench, corpus_id: int, name: str, *, by: int | None = None) -> CorpusView:
    """Comparisons on its labels follow. Raises As2Error for a name that is empty, too long or taken, or if the corpus
    is a shipped one, which is found by its name; UnknownCorpus, and NotAllowed for a viewer."""
    name = _normalize_name(name)
    with wb.write(durable=True) as s:
        people.allow(s, by, RENAME)
        lock_corpus(s, corpus_id)
        corpus = s.get_one(Corpus, corpus_id)
        if _is_shipped(corpus):
            raise As2Error(f"{corpus.name!r} comes with the program and keeps its name")
        if name != corpus.name:
            _check_is_free(s, name, but=corpus_id)
            audit.record(s, wb.clock(), by, RENAME, corpus.name, f"to {name}")
            job_rows.rename_data(s, f"{CORPUS_PREFIX}{corpus.name}", f"{CORPUS_PREFIX}{name}")
            corpus.name = name
    return get_corpus(wb, corpus_id)


def _normalize_name(name: str) -> str:
    """Raises As2Error for one that is empty or too long."""
    name = tidy_name(name)
    if not name:
        raise As2Error("a corpus needs a name: type one")
    if len(name) > MAX_NAME_CHARS:
        raise As2Error(f"the name has {len(name):,} characters; shorten it to at most {MAX_NAME_CHARS}")
    return name


def _check_is_free(s: Session, name: str, *, but: int | None = None) -> None:
    """Raises As2Error where another corpus has the name, capital letters aside."""
    for corpus in rows.list_corpora(s):
        if corpus.id != but and fold_name(corpus.name) == fold_name(name):
            raise As2Error(f"there is already a corpus {corpus.name!r}: choose another name")


def _is_shipped(corpus: Corpus) -> bool:
    """People may name theirs so, too."""
    return corpus.name in SHIPPED_CORPORA and bool(corpus.digest)


def delete_corpus(wb: Workbench, corpus_id: int, *, by: int | None = None) -> None:
    """With its documents, questions and labels. A shipped corpus is not loaded again until somebody asks for it. `by`
    None is the command line. Raises UnknownCorpus, NotAllowed unless `by` is an admin."""
    view = get_corpus(wb, corpus_id)
    with wb.write(durable=True) as s:
        people.allow(s, by, DELETE, people.ADMIN)
        lock_corpus(s, corpus_id)
        row = s.get_one(Corpus, corpus_id)
        detail = f"{count(view.documents, 'document')}, {count(view.labels, 'labelled pair')}"
        audit.record(s, wb.clock(), by, DELETE, view.name, detail)
        comes_back = _is_shipped(row)
        s.delete(row)
    wb.forget_index(corpus_id)
    if comes_back:
        wb.settings.removed_mark(view.name).touch()


def _make_view(wb: Workbench, corpus: Corpus, counts: _Counts) -> CorpusView:
    done = total = 0
    if wb.has_index(corpus.id):
        with suppress(UnreadableFile):  # whoever searches it is told; a damaged one is built anew
            index = wb.index(corpus.id)
            done, total = index.count_vectors(), index.count()
    return CorpusView(
        corpus.id,
        corpus.name,
        **counts,
        vectors_done=done,
        vectors_total=total,
        created=corpus.created,
        is_shipped=_is_shipped(corpus),
    )
