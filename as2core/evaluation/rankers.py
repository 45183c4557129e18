"""Run a ranker over labelled questions: how good its orders are, how long they took, what they cost.

The whole of a question's candidates is ranked, also those nobody judged; `as2core.metrics` says how they count.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import numpy as np

from as2core import metrics
from as2core.data.catalog import apply_setting
from as2core.errors import BadSetting
from as2core.metrics import PairedTest, bound_mean, to_float32
from as2core.rankers.base import ChoosesEngine, KeepsTrace, Ranker, Trace, TracesTogether, bind_questions
from as2core.types import OnProgress, Progress, Question

MAX_PREPARATION_SECONDS = 600.0  # of an engine, before anything is scored
BATCH_CANDIDATES = 500  # of several questions that share a run, for rankers that can
MAX_P = 0.05  # of a difference that holds among several pairs


class Outcome(StrEnum):
    """What a paired test says of a against b."""

    BETTER = "better"
    UNCLEAR = "no clear difference"
    WORSE = "worse"


def find_outcome(test: PairedTest) -> Outcome:
    """The 95 % interval decides, where enough questions changed: above zero is better, below zero is worse, and
    anything else is no clear difference. See docs/decisions/0036-the-interval-decides.md."""
    if test.has_few_changes:
        return Outcome.UNCLEAR
    if test.low > 0:
        return Outcome.BETTER
    return Outcome.WORSE if test.high < 0 else Outcome.UNCLEAR


def is_clear(test: PairedTest, holm: float | None = None) -> bool:
    """Whether the difference is more than chance. `holm`: its p, corrected for the other pairs of a comparison, which
    it has to be more than chance among, too."""
    return find_outcome(test) is not Outcome.UNCLEAR and (holm is None or holm < MAX_P)


@dataclass(frozen=True, slots=True)
class Cut:
    """What one stage of a cascade did with all questions' candidates. Of those it `dropped`, `correct` were correct;
    `lost` are the questions whose last correct candidate was dropped there."""

    stage: str
    entered: int
    dropped: int
    correct: int
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What `evaluate` returns. `metrics` are means, `per_question` is `{name: {qid: value}}`, `scores` `{qid: (n,)}`.

    `seconds` is the ranker's own time. `relative_cost` is the FLOPs spent over those of the monolithic model of the
    same depth, all questions together; None for a ranker that does not count them. `cuts` are a cascade's, by stage;
    none where nothing was dropped.
    """

    ranker: str
    setting: str
    questions: int
    metrics: dict[str, float]
    per_question: dict[str, dict[str, float]] = field(repr=False)  # pages of numbers in a notebook
    scores: dict[str, np.ndarray] = field(repr=False)
    seconds: float
    relative_cost: float | None
    cuts: tuple[Cut, ...] = ()


@dataclass(frozen=True, slots=True)
class Tally:
    """What scoring some questions gave: `scores` is `{qid: (n,)}`, `is_costed` says whether every FLOP is counted."""

    scores: dict[str, np.ndarray]
    seconds: float
    flops: int
    full_flops: int
    is_costed: bool
    cuts: tuple[Cut, ...]


def join_evaluations(parts: Sequence[Evaluation]) -> Evaluation:
    """One evaluation over the questions of several, of which no two have a question in common. It has the name and the
    setting of the first, and neither cost nor cuts: the parts may be of different models."""
    first = parts[0]
    per_question = {
        name: {q: x for part in parts for q, x in part.per_question[name].items()} for name in first.metrics
    }
    return Evaluation(
        ranker=first.ranker,
        setting=first.setting,
        questions=sum(part.questions for part in parts),
        metrics={name: float(np.mean([*values.values()])) for name, values in per_question.items()},
        per_question=per_question,
        scores={qid: scores for part in parts for qid, scores in part.scores.items()},
        seconds=sum(part.seconds for part in parts),
        relative_cost=None,
    )


def evaluate(
    ranker: Ranker,
    questions: Iterable[Question],
    *,
    setting: str = "clean",
    measures: Sequence[str] = metrics.MEASURES,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """Score every question that the setting selects. `measures`: by ir_measures' names.

    Raises BadSetting when it selects none, when a qid comes twice, when a run lacks one of them, when the ranker is
    none, or gives scores that are not one finite number per candidate. An exception from `on_progress` stops the run.
    """
    _require_ranker(ranker)
    questions = select_questions(questions, setting)
    prepare_ranker(ranker, questions)
    tallies: list[Tally] = []
    done = 0
    for batch in _batches(questions, BATCH_CANDIDATES if isinstance(ranker, TracesTogether) else 0):
        if on_progress:
            on_progress(Progress(done, len(questions), batch[0].text))
        tallies.append(score_batch(ranker, batch))
        done += len(batch)
    if on_progress:
        on_progress(Progress(len(questions), len(questions)))
    return measure_tallies(ranker.name, questions, tallies, setting=setting, measures=measures)


def _require_ranker(ranker: object) -> None:
    if isinstance(ranker, str) or not (hasattr(ranker, "name") and hasattr(ranker, "score")):
        raise BadSetting(
            f"{ranker!r:.60} is no ranker, which has a name and a method score: give one of "
            "as2core.rankers.catalog.get, or the `ranker` of a Reranker"
        )


def select_questions(questions: Iterable[Question], setting: str) -> list[Question]:
    """Those of the setting. Raises BadSetting when there is none, or when a qid comes twice."""
    if isinstance(questions, str | Path):
        raise BadSetting(f"{str(questions)!r} was given: give questions, those of as2core.data.catalog.load_questions")
    questions = apply_setting(questions, setting)
    if not questions:
        raise BadSetting(f"the setting {setting!r} keeps no question; label some candidates, or take another setting")
    counts = Counter(q.qid for q in questions)
    if len(counts) < len(questions):
        raise BadSetting(f"two questions have the id {counts.most_common(1)[0][0]!r}; give each its own")
    return questions


def prepare_ranker(ranker: Ranker, questions: Sequence[Question] = ()) -> None:
    """Before the first of these questions is scored. Raises BadSetting when a run lacks one of them."""
    bind_questions(ranker, questions)
    if isinstance(ranker, ChoosesEngine):  # else the first questions may be scored by another engine than the last
        ranker.wait_until_prepared(MAX_PREPARATION_SECONDS)


def score_questions(ranker: Ranker, questions: Sequence[Question]) -> list[Tally]:
    """A tally for each batch, of a ranker that is prepared. Raises BadSetting for scores that are not one finite number
    per candidate."""
    size = BATCH_CANDIDATES if isinstance(ranker, TracesTogether) else 0
    return [score_batch(ranker, batch) for batch in _batches(questions, size)]


def score_batch(ranker: Ranker, batch: Sequence[Question]) -> Tally:
    """Raises BadSetting for scores that are not one finite number per candidate."""
    started = time.perf_counter()
    traces = _trace_batch(ranker, batch)
    batch_scores = [t.scores() for t in traces] or [ranker.score(q.text, q.candidates) for q in batch]
    seconds = time.perf_counter() - started
    cuts: dict[str, Cut] = {}
    for q, trace in zip(batch, traces, strict=False):  # a ranker without traces has none
        count_cuts(cuts, q, trace)
    return Tally(
        scores={q.qid: _check_scores(ranker, q, s) for q, s in zip(batch, batch_scores, strict=True)},
        seconds=seconds,
        flops=sum(t.flops for t in traces),
        full_flops=sum(t.full_flops for t in traces),
        is_costed=all(t.full_flops or not t.candidates for t in traces),
        cuts=tuple(cuts.values()),
    )


def measure_tallies(
    name: str,
    questions: Sequence[Question],
    tallies: Sequence[Tally],
    *,
    setting: str = "clean",
    measures: Sequence[str] = metrics.MEASURES,
) -> Evaluation:
    """The evaluation of the ranker of that name, of whose scores the tallies are. They hold each question once."""
    scores = {qid: s for tally in tallies for qid, s in tally.scores.items()}
    values = metrics.measure_each(questions, scores, measures)
    cuts = _add_cuts(tallies)
    full_flops = sum(t.full_flops for t in tallies)
    is_costed = bool(full_flops) and all(t.is_costed for t in tallies)
    return Evaluation(
        ranker=name,
        setting=setting,
        questions=len(questions),
        metrics=metrics.average(values),
        per_question=values,
        scores=scores,
        seconds=sum(t.seconds for t in tallies),
        relative_cost=sum(t.flops for t in tallies) / full_flops if is_costed else None,
        cuts=cuts if any(cut.dropped for cut in cuts) else (),
    )


def _add_cuts(tallies: Sequence[Tally]) -> tuple[Cut, ...]:
    sums: dict[str, Cut] = {}
    for cut in (cut for tally in tallies for cut in tally.cuts):
        before = sums.get(cut.stage, Cut(cut.stage, 0, 0, 0, ()))
        sums[cut.stage] = Cut(
            cut.stage,
            before.entered + cut.entered,
            before.dropped + cut.dropped,
            before.correct + cut.correct,
            before.lost + cut.lost,
        )
    return tuple(sums.values())


def _trace_batch(ranker: Ranker, batch: Sequence[Question]) -> Sequence[Trace]:
    """A trace for each question; none of a ranker that keeps none."""
    if isinstance(ranker, TracesTogether):
        return ranker.trace_many([(q.text, q.candidates) for q in batch])
    return [ranker.trace(q.text, q.candidates) for q in batch] if isinstance(ranker, KeepsTrace) else []


def count_cuts(cuts: dict[str, Cut], q: Question, trace: Trace) -> None:
    """Add one question's run to `cuts`, which has what each stage did so far, by its title."""
    correct = {i for i, c in enumerate(q.candidates) if c.label == 1}
    for stage in trace.stages:
        false_drops = correct & set(stage.dropped.tolist())
        correct -= false_drops
        cut = cuts.get(stage.title, Cut(stage.title, 0, 0, 0, ()))
        cuts[stage.title] = Cut(
            stage.title,
            cut.entered + len(stage.alive),
            cut.dropped + len(stage.dropped),
            cut.correct + len(false_drops),
            (*cut.lost, q.qid) if false_drops and not correct else cut.lost,
        )


def _batches(questions: Sequence[Question], candidates: int) -> Iterator[list[Question]]:
    """Questions in their order, in batches of about so many candidates; each alone for 0."""
    batch: list[Question] = []
    for q in questions:
        batch.append(q)
        if sum(len(b.candidates) for b in batch) >= candidates:
            yield batch
            batch = []
    if batch:
        yield batch


def compute_intervals(
    per_question: Mapping[str, Mapping[str, float]], *, seed: int = 0, level: float = 0.95
) -> dict[str, tuple[float, float]]:
    """The interval of each measure's mean, by `as2core.metrics.bound_mean`."""
    return {name: bound_mean(values.values(), seed=seed, level=level) for name, values in per_question.items()}


def _check_scores(ranker: Ranker, question: Question, scores: np.ndarray) -> np.ndarray:
    scores = np.asarray(scores)
    is_finite = np.isfinite(scores.astype(np.float32))
    if scores.shape != (len(question.candidates),) or not is_finite.all():
        raise BadSetting(
            f"{ranker.name} gave {scores.shape} scores, {int(is_finite.sum())} of them finite, for the "
            f"{len(question.candidates)} candidates of question {question.qid!r}; a ranker gives one finite score each"
        )
    return to_float32(scores)
