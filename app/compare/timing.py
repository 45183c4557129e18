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

OnError = Callable[[str, Exception], None]


def _raise(name: str, error: Exception) -> None:
    raise error


def count_runs(rankers: int, questions: int) -> int:
    """How often `time_in_turns` runs a ranker, and calls `check`."""
    return rankers * (1 + ROUNDS * min(questions, MAX_TIMED_QUESTIONS))


def time_in_turns(
    rankers: Mapping[str, Ranker],
    questions: Sequence[Question],
    *,
    check: Callable[[], None] = lambda: None,
    on_error: OnError = _raise,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """The median seconds a question of each ranker, over the first questions and some rounds; a first run of each does
    not count. `check` is called between two runs and may raise to stop. `on_error` gets the name and the error of a
    ranker that fails, which has no seconds then and no further turn. {} without questions or rankers, and with too many
    rankers."""
    if not (rankers and questions) or len(rankers) > MAX_TIMED_RANKERS:
        return {}
    sample = questions[:MAX_TIMED_QUESTIONS]
    seconds: dict[str, list[float]] = {name: [] for name in rankers}

    def run(name: str, question: Question) -> None:
        check()
        before = clock()
        try:
            rankers[name].score(question.text, question.candidates)
        except Exception as error:
            on_error(name, error)
            del seconds[name]
        else:
            seconds[name].append(clock() - before)

    for name in rankers:
        run(name, sample[0])
    for turn, question in enumerate([*sample] * ROUNDS):
        names = [*seconds]
        start = turn % max(1, len(names))
        for name in names[start:] + names[:start]:
            run(name, question)
    return {name: statistics.median(values[1:]) for name, values in seconds.items()}
