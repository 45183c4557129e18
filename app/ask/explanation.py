"""Why a candidate: the words of its sentence that carried the cascade's score, and the words of the question that the
generative ranker expects more after this sentence than after others. Both are computed when somebody asks for them, and
cached with the loaded version."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from app.ask.asking import AskView
from app.ranking import scoring
from app.versions import loading
from app.workbench.workbench import Workbench
from as2core.cascade.attribution import Attribution
from as2core.rankers.base import Explanation

MAX_CACHED = 256  # explanations of a loaded version
T = TypeVar("T")
Key = tuple[str, ...]

_caches: WeakKeyDictionary[object, OrderedDict[Key, object]] = WeakKeyDictionary()
_lock = Lock()


@dataclass(frozen=True, slots=True)
class WordGain:
    """A word of the question: `gain` is its log P given the sentence, less the mean over the candidates."""

    word: str
    gain: float


def attribute_score(wb: Workbench, view: AskView, position: int) -> Attribution:
    """What each word of the candidate's sentence adds to its final score. Raises DamagedModel, UnknownVersion."""
    ranker = scoring.as_cascade(loading.load_version(wb, view.version))
    [candidate] = scoring.as_candidates([view.candidates[position]])
    key = ("score", view.read, candidate.title, candidate.text)
    return _get_or_compute(ranker, key, lambda: ranker.attribute(view.read, candidate))


def compare_words(wb: Workbench, view: AskView, position: int) -> list[WordGain]:
    """Each word of the question, given this sentence against the mean over all candidates that entered the cascade.
    Raises DamagedModel."""
    ranker, entered = scoring.load_generative(wb), view.trace.entered.tolist()
    texts = [c.titled_text for c in scoring.as_candidates(view.candidates)]

    def explain(positions: list[int]) -> Explanation:
        here = [texts[i] for i in positions]
        return _get_or_compute(ranker, ("words", view.read, *here), lambda: ranker.explain(view.read, here))

    all_entered = explain(entered)
    one = all_entered.log_p[entered.index(position)] if position in entered else explain([position]).log_p[0]
    gains = one - np.mean(all_entered.log_p, axis=0, dtype=np.float64)
    return [WordGain(view.read[a:b], g) for (a, b), g in zip(all_entered.spans, gains.tolist(), strict=True)]


def _get_or_compute(ranker: object, key: Key, compute: Callable[[], T]) -> T:
    with _lock:
        cache = _caches.setdefault(ranker, OrderedDict())
        if key in cache:
            cache.move_to_end(key)
            return cache[key]  # type: ignore[return-value]
    result = compute()
    with _lock:
        cache[key] = result
        while len(cache) > MAX_CACHED:
            cache.popitem(last=False)
    return result
