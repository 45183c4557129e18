"""What a comparison shows of one ranker's errors: which questions were lost where, and what those have in common.

A question counts as answered if the first candidate is correct. Else it was lost by the first of these that happened:
no correct sentence is known; the search retrieved none; the ranker dropped the last one before its last exit; the
ranker put another candidate first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from app.compare.comparison import CORPUS_PREFIX, ComparisonView
from app.corpora.corpora import CorpusView, UnknownCorpus, find_corpus, get_corpus
from app.labels.consensus import BINARY
from app.labels.prevalence import wilson_interval
from app.workbench.workbench import Workbench
from db.repositories import labels as label_rows
from db.repositories import questions as question_rows

UNKNOWN, SEARCH, DROP, RANKER, ANSWERED = "unknown", "search", "drop", "ranker", "answered"
MAX_TARGETS = 200  # questions in one address


@dataclass(frozen=True, slots=True)
class Loss:
    """The questions that were lost in one way; ANSWERED has those that were not."""

    kind: str
    qids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SliceResult:
    """One ranker on a slice: the share of its questions that are answered with Wilson's 95 % interval. `errors`: those
    that are not."""

    group: str
    name: str
    questions: int
    share: float
    low: float
    high: float
    errors: tuple[str, ...]


def find_losses(wb: Workbench, view: ComparisonView, ranker: str) -> tuple[Loss, ...]:
    """Every question in one of them, in the order of the module's text."""
    answers, unretrieved = _list_answers(view, ranker), _find_unretrieved(wb, view)
    cuts = next((r.cuts for r in view.results if r.ranker == ranker), ())
    by_drop = {qid for cut in cuts for qid in cut.lost}
    kinds: dict[str, list[str]] = {kind: [] for kind in (UNKNOWN, SEARCH, DROP, RANKER, ANSWERED)}
    for qid, is_answered in answers.items():
        if is_answered:
            kind = ANSWERED
        elif not view.correct.get(qid):
            kind = UNKNOWN
        elif qid in unretrieved:
            kind = SEARCH
        else:
            kind = DROP if qid in by_drop else RANKER
        kinds[kind].append(qid)
    return tuple(Loss(kind, tuple(qids)) for kind, qids in kinds.items())


def _find_unretrieved(wb: Workbench, view: ComparisonView) -> frozenset[str]:
    """Those of a corpus's questions that were searched for, and none of whose correct sentences the search found."""
    corpus_id = _find_own_corpus(wb, view)
    if corpus_id is None:
        return frozenset()
    texts = _map_texts(view)
    with wb.read() as s:
        rows = question_rows.list_retrieval_ranks(s, corpus_id, list(texts.values()))
    retrieved: dict[str, set[str]] = {}
    for row in rows:
        retrieved.setdefault(row.question, set()).add(row.text)
    return frozenset(
        qid
        for qid, text in texts.items()
        if text in retrieved and not view.correct.get(qid, frozenset()) & retrieved[text]
    )


def measure_slices(view: ComparisonView, ranker: str) -> tuple[SliceResult, ...]:
    """By group; in each the slice with the smallest share answered first."""
    answers = _list_answers(view, ranker)
    results = []
    for row in view.slices:
        qids = [qid for qid in row.qids if qid in answers]
        if not qids:
            continue
        right = sum(answers[qid] for qid in qids)
        low, high = wilson_interval(right, len(qids))
        errors = tuple(qid for qid in qids if not answers[qid])
        results.append(SliceResult(row.group, row.name, len(qids), right / len(qids), low, high, errors))
    groups = list(dict.fromkeys(r.group for r in results))
    return tuple(sorted(results, key=lambda r: (groups.index(r.group), r.share)))


def _list_answers(view: ComparisonView, ranker: str) -> dict[str, bool]:
    """Question id -> whether this ranker's first candidate is correct; {} where its evaluation is gone."""
    if "P@1" not in view.per_question:
        return {}
    rows = view.per_question[view.per_question["ranker"] == ranker]
    return dict(zip(rows["qid"], rows["P@1"] == 1.0, strict=True))


def find_target_corpus(wb: Workbench, view: ComparisonView, corpus_id: int) -> CorpusView:
    """The corpus whose labels were compared on; that of `corpus_id` for a set that is a file. Raises UnknownCorpus."""
    own = _find_own_corpus(wb, view)
    return get_corpus(wb, corpus_id if own is None else own)


def _find_own_corpus(wb: Workbench, view: ComparisonView) -> int | None:
    if not view.data.startswith(CORPUS_PREFIX):
        return None
    with suppress(UnknownCorpus):  # deleted or renamed since
        return find_corpus(wb, view.data.removeprefix(CORPUS_PREFIX)).id
    return None


def find_question_ids(wb: Workbench, corpus_id: int, texts: Collection[str]) -> tuple[int, ...]:
    """The questions of a corpus that have these texts, MAX_TARGETS at most; of several with one text the first."""
    with wb.read() as s:
        ids = {q.text: q.id for q in reversed(question_rows.list_questions(s, corpus_id)) if q.text in texts}
    return tuple(sorted(ids.values())[:MAX_TARGETS])


def count_with_labels(wb: Workbench, question_ids: Sequence[int]) -> int:
    """How many of these questions have a label that is correct or incorrect."""
    with wb.read() as s:
        labels = label_rows.list_labels_of_questions(s, question_ids)
    return len({row.question_id for row in labels if row.label in BINARY})


def list_texts(view: ComparisonView, qids: Iterable[str]) -> list[str]:
    texts = _map_texts(view)
    return [texts[qid] for qid in qids if qid in texts]


def _map_texts(view: ComparisonView) -> dict[str, str]:
    return view.per_question.drop_duplicates("qid").set_index("qid")["question"].to_dict()
