"""How good an order is, through ir_measures over pytrec_eval (trec_eval's own code), and how sure one can be of it.

Ties are ours to break: trec_eval orders equal scores by document id, so it is given strictly decreasing ones, made
from `order`. A candidate nobody labelled counts as not correct, as an unjudged document does for trec_eval. A question
without any label cannot be judged and is left out of every mean; one with labels but no correct candidate counts 0
(only the setting "raw" keeps such questions, see `as2core.data.catalog.apply_setting`). nDCG gains what the grade says
where a set has grades (`Candidate.relevance`); the other measures know correct from not. A run and qrels written from
the same scores give the same figures in trec_eval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from as2core.errors import BadSetting
from as2core.types import Question

NAMES = ("AP", "RR", "P@1", "nDCG@10")


def order(scores: np.ndarray) -> np.ndarray:
    """Candidate positions, best first; ties go to the earlier candidate, never by a label. `(n,)` -> int `(n,)`."""
    return np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable")


def measures(
    questions: Iterable[Question], scores: Mapping[str, np.ndarray], names: Sequence[str] = NAMES
) -> dict[str, float]:
    """Mean of each measure over the questions with labels; NaN when there are none. Names as ir_measures has them."""
    return means(per_question(questions, scores, names))


def means(values: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The mean of each measure's `{qid: value}`, NaN without any."""
    return {name: float(np.mean(list(v.values()))) if v else float("nan") for name, v in values.items()}


def per_question(
    questions: Iterable[Question], scores: Mapping[str, np.ndarray], names: Sequence[str] = NAMES
) -> dict[str, dict[str, float]]:
    """`{name: {qid: value}}`, questions in the order given.

    Raises BadSetting for an unknown measure, for a question whose scores are missing or not one per candidate, and for
    two questions of one id.
    """
    qrels, run = {}, {}
    for q in questions:
        given = scores.get(q.qid)
        if given is None or len(given) != len(q.candidates):
            count = "no scores" if given is None else f"{len(given)} scores"
            raise BadSetting(f"question {q.qid!r}: {count} for {len(q.candidates)} candidates; give one for each")
        judged = {str(i): c.relevance for i, c in enumerate(q.candidates) if c.label is not None}
        if q.qid in qrels:
            raise BadSetting(f"two questions have the id {q.qid!r}; give each its own")
        if judged:
            qrels[q.qid] = judged
            run[q.qid] = {str(i): float(-place) for place, i in enumerate(order(given))}
    return _calculated(names, qrels, run)


def bounds(questions: Iterable[Question], scores: Mapping[str, np.ndarray]) -> dict[str, tuple[float, float]]:
    """The least and the greatest mean each of `NAMES` could come to over these questions, whatever the labels that are
    missing would say; of questions without any label nothing is told, NaN when there are no others. Where a set has
    grades above 1, nDCG is left out: what a missing one could be is not known.

    Of so many correct ones among the unlabelled a measure makes most where they are ranked highest, and least where
    lowest; so every number of them is tried, at both ends.
    """
    asked = list(questions)
    graded = any((c.relevance or 0) > 1 for q in asked for c in q.candidates)
    names = [name for name in NAMES if not (graded and name.startswith("nDCG"))]
    least: dict[str, dict[str, float]] = {name: {} for name in names}
    most: dict[str, dict[str, float]] = {name: {} for name in names}
    for q in asked:
        labels = [q.candidates[i].label for i in order(scores[q.qid])]
        missing = [place for place, label in enumerate(labels) if label is None]
        if len(missing) == len(labels):
            continue
        cases = np.tile([label == 1 for label in labels], (1 + 2 * len(missing), 1))
        for n in range(1, len(missing) + 1):
            cases[2 * n - 1, missing[:n]] = cases[2 * n, missing[-n:]] = True
        for name, values in _of_orders(cases).items():
            if name in least:
                least[name][q.qid], most[name][q.qid] = float(values.min()), float(values.max())
    low, high = means(least), means(most)
    return {name: (low[name], high[name]) for name in names}


def _of_orders(correct: np.ndarray) -> dict[str, np.ndarray]:
    """`NAMES` of many orders at once, which trec_eval would take minutes for: bool `(orders, places)`, best first."""
    found, places = correct.cumsum(1), np.arange(1, correct.shape[1] + 1)
    of_all = np.maximum(found[:, -1], 1)
    discount = 1 / np.log2(places[:10] + 1)
    ideal = discount.cumsum()[np.minimum(of_all, len(discount)) - 1]
    return {
        "AP": (correct * found / places).sum(1) / of_all,
        "RR": (correct / places).max(1),
        "P@1": correct[:, 0].astype(float),
        "nDCG@10": correct[:, :10] @ discount / ideal,
    }


def _calculated(
    names: Sequence[str], qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    import ir_measures

    names_of: dict[object, list[str]] = {}
    for name in names:
        names_of.setdefault(_parse(name), []).append(name)
    values = {name: dict.fromkeys(qrels, 0.0) for name in names}
    if qrels:
        for found in ir_measures.iter_calc(list(names_of), qrels, run):
            for name in names_of[found.measure]:
                values[name][found.query_id] = float(found.value)
    return values


def _parse(name: str):
    import ir_measures

    try:
        measure = ir_measures.parse_measure(name)
        measure.validate_params()
        return measure
    except (NameError, ValueError, AssertionError) as error:
        raise BadSetting(f"no measure {name!r}; ir_measures has AP, RR, P@1, nDCG@10, R@5, Judged@10 ...") from error


def bootstrap(
    values: Iterable[float], *, seed: int = 0, samples: int = 2000, level: float = 0.95
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean, questions drawn anew. Raises BadSetting when there is no value."""
    from scipy import stats

    values = np.asarray(list(values), dtype=np.float64)  # (questions,)
    if not len(values):
        raise BadSetting("no values to draw an interval from: give that of one question or more")
    if np.ptp(values) == 0:
        return float(values[0]), float(values[0])
    found = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=samples,
        batch=200,
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(found.low), float(found.high)


@dataclass(frozen=True, slots=True)
class Paired:
    """`difference` is the mean of a minus the mean of b, with its bootstrap interval; wins are questions a does better.

    `p` is two-sided, by a randomisation test over the questions.
    """

    difference: float
    low: float
    high: float
    p: float
    wins: int
    losses: int
    ties: int


def paired_test(a: Mapping[str, float], b: Mapping[str, float], *, seed: int = 0, samples: int = 9999) -> Paired:
    """Compare two rankers' values (`{qid: value}`) on the same questions; exact when the signs can be enumerated.

    Raises BadSetting when the questions differ or there are none.
    """
    from scipy import stats

    if not a or set(a) != set(b):
        raise BadSetting(f"a paired test needs the same questions on both sides; here {len(a)} and {len(b)} differ")
    differences = np.array([a[qid] - b[qid] for qid in a], dtype=np.float64)  # (questions,)
    differences[np.abs(differences) < 1e-9] = 0.0
    moved = differences[differences != 0]
    p = 1.0
    if len(moved) > 1:  # one alone could have gone either way: p is 1
        test = stats.permutation_test(
            (moved, np.zeros_like(moved)),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=samples,
            batch=500,
            rng=np.random.default_rng(seed),
        )
        p = float(test.pvalue)
    low, high = bootstrap(differences, seed=seed)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    return Paired(float(differences.mean()), low, high, p, wins, losses, len(differences) - wins - losses)
