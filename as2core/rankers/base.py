"""What a ranker is, and what it can do beside scoring.

A ranker is anything with a name and `score`. What else it can do its class says by its bases, the classes below. A
caller asks `isinstance(ranker, KeepsTrace)`, and a type checker then knows the methods. Scores become an order in one
place, `as2core.metrics.order`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypedDict

import numpy as np

from as2core.cascade.attribution import Attribution
from as2core.cascade.engine import Engine
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, Trace
from as2core.errors import BadSetting
from as2core.metrics import order
from as2core.types import Candidate, OnProgress, Progress, Question

if TYPE_CHECKING:
    from torch import nn

Query = tuple[str, Sequence[Candidate]]  # a question and its candidates
JsonObject = dict[str, Any]  # of a file, to be taken as it is written there
VersionConfig = JsonObject  # config.json of a version: {"backbone", "settings", ...}


class Ranker(Protocol):
    """Anything that scores the candidates of one question.

    `score` takes the candidates in their original order (listwise rankers need it) and returns float32 `(n,)`,
    higher is better, one finite number each; an empty list gives an empty array.
    """

    @property
    def name(self) -> str: ...

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray: ...


LoadRanker = Callable[[str], Ranker]  # the ranker of a spec


class CountsFlops(ABC):
    """Counts what its encoder costs."""

    @abstractmethod
    def score_and_cost(self, question: str, candidates: Sequence[Candidate]) -> tuple[np.ndarray, int]:
        """Scores `(n,)` and the FLOPs they took."""

    def full_flops(self, question: str, candidates: Sequence[Candidate]) -> int:
        """The FLOPs of all candidates through the whole encoder; 0 where that is not known."""
        return 0


class KeepsTrace(CountsFlops):
    """Keeps an account of each run: which candidates were dropped where, and what it cost."""

    @abstractmethod
    def trace(self, question: str, candidates: Sequence[Candidate]) -> Trace: ...

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        """Those dropped early stand below the others, block by block."""
        return self.trace(question, candidates).scores()

    def score_and_cost(self, question: str, candidates: Sequence[Candidate]) -> tuple[np.ndarray, int]:
        trace = self.trace(question, candidates)
        return trace.scores(), trace.flops


class TracesTogether(KeepsTrace):
    """A cascade: has exits and a drop schedule, and traces several questions in shared batches."""

    exits: tuple[int, ...]

    @property
    @abstractmethod
    def schedule(self) -> DropSchedule: ...

    @abstractmethod
    def trace_many(self, queries: Sequence[Query], schedule: DropSchedule | None = None) -> list[CascadeTrace]:
        """A trace a question, by its own schedule if none is given."""

    def score_many(self, queries: Sequence[Query]) -> list[np.ndarray]:
        """`score` for each of them, in their order."""
        return [trace.scores() for trace in self.trace_many(queries)]


class CalibratesScores(ABC):
    """Turns an exit's logits into probabilities once it is `is_calibrated`: sigmoid(scale * logit + shift).

    `calibration` holds (scale, shift) an exit. `threshold` is the probability below which the best candidate does not
    count as an answer. `answer_calibration`: (scale, share) of `as2core.rankers.answer_shares`;
    None where it was not fitted.
    """

    calibration: tuple[tuple[float, float], ...]
    is_calibrated: bool
    threshold: float
    answer_calibration: tuple[float, float] | None = None

    def probability(self, logits: np.ndarray, exit_index: int = -1) -> np.ndarray:
        """The probability that a candidate answers, from an exit's logits; same shape."""
        scale, shift = self.calibration[exit_index]
        return 1.0 / (1.0 + np.exp(-(scale * np.asarray(logits, dtype=np.float64) + shift)))


class AttributesScore(ABC):
    """Shows which words of a candidate carried its score."""

    @abstractmethod
    def attribute(self, question: str, candidate: Candidate) -> Attribution:
        """The effect of each word of the candidate's text, and of its title, on its final logit."""


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """How likely each word of a question is given each of n texts and the words before it. `spans` is where the words
    stand in the question, punctuation left out; `log_p` (n, words)."""

    spans: tuple[tuple[int, int], ...]
    log_p: np.ndarray


class ExplainsQuestion(ABC):
    """Generates the question from a text, and so shows which of its words the text explains."""

    @abstractmethod
    def explain(self, question: str, texts: Sequence[str]) -> Explanation: ...


class ChoosesEngine(ABC):
    """Runs on one of several engines."""

    @property
    @abstractmethod
    def engine(self) -> Engine: ...

    @property
    @abstractmethod
    def preparing(self) -> Progress | None:
        """How far the engine chosen in the background is built; None where it is ready, or there is none."""

    @abstractmethod
    def use(
        self,
        engine: str,
        *,
        folder: Path | None = None,
        background: bool = False,
        on_progress: OnProgress | None = None,
    ) -> None: ...

    @abstractmethod
    def wait_until_prepared(self, seconds: float) -> bool:
        """Wait so long at most for an engine that is prepared in the background; whether none is prepared any more."""


class TakesSettings(ABC):
    """A saved version of it takes settings behind the colon of its spec, `adjustable` by name. Their types and defaults
    are those of the catalog entry `kind`."""

    kind: ClassVar[str]
    adjustable: ClassVar[tuple[str, ...]]

    @abstractmethod
    def adjust(self, settings: VersionConfig) -> None:
        """Take over the settings given; what is left out stays as it was saved. Raises BadSetting."""


class HasNetwork(ABC):
    """Computes with torch, on the CPU until it is moved."""

    @abstractmethod
    def to(self, device: str) -> Self:
        """Move all its networks, also those of the rankers it is made of, to a device of torch ("cuda:1", "cpu").
        Engines that run on the CPU alone (int8) stay there. Returns itself."""


class HasWeights(HasNetwork):
    """Has weights of its own, so that it can be saved as a version and loaded again.

    `kind` is its name in config.json. `is_trained`: it learned from labels; training and loading a version set this.
    """

    name: str
    kind: ClassVar[str]
    is_trained: bool
    module: nn.Module

    @abstractmethod
    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray: ...

    def to(self, device: str) -> Self:
        self.module.to(device)
        return self

    @property
    def encoder(self) -> nn.Module | None:
        """The pretrained network inside it, which it starts from."""
        return None

    @abstractmethod
    def config(self) -> VersionConfig:
        """What `restore` needs beside the weights, for JSON."""

    @classmethod
    @abstractmethod
    def restore(cls, config: VersionConfig, path: Path, load: LoadRanker) -> HasWeights:
        """The ranker of a version's `config`, before its weights are loaded. `path` is named in errors, `load` gives
        the rankers it is made of. Raises BadSetting, DamagedModel, or KeyError and TypeError for settings it lacks."""


class MadeOfRankers(HasNetwork):
    """Consists of other rankers."""

    rankers: tuple[Ranker, ...]

    def to(self, device: str) -> Self:
        for ranker in self.rankers:
            move(ranker, device)
        return self


class HidesFlops:
    """Runs an encoder whose FLOPs nobody counts, though it has no weights that could be saved."""


def hides_encoder(ranker: Ranker) -> bool:
    """Whether a transformer runs in it, or in a ranker it is made of, whose FLOPs are not counted."""
    if isinstance(ranker, CountsFlops):
        return isinstance(ranker, MadeOfRankers) and any(map(hides_encoder, ranker.rankers))
    return _has_encoder(ranker)


def _has_encoder(ranker: Ranker) -> bool:
    if isinstance(ranker, HasWeights) and ranker.encoder is not None:
        return True
    if isinstance(ranker, MadeOfRankers):
        return any(map(_has_encoder, ranker.rankers))
    return isinstance(ranker, CountsFlops | HidesFlops)


def move(ranker: Ranker, device: str) -> None:
    """Move a ranker to a device of torch; one that computes without torch is left as it is."""
    if isinstance(ranker, HasNetwork):
        ranker.to(device)


class SendsTexts(ABC):
    """Scores elsewhere: question and candidates leave this machine."""

    name: str

    @property
    @abstractmethod
    def destination(self) -> str:
        """The host that gets them."""

    @abstractmethod
    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray: ...


def list_hosts(ranker: Ranker) -> tuple[str, ...]:
    """Where a ranker, or one that it is made of, sends texts."""
    if isinstance(ranker, SendsTexts):
        return (ranker.destination,)
    parts = ranker.rankers if isinstance(ranker, MadeOfRankers) else ()
    return tuple(dict.fromkeys(host for part in parts for host in list_hosts(part)))


class NeedsQuestions(ABC):
    """Scores only questions that it was shown before, as whole records. `missing`: how many of their candidates it has
    no score for, and puts last."""

    name: str
    missing: int

    @abstractmethod
    def bind(self, questions: Sequence[Question]) -> None:
        """Take these questions in place of those before. Raises BadSetting for one that it has no scores for."""

    def describe_differences(self) -> list[str]:
        """Why trec_eval's figures for the same scores may be others; [] where they are the same."""
        if not self.missing:
            return []
        text = f"candidates that are not in the run and come last: {self.missing:,}"
        return [f"{text}; trec_eval counts them as not retrieved"]

    @abstractmethod
    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray: ...


def needs_questions(ranker: Ranker) -> bool:
    """Whether it, or one that it is made of, has to be shown the questions first."""
    parts = ranker.rankers if isinstance(ranker, MadeOfRankers) else ()
    return isinstance(ranker, NeedsQuestions) or any(map(needs_questions, parts))


def require_any_question(ranker: Ranker, spec: str) -> None:
    """Raises BadSetting for a ranker that cannot rank whatever it is asked."""
    if needs_questions(ranker):
        raise BadSetting(
            f"{spec} ranks the questions of a run alone, and no other: use it in as2 eval, as2 decide, "
            "as2 train --teacher or Compare"
        )


def bind_questions(ranker: Ranker, questions: Sequence[Question]) -> None:
    """Show the questions to a ranker that needs them, or to those it is made of, before any is scored. Raises
    BadSetting."""
    if isinstance(ranker, NeedsQuestions):
        ranker.bind(questions)
    for part in ranker.rankers if isinstance(ranker, MadeOfRankers) else ():
        bind_questions(part, questions)


class KnowsWords(ABC):
    """Knows words, so that these are no typos to it (see `as2core.questions.spelling`)."""

    @property
    @abstractmethod
    def known_words(self) -> frozenset[str]: ...


def known_words(ranker: Ranker) -> frozenset[str]:
    """The words that are no typos to a ranker."""
    return ranker.known_words if isinstance(ranker, KnowsWords) else frozenset()


def list_untrained(ranker: Ranker) -> tuple[str, ...]:
    """Names of the rankers that have not learned from labels, this one or those it is made of: they know no more of
    answers than the network they start from, which may be nothing."""
    if isinstance(ranker, HasWeights) and not ranker.is_trained:
        return (ranker.name,)
    parts = ranker.rankers if isinstance(ranker, MadeOfRankers) else ()
    return tuple(dict.fromkeys(name for part in parts for name in list_untrained(part)))


class RankedText(TypedDict):
    corpus_id: int
    score: float
    text: str


def rank(
    ranker: Ranker, question: str, texts: Sequence[str | Candidate], *, top_n: int | None = None
) -> list[RankedText]:
    """Rank texts: `[{corpus_id, score, text}]`, best first (the shape sentence-transformers' `rank` gives)."""
    return rank_many(ranker, [(question, texts)], top_n=top_n)[0]


def rank_many(
    ranker: Ranker, questions: Sequence[tuple[str, Sequence[str | Candidate]]], *, top_n: int | None = None
) -> list[list[RankedText]]:
    """What `rank` gives for each (question, texts), in their order; in shared batches if the ranker can."""
    queries = [
        (question, [t if isinstance(t, Candidate) else Candidate(str(i), t) for i, t in enumerate(texts)])
        for question, texts in questions
    ]
    if isinstance(ranker, TracesTogether):
        scores = ranker.score_many(queries)
    else:
        scores = [ranker.score(question, candidates) for question, candidates in queries]
    return [_best_first(candidates, s, top_n) for (_, candidates), s in zip(queries, scores, strict=True)]


def _best_first(candidates: Sequence[Candidate], scores: np.ndarray, top_n: int | None) -> list[RankedText]:
    return [{"corpus_id": int(i), "score": float(scores[i]), "text": candidates[i].text} for i in order(scores)[:top_n]]
