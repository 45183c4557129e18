"""What a comparison shows of one ranker's errors: which questions were lost where, and what those have in common.

A question counts as answered if the first candidate is correct. Else it was lost by the first of these that happened:
no correct sentence is known; the search retrieved none; the ranker dropped the last one before its last exit; the
ranker put another candidate first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from app.compare.comparison import ComparisonView
from app.compare.question_sets import find_own_corpus
from app.corpora.corpora import CorpusView, get_corpus
from app.labels import seats
from app.labels.consensus import BINARY
from app.labels.queues import TOPS
from app.labels.seats import Seat
from app.workbench.workbench import Workbench
from as2core.evaluation import error_slices
from as2core.evaluation.error_slices import SliceResult, slice_questions
from as2core.evaluation.slice_rules import SliceRule, read_slice_rules
from db.repositories import candidates as candidate_rows
from db.repositories import labels as label_rows
from db.repositories import questions as question_rows

UNKNOWN, SEARCH, DROP, RANKER, ANSWERED = "unknown", "search", "drop", "ranker", "answered"
MAX_TARGETS = 200  # questions in one address


@dataclass(frozen=True, slots=True)
class Loss:
    """The questions that were lost in one way; ANSWERED has those that were not."""

    kind: str
    qids: tuple[str, ...]


def find_losses(wb: Workbench, view: ComparisonView, ranker: str) -> tuple[Loss, ...]:
    """Every question in one of them, in the order of the module's text."""
    precisions = _list_precisions(view, ranker)
    missing = _find_missing(wb, view, [qid for qid, precision in precisions.items() if precision != 1])
    cuts = next((r.cuts for r in view.results if r.ranker == ranker), ())
    by_drop = {qid for cut in cuts for qid in cut.lost}
    kinds: dict[str, list[str]] = {kind: [] for kind in (UNKNOWN, SEARCH, DROP, RANKER, ANSWERED)}
    for qid, precision in precisions.items():
        if precision == 1:
            kind = ANSWERED
        elif not view.by_id[qid].positives:
            kind = UNKNOWN
        elif qid in missing:
            kind = SEARCH
        else:
            kind = DROP if qid in by_drop else RANKER
        kinds[kind].append(qid)
    return tuple(Loss(kind, tuple(qids)) for kind, qids in kinds.items())


def _find_missing(wb: Workbench, view: ComparisonView, qids: Iterable[str]) -> frozenset[str]:
    """Those of these questions of a corpus that were searched for, and none of whose correct sentences the search
    found."""
    corpus = find_own_corpus(wb, view.data)
    if corpus is None:
        return frozenset()
    all_texts = view.question_texts
    texts = {qid: all_texts[qid] for qid in qids}
    correct = {qid: {c.text for c in view.by_id[qid].candidates if c.label == 1} for qid in texts}
    with wb.read() as s:
        rows = candidate_rows.list_hits(s, corpus.id, list(texts.values()), set().union(*correct.values()))
    texts_of: dict[str, set[str]] = {}
    for row in rows:
        texts_of.setdefault(row.question, set()).add(row.text)
    return frozenset(qid for qid, text in texts.items() if text in texts_of and not texts_of[text] & correct[qid])


def load_slice_rules(wb: Workbench) -> tuple[SliceRule, ...]:
    """The user's own slices; () without the file. Raises UnreadableFile, BadSetting."""
    file = wb.settings.slices_file
    return read_slice_rules(file) if file.exists() else ()


def measure_slices(view: ComparisonView, ranker: str, rules: Sequence[SliceRule] = ()) -> tuple[SliceResult, ...]:
    """As `error_slices.measure_slices`; `rules` are of the user's own slices."""
    slices = slice_questions(list(view.by_id.values()), rules)
    return error_slices.measure_slices(slices, _list_precisions(view, ranker))


def _list_precisions(view: ComparisonView, ranker: str) -> dict[str, float]:
    """Question id -> P@1: 1 if this ranker's first candidate is correct."""
    rows = view.per_question[view.per_question["ranker"] == ranker]
    return dict(zip(rows["qid"], rows["P@1"], strict=True))


def find_target_corpus(wb: Workbench, view: ComparisonView, corpus_id: int) -> CorpusView:
    """The corpus whose labels were compared on; that of `corpus_id` for a set that is a file. Raises UnknownCorpus."""
    return find_own_corpus(wb, view.data) or get_corpus(wb, corpus_id)


def find_question_ids(wb: Workbench, corpus_id: int, texts: Collection[str]) -> tuple[int, ...]:
    """The questions of a corpus that have these texts, MAX_TARGETS at most; of several with one text the first."""
    with wb.read() as s:
        rows = question_rows.find_questions_by_text(s, corpus_id, texts)
        ids = {q.text: q.id for q in reversed(rows) if q.text in texts}
    return tuple(sorted(ids.values())[:MAX_TARGETS])


def count_with_labels(wb: Workbench, question_ids: Sequence[int]) -> int:
    """How many of these questions have a label that is correct or incorrect."""
    with wb.read() as s:
        labels = label_rows.list_labels_of_questions(s, question_ids)
    return len({row.question_id for row in labels if row.label in BINARY})


def has_open_candidates(
    wb: Workbench, view: ComparisonView, qids: Iterable[str], corpus_id: int, question_ids: Sequence[int], *, by: int
) -> bool:
    """Whether `by` finds something to label in these questions: a candidate of the comparison without a label, or one
    that a model ranked since."""
    if any(c.label is None for qid in qids if qid in view.by_id for c in view.by_id[qid].candidates):
        return True
    return seats.has_open_item(wb, Seat(corpus_id, by, TOPS, questions=tuple(question_ids)))


def list_texts(view: ComparisonView, qids: Iterable[str]) -> list[str]:
    texts = view.question_texts
    return [texts[qid] for qid in qids if qid in texts]
