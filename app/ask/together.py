"""The cascade and the generative ranker on one question: where they disagree, and how they rank together."""

import numpy as np

from as2core.cascade.trace import CascadeTrace
from as2core.metrics import order
from as2core.rankers.fusion import weigh_pair

MIN_RANK_RATIO, MAX_TOP_RANK = 4.0, 10  # a disagreement: one rank in the top, the other so many times as far down


def describe_disagreement(discriminative: int, generative: int) -> str:
    """Which ranker ranks a candidate much higher, or nothing.

    The queue "disagree" goes by the same ratio of the two ranks, but without the limits: a queue has to order all
    candidates, a table marks few, and only those that one ranker would show near the top."""
    high, low = sorted((discriminative, generative))
    if high > MAX_TOP_RANK or low < MIN_RANK_RATIO * high:
        return ""
    return "cascade higher" if discriminative < generative else "generative higher"


def rank_together(run: CascadeTrace, generative: np.ndarray) -> np.ndarray:
    """Those who stayed to the end and have both scores, best first by the two together; docs/results.md measures this
    without drops. float `(n,)`, NaN where not scored -> positions, int `(m,)`."""
    last = run.exits[-1]
    scores = generative[last.alive]
    has_score = np.isfinite(scores)
    return last.alive[has_score][order(weigh_pair(last.scores[has_score], scores[has_score]))]
