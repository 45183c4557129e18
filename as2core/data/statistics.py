"""What the papers' tables say of a data set, in one pass over it.

- questions and candidates raw, no-all-neg and clean (the TandA paper, Table 2), the ASNQ labels (its Table 1);
- the share of questions with a correct candidate, candidates a question, lengths in spaCy's tokens, and what chance and
  simple rankers reach on the questions with a correct candidate (the Structure paper, Table 2);
- candidates and correct ones a question (the Generation paper, Table 1; the Rerank paper, Table 1).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any

from as2core.data.catalog import SETTINGS, kept
from as2core.metrics import per_question
from as2core.types import Question

MEASURES = ("P@1", "AP")
_BATCH = 256


@dataclass(frozen=True, slots=True)
class Counts:
    """Of one setting."""

    questions: int
    candidates: int
    correct: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Averages are NaN where there is nothing to average; `baselines` is `{ranker: {measure: mean}}`."""

    counts: dict[str, Counts]
    answered: float
    candidates_per_question: float
    correct_per_question: float
    question_tokens: float
    candidate_tokens: float
    grades: dict[int, int]
    baselines: dict[str, dict[str, float]]


def gather(
    questions: Iterable[Question],
    *,
    setting: str = "raw",
    rankers: Mapping[str, Any] | None = None,
    shuffled: Collection[str] = (),
) -> Statistics:
    """Counts of every setting, and the rest of `setting` alone; without `rankers` neither lengths nor baselines.

    Equal scores are broken by the original order; a ranker named in `shuffled` gets the candidates in a random one, so
    that its ties tell nothing of it. Memory does not grow with the data. Raises BadSetting.
    """
    totals = {name: [0, 0, 0] for name in SETTINGS}
    grades: Counter[int] = Counter()
    answered = tokens_asked = tokens_given = 0
    sums = {name: dict.fromkeys(MEASURES, 0.0) for name in ("random", *(rankers or {}))}
    for batch in _batches(iter(questions)):
        for q in batch:
            for name, total in totals.items():
                if kept(q, name):
                    total[0] += 1
                    total[1] += len(q.candidates)
                    total[2] += q.positives
        chosen = [q for q in batch if kept(q, setting)]
        for q in chosen:
            grades.update(c.grade for c in q.candidates if c.grade is not None)
            if rankers is not None:
                tokens_asked += _tokens(q.text)
                tokens_given += sum(_tokens(c.text) for c in q.candidates)
        with_answer = [q for q in chosen if q.positives]
        answered += len(with_answer)
        if rankers is not None:
            _add(sums, with_answer, rankers, shuffled)
    number, candidates, correct = totals[setting]
    return Statistics(
        {name: Counts(*total) for name, total in totals.items()},
        _share(answered, number),
        _share(candidates, number),
        _share(correct, number),
        _share(tokens_asked, number if rankers is not None else 0),
        _share(tokens_given, candidates if rankers is not None else 0),
        dict(sorted(grades.items())),
        {name: {m: _share(v, answered) for m, v in s.items()} for name, s in sums.items()} if rankers else {},
    )


def random_order(correct: int, candidates: int) -> dict[str, float]:
    """P@1 and average precision that a question's candidates get on average over all their orders.

    At place k, correct with probability R/n, stand 1 + (k-1)(R-1)/(n-1) correct ones so far; so
    AP = (1/n) sum_k (1/k)(1 + (k-1)(R-1)/(n-1)) = (H + (n-H)(R-1)/(n-1)) / n, with H the n-th harmonic number.
    """
    harmonic = sum(1 / k for k in range(1, candidates + 1))
    others = (correct - 1) / (candidates - 1) if candidates > 1 else 0.0
    return {"P@1": correct / candidates, "AP": (harmonic + (candidates - harmonic) * others) / candidates}


def _add(
    sums: dict[str, dict[str, float]],
    questions: list[Question],
    rankers: Mapping[str, Any],
    shuffled: Collection[str],
) -> None:
    for q in questions:
        for measure, value in random_order(q.positives, len(q.candidates)).items():
            sums["random"][measure] += value
    for name, ranker in rankers.items():
        seen = [in_random_order(q) for q in questions] if name in shuffled else questions
        scores = {q.qid: ranker.score(q.text, q.candidates) for q in seen}
        for measure, values in per_question(seen, scores, MEASURES).items():
            sums[name][measure] += sum(values.values())


def in_random_order(question: Question) -> Question:
    """Its candidates shuffled, always alike for the same qid: ties broken by their order then tell nothing."""
    order = random.Random(question.qid).sample(question.candidates, len(question.candidates))
    return replace(question, candidates=tuple(order))


def _batches(questions: Iterator[Question]) -> Iterator[list[Question]]:
    while batch := list(islice(questions, _BATCH)):
        yield batch


def _share(part: float, whole: int) -> float:
    return part / whole if whole else float("nan")


@lru_cache(maxsize=1)
def _tokenizer():
    import spacy

    return spacy.blank("en").tokenizer


@lru_cache(maxsize=4096)  # a paragraph's sentences come again with each of its questions
def _tokens(text: str) -> int:
    return len(_tokenizer()(text))
