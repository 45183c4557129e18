"""An engine whose logits have a prior added: what speaks for a candidate beside its text, such as its document's rank
in the search.

The sum of a logit and the logarithm of prior odds is again a logit (Craswell, Robertson, Zaragoza and Taylor,
"Relevance weighting for query independent evidence", SIGIR 2005). It is added at every exit, so drops, order and which
of the best are scored again in float32 all go by the sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from as2core.cascade.engine import Engine, Run
from as2core.errors import BadSetting


def with_prior(engine: Engine, prior: np.ndarray | None) -> Engine:
    """The engine for one run whose pairs have these priors, `(n,)` in logits; as it is without any. `start` raises
    BadSetting for another number of pairs."""
    return engine if prior is None else PriorEngine(engine, prior)


class PriorEngine:
    def __init__(self, engine: Engine, prior: np.ndarray) -> None:
        self.engine, self.prior = engine, np.asarray(prior, dtype=np.float32)
        self.name, self.error, self.identity = engine.name, engine.error, ""
        self.exits, self.shape = engine.exits, engine.shape

    def start(self, questions: Sequence[str], texts: Sequence[str], *, keeps_states: bool = False) -> Run:
        if len(self.prior) != len(texts):
            raise BadSetting(f"{len(self.prior)} priors for {len(texts)} candidates; give one for each")
        return _PriorRun(self.engine.start(questions, texts, keeps_states=keeps_states), self.prior)


class _PriorRun:
    def __init__(self, run: Run, prior: np.ndarray) -> None:
        self.run, self.prior = run, prior
        self.lengths = np.zeros(len(prior), np.int64)

    def advance(self, members: np.ndarray, first: int, last: int) -> tuple[np.ndarray, list[float]]:
        logits, seconds = self.run.advance(members, first, last)
        self.lengths = self.run.lengths
        return logits + self.prior[members], seconds

    def exact(self, members: np.ndarray) -> np.ndarray:
        return self.run.exact(members) + self.prior[members]
