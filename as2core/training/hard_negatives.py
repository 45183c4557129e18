"""The incorrect candidates that the ranker itself ranks high (after Xiong et al., 2021, arXiv:2007.00808, who mine them
from a whole collection; here they are a question's own labelled candidates).

Where a list is labelled whole, most of its incorrect candidates are far from an answer, and a few drawn at random teach
little. Those near the top are what the ranker mixes up with the answer.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from as2core.data.lazy_questions import map_questions
from as2core.metrics import order
from as2core.rankers.base import Ranker
from as2core.types import OnProgress, Progress, Question


def keep_highest_negatives(
    ranker: Ranker, questions: Sequence[Question], number: int, on_progress: OnProgress
) -> Sequence[Question]:
    """The questions with at most `number` incorrect candidates each, those that the ranker scores highest; all others
    stay. `on_progress` is called before each question that is scored; what it raises ends the scoring."""
    long = [i for i, q in enumerate(questions) if q.negatives > number]
    hardest: dict[int, set[int]] = {}
    for done, i in enumerate(long):
        on_progress(Progress(done, len(long)))
        q = questions[i]
        best_first = order(np.asarray(ranker.score(q.text, q.candidates)))
        hardest[i] = set([j for j in best_first.tolist() if q.candidates[j].label == 0][:number])

    def keep(i: int, q: Question) -> Question:
        if i not in hardest:
            return q
        return replace(q, candidates=tuple(c for j, c in enumerate(q.candidates) if c.label != 0 or j in hardest[i]))

    return map_questions(questions, keep)
