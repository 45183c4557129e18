"""Why a candidate: the words of its sentence that carried the cascade's score, and the words of the question that the
generative ranker expects more after this sentence than after others. Both are computed when somebody asks for them, and
cached with the loaded version."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.ask.asking import AskView
from app.ranking import scoring
from app.ranking.ranker_cache import RankerCache
from app.versions import loading
from app.workbench.workbench import Workbench
from as2core.cascade.attribution import Attribution
from as2core.rankers.base import Explanation

MAX_CACHED = 256  # explanations of a loaded version

_explanations = RankerCache(MAX_CACHED)


@dataclass(frozen=True, slots=True)
class WordGain:
    """A word of the question: `gain` is its log P given the sentence, less the mean over the candidates."""

    word: str
    gain: float


def attribute_score(wb: Workbench, view: AskView, position: int) -> Attribution:
    """What each word of the candidate's sentence adds to its final score. Raises DamagedModel, UnknownVersion."""
    ranker = scoring.as_cascade(loading.load_version(wb, view.version))
    [candidate] = scoring.as_candidates([view.candidates[position]])
    key = ("score", view.expanded_question, candidate.title, candidate.text)
    return _explanations.get_or_compute(ranker, key, lambda: ranker.attribute(view.expanded_question, candidate))


def compare_words(wb: Workbench, view: AskView, position: int) -> list[WordGain]:
    """Each word of the question, given this sentence against the mean over all candidates that entered the cascade.
    Raises DamagedModel."""
    ranker, entry = scoring.load_generative(wb), view.trace.entered.tolist()
    texts = [c.titled_text for c in scoring.as_candidates(view.candidates)]

    def explain(positions: list[int]) -> Explanation:
        here = [texts[i] for i in positions]
        key = ("words", view.expanded_question, *here)
        return _explanations.get_or_compute(ranker, key, lambda: ranker.explain(view.expanded_question, here))

    explanation = explain(entry)
    one = explanation.log_p[entry.index(position)] if position in entry else explain([position]).log_p[0]
    gains = one - np.mean(explanation.log_p, axis=0, dtype=np.float64)
    return [
        WordGain(view.expanded_question[a:b], g) for (a, b), g in zip(explanation.spans, gains.tolist(), strict=True)
    ]
