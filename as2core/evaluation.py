"""Run a ranker over labelled questions: how good its orders are, how long they took, what they cost.

The whole of a question's candidates is ranked, also those nobody judged; `as2core.metrics` says how they count.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from as2core import metrics
from as2core.cascade.trace import CascadeTrace
from as2core.data.catalog import apply_setting
from as2core.errors import BadSetting
from as2core.metrics import Paired, bootstrap, paired_test
from as2core.rankers.base import Ranker
from as2core.types import OnProgress, Progress, Question

AT_ONCE = 500  # candidates of several questions that share a run, for rankers that can

__all__ = ["Cut", "Evaluation", "Paired", "bootstrap", "count_cuts", "evaluate", "intervals", "paired_test"]


@dataclass(frozen=True, slots=True)
class Cut:
    """What one stage of a cascade did with all questions' candidates. Of those it `dropped`, `correct` were correct;
    `lost` are the questions whose last correct candidate went with them."""

    stage: str
    entered: int
    dropped: int
    correct: int
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What `evaluate` found. `metrics` are means, `per_question` is `{name: {qid: value}}`, `scores` `{qid: (n,)}`.

    `seconds` is the ranker's own time. `relative_cost` is the FLOPs spent over those of the monolithic model of the
    same depth, all questions together; None for a ranker that keeps no account of it. `cuts` are a cascade's, by stage;
    none where nobody was dropped.
    """

    ranker: str
    setting: str
    questions: int
    metrics: dict[str, float]
    per_question: dict[str, dict[str, float]]
    scores: dict[str, np.ndarray]
    seconds: float
    relative_cost: float | None
    cuts: tuple[Cut, ...] = ()


def evaluate(
    ranker: Ranker,
    questions: Iterable[Question],
    *,
    setting: str = "clean",
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """Score every question the setting keeps.

    Raises BadSetting when the setting keeps none, when a qid comes twice, or when the ranker gives scores that are not
    one finite number per candidate. An exception from `on_progress` stops the run.
    """
    kept = apply_setting(questions, setting)
    if not kept:
        raise BadSetting(f"the setting {setting!r} keeps no question; label some candidates, or take another setting")
    if len({q.qid for q in kept}) < len(kept):
        twice = next(q.qid for q in kept if sum(q.qid == other.qid for other in kept) > 1)
        raise BadSetting(f"two questions have the id {twice!r}; give each its own")
    scores: dict[str, np.ndarray] = {}
    seconds, flops, full_flops = 0.0, 0, 0
    cuts: dict[str, Cut] = {}
    for together in _together(kept, AT_ONCE if hasattr(ranker, "trace_many") else 0):
        if on_progress:
            on_progress(Progress(len(scores), len(kept), together[0].text))
        started = time.perf_counter()
        traces: list = []
        if hasattr(ranker, "trace_many"):
            traces = ranker.trace_many([(q.text, q.candidates) for q in together])
        elif hasattr(ranker, "trace"):
            traces = [ranker.trace(q.text, q.candidates) for q in together]
        given = [t.scores() for t in traces] or [ranker.score(q.text, q.candidates) for q in together]
        seconds += time.perf_counter() - started
        flops += sum(t.flops for t in traces)
        full_flops += sum(t.full_flops for t in traces)
        for q, trace in zip(together, traces, strict=False):  # a ranker without traces has none
            count_cuts(cuts, q, trace)
        scores |= {q.qid: _checked(ranker, q, s) for q, s in zip(together, given, strict=True)}
    if on_progress:
        on_progress(Progress(len(kept), len(kept)))
    values = metrics.per_question(kept, scores)
    return Evaluation(
        ranker=ranker.name,
        setting=setting,
        questions=len(kept),
        metrics=metrics.means(values),
        per_question=values,
        scores=scores,
        seconds=seconds,
        relative_cost=flops / full_flops if full_flops else None,
        cuts=tuple(cuts.values()) if any(cut.dropped for cut in cuts.values()) else (),
    )


def count_cuts(found: dict[str, Cut], q: Question, trace: CascadeTrace) -> None:
    """Add one question's run to what each stage, by its title, did so far."""
    correct = {i for i, c in enumerate(q.candidates) if c.label == 1}
    for stage in trace.stages:
        gone = correct & set(stage.dropped.tolist())
        correct -= gone
        sofar = found.get(stage.title, Cut(stage.title, 0, 0, 0, ()))
        found[stage.title] = Cut(
            stage.title,
            sofar.entered + len(stage.alive),
            sofar.dropped + len(stage.dropped),
            sofar.correct + len(gone),
            (*sofar.lost, q.qid) if gone and not correct else sofar.lost,
        )


def _together(questions: Sequence[Question], candidates: int) -> Iterator[list[Question]]:
    """Questions in their order, in groups of about so many candidates; each alone for 0."""
    group: list[Question] = []
    for q in questions:
        group.append(q)
        if sum(len(g.candidates) for g in group) >= candidates:
            yield group
            group = []
    if group:
        yield group


def intervals(
    per_question: Mapping[str, Mapping[str, float]], *, seed: int = 0, level: float = 0.95
) -> dict[str, tuple[float, float]]:
    """A bootstrap interval of each measure's mean."""
    return {name: bootstrap(values.values(), seed=seed, level=level) for name, values in per_question.items()}


def _checked(ranker: Ranker, question: Question, given: np.ndarray) -> np.ndarray:
    given = np.asarray(given, dtype=np.float32)
    if given.shape != (len(question.candidates),) or not np.isfinite(given).all():
        raise BadSetting(
            f"{ranker.name} gave {given.shape} scores, {int(np.isfinite(given).sum())} of them finite, for the "
            f"{len(question.candidates)} candidates of question {question.qid!r}; a ranker gives one finite score each"
        )
    return given
