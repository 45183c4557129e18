"""The rankers that are served: loaded once, the active version followed through promotions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from as2core.errors import As2Error, DamagedModel, UnknownRanker
from as2core.lookup import ACTIVE, cite, list_versions, load_ranker
from as2core.metrics import order
from as2core.questions.synonyms import Synonyms
from as2core.rankers.base import Ranker, require_any_question
from as2core.relevance import Relevance, score_relevance
from as2core.serving.bodies import Model
from as2core.terminal import print_note
from as2core.types import Candidate

POLL_SECONDS = 5.0  # between two checks whether another version is active


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """`places` are positions in the request, best first: int `(n,)`."""

    model: str
    places: np.ndarray
    relevance: Relevance


class Scorer(Protocol):
    """Where a ranker scores. Threads share it."""

    def score(self, query: str, candidates: Sequence[Candidate]) -> Relevance:
        """Raises BadSetting, DamagedModel; Unavailable where nothing scores at present."""


class Unavailable(As2Error):
    """What scores cannot be reached, or died of the request."""


@dataclass(frozen=True, slots=True)
class LocalScorer:
    """In this process, in the thread that asks."""

    ranker: Ranker

    def score(self, query: str, candidates: Sequence[Candidate]) -> Relevance:
        [relevance] = score_relevance(self.ranker, [(query, candidates)])
        return relevance


def score_here(spec: str, ranker: Ranker) -> Scorer:
    return LocalScorer(ranker)


@dataclass(frozen=True, slots=True)
class LoadedRanker:
    ranker: Ranker
    scorer: Scorer
    model: Model


@dataclass
class ServedRankers:
    """The rankers that are served, by their specs: the first is the default. They read queries with `synonyms`.
    `follow` replaces the active version after a promotion; until the new one can be loaded, the one before answers.
    `place` says where the ranker of a spec, which is loaded here, scores. Raises DamagedModel, UnknownRanker."""

    specs: Sequence[str]
    synonyms: Synonyms = field(default_factory=Synonyms)
    load: Callable[[str], Ranker] = load_ranker
    versions: Callable[[], Mapping[str, Path]] = list_versions
    cite: Callable[[str], Mapping[str, str | None]] = cite
    place: Callable[[str, Ranker], Scorer] = score_here
    _loaded: dict[str, LoadedRanker] = field(default_factory=dict)
    _active: Path | None = None
    _last_error: str = ""

    def __post_init__(self) -> None:
        self._active = self._find_active()
        for spec in self.specs:
            try:
                self._load(spec)
            except (DamagedModel, UnknownRanker) as e:
                if spec.partition(":")[0] != ACTIVE:
                    raise
                self._load_shipped(spec, e)

    @property
    def models(self) -> list[Model]:
        """What answers now."""
        return [self._loaded[spec].model for spec in self.specs]

    @property
    def default(self) -> LoadedRanker:
        """What answers a request that names no model."""
        return self._loaded[self.specs[0]]

    def choose(self, model: str | None) -> str:
        """The spec that answers a request for a model. Raises UnknownRanker."""
        spec = model or self.specs[0]
        if spec not in self.specs:
            raise UnknownRanker(f"the model {spec!r} is not served here; known: {', '.join(self.specs)}")
        return spec

    def rank(self, spec: str, query: str, candidates: Sequence[Candidate]) -> Ranking:
        """By one of `specs`. Raises what `Scorer` raises."""
        relevance = self._loaded[spec].scorer.score(self.synonyms.expand(query), candidates)
        return Ranking(spec, order(relevance.scores), relevance)

    def follow(self) -> None:
        """Check once which version is active. Requests are answered meanwhile."""
        try:
            path = self._find_active()
            if path != self._active:
                for spec in self._active_specs:
                    self._load(spec)
                self._active = path
        except Exception as e:  # of any kind: requests go on; reported once, tried again at each check
            if str(e) != self._last_error:
                print_note(f"as2: the version before goes on: {e}")
                self._last_error = str(e)

    def follow_on(self) -> None:
        """`follow` every few seconds, in a thread that ends with the process."""

        def poll() -> None:
            while True:
                time.sleep(POLL_SECONDS)
                self.follow()

        if self._active_specs:
            threading.Thread(target=poll, name="follow", daemon=True).start()

    @property
    def _active_specs(self) -> list[str]:
        return [s for s in self.specs if s.partition(":")[0] == ACTIVE]

    def _find_active(self) -> Path | None:
        return self.versions().get(ACTIVE) if self._active_specs else None

    def _load_shipped(self, spec: str, error: As2Error) -> None:
        """The active version is lost: the shipped cascade answers under its name until it can be loaded."""
        print_note(f"as2: the active version cannot be used ({error}). The shipped cascade answers instead.")
        _, colon, settings = spec.partition(":")
        shipped = f"cascade{colon}{settings}"
        self._loaded[spec] = self._load_as(spec, shipped)
        self._active = None  # `follow` tries again

    def _load(self, spec: str) -> None:
        self._loaded[spec] = self._load_as(spec, spec)

    def _load_as(self, spec: str, source: str) -> LoadedRanker:
        """The ranker of `source`, to be served under the name of `spec`."""
        ranker = self.load(source)
        require_any_question(ranker, source)
        card = self.cite(source)
        model = Model(id=spec, version=card["version"], weights=card["weights"])
        return LoadedRanker(ranker, self.place(source, ranker), model)
