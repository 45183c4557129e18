"""The cascade run on torch, on any device: a span of layers, an exit's classifier, the survivors packed anew.

Pairs are sorted by length and run in micro-batches of a token budget; between exits the hidden states lie unpadded,
one tensor a candidate, so that the next segment packs only who is left. On a GPU, and where the caller has
autocast on, the encoder's products are in bfloat16 unless a dtype is set; the classifiers' never are.
"""

import time
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from as2core.cascade.engine import Run
from as2core.nn.backbone import Backbone
from as2core.nn.micro_batches import split_by_length

CPU_TOKENS, GPU_TOKENS = 2048, 65536  # a micro-batch's budget, padding counted


class TorchEngine:
    """`exits` are layers, `heads` their classifiers; the weights are the module's own, so training is seen at once.
    `budget`: tokens of a micro-batch, which decide the memory; None: CPU_TOKENS or GPU_TOKENS. `dtype`: one of
    as2core.nn.precision.DTYPES. `identity`: of weights that stay as they are while the engine is used.

    `error` is 0, so nothing is scored again. float32 does not need it; with the encoder in bfloat16 logits err, by how
    much on a GPU was not measured, and near ones may be in the wrong order.
    """

    name = "torch"
    error = 0.0

    def __init__(
        self,
        backbone: Backbone,
        heads: nn.ModuleList,
        exits: Sequence[int],
        *,
        max_length: int,
        budget: int | None = None,
        dtype: str = "auto",
        identity: str = "",
    ) -> None:
        self.budget, self.dtype, self.identity = budget, dtype, identity
        self.backbone, self.heads, self.exits, self.max_length = backbone, heads, tuple(exits), max_length
        self.shape = backbone.shape

    def is_half_on(self, device: str) -> bool:
        """Whether the encoder's products are in bfloat16 there."""
        if self.dtype == "auto":
            return device == "cuda" or torch.is_autocast_enabled(device)
        return self.dtype == "bfloat16"

    def start(self, questions: Sequence[str], texts: Sequence[str], *, keeps_states: bool = False) -> Run:
        return _TorchRun(self, questions, texts, keeps_states)


class _TorchRun:
    def __init__(self, engine: TorchEngine, questions: Sequence[str], texts: Sequence[str], keeps_states: bool) -> None:
        self._began = time.perf_counter()
        self.engine, self.keeps_states = engine, keeps_states
        self.packed = engine.backbone.encode(list(questions), list(texts), max_length=engine.max_length)
        self.lengths = np.array(self.packed.lengths, dtype=np.int64)
        # candidate -> (length, hidden), a view of its whole micro-batch: it goes when no segment will read it any more
        self.states: dict[int, Tensor] = {}

    @torch.inference_mode()
    def advance(self, members: np.ndarray, first: int, last: int) -> tuple[np.ndarray, list[float]]:
        e = self.engine
        scores, seconds = np.empty((last - first, len(members)), dtype=np.float32), []
        if not self.keeps_states:
            for leaver in self.states.keys() - set(members.tolist()):
                del self.states[leaver]
        device = next(e.backbone.parameters()).device.type
        is_half = e.is_half_on(device)
        budget = e.budget or (GPU_TOKENS if device == "cuda" else CPU_TOKENS)
        rows = split_by_length(self.lengths[members].tolist(), max_tokens=budget)
        for i in range(first, last):
            start = time.perf_counter() if i else self._began  # the first exit's time holds the tokenising
            below = e.exits[i - 1] if i else 0
            for at in rows:
                with torch.autocast(device, dtype=torch.bfloat16, enabled=is_half):
                    scores[i - first, at] = self._exit(i, below, members[at].tolist())
            seconds.append(time.perf_counter() - start)
        return scores, seconds

    def exact(self, members: np.ndarray) -> np.ndarray:
        raise NotImplementedError("these logits are exact already")

    def _exit(self, index: int, below: int, members: list[int]) -> np.ndarray:
        e = self.engine
        if below == 0:
            ids, mask, second = e.backbone.pad(self.packed, members)
            hidden = e.backbone.embed(ids, second)
        else:
            hidden = nn.utils.rnn.pad_sequence([self.states.pop(m) for m in members], batch_first=True)
            mask, second = e.backbone.masks(
                [int(self.lengths[m]) for m in members], [self.packed.second[m] for m in members]
            )
        hidden = e.backbone.run(hidden, mask, below, e.exits[index])
        if index < len(e.exits) - 1:
            self.states.update({m: hidden[j, : self.lengths[m]] for j, m in enumerate(members)})
        return e.heads[index](hidden, mask, second).float().cpu().numpy()
