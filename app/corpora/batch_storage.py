"""Storing a batch of documents: all of it in one transaction, and what it changed goes into the tally.

A document with the content that is stored is left alone, unless rules of an earlier release divided it into sentences:
it is divided anew, and changed where its sentences are others now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.corpora.corpora import lock_corpus
from app.corpora.document_identity import describe_document, hash_content, is_whole_file
from app.corpora.ingest_report import IngestTally
from app.corpora.language import is_english_text
from app.corpora.near_copies import find_copy
from app.corpora.unlike_documents import UNLIKE, find_unlike
from app.workbench import audit
from app.workbench.workbench import Workbench
from as2core.documents.sections import SPLIT_RULES, EarlierTexts, split_document
from as2core.messages import name_some
from as2core.text import MAX_SENTENCE_CHARS, lacks_sentence_ends
from as2core.types import Document, Sentence
from db.models import Corpus
from db.models import Document as DocumentRow
from db.repositories import corpora as corpus_rows
from db.repositories import documents as document_rows
from db.repositories import sentences as sentence_rows

ADD = "add documents"  # in the audit log
NO_SENTENCE_ENDS = f"has no sentence ends: it was cut about every {MAX_SENTENCE_CHARS:,} characters"
NOT_ENGLISH = (
    "does not look English: it was divided into sentences by English rules, and the shipped models read English"
)


def store_batch(wb: Workbench, corpus_id: int, batch: Sequence[Document], tally: IngestTally) -> None:
    digests = {d.id: hash_content(d.title, d.text, d.headings) for d in batch}
    with wb.read() as s:
        older = document_rows.find_documents_by_name(s, corpus_id, list(digests))
    to_split = [d for d in batch if _is_to_split(older.get(d.id), digests[d.id])]
    pieces = _split(to_split, tally)  # before the transaction begins, to keep it short
    tally.same_files |= {d.source for d in batch if d.id in older and older[d.id].digest == digests[d.id]}
    stored_ids = {d.id: older[d.id].id for d in to_split if d.id in older and d.id in pieces}
    _sort_out_unlike(wb, [d for d in to_split if d.id in stored_ids], pieces, stored_ids, tally)
    with wb.write() as s:
        lock_corpus(s, corpus_id)
        older = document_rows.find_documents_by_name(s, corpus_id, list(digests))
        same = _find_same(s, pieces, older, digests)
        changes = _Changes.find([d for d in batch if d.id in pieces and d.id not in same], older, digests)
        _add_documents(s, corpus_id, [(d, digests[d.id], pieces[d.id]) for d in changes.new], wb.clock(), tally)
        outcomes: list[tuple[int, int]] = []
        for d in changes.others:
            document = s.get_one(DocumentRow, older[d.id].id)
            find_earlier = EarlierTexts(document.text).find
            outcomes.append(
                document_rows.replace_document(s, document, d, digests[d.id], pieces[d.id], wb.clock(), find_earlier)
            )
        present = document_rows.find_documents_by_name(s, corpus_id, list(pieces))
        document_rows.note_split_rules(s, [row.id for row in present.values()], SPLIT_RULES)
        if changes.documents:
            corpus_rows.note_search_change(s, corpus_id, wb.clock())
        if changes.documents and tally.by is not None:
            audit.record(s, wb.clock(), tally.by, ADD, s.get_one(Corpus, corpus_id).name, changes.describe())
    unchanged = len(batch) - len(to_split) + len(pieces) - len(changes.documents)
    tally.count_documents(changes.added_count, changes.updated_count, unchanged)
    updated = [d for d in changes.others if d.id not in changes.returns]
    tally.updates += map(describe_document, updated)
    tally.updated_files.update(d.source or d.id for d in updated if describe_document(d) not in tally.replacements)
    tally.sentences += sum(len(pieces[d.id]) for d in changes.new) + sum(sentences for sentences, _ in outcomes)
    tally.orphans += sum(labels for _, labels in outcomes)


def _is_to_split(older: Row | None, digest: str) -> bool:
    return older is None or older.digest != digest or older.split_rules < SPLIT_RULES


def _find_same(
    s: Session, pieces: Mapping[str, Sequence[Sentence]], older: Mapping[str, Row], digests: Mapping[str, str]
) -> set[str]:
    """Ids of the documents whose content and sentences are those that are stored."""
    by_id = {older[i].id: i for i in pieces if i in older and older[i].digest == digests[i]}
    texts: dict[str, list[tuple[str, str]]] = {i: [] for i in by_id.values()}
    for row in sentence_rows.list_sentences(s, list(by_id)):
        texts[by_id[row.document_id]].append((row.text, row.heading))
    return {i for i, of_one in texts.items() if of_one == [(piece.text, piece.heading) for piece in pieces[i]]}


@dataclass(frozen=True, slots=True)
class _Changes:
    """What a batch changes: `new` documents, and `others` that have another content or other sentences now. `returns`:
    ids of those among the others that were deleted and are added again."""

    new: tuple[Document, ...]
    others: tuple[Document, ...]
    returns: frozenset[str]

    @classmethod
    def find(cls, batch: Sequence[Document], older: Mapping[str, Row], digests: Mapping[str, str]) -> _Changes:
        """`older`: the documents here by id; `digests`: of the batch's."""
        others = tuple(d for d in batch if d.id in older and _is_to_split(older[d.id], digests[d.id]))
        new = tuple(d for d in batch if d.id not in older)
        return cls(new, others, frozenset(d.id for d in others if not older[d.id].digest))

    @property
    def documents(self) -> tuple[Document, ...]:
        return (*self.new, *self.others)

    @property
    def added_count(self) -> int:
        return len(self.new) + len(self.returns)

    @property
    def updated_count(self) -> int:
        return len(self.others) - len(self.returns)

    def describe(self) -> str:
        names = name_some([describe_document(d) for d in self.documents])
        return f"{self.added_count:,} new, {self.updated_count:,} changed: {names}"


def _add_documents(
    s: Session,
    corpus_id: int,
    documents: Sequence[tuple[Document, str, list[Sentence]]],
    now: datetime,
    tally: IngestTally,
) -> None:
    """New ones, each with its digest and sentences; one that repeats an older document is noted."""
    ids = document_rows.add_documents(s, corpus_id, [(d, digest) for d, digest, _ in documents], now)
    document_rows.fill_documents(s, corpus_id, [(ids[d.id], d.id, sentences) for d, _, sentences in documents])
    for d, _, sentences in documents:
        if not is_whole_file(d.id, d.source) or not sentences:  # rows of a table repeat each other
            continue
        if copy := find_copy(s, ids[d.id], sentences):
            tally.add_twin(describe_document(d), *copy)


def _sort_out_unlike(
    wb: Workbench,
    changes: Sequence[Document],
    pieces: dict[str, list[Sentence]],
    stored_ids: Mapping[str, int],
    tally: IngestTally,
) -> None:
    """Report the documents that would replace another one, and take them out of `pieces` unless they may."""
    suspects = [d for d in changes if d.source not in tally.same_files]
    if not suspects:
        return
    with wb.read() as s:
        unlike = find_unlike(s, suspects, pieces, stored_ids)
    tally.same_files |= {d.source for d in suspects} - {d.source for d in suspects if d.id in unlike}
    for document in (d for d in suspects if d.id in unlike):
        if tally.replaces_unlike:
            tally.replacements.append(describe_document(document))
        else:
            reason = UNLIKE if is_whole_file(document.id, document.source) else f"{document.id}: {UNLIKE}"
            tally.failed.append((document.source or document.id, reason))
            del pieces[document.id]


def _split(documents: Sequence[Document], tally: IngestTally) -> dict[str, list[Sentence]]:
    """The sentences of each document, by its id; one that cannot be split is reported and left out."""
    pieces: dict[str, list[Sentence]] = {}
    for document in documents:
        name = describe_document(document)
        try:
            pieces[document.id] = split_document(document)
        except Exception as e:
            tally.add_failure(name, e)
            continue
        if lacks_sentence_ends(pieces[document.id]):
            tally.notes.append((name, NO_SENTENCE_ENDS))
        if not is_english_text(document.text):
            tally.notes.append((name, NOT_ENGLISH))
    return pieces
