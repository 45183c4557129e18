"""Stores imported questions and labels in a corpus, their candidates on the sentences that
`app.exchange.sentence_matching` finds for them or makes."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from itertools import count
from operator import iadd
from textwrap import shorten

from sqlalchemy.orm import Session

from app.corpora.corpora import SHIPPED_CORPORA, lock_corpus
from app.exchange.sentence_matching import SentenceMatcher, tidy_spaces
from app.labels.consensus import BINARY, find_outcomes, tidy_note
from app.workbench.workbench import Workbench, make_storable
from as2core.data.question_batches import split_questions
from as2core.errors import BadSetting
from as2core.types import Candidate, Question
from db.models import ASKED
from db.models import Question as QuestionRow
from db.models import Sentence as SentenceRow
from db.repositories import candidates as candidate_rows
from db.repositories import labels as label_rows
from db.repositories import questions as rows
from db.repositories import reviews
from db.repositories.people import lock_people

MAX_BATCH_QUESTIONS, MAX_BATCH_CANDIDATES = 100, 10_000  # in one transaction
MAX_QUOTE_CHARS = 60
MAX_GRADE = 2**31  # what a column holds is below it
ID_REMEDY = "use the ids of an export of this corpus, or a table with the texts"
LABEL_OF = {value: label for label, value in BINARY.items()}
Entry = tuple[QuestionRow, Question, dict[str, SentenceRow]]  # stored question, imported one, candidate id -> sentence


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Whose labels these are and how they are stored.

    `annotator_id`: who signs what the file does not sign; nobody if `unsigned`, so that a label that stands here
    already is the same as theirs or in conflict with it. `add_sentences`: a sentence that the corpus does not have
    becomes a document; otherwise it is rejected. `signers`: name in the file -> annotator id. `split`: which
    part of a divided set the questions are, "" where each says so itself or they are divided here; an import of stored
    questions replaces their split. `by_text`: a question is identified by its wording (CSV has no ids). `override`: a
    label that differs from an earlier one replaces it; otherwise it is a conflict.
    """

    annotator_id: int
    signers: Mapping[str, int] = field(default_factory=dict)
    origin: str = "imported"
    split: str = ""
    by_text: bool = False
    override: bool = False
    unsigned: bool = False
    add_sentences: bool = True

    def annotations(self, c: Candidate) -> list[tuple[int, str]]:
        """Annotator ids with their labels; of names that are one person's, as Ann and ann, there are several."""
        if c.annotations:
            return [(self.signers[name], label) for name, label in c.annotations]
        return [] if c.label is None else [(self.annotator_id, LABEL_OF[c.label])]


@dataclass(slots=True)
class ImportCounts:
    """What became of the labels so far; `verdicts`: how many of those were new; `new_sentences`: those that no document
    here had, in new documents and in older ones made of imported sentences."""

    new: int = 0
    same: int = 0
    verdicts: int = 0
    questions: int = 0
    new_questions: int = 0
    new_documents: int = 0
    new_sentences: int = 0
    moved: Counter[tuple[str, str]] = field(default_factory=Counter)  # (the split before, the one now)
    conflicts: list[str] = field(default_factory=list)
    rejections: list[tuple[str, str, str]] = field(default_factory=list)  # question id, candidate id or "", reason
    outcomes: list[tuple[str, str, str]] = field(default_factory=list)  # question id, candidate id, "new", "same", ...

    def add(self, more: "ImportCounts") -> None:
        for f in fields(self):
            setattr(self, f.name, iadd(getattr(self, f.name), getattr(more, f.name)))


def store_questions(
    wb: Workbench,
    corpus_id: int,
    questions: Iterable[Question],
    options: ImportOptions,
    counts: ImportCounts | None = None,
    on_batch: Callable[[], object] = lambda: None,
) -> ImportCounts:
    """Store questions, their candidates, labels and adjudications, in batches of one transaction each. Returns
    `counts`, to which every batch is added once it is stored; `on_batch` is called then. An adjudication that differs
    from the one here is a conflict and not stored. Raises UnknownCorpus."""
    counts = ImportCounts() if counts is None else counts
    signer_ids = {options.annotator_id, *options.signers.values()}
    storable_questions = map(_to_storable, questions)
    for batch in split_questions(storable_questions, MAX_BATCH_CANDIDATES, MAX_BATCH_QUESTIONS):
        with wb.write(durable=True) as s, s.no_autoflush:
            lock_people(s, signer_ids)  # before the corpus, as everywhere
            lock_corpus(s, corpus_id)
            batch_counts = ImportCounts()
            _BatchImport(s, corpus_id, wb.clock(), options, batch_counts).store(batch)
        counts.add(batch_counts)
        on_batch()
    wb.analyze()
    return counts


def _to_storable(q: Question) -> Question:
    candidates = tuple(
        replace(
            c,
            id=make_storable(c.id),
            text=make_storable(c.text),
            title=make_storable(c.title),
            grade=c.grade if abs(c.grade or 0) < MAX_GRADE else None,
        )
        for c in q.candidates
    )
    return replace(
        q, qid=make_storable(q.qid), text=make_storable(q.text), candidates=candidates, kind=make_storable(q.kind)
    )


class _BatchImport:
    """One batch in one transaction."""

    def __init__(self, s: Session, corpus_id: int, now: datetime, options: ImportOptions, counts: ImportCounts) -> None:
        self.s, self.corpus_id, self.now, self.options, self.counts = s, corpus_id, now, options, counts

    def store(self, batch: Sequence[Question]) -> None:
        question_rows = self._store_questions(batch)
        sentences = SentenceMatcher(self.s, self.corpus_id, self.now, batch, add=self.options.add_sentences)
        candidates = candidate_rows.map_candidate_ids(
            self.s, [row.id for row in question_rows.values() if row.id is not None]
        )
        entries = [
            (row, q, self._find_sentences(sentences, q, candidates.get(row.id, {})))
            for q in batch
            if (row := question_rows.get(q.qid)) is not None
        ]
        sentences.finish()
        self.s.flush()
        self.counts.questions += len(entries)
        self.counts.new_documents += sentences.new_documents
        self.counts.new_sentences += sentences.new_sentences
        self._store_candidates(entries)
        self._store_labels(entries)
        self._store_verdicts(entries)

    def _store_questions(self, batch: Sequence[Question]) -> dict[str, QuestionRow]:
        """Id -> the stored question, made if need be; those without a text to store are rejected. Where an id belongs
        to another question here (two sets may number theirs alike), the question gets a new one."""
        s, options = self.s, self.options
        batch_ids = [q.qid for q in batch]
        by_name = rows.find_questions(s, self.corpus_id, batch_ids)
        question_rows = {}
        for q in batch:
            row, split = by_name.get(q.qid), options.split or q.split
            is_other = row is not None and bool(q.text) and row.text.split() != q.text.split()
            if is_other or options.by_text:
                row = rows.find_question(s, self.corpus_id, q.text) or (None if is_other else row)
            if row is None and q.text:
                name = self._free_id(q.qid, batch_ids) if is_other else q.qid
                more = {"external_id": name, "origin": options.origin, "kind": q.kind, "split": split}
                row = QuestionRow(corpus_id=self.corpus_id, text=q.text, created=self.now, **more)
                s.add(row)
                self.counts.new_questions += 1
            if row is None:
                reason = f"question {q.qid!r} is not in this corpus, and the file does not hold its text: {ID_REMEDY}"
                self.counts.rejections += [(q.qid, id_, reason) for id_ in [c.id for c in q.candidates] or [""]]
                continue
            if row.origin == ASKED:
                row.queued = True
            if split and row.split != split:
                self.counts.moved[row.split, split] += 1
                row.split = split
            if options.origin in SHIPPED_CORPORA:
                row.kind = q.kind
            question_rows[q.qid] = row
        return question_rows

    def _free_id(self, qid: str, batch_ids: Sequence[str]) -> str:
        """The id with a number that no question here or in the batch has."""
        names = (f"{qid}-{n}" for n in count(2))
        return next(n for n in names if n not in batch_ids and not rows.find_questions(self.s, self.corpus_id, [n]))

    def _find_sentences(
        self, sentences: SentenceMatcher, question: Question, candidates: Mapping[str, SentenceRow]
    ) -> dict[str, SentenceRow]:
        """Candidate id -> sentence, where there is one or one could be made; `candidates`: those the question has."""
        sentence_rows: dict[str, SentenceRow] = {}
        assigned_rows: set[SentenceRow] = set()
        for c in question.candidates:
            row = candidates.get(c.id)
            if row is None or row in assigned_rows or (c.text and tidy_spaces(row.text) != tidy_spaces(c.text)):
                row = sentences.find(c, question.qid, candidates.values(), assigned_rows)
            if row is None:
                reason = _explain_rejection(c, sentences.lengths.get(c.id, 0))
                self.counts.rejections.append((question.qid, c.id, reason))
            else:
                assigned_rows.add(row)
                sentence_rows[c.id] = row
        return sentence_rows

    def _store_candidates(self, entries: Sequence[Entry]) -> None:
        next_place = candidate_rows.find_next_ordinals(self.s, [row.id for row, _, _ in entries])
        new = [
            (
                row.id,
                candidate_rows.NewCandidate(
                    sentences[c.id].id, next_place.get(row.id, 0) + i, external_id=c.id, grade=c.grade
                ),
            )
            for row, question, sentences in entries
            for i, c in enumerate(question.candidates)
            if c.id in sentences
        ]
        candidate_rows.add_candidates(self.s, new)

    def _store_labels(self, entries: Sequence[Entry]) -> None:
        options, counts = self.options, self.counts
        ids = [row.id for row, _, _ in entries]
        annotators = {a for _, question, _ in entries for c in question.candidates for a, _ in options.annotations(c)}
        current = {a: label_rows.find_labels_by(self.s, a, ids) for a in annotators}
        standing = _find_standing_labels(self.s, ids) if options.unsigned else {}
        events = []
        for row, question, sentences in entries:
            for c in question.candidates:
                authors = [f", {name}’s label" for name, _ in c.annotations] or [""]
                labels = options.annotations(c) if c.id in sentences else ()
                for author, (annotator_id, label) in zip(authors, labels, strict=False):
                    pair = (row.id, sentences[c.id].id)
                    before = current[annotator_id].get(pair)
                    if not c.annotations:  # without a signature: what stands here comes first
                        before = standing.get(pair, before)
                    if before == label:
                        outcome = "same"
                        counts.same += 1
                    elif before is not None and not options.override:
                        outcome = "conflicting"
                        counts.conflicts.append(
                            f"{_name_pair(question, c)}{author}: {label} in the file, {before} here"
                        )
                    else:
                        outcome = "new"
                        counts.new += 1
                        current[annotator_id][pair] = label
                        ids_of = {"question_id": pair[0], "sentence_id": pair[1], "annotator_id": annotator_id}
                        events.append({**ids_of, "label": label, "created": self.now})
                    counts.outcomes.append((question.qid, c.id, outcome))
        label_rows.add_events(self.s, events)

    def _store_verdicts(self, entries: Sequence[Entry]) -> None:
        counts = self.counts
        verdicts = [
            (question, c, (row.id, sentences[c.id].id), c.verdict)
            for row, question, sentences in entries
            for c in question.candidates
            if c.verdict is not None and c.id in sentences
        ]
        ids = sorted({pair[0] for _, _, pair, _ in verdicts})
        current = label_rows.find_verdicts(self.s, question_ids=ids) if ids else {}
        for question, c, pair, verdict in verdicts:
            before = current.get(pair)
            outcome = "new" if before is None else "same" if before == verdict.label else "conflicting"
            if outcome == "new":
                try:
                    note = tidy_note(verdict.note)
                except BadSetting as error:
                    counts.rejections.append((question.qid, c.id, f"the verdict is left out: {error}"))
                    continue
                counts.verdicts += 1
                by = self.options.signers[verdict.by]
                reviews.add_verdict(self.s, pair, by, verdict.label, note, self.now)
            elif outcome == "conflicting":
                conflict = f"{_name_pair(question, c)}: verdict {verdict.label} in the file, {before} here"
                counts.conflicts.append(conflict)
            counts.outcomes.append((question.qid, c.id, outcome))


def _explain_rejection(c: Candidate, length: int) -> str:
    """`length`: how many sentences the document has whose id it names instead, 0 if there is none."""
    if c.text.strip():
        return f"the sentence “{shorten(c.text, MAX_QUOTE_CHARS, placeholder=' …')}” is not in this corpus"
    if length > 1:
        return (
            f"document {c.id!r} has {length:,} sentences, and a label is for one of them: its id ({c.id}-0 is the "
            "first) or, in a column “text”, its text has to be in the file"
        )
    return f"sentence {c.id!r} is not in this corpus, and the file does not hold its text: {ID_REMEDY}"


def _name_pair(question: Question, c: Candidate) -> str:
    """As much of the texts as tells which they are, and both ids."""
    quoted = [f"“{shorten(text, MAX_QUOTE_CHARS, placeholder=' …')}”" for text in (question.text, c.text) if text]
    return f"{', '.join(quoted)} ({question.qid} {c.id})" if quoted else f"{question.qid} {c.id}"


def _find_standing_labels(s: Session, question_ids: Sequence[int]) -> dict[tuple[int, int], str]:
    """(question id, sentence id) -> the label that counts: people's, else imported ones', or the verdict on it."""
    outcomes = find_outcomes(s, question_ids=question_ids)
    return {pair: label for pair, label in outcomes.items() if label in BINARY}
