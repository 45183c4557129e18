"""A ranker on its way to other machines: its spec, what it is loaded with, and where its files are to be had."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from as2core.bulk.packing import Folder, Packer, make_root, restore_paths, unpack
from as2core.errors import As2Error, BadSetting
from as2core.lookup import cite, list_versions, load_ranker, read_engine
from as2core.rankers.base import Ranker
from as2core.rankers.catalog import CATALOG


@dataclass(frozen=True, slots=True)
class PackedRanker:
    """The ranker of `spec`, whose `files` are stored by digest, and have these `paths` where it was packed. `weights`:
    the SHA-256 of a shipped model, as it is there. `folder` is where files are unpacked; None: where the node has
    room."""

    spec: str
    engine: str
    files: Mapping[str, Any]
    paths: Mapping[str, str]
    weights: str | None
    folder: Path | None

    def load(self, fetch: Callable[[Any], Any]) -> Ranker:
        """`fetch` gets what was stored. Raises what `load_ranker` raises, with the paths of where it was packed, and
        BadSetting where this machine has other weights."""
        root = make_root(self.folder)
        spec = unpack(self.spec, lambda digest: fetch(self.files[digest]), root)
        if (weights := _cite_shipped(spec)) != self.weights:
            raise BadSetting(
                f"{spec} has other weights on a node ({weights}) than here ({self.weights}): update it there"
            )
        try:
            return load_ranker(spec, versions=dict, engine=self.engine)
        except As2Error as error:
            raise type(error)(restore_paths(str(error), self.paths, root)) from None


def pack_ranker(spec: str, store: Callable[[Folder], Any], folder: Path | None) -> PackedRanker:
    """`store` keeps a folder where `fetch` finds it by what is returned. Raises BadSetting, UnknownRanker."""
    packer = Packer(list_versions())
    packed_spec = packer.pack(spec)
    files = {digest: store(content) for digest, content in packer.folders.items()}
    return PackedRanker(packed_spec, read_engine(), files, packer.paths, _cite_shipped(spec), folder)


def _cite_shipped(spec: str) -> str | None:
    """None for a version or a directory, which is packed."""
    return cite(spec)["weights"] if spec.partition(":")[0] in CATALOG else None
