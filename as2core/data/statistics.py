"""The statistics of a data set in the papers' tables, in one pass over it.

- questions and candidates raw, no-all-neg and clean (the TandA paper, Table 2), the ASNQ labels (its Table 1);
- the share of questions with a correct candidate, candidates a question, lengths in spaCy's tokens, and the scores of a
  random order and of simple rankers on the questions with a correct candidate (the Structure paper, Table 2);
- candidates and correct ones a question (the Generation paper, Table 1; the Rerank paper, Table 1).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import numpy as np

from as2core.chance import expect_by_chance
from as2core.data.catalog import SETTINGS, matches_setting
from as2core.metrics import measure_each
from as2core.types import Candidate, Question

if TYPE_CHECKING:
    from spacy.tokenizer import Tokenizer

BASELINE_MEASURES = ("P@1", "AP")
_BATCH_QUESTIONS = 256


class Scorer(Protocol):
    """The part of a ranker that is used here."""

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        """A score for each candidate, `(n,)`."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of one setting."""

    questions: int
    candidates: int
    correct: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Averages are NaN where there is nothing to average; `baselines` is `{ranker: {measure: mean}}`. `textless`:
    candidates without a text, which the counts include."""

    counts: dict[str, Counts]
    answered: float
    candidates_per_question: float
    correct_per_question: float
    question_tokens: float
    candidate_tokens: float
    grades: dict[int, int]
    baselines: dict[str, dict[str, float]]
    textless: int


def compute_statistics(
    questions: Iterable[Question],
    *,
    setting: str = "raw",
    rankers: Mapping[str, Scorer] | None = None,
) -> Statistics:
    """Counts of every setting, and the rest of `setting` alone; without `rankers` neither lengths nor baselines.

    Equal scores are broken by the original order. Memory does not grow with the data. Raises BadSetting.
    """
    totals = {name: np.zeros(3, dtype=int) for name in SETTINGS}
    grades: Counter[int] = Counter()
    tokens = np.zeros(2, dtype=int)  # of the questions, of the candidates
    answer_count = textless = 0
    sums = {name: dict.fromkeys(BASELINE_MEASURES, 0.0) for name in ("random", *(rankers or {}))}
    questions = iter(questions)
    while batch := list(islice(questions, _BATCH_QUESTIONS)):
        for q in batch:
            for name, total in totals.items():
                if matches_setting(q, name):
                    total += (1, len(q.candidates), q.positives)
        in_setting = [q for q in batch if matches_setting(q, setting)]
        with_answer = [q for q in in_setting if q.positives]
        answer_count += len(with_answer)
        textless += sum(not c.text.strip() for q in in_setting for c in q.candidates)
        grades.update(c.grade for q in in_setting for c in q.candidates if c.grade is not None)
        if rankers is not None:
            for q in in_setting:
                tokens += (_count_tokens(q.text), sum(_count_tokens(c.text) for c in q.candidates))
            _add_baselines(sums, with_answer, rankers)
    number, candidates, correct = map(int, totals[setting])
    has_lengths = rankers is not None
    return Statistics(
        counts={name: Counts(*map(int, total)) for name, total in totals.items()},
        answered=_share(answer_count, number),
        candidates_per_question=_share(candidates, number),
        correct_per_question=_share(correct, number),
        question_tokens=_share(int(tokens[0]), number * has_lengths),
        candidate_tokens=_share(int(tokens[1]), candidates * has_lengths),
        grades=dict(sorted(grades.items())),
        baselines={n: {m: _share(v, answer_count) for m, v in s.items()} for n, s in sums.items()} if rankers else {},
        textless=textless,
    )


def _add_baselines(sums: dict[str, dict[str, float]], batch: list[Question], rankers: Mapping[str, Scorer]) -> None:
    for q in batch:
        expected = expect_by_chance(q)
        for measure in BASELINE_MEASURES:
            sums["random"][measure] += expected[measure]
    for name, ranker in rankers.items():
        scores = {q.qid: ranker.score(q.text, q.candidates) for q in batch}
        for measure, values in measure_each(batch, scores, BASELINE_MEASURES).items():
            sums[name][measure] += sum(values.values())


def _share(part: float, whole: int) -> float:
    return part / whole if whole else float("nan")


@lru_cache(maxsize=1)
def _tokenizer() -> "Tokenizer":
    import spacy

    return spacy.blank("en").tokenizer


@lru_cache(maxsize=4096)  # each question on a paragraph brings the same sentences
def _count_tokens(text: str) -> int:
    return len(_tokenizer()(text))
