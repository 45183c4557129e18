"""Seconds that rankers take, measured in turns: all of them on one question before the next, in an order that moves on,
so that a machine busy for a while is busy for all. Seconds taken at different times compare the machine's load instead.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

from as2core.rankers.base import Ranker
from as2core.types import Question

MAX_TIMED_RANKERS = 8  # all are in memory at once
MAX_TIMED_QUESTIONS = 10
ROUNDS = 3


def count_runs(rankers: int, questions: int) -> int:
    """How often `time_in_turns` runs a ranker, and calls `check`."""
    return rankers * (1 + ROUNDS * min(questions, MAX_TIMED_QUESTIONS))


def time_in_turns(
    rankers: Mapping[str, Ranker],
    questions: Sequence[Question],
    *,
    check: Callable[[], None] = lambda: None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """The median seconds a question of each ranker, over the first questions and some rounds; a first run of each does
    not count. `check` is called between two runs and may raise to stop. {} without questions or rankers, and with too
    many rankers."""
    if not (rankers and questions) or len(rankers) > MAX_TIMED_RANKERS:
        return {}
    names, sample = list(rankers), questions[:MAX_TIMED_QUESTIONS]
    for ranker in rankers.values():
        check()
        ranker.score(sample[0].text, sample[0].candidates)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn, question in enumerate([*sample] * ROUNDS):
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            check()
            before = clock()
            rankers[name].score(question.text, question.candidates)
            seconds[name].append(clock() - before)
    return {name: statistics.median(values) for name, values in seconds.items()}
