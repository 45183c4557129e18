"""Questions and labels from outside into a corpus.

A candidate finds its sentence by the name it has here, or else by its text; a sentence the corpus does not have comes
in with a document made of such sentences. Ids are kept as given, so what was imported can leave as it came.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from app.services.corpora import content_digest
from app.services.workbench import Workbench, storable
from as2core.types import Candidate, Document, Question
from db.models import Document as DocumentRow
from db.models import Question as QuestionRow
from db.models import Sentence as SentenceRow
from db.models import text_key
from db.repositories import corpora as corpus_rows
from db.repositories import labels as label_rows
from db.repositories import questions as rows

BATCH = 100  # questions in one transaction
SOURCE = "imported with labels"
LABELS = {1: "correct", 0: "incorrect"}
_PLACE = re.compile(r"(.+)-(\d{1,9})")


@dataclass(slots=True)
class Outcome:
    """What became of the labels so far."""

    new: int = 0
    same: int = 0
    questions: int = 0
    documents: int = 0
    conflicts: list[str] = field(default_factory=list)
    refused: list[tuple[str, str, str]] = field(default_factory=list)  # question id, candidate id or "", reason


def store_questions(
    wb: Workbench,
    corpus_id: int,
    questions: Iterable[Question],
    *,
    annotator_id: int,
    origin: str = "imported",
    split: str = "",
    by_text: bool = False,
    override: bool = False,
) -> Outcome:
    """Store questions, their candidates and their labels as this annotator's, in batches.

    `by_text`: a question is known by its wording (CSV has no ids). `override`: a label that differs from an earlier one
    replaces it; otherwise it is reported and not taken.
    """
    outcome = Outcome()
    waiting: list[Question] = []
    for question in questions:
        waiting.append(_storable(question))
        if len(waiting) == BATCH:
            _store(wb, corpus_id, waiting, outcome, annotator_id, origin, split, by_text, override)
            waiting = []
    if waiting:
        _store(wb, corpus_id, waiting, outcome, annotator_id, origin, split, by_text, override)
    return outcome


def _storable(q: Question) -> Question:
    candidates = tuple(Candidate(storable(c.id), storable(c.text), c.label, storable(c.title)) for c in q.candidates)
    return Question(storable(q.qid), storable(q.text), candidates, storable(q.kind))


def _store(
    wb: Workbench,
    corpus_id: int,
    batch: Sequence[Question],
    outcome: Outcome,
    annotator_id: int,
    origin: str,
    split: str,
    by_text: bool,
    override: bool,
) -> None:
    with wb.write(durable=True) as s:
        corpus_rows.lock_corpus(s, corpus_id)
        sentences = _Sentences(s, wb, corpus_id, batch)
        for question in batch:
            stored = _question(s, wb, corpus_id, question, origin, split, by_text)
            if stored is None:
                outcome.refused.append((question.qid, "", _refusal(s, corpus_id, question)))
                continue
            outcome.questions += 1
            found = _candidates(s, stored, question, sentences, outcome)
            _labels(s, wb, stored, question, found, annotator_id, outcome, override)
        outcome.documents += sentences.finish()


def _question(
    s: Session, wb: Workbench, corpus_id: int, question: Question, origin: str, split: str, by_text: bool
) -> QuestionRow | None:
    """The stored question, made if need be; None if its id means another one here, or it has no text to store."""
    if by_text and (known := rows.question_reading(s, corpus_id, question.text)):
        return known
    known = rows.question_named(s, corpus_id, question.qid)
    if known is not None:
        same = not question.text or known.text.split() == question.text.split()
        if same and origin == "starter":
            known.split, known.kind = split, question.kind
        return known if same else None
    if not question.text:
        return None
    return rows.add_question(
        s,
        corpus_id,
        question.text,
        external_id=question.qid,
        origin=origin,
        now=wb.clock(),
        kind=question.kind,
        split=split,
    )


def _refusal(s: Session, corpus_id: int, question: Question) -> str:
    if rows.question_named(s, corpus_id, question.qid) is None:
        return f"question {question.qid!r} is not in this corpus, and the file does not say what it asks"
    return f"question {question.qid!r} has another text in this corpus"


def _candidates(
    s: Session, stored: QuestionRow, question: Question, sentences: _Sentences, outcome: Outcome
) -> dict[str, int]:
    """Candidate id -> sentence id, of those that found or made a sentence; the candidates are stored."""
    found: dict[str, int] = {}
    taken: set[int] = set()
    place = rows.next_ordinal(s, stored.id)
    new = []
    for c in question.candidates:
        sentence_id = sentences.of(c, question.qid, taken)
        if sentence_id is None:
            reason = f"sentence {c.id!r} is not in this corpus, and the file does not hold its text"
            outcome.refused.append((question.qid, c.id, reason))
            continue
        taken.add(sentence_id)
        found[c.id] = sentence_id
        new.append(rows.NewCandidate(sentence_id, place + len(new), external_id=c.id))
    rows.put_candidates(s, stored.id, new, origin="imported")
    return found


def _labels(
    s: Session,
    wb: Workbench,
    stored: QuestionRow,
    question: Question,
    found: dict[str, int],
    annotator_id: int,
    outcome: Outcome,
    override: bool,
) -> None:
    current = {
        r.sentence_id: r.label for r in label_rows.labels_of_question(s, stored.id) if r.annotator_id == annotator_id
    }
    events = []
    for c in question.candidates:
        if c.label is None or c.id not in found:
            continue
        label, before = LABELS[c.label], current.get(found[c.id])
        if before == label:
            outcome.same += 1
        elif before is not None and not override:
            outcome.conflicts.append(f"{question.qid} {c.id}: {label} here, {before} before")
        else:
            outcome.new += 1
            events.append(
                {
                    "question_id": stored.id,
                    "sentence_id": found[c.id],
                    "annotator_id": annotator_id,
                    "label": label,
                    "created": wb.clock(),
                }
            )
    label_rows.add_events(s, events)


class _Sentences:
    """The corpus's sentences as a batch of candidates needs them; new ones are made on demand."""

    def __init__(self, s: Session, wb: Workbench, corpus_id: int, batch: Sequence[Question]) -> None:
        self._s, self._wb, self._corpus_id = s, wb, corpus_id
        candidates = [c for q in batch for c in q.candidates]
        self._named: dict[str, list[SentenceRow]] = {}
        self._reading: dict[str, list[SentenceRow]] = {}
        for row in corpus_rows.sentences_named(s, corpus_id, sorted({c.id for c in candidates})):
            self._named.setdefault(row.external_id, []).append(row)
        texts = sorted({c.text for c in candidates if c.text})
        for row in corpus_rows.sentences_reading(s, corpus_id, texts):
            self._reading.setdefault(_key(row.text), []).append(row)
        self._documents: dict[str, DocumentRow] = {}
        self._touched: dict[int, DocumentRow] = {}

    def of(self, c: Candidate, qid: str, taken: set[int]) -> int | None:
        """The sentence of a candidate that is none of `taken`; None if there is no text to make one from."""
        for row in self._named.get(c.id, ()):
            if row.id not in taken and (not c.text or _key(row.text) == _key(c.text)):
                return row.id
        if not c.text.strip():
            return None
        # a name of ours that means another text now: the sentence was changed, so it is looked for by its text
        for row in self._reading.get(_key(c.text), ()):
            if row.id not in taken and (row.external_id == c.id or not self._is_imported(row)):
                return row.id
        return self._make(c, qid).id

    def _is_imported(self, row: SentenceRow) -> bool:
        return self._document_of(row).source == SOURCE

    def _document_of(self, row: SentenceRow) -> DocumentRow:
        return self._s.get_one(DocumentRow, row.document_id)

    def _make(self, c: Candidate, qid: str) -> SentenceRow:
        placed = _PLACE.fullmatch(c.id)
        document = self._document(placed[1] if placed else qid, qid, c)
        adopted = document.source != SOURCE  # a document of its own text: the sentence is no part of it now
        row = SentenceRow(
            corpus_id=self._corpus_id,
            document_id=document.id,
            external_id=c.id,
            position=int(placed[2]) if placed else document.sentences,
            paragraph=0,
            start=0,
            end=0,
            text=c.text,
            text_key=text_key(c.text),
            retired=adopted,
        )
        self._s.add(row)
        self._s.flush()
        if not adopted:
            document.sentences += 1
            self._touched[document.id] = document
        self._named.setdefault(c.id, []).append(row)
        self._reading.setdefault(_key(c.text), []).append(row)
        return row

    def _document(self, name: str, qid: str, c: Candidate) -> DocumentRow:
        """The document of that name and the candidate's title, made if there is none; where the name means a document
        of another title, or already has another sentence of this id, one of the question's own."""
        for candidate_name in (name, f"{qid}:{name}"):
            row = self._documents.get(candidate_name) or self._stored(candidate_name)
            if row is None:
                fresh = Document(candidate_name, c.title, "", SOURCE)
                made = corpus_rows.add_documents(self._s, self._corpus_id, [(fresh, "")], self._wb.clock())
                row = self._s.get_one(DocumentRow, made[candidate_name])
            self._documents[candidate_name] = row
            if row.source != SOURCE and c.title in (row.title, ""):
                return row  # the sentence stood in an earlier version of it
            if row.title == c.title and all(x.document_id != row.id for x in self._named.get(c.id, ())):
                return row
        return row

    def _stored(self, name: str) -> DocumentRow | None:
        known = corpus_rows.digests(self._s, self._corpus_id, [name])
        return self._s.get_one(DocumentRow, known[name][0]) if name in known else None

    def finish(self) -> int:
        """Give the documents that got sentences their text, and mark them for the index; how many those are."""
        for document in self._touched.values():
            at, texts = 0, []
            for row in corpus_rows.sentences_of(self._s, [document.id]):
                row.start, row.end = at, at + len(row.text)
                texts.append(row.text)
                at = row.end + 1
            document.text = "\n".join(texts)
            document.digest = content_digest(document.title, document.text)
            document.indexed = False
            document.updated = self._wb.clock()
        return len(self._touched)


def _key(text: str) -> str:
    return " ".join(text.split())
