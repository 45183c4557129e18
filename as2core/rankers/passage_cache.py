"""Passages read before, on disk, so that a sentence asked about before costs a question nothing but its own tokens.

An entry's key is the model's fingerprint and the text's hash: a model that changed finds nothing of its former self.
The file is bounded, and several processes may share it (`as2core.system.disk_cache`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from as2core.system.disk_cache import DiskCache

if TYPE_CHECKING:
    from torch import nn

    from as2core.nn.kept_passages import PassageState

MAX_BYTES = 1 << 30  # some 3,000 sentences of the default model
PAGE_BYTES = 16384  # entries are hundreds of kilobytes
_FORMAT = 2  # 1: threads that tokenised at once could leave a passage uncut


class PassageCache(DiskCache):
    """`max_bytes` bounds the stored tensors; memories are stored as float16, half of what the model works in."""

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(path, max_bytes=max_bytes, content="passages", page_bytes=PAGE_BYTES)

    def get(self, model: str, texts: Iterable[str]) -> dict[str, PassageState]:
        """Those of the texts that are there. `model` is `fingerprint`'s."""
        from safetensors import SafetensorError

        keys = {_key(model, t): t for t in texts}
        try:
            return {keys[key]: _unpack(blob) for key, blob in self.get_bytes(keys).items()}
        except SafetensorError as e:
            self.begin_anew(e)
            return {}

    def put(self, model: str, states: Mapping[str, PassageState]) -> None:
        self.put_bytes({_key(model, t): _pack(k) for t, k in states.items()})


def fingerprint(module: nn.Module, max_length: int | None = None) -> str:
    """What a model's kept passages depend on: its kind, every weight, and where it cuts a passage (at the module's own
    `max_length` if none is given)."""
    import torch

    cut = module.max_length if max_length is None else max_length
    digest = hashlib.blake2b(f"{_FORMAT} {type(module).__name__} {cut}".encode(), digest_size=16)
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _key(model: str, text: str) -> bytes:
    return hashlib.blake2b(f"{model}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _pack(state: PassageState) -> bytes:
    from safetensors.torch import save

    return save({"memory": state.memory.half().cpu().contiguous(), **{f".{k}": v.cpu() for k, v in state.rest.items()}})


def _unpack(blob: bytes) -> PassageState:
    from safetensors.torch import load

    from as2core.nn.kept_passages import PassageState

    tensors = load(blob)
    return PassageState(tensors.pop("memory"), {k[1:]: v for k, v in tensors.items()})
