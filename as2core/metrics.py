"""Quality of a ranking, by ir_measures over pytrec_eval (trec_eval's own code), with intervals and a paired test.

trec_eval breaks ties by document id, so it gets strictly decreasing scores made from `order`, which breaks them in
our way. An unlabelled candidate counts as not correct, as an unjudged document does for trec_eval. A question
without any label is left out of every mean; one with labels but no correct candidate counts 0
(only the setting "raw" keeps such questions, see `as2core.data.catalog.apply_setting`). nDCG uses the grades
of a set that has them (`Candidate.relevance`); the other measures only correct or not. A run and qrels written from
the same scores give the same figures in trec_eval.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from as2core.errors import BadSetting
from as2core.sign_flips import compute_tail_p
from as2core.types import Question

if TYPE_CHECKING:
    from ir_measures import Measure

MEANINGS = {  # measure -> what it says, on Compare, in a version's card and in reports
    "AP": "average precision: how high all correct sentences rank",
    "RR": "reciprocal rank: how high the first correct sentence ranks",
    "P@1": "share of questions whose first sentence is correct",
    "nDCG@10": "how high the correct sentences rank among the first ten, by their grades",
}
MEASURES = tuple(MEANINGS)  # what is measured everywhere, by the names of ir_measures
LABEL_SHARE = "Judged"  # how much of the first ones has a label: a measure of the labels, not of a ranker
SHARES = ("AP", "Bpref", LABEL_SHARE, "nDCG", "P", "R", "Rprec", "RR", "Success")  # further ones that are from 0 to 1
MIN_CHANGED_QUESTIONS = 6  # the interval of fewer is too narrow: six of six have p = 2 / 2**6 = 0.03, five 0.06
MIN_DRAWS = 10  # both tails together, where p is taken from signs drawn evenly: from 0.001 of 9,999
EFFECTS = ((0.2, "negligible"), (0.5, "small"), (0.8, "medium"))  # effect sizes below these; else "large"


def order(scores: np.ndarray) -> np.ndarray:
    """Candidate positions, best first; ties go to the earlier candidate, never by a label. `(n,)` -> int `(n,)`."""
    return np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable")


def to_float32(scores: np.ndarray) -> np.ndarray:
    """Scores as 32-bit numbers in the same order: of two that differ, and would be equal, the lower becomes the next
    number below. `(n,)` -> float32 `(n,)`."""
    exact = np.asarray(scores, dtype=np.float64)
    narrow = exact.astype(np.float32)
    if len(np.unique(narrow)) < len(np.unique(exact)):
        for above, below in pairwise(order(exact).tolist()):
            if exact[below] == exact[above]:
                narrow[below] = narrow[above]
            elif narrow[below] >= narrow[above]:
                narrow[below] = np.nextafter(narrow[above], np.float32(-np.inf))
    return narrow


def to_ranks(scores: np.ndarray) -> np.ndarray:
    """Each candidate's rank from 1, by `order`; NaN comes last. `(n,)` -> int `(n,)`."""
    return 1 + np.argsort(order(scores))


def measure_mean(
    questions: Iterable[Question], scores: Mapping[str, np.ndarray], names: Sequence[str] = MEASURES
) -> dict[str, float]:
    """Mean of each measure over the questions with labels; NaN when there are none. Names as ir_measures has them.
    `scores`, qid -> `(candidates,)`, and errors as in `measure_each`."""
    return average(measure_each(questions, scores, names))


def measure_unranked(questions: Iterable[Question]) -> dict[str, float]:
    """The means of the order that the candidates come in: no reranking."""
    return average(measure_each_unranked(questions))


def measure_each_unranked(
    questions: Iterable[Question], names: Sequence[str] = MEASURES
) -> dict[str, dict[str, float]]:
    """The same by question, as `measure_each`."""
    questions = list(questions)
    return measure_each(questions, {q.qid: -np.arange(len(q.candidates)) for q in questions}, names)


def average(values: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The mean of each measure's `{qid: value}`, NaN without any."""
    return {name: float(np.mean(list(v.values()))) if v else float("nan") for name, v in values.items()}


def measure_each(
    questions: Iterable[Question], scores: Mapping[str, np.ndarray], names: Sequence[str] = MEASURES
) -> dict[str, dict[str, float]]:
    """`{name: {qid: value}}`, questions in the order given. `scores`: `{qid: (n,)}`, one for each candidate.

    Raises BadSetting for an unknown measure, for a question whose scores are missing or not one per candidate, and for
    two questions of one id.
    """
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for q in questions:
        values = scores.get(q.qid)
        if values is None or len(values) != len(q.candidates):
            count = "no scores" if values is None else f"{len(values)} scores"
            raise BadSetting(f"question {q.qid!r}: {count} for {len(q.candidates)} candidates; give one for each")
        labels = {str(i): c.relevance or 0 for i, c in enumerate(q.candidates) if c.label is not None}
        if q.qid in qrels:
            raise BadSetting(f"two questions have the id {q.qid!r}; give each its own")
        if labels:
            qrels[q.qid] = labels
            run[q.qid] = {str(i): float(-place) for place, i in enumerate(order(values))}
    return measure_run(qrels, run, names)


def measure_run(
    qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]], names: Sequence[str] = MEASURES
) -> dict[str, dict[str, float]]:
    """`{name: {qid: value}}` of a run `{qid: {docid: score}}` for the questions of qrels `{qid: {docid: relevance}}`,
    in their order; 0 for one that the run lacks. Equal scores are ordered by document id, as in trec_eval, but for
    Judged, which ir_measures computes itself: no two scores should be equal for it. Raises
    BadSetting for an unknown measure."""
    import ir_measures

    measures = {name: _parse_measure(name) for name in names}
    results = {measure: dict.fromkeys(qrels, 0.0) for measure in measures.values()}
    if qrels:
        for metric in ir_measures.iter_calc(list(results), dict(qrels), dict(run)):
            results[metric.measure][metric.query_id] = float(metric.value)
    return {name: results[measure] for name, measure in measures.items()}


def bound_metrics(questions: Iterable[Question], scores: Mapping[str, np.ndarray]) -> dict[str, tuple[float, float]]:
    """The least and the greatest mean that each of `MEASURES` could have over these questions, whatever the
    missing labels are; questions without any label are left out, NaN when there are no others. `scores`,
    qid -> `(candidates,)`, as in `measure_each`. Where a set has grades above 1, nDCG is left out: the missing grades
    are not known.

    For a number of correct ones among the unlabelled, a measure is highest where they are ranked first and lowest where
    last; so every number of them is tried, at both ends.
    """
    questions = list(questions)
    has_grades = any((c.relevance or 0) > 1 for q in questions for c in q.candidates)
    names = [name for name in MEASURES if not (has_grades and name.startswith("nDCG"))]
    least: dict[str, dict[str, float]] = {name: {} for name in names}
    most: dict[str, dict[str, float]] = {name: {} for name in names}
    for q in questions:
        labels = [q.candidates[i].label for i in order(scores[q.qid])]
        missing = [place for place, label in enumerate(labels) if label is None]
        if len(missing) == len(labels):
            continue
        cases = np.tile([label == 1 for label in labels], (1 + 2 * len(missing), 1))
        for n in range(1, len(missing) + 1):
            cases[2 * n - 1, missing[:n]] = cases[2 * n, missing[-n:]] = True
        for name, values in measure_orders(cases, names).items():
            least[name][q.qid], most[name][q.qid] = float(values.min()), float(values.max())
    low, high = average(least), average(most)
    return {name: (low[name], high[name]) for name in names}


def measure_orders(correct: np.ndarray, names: Sequence[str] = MEASURES) -> dict[str, np.ndarray]:
    """Some of `MEASURES` of many orders at once, for which trec_eval takes minutes: bool `(orders, places)`, best
    first."""
    hits, places = correct.cumsum(1), np.arange(1, correct.shape[1] + 1)
    total = np.maximum(hits[:, -1], 1)
    values = {}
    if "AP" in names:
        values["AP"] = (correct * hits / places).sum(1) / total
    if "RR" in names:
        values["RR"] = (correct / places).max(1)
    if "P@1" in names:
        values["P@1"] = correct[:, 0].astype(float)
    if "nDCG@10" in names:
        discount = 1 / np.log2(places[:10] + 1)
        values["nDCG@10"] = correct[:, :10] @ discount / discount.cumsum()[np.minimum(total, len(discount)) - 1]
    return values


def read_measures(text: str) -> list[str]:
    """Names divided by white space or commas, such as `R@5 nDCG@5 P(rel=2)@5`, as ir_measures writes them, each once.
    Raises BadSetting for what is none of SHARES: intervals and tables are made for values from 0 to 1."""
    measures = [_parse_measure(name) for name in text.replace(",", " ").split()]
    for measure in measures:
        if measure.NAME not in SHARES or measure.params.keys() - {"cutoff", "rel"}:
            raise BadSetting(f"{measure} is not measured here; give some of {', '.join(SHARES)}, as R@5 or P(rel=2)@5")
    return [*dict.fromkeys(map(str, measures))]


def _parse_measure(name: str) -> "Measure":
    import ir_measures

    ir_measures.util._ast_to_value = ast.literal_eval  # its own asks for classes that Python 3.14 has no more
    try:
        measure = ir_measures.parse_measure(name)
        measure.validate_params()
        if measure.params.get("cutoff", 1) < 1:  # which would end the process, in trec_eval
            raise ValueError("a cutoff below 1")
        return measure
    except (NameError, ValueError, AssertionError) as error:
        raise BadSetting(f"no measure {name!r}; ir_measures has AP, RR, P@1, nDCG@10, R@5, Judged@10 ...") from error


def bootstrap(
    values: Iterable[float], *, seed: int = 0, samples: int = 2000, level: float = 0.95
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean, questions drawn anew. Raises BadSetting when there is no value, or one
    that is not finite."""
    from scipy import stats

    values = np.asarray(list(values), dtype=np.float64)  # (questions,)
    if not len(values):
        raise BadSetting("no values to draw an interval from: give that of one question or more")
    if not np.isfinite(values).all():
        raise BadSetting(
            "a value to draw an interval from is not a finite number: leave its question out, or count it 0"
        )
    if np.ptp(values) == 0:
        return float(values[0]), float(values[0])
    rng = np.random.default_rng(seed)
    interval = stats.bootstrap(
        (values,), np.mean, n_resamples=samples, batch=200, confidence_level=level, method="percentile", rng=rng
    ).confidence_interval
    return float(interval.low), float(interval.high)


def wilson_interval(count: int, n: int, *, level: float = 0.95) -> tuple[float, float]:
    """The interval of a share, `count` of `n`, at 95 % by default (Wilson, 1927)."""
    from scipy.stats import binomtest

    interval = binomtest(count, n).proportion_ci(level, method="wilson")
    return float(interval.low), float(interval.high)


def bound_mean(
    values: Iterable[float], *, limits: tuple[float, float] = (0.0, 1.0), seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """The interval of a measure's mean: `bootstrap`'s; where all questions have one value, from which nothing else can
    be drawn, what the mean could be if other questions had the least or the greatest value there is (`limits`), as many
    as Wilson's interval of 0 of n allows. For shares, such as P@1, that is Wilson's interval itself: of one question
    that is right 0.21 to 1. Raises BadSetting as `bootstrap`."""
    values = np.asarray(list(values), dtype=np.float64)  # (questions,)
    if not (len(values) and np.ptp(values) < 1e-9):
        return bootstrap(values, seed=seed, level=level)
    value, share = float(values[0]), wilson_interval(0, len(values), level=level)[1]
    return value - (value - limits[0]) * share, value + (limits[1] - value) * share


@dataclass(frozen=True, slots=True)
class PairedTest:
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

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Of a record with these names among others, as in the JSON of `as2 eval`."""
        return cls(**{f.name: record[f.name] for f in fields(cls)})

    @property
    def questions(self) -> int:
        return self.changes + self.ties

    @property
    def changes(self) -> int:
        """Questions that one of the two does better."""
        return self.wins + self.losses

    @property
    def has_few_changes(self) -> bool:
        """Whether too few questions changed, or none, to judge by: their spread says little about others."""
        return self.changes < MIN_CHANGED_QUESTIONS


def paired_test(a: Mapping[str, float], b: Mapping[str, float], *, seed: int = 0, samples: int = 9999) -> PairedTest:
    """Compare two rankers' values (`{qid: value}`) on the same questions. p is exact when the signs can be enumerated;
    where hardly any draw is as extreme, it is that of `as2core.sign_flips`, which has no floor.

    Raises BadSetting when the questions differ or there are none, for values without their questions' ids, and for one
    that is not finite.
    """
    from scipy import stats

    if not (isinstance(a, Mapping) and isinstance(b, Mapping)):
        raise BadSetting('a paired test takes {qid: value} of both sides, as in per_question["AP"] of an evaluation')
    if not a or set(a) != set(b):
        raise BadSetting(
            f"a paired test needs the same questions on both sides; here are {len(a)} and {len(b)}, "
            f"{len(set(a) & set(b))} of them the same"
        )
    differences = np.array([a[qid] - b[qid] for qid in a], dtype=np.float64)  # (questions,)
    if not np.isfinite(differences).all():
        qid = [*a][int(np.argmin(np.isfinite(differences)))]
        raise BadSetting(
            f"question {qid!r} has the values {a[qid]} and {b[qid]}: leave it out on both sides, or count 0"
        )
    differences[np.abs(differences) < 1e-9] = 0.0
    nonzero = differences[differences != 0]
    p = 1.0
    if len(nonzero) > 1:  # one alone could have gone either way: p is 1
        rng = np.random.default_rng(seed)
        flips = stats.permutation_test(  # of the signs
            (nonzero,), np.mean, permutation_type="samples", n_resamples=samples, batch=500, rng=rng
        )
        p = float(flips.pvalue)
        if 2 ** len(nonzero) > samples and p < MIN_DRAWS / (samples + 1):
            p = compute_tail_p(nonzero, seed=seed, samples=samples)
    low, high = bootstrap(differences, seed=seed)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    return PairedTest(float(differences.mean()), low, high, p, wins, losses, len(differences) - wins - losses)


def find_effect_size(differences: Iterable[float]) -> float | None:
    """Cohen's d_z (1988): the mean of paired differences over their standard deviation, so in units of how much the
    questions differ. It does not grow with their number, as p falls. None for fewer than two, or where all are the
    same."""
    values = np.asarray(list(differences), dtype=np.float64)  # (questions,)
    if len(values) < 2 or np.ptp(values) < 1e-9:
        return None
    return float(values.mean() / values.std(ddof=1))


def name_effect(size: float) -> str:
    """Cohen's words for an effect size of either sign."""
    return next((word for limit, word in EFFECTS if abs(size) < limit), "large")


def find_detectable_difference(
    differences: Iterable[float], *, level: float = 0.95, power: float = 0.8
) -> float | None:
    """The smallest mean difference that a two-sided paired test at this level would have found with this probability,
    given the spread of these differences: (z_(1+level)/2 + z_power) sd / sqrt(n) (Cohen, 1988). None for fewer than two
    differences, where all are the same, and where fewer changed than the test takes to find anything."""
    values = np.asarray(list(differences), dtype=np.float64)  # (questions,)
    if np.count_nonzero(np.abs(values) >= 1e-9) < _count_least_changes(level):
        return None
    return _detect_by_spread(values, level=level, power=power)


def _detect_by_spread(values: np.ndarray, *, level: float, power: float) -> float | None:
    if len(values) < 2 or np.ptp(values) < 1e-9:
        return None
    return detect_by_error(float(values.std(ddof=1) / np.sqrt(len(values))), level=level, power=power)


def _count_least_changes(level: float) -> int:
    """How many questions have to change for a randomisation test to find anything: of n that all changed alike it gives
    p = 2 / 2^n, so six at the level 0.95."""
    return 1 + int(np.ceil(np.log2(1 / (1 - level))))


def find_sample_size(
    differences: Iterable[float], difference: float, *, level: float = 0.95, power: float = 0.8
) -> int | None:
    """How many questions like these a two-sided paired test takes to find a mean of `difference` with this probability:
    ((z_(1+level)/2 + z_power) sd / difference)^2; never fewer than it takes for enough of them to change, with this
    probability, for a randomisation test to find anything: of questions of which 14 % change, 55 hold six that do in 4
    of 5 cases. None for fewer than two differences, or where all are the same. Raises BadSetting for a difference that
    is not above 0."""
    from scipy.stats import nbinom

    if not difference > 0:
        raise BadSetting(f"difference {difference:g}: give one above 0, such as 0.02")
    values = np.asarray(list(differences), dtype=np.float64)  # (questions,)
    detectable = _detect_by_spread(values, level=level, power=power)
    if detectable is None:
        return None
    changes = _count_least_changes(level)
    share = np.count_nonzero(np.abs(values) >= 1e-9) / len(values)
    least = max(int(np.ceil(changes / share - 1e-9)), changes + int(nbinom.ppf(power, changes, share)))
    return max(least, int(np.ceil(len(values) * (detectable / difference) ** 2)))


def adjust_by_holm(p_values: Sequence[float]) -> list[float]:
    """Each p for the family that they are tested in: the chance of any false finding among all stays what each alone
    would have (Holm, 1979). In the order given. Tukey's HSD takes one spread for all rankers: it misses differences of
    steady rankers and finds false ones of unsteady rankers. Holm's takes none."""
    places = np.argsort(p_values, kind="stable")
    factors = np.arange(len(places), 0, -1)
    values = np.empty(len(places))
    values[places] = np.minimum(1, np.maximum.accumulate(factors * np.asarray(p_values, dtype=np.float64)[places]))
    return [float(p) for p in values]


def detect_by_error(
    standard_error: float, *, freedom: float = float("inf"), level: float = 0.95, power: float = 0.8
) -> float:
    """The smallest difference found with this probability by a test whose estimate has this standard error, on so many
    degrees of freedom."""
    from scipy.stats import norm, t

    ppf = norm.ppf if np.isinf(freedom) else partial(t.ppf, df=freedom)
    return float((ppf((1 + level) / 2) + ppf(power)) * standard_error)
