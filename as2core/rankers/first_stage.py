"""The first stage: of more candidates than a limit, another ranker's best go on to the encoder. Any ranker can be one.

With all sentences of the top documents (1,300 is usual) most of the encoder's time would go to sentences that their
words, or vectors computed before, can tell apart. The stage is on the trace like any exit, as layer 0.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from as2core.cascade.trace import CascadeTrace, ExitRecord, select_dropped
from as2core.errors import BadSetting
from as2core.metrics import to_float32
from as2core.rankers.base import CountsFlops, KeepsTrace, Ranker, hides_encoder
from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.rankers.passage_cache import PassageCache
from as2core.types import Candidate

FIRST_WORDS = ("none", "bi-encoder")  # for a first stage; anything else is a ranker's spec
FIRST_KEEP = 200  # candidates that it keeps


@dataclass(frozen=True, slots=True)
class FirstStage:
    """The ranker, and how many candidates it keeps; it does not score a shorter list. Raises BadSetting."""

    ranker: Ranker
    keep: int = FIRST_KEEP

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise BadSetting(f"first_keep={self.keep} leaves the encoder nothing: give at least 1")

    def cut(self, question: str, candidates: Sequence[Candidate]) -> ExitRecord | None:
        """The stage's record; None if all candidates go on without being scored."""
        if len(candidates) <= self.keep:
            return None
        return run_stage(0, self.ranker, question, candidates, np.arange(len(candidates)), self.keep)


def build_first_stage(backbone: str, first: str | Ranker, keep: int) -> FirstStage | None:
    """What scores the candidates before the encoder does: a ranker, or one of `FIRST_WORDS`: "bi-encoder" (of the
    cascade's backbone, with its vectors cached on disk) or "none". Raises BadSetting."""
    if first == "none":
        return None
    if first == "bi-encoder":
        from as2core.cascade.graphs import default_folder
        from as2core.nn.backbone import load_backbone

        cache = PassageCache(default_folder().parent / "vectors.db")
        first = BiEncoderRanker(load_backbone(backbone), cache=cache)
    if isinstance(first, str):
        raise BadSetting(f"first={first}: give a ranker, or one of {', '.join(FIRST_WORDS)}")
    return FirstStage(first, keep)


def run_stage(
    number: int, ranker: Ranker, question: str, candidates: Sequence[Candidate], alive: np.ndarray, survivors: int
) -> ExitRecord:
    """The record of a ranker over the candidates at the positions `alive`, int (n,), of which the best `survivors` go
    on. Tokens and FLOPs are 0 for a ranker that does not count them, and `is_counted` is false if an encoder
    works in it."""
    entering = [candidates[i] for i in alive.tolist()]
    started = time.perf_counter()
    tokens = flops = 0
    if isinstance(ranker, KeepsTrace):
        trace = ranker.trace(question, entering)
        scores, tokens, flops = trace.scores(), sum(e.tokens for e in trace.stages), trace.flops
    elif isinstance(ranker, CountsFlops):
        scores, flops = ranker.score_and_cost(question, entering)
    else:
        scores = ranker.score(question, entering)
    scores = to_float32(scores)
    seconds = time.perf_counter() - started
    dropped = select_dropped(alive, scores, survivors)
    is_counted = not hides_encoder(ranker)
    return ExitRecord(number, alive, scores, dropped, seconds, tokens, flops, ranker.name, is_counted=is_counted)


def list_entering(candidates: Sequence[Candidate], cut: ExitRecord | None) -> list[Candidate]:
    """Those that the stage passed on; all where it did not score them."""
    dropped = set() if cut is None else set(cut.dropped.tolist())
    return [c for i, c in enumerate(candidates) if i not in dropped]


def with_first(trace: CascadeTrace, first: ExitRecord, candidates: Sequence[Candidate]) -> CascadeTrace:
    """The trace of those that went on, as one over all: positions are those of `candidates`."""
    survivors = np.setdiff1d(first.alive, first.dropped)
    characters = np.array([len(c.titled_text) for c in candidates], dtype=np.float64)
    slope, least = _fit_tokens(characters[survivors], trace.lengths)
    lengths = np.rint(least + slope * characters).astype(np.int64).clip(1)
    lengths[survivors] = trace.lengths
    lengths = np.minimum(lengths, max(1, int(trace.lengths.max(initial=1))))
    exits = tuple(
        replace(e, alive=survivors[e.alive], dropped=survivors[e.dropped], again=survivors[e.again])
        for e in trace.exits
    )
    return replace(trace, lengths=lengths, exits=exits, first=first)


def _fit_tokens(characters: np.ndarray, tokens: np.ndarray) -> tuple[float, float]:
    """A straight line through what was tokenised: (slope, tokens of an empty text)."""
    if len(tokens) < 2 or np.ptp(characters) == 0:
        return 0.0, float(tokens.mean()) if len(tokens) else 1.0
    slope, least = np.polyfit(characters, tokens, 1)
    return float(slope), float(least)
