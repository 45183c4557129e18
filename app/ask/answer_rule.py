"""When a candidate counts as an answer, and how likely each candidate is one (docs/decisions/0073 and 0080)."""

from collections.abc import Sequence

import numpy as np

from app.ranking.retrieval import RetrievedSentence
from as2core.cascade.trace import CascadeTrace
from as2core.rankers.answer_shares import share_out
from as2core.rankers.base import CalibratesScores
from as2core.rankers.cascade import CascadeRanker

MIN_PROBABILITY = 0.5  # beside the others: such a candidate counts as an answer
MIN_SHARE_OF_THRESHOLD = 0.5  # unless its score alone is below this share of the threshold


def rate_candidates(
    ranker: CascadeRanker, trace: CascadeTrace, candidates: Sequence[RetrievedSentence]
) -> tuple[np.ndarray, np.ndarray]:
    """`rate_logits` of a trace of these candidates. In the run that an early answer comes from, a dropped candidate has
    the logit of the last exit that it reached."""
    alone = np.asarray(ranker.probability(trace.scores()))
    return rate_logits(ranker, trace.latest_logits(), alone, [c.text for c in candidates])


def rate_logits(
    ranker: CalibratesScores, logits: np.ndarray, alone: np.ndarray, texts: Sequence[str] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """How likely each candidate is the answer, float `(n,)`, and whether it counts as one, bool `(n,)`, from the logits
    and the probability of each candidate alone.

    The probability is shared out among the candidates (`as2core.rankers.answer_shares`, where the same of `texts`
    counts once); where the version has no fit for that, it is that of each candidate alone. One counts as an answer if
    its score alone reaches the threshold, or half of it where it is likely beside the others. `python
    benchmarks/no_answer.py` prints how often that is right."""
    is_answer = alone >= ranker.threshold
    shares = share_out(ranker.answer_calibration, logits, texts)
    if shares is None:
        return alone, is_answer
    stands_out = (shares >= MIN_PROBABILITY) & (alone >= MIN_SHARE_OF_THRESHOLD * ranker.threshold)
    return shares, is_answer | stands_out


def find_max_probability(ranker: CalibratesScores) -> float:
    """More than this no candidate gets: what is shared among them."""
    return 1.0 if ranker.answer_calibration is None else ranker.answer_calibration[1]
