"""Which of two rankers is better on these questions, with few labels: what to label next, and when to stop.

A question is drawn with a probability planned from what is known (`draws`), then its candidates are labelled, those
first that say most of its difference (`differences`), until the difference is known whatever the rest is, or for as
long as a label is worth it (`reading`); then it may be drawn again. Questions that both rankers answer alike are known
from the start. After every draw the interval is updated (`betting`), which may be read at any time. The answer is about
the mean difference over all these questions, as if every candidate were labelled.

Labels that came otherwise (before, or from others meanwhile) count as known from then on. They must not have been
chosen by their answer. Which question is drawn follows from the seed and the labels, so a decision can be replayed from
its labels and their probabilities; a label whose draw comes out otherwise today counts as one that came otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose

import numpy as np

from as2core.deciding.betting import Bets
from as2core.deciding.differences import (
    DECIDING_MEASURES,
    OrderPair,
    bound_difference,
    choose_item,
    measure_difference,
    weigh_items,
)
from as2core.deciding.draws import Draw, plan_probabilities, weigh_draws
from as2core.deciding.powered import MIN_QUESTIONS, PoweredMean, estimate_powered_mean
from as2core.deciding.proxy import RankProxy
from as2core.deciding.reading import SLACK, Reading, predict_change
from as2core.errors import BadSetting
from as2core.metrics import bound_mean

A, B, EQUAL, OPEN = "a", "b", "equal", "open"
SAMPLES = 48  # of a question's missing labels, to predict its difference
RELEARN = 1.25  # the predictions are made anew when so many times as many questions are known
MIN_FORECAST_DRAWS = 4
MIN_DRAWS = 2  # for an estimate of other questions
STEP = 0.01  # between the means that are tested
SETTLED = 1e-9


@dataclass(frozen=True, slots=True)
class DecisionSettings:
    """`tolerance`: a difference that does not matter. `is_planned`: False draws questions at random and reads their
    lists until their difference is known, to compare with. Raises BadSetting."""

    measure: str = "P@1"
    level: float = 0.95
    tolerance: float = 0.02
    seed: int = 0
    is_planned: bool = True

    def __post_init__(self) -> None:
        if self.measure not in DECIDING_MEASURES:
            raise BadSetting(f"no measure {self.measure!r} to decide by; known: {', '.join(DECIDING_MEASURES)}")
        if not 0.5 <= self.level < 1:
            raise BadSetting(f"level {self.level:g}: give one from 0.5 to below 1, such as 0.95")
        if not 0 <= self.tolerance < 1:
            raise BadSetting(f"tolerance {self.tolerance:g}: give one from 0 to below 1, such as 0.02")


@dataclass(frozen=True, slots=True)
class Item:
    """A candidate to label, by position; `probability`: with which its question was drawn and its list read so far."""

    qid: str
    candidate: int
    probability: float


@dataclass(frozen=True, slots=True)
class Conclusion:
    """`outcome`: which is better, `EQUAL` (no difference above the tolerance), or `OPEN`. `confidence`: that what is
    known so far speaks for `outcome`, at any look; of an open one, for the ranker ahead. `is_certain`: no missing label
    can change it. `low`, `high`: the interval of A minus B over these questions. `labels` were given so far, `more` are
    expected to be needed, None if it is too early to say; `most` would settle it in any case. `draws` are finished."""

    outcome: str
    confidence: float
    estimate: float
    low: float
    high: float
    is_certain: bool
    questions: int
    known_questions: int
    labels: int
    more: int | None
    most: int
    draws: int


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """Immutable: every label gives a new one. `draws`: the finished ones, each with the value read. `current`: the
    one in hand. `labels` were given, `learned_labels` no draw brought. `bounds`
    `(questions, 2)`, `predictions` and `deviations` `(questions,)` of the differences."""

    settings: DecisionSettings
    pairs: tuple[OrderPair, ...]
    proxy: RankProxy
    offsets: np.ndarray
    uniforms: tuple[np.ndarray, ...]
    bounds: np.ndarray
    costs: np.ndarray
    probabilities: np.ndarray
    predictions: np.ndarray
    deviations: np.ndarray
    bets: Bets
    learned_from: int
    draws: tuple[tuple[Draw, float], ...] = ()
    current: Reading | None = None
    labels: int = 0
    learned_labels: int = 0

    @classmethod
    def start(
        cls,
        pairs: Sequence[OrderPair],
        settings: DecisionSettings,
        probabilities: Mapping[str, np.ndarray] | None = None,
    ) -> Decision:
        """`probabilities`: of each candidate being correct, `{qid: (n,)}`; from a model that learnt from none of these
        labels. Raises BadSetting without a question, and for two of one id."""
        if not pairs:
            raise BadSetting("there is no question to decide on: give some with candidates, labelled or not")
        if len({p.qid for p in pairs}) < len(pairs):
            raise BadSetting("two questions have the same id; give each its own")
        ranks = [(_ranks(p.order_a), _ranks(p.order_b)) for p in pairs]
        stacked = None if probabilities is None else np.concatenate([probabilities[p.qid] for p in pairs])
        proxy = RankProxy(np.concatenate([a for a, _ in ranks]), np.concatenate([b for _, b in ranks]), stacked)
        offsets = np.cumsum([0, *(len(p.labels) for p in pairs)])
        means = np.unique(np.round([*np.arange(-1, 1 + STEP, STEP), 0.0, -settings.tolerance, settings.tolerance], 9))
        uniforms = tuple(
            np.random.default_rng([settings.seed, 1, i]).random((SAMPLES, len(p.labels))) for i, p in enumerate(pairs)
        )
        zeros = np.zeros(len(pairs))
        bounds = np.array([bound_difference(p, settings.measure) for p in pairs])
        costs = np.array([_count_needed(p, settings.measure) for p in pairs])
        decision = cls(
            settings, tuple(pairs), proxy, offsets, uniforms, bounds, costs, np.zeros(offsets[-1]), zeros, zeros,
            Bets.start(means), 0,
        )  # fmt: skip
        return decision._learn()._draw()

    @property
    def item(self) -> Item | None:
        """What to label next; None when everything that matters is known."""
        if self.current is None:
            return None
        place = self.current.place
        return Item(self.pairs[place].qid, self._choose(place), self.current.probability)

    @property
    def is_known(self) -> np.ndarray:
        """Which questions' differences are known. `(questions,)`"""
        return self.bounds[:, 1] - self.bounds[:, 0] < SETTLED

    def give(self, label: int) -> Decision:
        """With a label, 1 or 0, for `item`. What cannot be told counts as 0, as a missing label does in every measure.
        Raises BadSetting when there is no item."""
        item = self.item
        if item is None or self.current is None:
            raise BadSetting("there is nothing to label any more: the conclusion stands")
        return replace(self._put(self.current.place, item.candidate, label), labels=self.labels + 1)._go_on()

    def suppose(self) -> Decision:
        """As if `item` had the label that is predicted for it, to see what would come next. Raises BadSetting as
        `give`."""
        item = self.item
        if item is None or self.current is None:
            return self.give(0)
        probability = self.probabilities[self.offsets[self.current.place] + item.candidate]
        return self.give(int(probability >= 0.5))

    def give_to(self, item: Item, label: int) -> Decision:
        """With a label for an item of an earlier run of this decision. Where this run draws another question, or this
        one with another probability (the program or the seed is another), it is taken by `learn_of`."""
        place, reading = self._find(item.qid), self.current
        if reading is None or reading.place != place or not isclose(reading.probability, item.probability):
            decision = self.learn_of(item.qid, item.candidate, label)
        else:
            decision = self._put(place, item.candidate, label)._go_on()
        return replace(decision, labels=self.labels + 1)

    def learn_of(self, qid: str, candidate: int, label: int) -> Decision:
        """With a label that no draw of this decision brought: it is known from then on, and nothing is bet on it. If
        its question is in hand, one is drawn anew."""
        place = self._find(qid)
        decision = replace(self._put(place, candidate, label), learned_labels=self.learned_labels + 1)
        if self.current is not None and self.current.place != place:
            return decision
        return replace(decision, current=None)._draw()

    def _find(self, qid: str) -> int:
        for place, pair in enumerate(self.pairs):
            if pair.qid == qid:
                return place
        raise BadSetting(f"no question {qid!r} in this decision")

    def _put(self, place: int, candidate: int, label: int) -> Decision:
        pairs, bounds, costs = list(self.pairs), self.bounds.copy(), self.costs.copy()
        pairs[place] = pair = pairs[place].with_label(candidate, label)
        bounds[place] = bound_difference(pair, self.settings.measure)
        costs[place] = _count_needed(pair, self.settings.measure)
        return replace(self, pairs=tuple(pairs), bounds=bounds, costs=costs)

    def _go_on(self) -> Decision:
        """After a label: on with the list in hand, or the bets and the next draw."""
        reading = self.current
        if reading is None:
            return self
        place = reading.place
        if self.is_known[place]:
            return self._finish(reading.see(float(self.bounds[place, 0])))
        prediction, size = self._predict(place)
        reading = reading.see(prediction)
        if not self.settings.is_planned:
            return replace(self, current=reading)
        weight = reading.plan_weight(size, *self.bounds[place])
        rng = np.random.default_rng([*self._seeds(3), len(self.pairs[place].missing)])
        if rng.random() >= reading.weight / weight:
            return self._finish(reading)
        return replace(self, current=replace(reading, weight=weight))

    def _finish(self, reading: Reading) -> Decision:
        draw = reading.draw
        bets = self.bets.see(draw.estimate(reading.value), draw.low, draw.high)
        decision = replace(self, bets=bets, draws=(*self.draws, (draw, reading.value)), current=None)
        if len(decision.draws) >= RELEARN * decision.learned_from + 1:
            decision = decision._learn()
        elif not self.is_known[draw.place]:
            decision = decision._predict_differences([draw.place])
        return decision._draw()

    def _choose(self, place: int) -> int:
        span = slice(self.offsets[place], self.offsets[place + 1])
        return choose_item(self.pairs[place], self.settings.measure, self.probabilities[span])

    def _predict(self, place: int) -> tuple[float, float]:
        """Of a question that is not known: the expected difference, and how much the next label is to change it."""
        item, chances = self._choose(place), self._estimate_chances(place)
        cases = self.uniforms[place] < chances
        prediction, size = predict_change(self.pairs[place], item, cases, chances[item], self.settings.measure)
        return float(np.clip(prediction, *self.bounds[place])), size

    def _estimate_chances(self, place: int) -> np.ndarray:
        """Of each candidate being correct, `(n,)`."""
        labels = self.pairs[place].labels
        return np.where(labels >= 0, labels, self.probabilities[self.offsets[place] : self.offsets[place + 1]])

    def _learn(self) -> Decision:
        """Predictions from all labels so far."""
        probabilities = self.proxy.predict(np.concatenate([p.labels for p in self.pairs]))
        decision = replace(self, probabilities=probabilities, learned_from=len(self.draws))
        return decision._predict_differences(np.flatnonzero(~self.is_known))

    def _predict_differences(self, places: Sequence[int] | np.ndarray) -> Decision:
        predictions, deviations = self.predictions.copy(), self.deviations.copy()
        for place in places:
            cases = self.uniforms[place] < self._estimate_chances(place)
            values = measure_difference(self.pairs[place], cases, self.settings.measure)
            predictions[place], deviations[place] = values.mean(), values.std()
        return replace(self, predictions=predictions, deviations=deviations)

    def _draw(self) -> Decision:
        pool = np.flatnonzero(~self.is_known)
        if not len(pool):
            return self
        chances = self._plan(pool)
        choice = int(np.random.default_rng(self._seeds(2)).choice(len(pool), p=chances))
        place = int(pool[choice])
        slack, (_, size) = self._find_slack(place), self._predict(place)
        draw = self._describe_draw(place, float(chances[choice]))
        low, high = self.bounds[place]
        return replace(self, current=Reading.start(draw, float(low - slack), float(high + slack), size))

    def _seeds(self, purpose: int) -> list[int]:
        seeds = [self.settings.seed, purpose, len(self.draws)]
        if self.learned_labels:  # other numbers: the run that drew for those labels had these
            seeds.append(self.learned_labels)
        return seeds

    def _find_slack(self, places: int | np.ndarray) -> np.ndarray:
        """How far the values of these questions may leave their bounds."""
        share = SLACK[self.settings.measure] if self.settings.is_planned else 0.0
        return share * np.ptp(self.bounds[places], axis=-1) / 2

    def _plan(self, pool: np.ndarray) -> np.ndarray:
        if not self.settings.is_planned:
            return np.full(len(pool), 1 / len(pool))
        return plan_probabilities(self.deviations[pool], np.ptp(self.bounds[pool], axis=1) / 2)

    def _describe_draw(self, place: int, probability: float) -> Draw:
        pool = np.flatnonzero(~self.is_known)
        predictions = np.clip(self.predictions, self.bounds[:, 0], self.bounds[:, 1])  # of what is known, its value
        base, scale = float(predictions.mean()), len(self.pairs) * self._plan(pool)
        slack = self._find_slack(pool)
        low = base + float(((self.bounds[pool, 0] - slack - predictions[pool]) / scale).min())
        high = base + float(((self.bounds[pool, 1] + slack - predictions[pool]) / scale).max())
        return Draw(place, probability, float(predictions[place]), base, len(pool), len(self.pairs), low, high)

    # --- what it comes to ---------------------------------------------------------------------------------------------

    def judge(self) -> Conclusion:
        """The conclusion as it is now."""
        least, most = (float(x) for x in self.bounds.mean(0))
        low, high = self.bets.interval(self.settings.level)
        kind, confidence, is_certain = self._find_kind(least, most)
        low, high = min(max(low, least), most), max(min(high, most), least)
        return Conclusion(
            kind, confidence, min(max(self.estimate(), low), high), low, high, is_certain, len(self.pairs),
            int(self.is_known.sum()), self.labels, None if kind != OPEN else self._forecast(), int(self.costs.sum()),
            len(self.draws),
        )  # fmt: skip

    def estimate(self) -> float:
        """The mean difference over these questions."""
        if not self.draws or self.is_known.all():
            return float(np.clip(self.predictions, self.bounds[:, 0], self.bounds[:, 1]).mean())
        weights = weigh_draws([draw.pool for draw, _ in self.draws])
        return float(weights @ [draw.estimate(value) for draw, value in self.draws])

    def estimate_for_others(self) -> PoweredMean | None:
        """The mean difference over questions like these, with an interval for one look: of the known differences where
        all are, else a prediction-powered one; None of fewer than two draws, or questions."""
        if len(self.draws) < MIN_DRAWS or len(self.pairs) < MIN_QUESTIONS:
            return None
        level, predictions = self.settings.level, np.clip(self.predictions, self.bounds[:, 0], self.bounds[:, 1])
        if self.is_known.all():
            return PoweredMean(self.estimate(), *bound_mean(predictions, limits=(-1.0, 1.0), level=level))
        draws = [draw for draw, _ in self.draws]
        corrections = np.array([draw.estimate(value) - draw.base for draw, value in self.draws])
        deviations = np.where(self.is_known, 0.0, self.deviations)
        weights = weigh_draws([draw.pool for draw in draws])
        others = estimate_powered_mean(self.estimate(), corrections, weights, predictions, deviations, level=level)
        return PoweredMean(*(min(max(x, -1.0), 1.0) for x in (others.mean, others.low, others.high)))

    def _find_kind(self, least: float, most: float) -> tuple[str, float, bool]:
        tolerance, level = self.settings.tolerance, self.settings.level
        if -tolerance - SETTLED <= least and most <= tolerance + SETTLED:
            return EQUAL, 1.0, True
        if least > SETTLED or most < -SETTLED:
            return (A if least > 0 else B), 1.0, True
        a, b, equal = self._weigh_evidence()
        if max(a, b) >= level:
            return (A if a > b else B), max(a, b), False
        return (EQUAL, equal, False) if equal >= level else (OPEN, max(a, b), False)

    def _weigh_evidence(self) -> tuple[float, float, float]:
        """The confidence that A is better, that B is, and that neither is by more than the tolerance."""
        return tuple(max(0.0, 1 - 2 * float(np.exp(-log))) for log in self._logs())  # type: ignore[return-value]

    def _logs(self) -> tuple[float, float, float]:
        at = {round(float(m), 9): i for i, m in enumerate(self.bets.means)}
        above, below, tolerance = self.bets.log_above, self.bets.log_below, round(self.settings.tolerance, 9)
        equal = min(above[at[-tolerance or 0.0]], below[at[tolerance]])
        return float(above[at[0.0]]), float(below[at[0.0]]), float(equal)

    def _forecast(self) -> int | None:
        """Labels until the nearest end, if the evidence goes on growing at the pace of its draws so far."""
        if len(self.draws) < MIN_FORECAST_DRAWS:
            return None
        target, most = float(np.log(2 / (1 - self.settings.level))), int(self.costs.sum())
        paces = [log / len(self.draws) for log in self._logs()]
        draws = min(((target - p * len(self.draws)) / p for p in paces if p > 0), default=float("inf"))
        return min(most, max(1, round(min(draws * self.labels / len(self.draws), 1e9))))


def _ranks(places: np.ndarray) -> np.ndarray:
    ranks = np.empty(len(places))
    ranks[places] = np.arange(1, len(places) + 1)
    return ranks


def _count_needed(pair: OrderPair, measure: str) -> int:
    """At most so many labels make its difference known."""
    low, high = bound_difference(pair, measure)
    if high - low < SETTLED:
        return 0
    return len(pair.missing) if measure == "AP" else int((weigh_items(pair, measure) > SETTLED).sum())
