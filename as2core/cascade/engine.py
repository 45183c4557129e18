"""What an engine is, and the cascade run on one: score those alive, drop a share, go on with the survivors.

Several questions may share a run: their candidates are packed together, and each question has its own cut.
Exits at which nobody leaves are no barrier: the engine is handed the whole span up to the next cut at once.

An engine in 8 bits errs a little, and where the best candidates are nearer to each other than it errs, it may put the
wrong one first. So at the last exit those near the best are scored again in float32 (`rescore_best`). Their final
logits are float32's, all others the engine's: a logit may differ by the engine's error according to whether its
candidate was among the best of its list. The last exit's seconds and FLOPs hold that rescoring.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord, exit_flops, select_dropped
from as2core.cost import EncoderShape


class Run(Protocol):
    """Some pairs on their way through an engine. `lengths` are tokens a pair, known after the first `advance`."""

    lengths: np.ndarray

    def advance(self, members: np.ndarray, first: int, last: int) -> tuple[np.ndarray, list[float]]:
        """Take these pairs through exits first..last-1 (by index): logits (last - first, members), seconds an exit."""

    def exact(self, members: np.ndarray) -> np.ndarray:
        """The last exit's logits of these pairs in float32: (members,)."""


class Engine(Protocol):
    """Runs a cascade's stretches of layers; `exits` are their last layers.

    `error`: logits this near to each other may be in the wrong order, so the best are scored again by `Run.exact`. 0:
    its logits are final. `identity`: all that its logits depend on beside the texts; "" where that is not known.
    """

    name: str
    identity: str
    error: float
    exits: tuple[int, ...]
    shape: EncoderShape

    def start(self, questions: Sequence[str], texts: Sequence[str], *, keeps_states: bool = False) -> Run:
        """`keeps_states`: pairs that do not `advance` with the others can do so later, from the exit they reached."""


def run_cascade(
    engine: Engine, queries: Sequence[tuple[str, Sequence[str]]], schedule: DropSchedule
) -> list[CascadeTrace]:
    """Every question's candidate texts through the cascade; a trace a question. Seconds are shared out by FLOPs."""
    if not queries:
        return []
    run = engine.start([q for q, texts in queries for _ in texts], [t for _, texts in queries for t in texts])
    return _advance_all(engine, run, [len(texts) for _, texts in queries], schedule)


def run_completely(
    engine: Engine,
    question: str,
    texts: Sequence[str],
    schedule: DropSchedule,
    on_answer: Callable[[CascadeTrace], None],
) -> CascadeTrace:
    """A question's complete trace, as of a run that drops nothing. Those that stay under the schedule go first, and
    `on_answer` gets their run; then the others go on from where they were dropped."""
    run = engine.start([question] * len(texts), texts, keeps_states=True)
    trace = _advance_all(engine, run, [len(texts)], schedule)[0]
    on_answer(trace)
    return _complete(engine, run, trace)


def _complete(engine: Engine, run: Run, trace: CascadeTrace) -> CascadeTrace:
    exits, n = len(engine.exits), trace.candidates
    scores, seconds = np.empty((exits, n), np.float32), np.array([e.seconds for e in trace.exits])
    is_exact = np.zeros(n, bool)
    is_exact[trace.exits[-1].again] = True
    for i, e in enumerate(trace.exits):
        scores[i, e.alive] = e.scores
    for i, e in enumerate(trace.exits[:-1], 1):
        if len(e.dropped):
            scores[i:, e.dropped], more = run.advance(e.dropped, i, exits)
            seconds[i:] += more
    if engine.error:
        began = time.perf_counter()
        scores[-1], is_exact = rescore_best(scores[-1], np.array([n]), engine.error, run.exact, is_exact)
        seconds[-1] += time.perf_counter() - began
    everyone, none = np.arange(n), np.zeros(0, int)
    again, records, below = np.flatnonzero(is_exact), [], 0
    for i, layer in enumerate(engine.exits):
        twice = again if i == exits - 1 else none
        flops = exit_flops(below, layer, run.lengths, run.lengths[twice], engine.shape)
        tokens = int(run.lengths.sum())
        records.append(ExitRecord(layer, everyone, scores[i], none, float(seconds[i]), tokens, flops, again=twice))
        below = layer
    return CascadeTrace(run.lengths, tuple(records), DropSchedule.constant(0.0, exits=exits), engine.shape)


def _advance_all(engine: Engine, run: Run, sizes: Sequence[int], schedule: DropSchedule) -> list[CascadeTrace]:
    """The cascade over the run's pairs, of which each question has so many as `sizes` says."""
    begins = np.cumsum([0, *sizes[:-1]])
    alive = [np.arange(begin, begin + n) for begin, n in zip(begins, sizes, strict=True)]  # places among all pairs
    records: list[list[ExitRecord]] = [[] for _ in sizes]
    first, exits = 0, len(engine.exits)
    none = np.zeros(0, int)
    while first < exits:
        last = first + 1
        while last < exits and all(schedule.count_survivors(last - 1, len(a)) == len(a) for a in alive):
            last += 1
        members = np.concatenate(alive)
        scores, seconds = run.advance(members, first, last)
        ends = np.cumsum([len(a) for a in alive])[:-1]
        again = [none] * len(sizes)  # a question: those whose logits of the last exit are settled
        if last == exits and engine.error:
            began = time.perf_counter()
            scores[-1], is_exact = rescore_best(scores[-1], ends, engine.error, partial(_score_exactly, run, members))
            seconds[-1] += time.perf_counter() - began
            again = [a[k] for a, k in zip(alive, np.split(is_exact, ends), strict=True)]
        for i in range(first, last):
            below, layer = engine.exits[i - 1] if i else 0, engine.exits[i]
            twice = again if i == exits - 1 else [none] * len(sizes)
            pairs = [(run.lengths[a], run.lengths[t]) for a, t in zip(alive, twice, strict=True)]
            flops = [exit_flops(below, layer, once, more, engine.shape) for once, more in pairs]
            share = seconds[i - first] / max(1, sum(flops))
            for question, logits in enumerate(np.split(scores[i - first], ends)):
                here, begin = alive[question] - begins[question], begins[question]
                dropped = select_dropped(here, logits, schedule.count_survivors(i, len(here)))
                cost, tokens = flops[question], int(run.lengths[here + begin].sum())
                rescored = twice[question] - begin
                record = ExitRecord(layer, here, logits, dropped, share * cost, tokens, cost, again=rescored)
                records[question].append(record)
        alive = [np.setdiff1d(a, r[-1].dropped + b) for a, r, b in zip(alive, records, begins, strict=True)]
        first = last
    return [
        CascadeTrace(run.lengths[b : b + n], tuple(r), schedule, engine.shape)
        for b, n, r in zip(begins, sizes, records, strict=True)
    ]


def _score_exactly(run: Run, members: np.ndarray, at: np.ndarray) -> np.ndarray:
    return run.exact(members[at])


def rescore_best(
    logits: np.ndarray,
    ends: np.ndarray,
    error: float,
    exact: Callable[[np.ndarray], np.ndarray],
    is_exact: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Logits (n,) of several questions, split at `ends`, with those that may be their question's best made exact:
    whoever is within `error` of the best is scored again, until the best stands alone or all near it are exact.
    And which these are, bool (n,); `is_exact` are those that were so before."""
    logits = logits.copy()
    is_exact = np.zeros(len(logits), bool) if is_exact is None else is_exact.copy()
    questions = [part for part in np.split(np.arange(len(logits)), ends) if len(part)]
    while True:
        near = [part[logits[part] >= logits[part].max() - error] for part in questions]
        open_ = [part[~is_exact[part]] for part in near if len(part) > 1]
        at = np.concatenate(open_) if open_ else np.zeros(0, int)
        if not len(at):
            return logits, is_exact
        logits[at], is_exact[at] = exact(at), True
