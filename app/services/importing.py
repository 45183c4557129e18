"""Questions and labels from outside into a corpus.

A candidate finds its sentence by the name it has here, or else by its text; a sentence the corpus does not have comes
in with a document made of such sentences. Ids are kept as given, so what was imported can leave as it came.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import count, groupby

from sqlalchemy.orm import Session

from app.services.agreement import tidy_note
from app.services.corpora import content_digest, hold_corpus
from app.services.labels import by_id, settled
from app.services.views import UNSURE
from app.services.workbench import Workbench, storable
from as2core.types import Candidate, Document, Question
from db.models import Document as DocumentRow
from db.models import Question as QuestionRow
from db.models import Sentence as SentenceRow
from db.models import text_key
from db.repositories import corpora as corpus_rows
from db.repositories import labels as label_rows
from db.repositories import questions as rows
from db.repositories import reviews

BATCH, BATCH_CANDIDATES = 100, 10_000  # in one transaction
SOURCE = "imported with labels"
LABELS = {1: "correct", 0: "incorrect"}
_PLACE = re.compile(r"(.+)-(\d{1,9})")


@dataclass(slots=True)
class Outcome:
    """What became of the labels so far; `verdicts`: how many of those were new."""

    new: int = 0
    same: int = 0
    verdicts: int = 0
    questions: int = 0
    documents: int = 0
    moved: Counter[tuple[str, str]] = field(default_factory=Counter)  # (the split before, the one now)
    conflicts: list[str] = field(default_factory=list)
    refused: list[tuple[str, str, str]] = field(default_factory=list)  # question id, candidate id or "", reason
    taken: list[tuple[str, str, str]] = field(default_factory=list)  # question id, candidate id, "new", "same", ...


def store_questions(
    wb: Workbench,
    corpus_id: int,
    questions: Iterable[Question],
    *,
    annotator_id: int,
    signers: Mapping[str, int] | None = None,
    origin: str = "imported",
    split: str = "",
    by_text: bool = False,
    override: bool = False,
    unsigned: bool = False,
) -> Outcome:
    """Store questions, their candidates and their labels as this annotator's, in batches; where a candidate tells who
    said what, as theirs whose ids `signers` has, and the verdicts on that; one that settles a pair otherwise than it is
    settled here is a conflict and not taken. `unsigned`: the annotator is nobody, so a label that people have
    settled already is the same as theirs or in conflict with it.

    `split`: which part of a divided set these questions are, or "" where they are to be divided here; said again of
    questions that are here, it holds from then on. `by_text`: a question is known by its wording (CSV has no ids).
    `override`: a label that differs from an earlier one replaces it; otherwise it is reported and not taken.

    Raises UnknownCorpus.
    """
    outcome, by = Outcome(), _By(annotator_id, signers or {}, unsigned)
    for batch in _batches(_storable(q) for q in questions):
        _store(wb, corpus_id, batch, outcome, by, origin, split, by_text, override)
    wb.take_stock()
    return outcome


def _batches(questions: Iterable[Question]) -> Iterator[list[Question]]:
    """A question's candidates stay together, however many they are."""
    batch: list[Question] = []
    candidates = 0
    for q in questions:
        if len(batch) == BATCH or (batch and candidates + len(q.candidates) > BATCH_CANDIDATES):
            yield batch
            batch, candidates = [], 0
        batch.append(q)
        candidates += len(q.candidates)
    if batch:
        yield batch


def _storable(q: Question) -> Question:
    candidates = tuple(
        replace(
            c,
            id=storable(c.id),
            text=storable(c.text),
            title=storable(c.title),
            grade=_storable_grade(c.grade),
            verdict=c.verdict and replace(c.verdict, note=tidy_note(c.verdict.note)),
        )
        for c in q.candidates
    )
    return Question(storable(q.qid), storable(q.text), candidates, storable(q.kind))


def _storable_grade(grade: int | None) -> int | None:
    return grade if grade is not None and abs(grade) < 2**31 else None


def _store(
    wb: Workbench,
    corpus_id: int,
    batch: Sequence[Question],
    outcome: Outcome,
    by: _By,
    origin: str,
    split: str,
    by_text: bool,
    override: bool,
) -> None:
    with wb.write(durable=True) as s, s.no_autoflush:
        hold_corpus(s, corpus_id)
        stored = _questions(s, wb, corpus_id, batch, outcome, origin, split, by_text)
        sentences = _Sentences(s, wb, corpus_id, batch)
        known = by_id(s, [row.id for row in stored.values() if row.id is not None])
        found = {
            q.qid: _places(sentences, q, known.get(stored[q.qid].id, {}), outcome) for q in batch if q.qid in stored
        }
        outcome.documents += sentences.finish()
        s.flush()
        asked = [(stored[q.qid], q, found[q.qid]) for q in batch if q.qid in stored]
        outcome.questions += len(asked)
        _candidates(s, asked)
        _labels(s, wb, asked, by, outcome, override)
        _verdicts(s, wb, asked, by, outcome)


def _questions(
    s: Session,
    wb: Workbench,
    corpus_id: int,
    batch: Sequence[Question],
    outcome: Outcome,
    origin: str,
    split: str,
    by_text: bool,
) -> dict[str, QuestionRow]:
    """Id -> the stored question, made if need be; those that have no text to store are reported. Where an id means
    another question here, as two sets may number theirs alike, the question gets one of its own."""
    given = [q.qid for q in batch]
    known = rows.questions_named(s, corpus_id, given)
    stored = {}
    for q in batch:
        row = known.get(q.qid)
        elsewhere = row is not None and q.text and row.text.split() != q.text.split()
        if elsewhere or by_text:
            row = rows.question_reading(s, corpus_id, q.text) or (None if elsewhere else row)
        if row is None and q.text:
            name = _free_id(s, corpus_id, q.qid, given) if elsewhere else q.qid
            row = rows.new_question(
                corpus_id, q.text, external_id=name, origin=origin, now=wb.clock(), kind=q.kind, split=split
            )
            s.add(row)
        if row is None:
            reason = f"question {q.qid!r} is not in this corpus, and the file does not say what it asks"
            outcome.refused.append((q.qid, "", reason))
            continue
        if split and row.split != split:
            outcome.moved[row.split, split] += 1
            row.split = split
        if origin == "starter":
            row.kind = q.kind
        stored[q.qid] = row
    return stored


def _free_id(s: Session, corpus_id: int, qid: str, given: Sequence[str]) -> str:
    """The id with a number behind it that no question here has, nor one that comes in with it."""
    tried = (f"{qid}-{n}" for n in count(2))
    return next(name for name in tried if name not in given and not rows.questions_named(s, corpus_id, [name]))


def _places(
    sentences: _Sentences, question: Question, known: dict[str, SentenceRow], outcome: Outcome
) -> dict[str, SentenceRow]:
    """Candidate id -> sentence, of those that have or could be given one; `known`: what the question has already."""
    found: dict[str, SentenceRow] = {}
    taken: set[SentenceRow] = set()
    for c in question.candidates:
        row = known.get(c.id)
        if row is None or row in taken or (c.text and _key(row.text) != _key(c.text)):
            row = sentences.of(c, question.qid, known.values(), taken)
        if row is None:
            reason = f"sentence {c.id!r} is not in this corpus, and the file does not hold its text"
            outcome.refused.append((question.qid, c.id, reason))
        else:
            taken.add(row)
            found[c.id] = row
    return found


_Asked = Sequence[tuple[QuestionRow, Question, dict[str, SentenceRow]]]


def _candidates(s: Session, asked: _Asked) -> None:
    next_place = rows.next_ordinals(s, [stored.id for stored, _, _ in asked])
    rows.add_candidates(
        s,
        [
            (
                stored.id,
                rows.NewCandidate(found[c.id].id, next_place.get(stored.id, 0) + i, external_id=c.id, grade=c.grade),
            )
            for stored, question, found in asked
            for i, c in enumerate(question.candidates)
            if c.id in found
        ],
    )


@dataclass(frozen=True, slots=True)
class _By:
    """Whose labels these are: `annotator_id`'s, who is nobody if `unsigned`, or theirs whom the file names."""

    annotator_id: int
    signers: Mapping[str, int]
    unsigned: bool

    def said(self, c: Candidate) -> dict[int, str]:
        """Annotator id -> label."""
        if c.said:
            return {self.signers[name]: label for name, label in c.said}
        return {} if c.label is None else {self.annotator_id: LABELS[c.label]}


def _labels(s: Session, wb: Workbench, asked: _Asked, by: _By, outcome: Outcome, override: bool) -> None:
    who = {a for _, question, _ in asked for c in question.candidates for a in by.said(c)}
    stored_ids = [stored.id for stored, _, _ in asked]
    current = {a: label_rows.labels_by(s, a, stored_ids) for a in who}
    of_people = _of_people(s, stored_ids) if by.unsigned else {}
    events = []
    for stored, question, found in asked:
        for c in question.candidates:
            for annotator_id, label in by.said(c).items() if c.id in found else ():
                pair = (stored.id, found[c.id].id)
                before = current[annotator_id].get(pair)
                if not c.said:  # signed by nobody: people's labels come first
                    before = of_people.get(pair, before)
                if before == label:
                    outcome.same += 1
                    outcome.taken.append((question.qid, c.id, "same"))
                elif before is not None and not override:
                    outcome.conflicts.append(f"{question.qid} {c.id}: {label} here, {before} before")
                    outcome.taken.append((question.qid, c.id, "conflicting"))
                else:
                    outcome.new += 1
                    outcome.taken.append((question.qid, c.id, "new"))
                    current[annotator_id][pair] = label
                    event = {"question_id": pair[0], "sentence_id": pair[1], "label": label, "created": wb.clock()}
                    events.append({**event, "annotator_id": annotator_id})
    label_rows.add_events(s, events)


def _verdicts(s: Session, wb: Workbench, asked: _Asked, by: _By, outcome: Outcome) -> None:
    found = [
        (question, c, (stored.id, places[c.id].id), c.verdict)
        for stored, question, places in asked
        for c in question.candidates
        if c.verdict is not None and c.id in places
    ]
    current = label_rows.verdicts(s, question_ids=sorted({pair[0] for _, _, pair, _ in found})) if found else {}
    for question, c, pair, verdict in found:
        before = current.get(pair)
        if before is None:
            outcome.verdicts += 1
            reviews.add_verdict(s, pair, by.signers[verdict.by], verdict.label, verdict.note, wb.clock())
        elif before != verdict.label:
            outcome.conflicts.append(f"{question.qid} {c.id}: verdict {verdict.label} here, {before} before")
        became = "new" if before is None else "same" if before == verdict.label else "conflicting"
        outcome.taken.append((question.qid, c.id, became))


def _of_people(s: Session, question_ids: Sequence[int]) -> dict[tuple[int, int], str]:
    """(question id, sentence id) -> what people's labels come to, or the verdict on them."""
    found = [r for r in label_rows.labels_of_questions(s, question_ids) if not r.imported]
    grouped = groupby(sorted(found, key=lambda r: r.question_id), key=lambda r: r.question_id)
    came_to = {
        (question_id, sentence_id): label
        for question_id, of_one in grouped
        for sentence_id, label in settled(of_one).items()
    }
    came_to |= label_rows.verdicts(s, question_ids=question_ids)
    return {pair: label for pair, label in came_to.items() if label != UNSURE}


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
        self._touched: dict[int, tuple[DocumentRow, list[SentenceRow]]] = {}

    def of(self, c: Candidate, qid: str, known: Iterable[SentenceRow], taken: Set[SentenceRow]) -> SentenceRow | None:
        """The sentence of a candidate that is none of `taken`; None if there is no text to make one from."""
        for row in self._named.get(c.id, ()):
            if row not in taken and (not c.text or _key(row.text) == _key(c.text)):
                return row
        if not c.text.strip():
            return None
        for row in known:
            if row not in taken and _key(row.text) == _key(c.text):
                return row
        # a name of ours that means another text now: the sentence was changed, so it is looked for by its text
        for row in self._reading.get(_key(c.text), ()):
            if row not in taken and (row.external_id == c.id or not self._is_imported(row)):
                return row
        return self._make(c, qid)

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
        if not adopted:
            document.sentences += 1
            self._touched.setdefault(document.id, (document, []))[1].append(row)
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
        stored: dict[int, list[SentenceRow]] = {}
        for row in corpus_rows.sentences_of(self._s, list(self._touched)):
            stored.setdefault(row.document_id, []).append(row)
        for document, fresh in self._touched.values():
            at, texts = 0, []
            for row in sorted([*stored.get(document.id, ()), *fresh], key=lambda r: r.position):
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
