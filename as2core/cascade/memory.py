"""How many bytes of tensors a run holds at its peak, and what a cascade gains where memory is the limit (Cascade
Transformer, section 4.3.2).

The paper sizes a batch by the average number of candidates alive, not by the first: 128 enter where a monolithic model
takes 84. At the first layers all 128 are there, so the bytes at the peak are not those of 84. What the engine does
instead: it always runs micro-batches of the same budget and packs the survivors anew after every exit, so that the
peak stays that of one micro-batch, and more candidates pass in as many passes through a layer. The states of those
who wait between two exits are the price; `measure` counts them.
"""

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class PeakBytes(TorchDispatchMode):
    """Counts the bytes of all tensors that are made within it and still held: `now`, and `peak`, the most there were at
    once. A tensor's memory counts once, however many views it has."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._storages: weakref.WeakSet[torch.UntypedStorage] = weakref.WeakSet()

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, torch.Tensor):
                self._count(leaf.untyped_storage())
        return out

    def _count(self, storage: torch.UntypedStorage) -> None:
        if storage in self._storages:
            return
        self._storages.add(storage)
        size = storage.nbytes()
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._forget, size)

    def _forget(self, size: int) -> None:
        self.now -= size


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """`peak` in bytes beside the weights; `passes`: micro-batches times layers."""

    peak: int
    passes: int


def measure(run: Callable[[], object], layers: torch.nn.ModuleList) -> MemoryUse:
    """What a call on torch takes; `layers` are those whose passes count."""
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    hooks = [layer.register_forward_hook(count) for layer in layers]
    try:
        with PeakBytes() as mode:
            run()
    finally:
        for hook in hooks:
            hook.remove()
    return MemoryUse(mode.peak, calls)
