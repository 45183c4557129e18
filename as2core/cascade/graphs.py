"""ONNX graphs kept on disk, a folder a model: built once, checked at every use, shared by processes.

A folder's name says what it was made from: the weights' hash, the exits, the version of the graph builder, and whether
the processor needs 7-bit weights. It appears by one rename, so half of it is never seen, and of two processes that
build at once one uses the other's. `sums.json` in it holds each file's SHA-256: a damaged folder is built again.

Models come and go, so a build ends with tidying: of the folders the 8 last used stay, and those that this process has
asked for. A use is the folder's time of change. What a killed process left half done goes after an hour.
"""

import hashlib
import json
import logging
import os
import platform
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from torch import nn

from as2core.cascade.onnx_graph import GRAPH_VERSION, build_graph, channel_peaks
from as2core.nn.backbone import Backbone
from as2core.nn.heads import ExitHead, PaperHead
from as2core.system.files import match_mode, sha256
from as2core.types import OnProgress, Progress

log = logging.getLogger(__name__)
SUMS = "sums.json"
MAX_FOLDERS = 8  # of some 60 MB each
STALE_SECONDS = 3600  # after which an unfinished folder is removed
BUILDING, GOING = ".building-", ".going-"
VNNI = ("avx512_vnni", "avx_vnni", "amx_int8")
_in_use: set[Path] = set()  # folders that this process runs on, or is about to


def default_folder() -> Path:
    """Where graphs are stored by default: in AS2_HOME, else in the user's cache."""
    if home := os.environ.get("AS2_HOME"):
        return Path(home).expanduser() / "graphs"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "as2" / "graphs"


def graphs_for(
    backbone: Backbone,
    heads: nn.ModuleList,
    exits: Sequence[int],
    folder: Path | None = None,
    *,
    on_progress: OnProgress | None = None,
) -> list[Path]:
    """A cascade's graphs, one an exit; built if they are not in `folder` or damaged. Raises BadSetting, OSError."""
    bits = weight_bits()
    peaks = cache(lambda: channel_peaks(backbone))

    def build(below: int, layer: int, head: nn.Module) -> bytes:
        head = head.to_exit_head() if isinstance(head, PaperHead) else head
        assert isinstance(head, ExitHead)
        return build_graph(backbone, head, below, layer, final=layer == exits[-1], bits=bits, peaks=peaks())

    spans = zip((0, *exits), exits, heads, strict=False)
    builders = {f"to-layer-{layer}": partial(build, below, layer, head) for below, layer, head in spans}
    settings = [GRAPH_VERSION, bits, list(exits), backbone.config.to_json_string()]
    name = name_folder([*settings, *(["segments"] if backbone.segments else [])], (backbone, heads))
    return store_graphs(name, builders, folder, on_progress=on_progress)


def store_graphs(
    name: str,
    builders: Mapping[str, Callable[[], bytes]],
    folder: Path | None = None,
    *,
    on_progress: OnProgress | None = None,
) -> list[Path]:
    """The files of a model's graphs, in the order of `builders`, which are called where they are not there or damaged.
    Raises OSError, and what a builder does."""
    home = (folder or default_folder()) / name
    files = [home / f"{part}.onnx" for part in builders]
    _in_use.add(home)
    if _is_intact(home, files):
        with suppress(OSError):  # another's folder, or a disk that is only read
            os.utime(home)
        return files
    home.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=BUILDING, dir=home.parent, ignore_cleanup_errors=True) as unfinished:
        building = Path(unfinished)
        for done, (file, (part, build)) in enumerate(zip(files, builders.items(), strict=True)):
            if on_progress:
                on_progress(Progress(done, len(files), f"preparing the quick engine, {part.replace('-', ' ')}"))
            (building / file.name).write_bytes(build())
        sums = {file.name: sha256(building / file.name) for file in files}
        (building / SUMS).write_text(json.dumps(sums, indent=2) + "\n")
        _move_into_place(building, home, files)
    _tidy(home)
    if on_progress:
        on_progress(Progress(len(files), len(files), "the quick engine is ready"))
    return files


def weight_bits() -> int:
    """8; 7 on x86 processors without VNNI, whose int8 products would overflow the 16 bits they are added in."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return 8
    try:
        flags = Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0].split()
    except OSError:
        return 7
    return 8 if any(f in flags for f in VNNI) else 7


def name_folder(settings: object, modules: Iterable[nn.Module]) -> str:
    """The name of a model's folder: a digest of what its graphs are made of."""
    digest = hashlib.sha256(json.dumps(settings).encode())
    for module in modules:
        for name, tensor in sorted(module.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().float().cpu().contiguous().numpy())
    return digest.hexdigest()[:32]


def _is_intact(home: Path, files: Sequence[Path]) -> bool:
    try:
        sums = json.loads((home / SUMS).read_text())
        whole = all(sums[f.name] == sha256(f) for f in files)
    except (OSError, ValueError, KeyError, TypeError):
        whole = False
    if not whole and home.exists():
        log.warning("the graphs in %s are damaged and are built again", home)
    return whole


def _move_into_place(building: Path, home: Path, files: Sequence[Path]) -> None:
    """A damaged folder there is removed; one that another process has built stays."""
    match_mode(building, building / SUMS)
    for _ in range(2):
        try:
            building.rename(home)
            return
        except OSError:
            if _is_intact(home, files):
                return
            _remove(home)
    building.rename(home)


def _tidy(folder: Path) -> None:
    """Remove the folders beside `folder`, the newest of all, that were not used for long, and what is half done."""
    times = {}
    for p in folder.parent.iterdir():
        with suppress(OSError):  # another process removes it at this moment
            times[p] = p.stat().st_mtime
    graphs = [p for p in times if re.fullmatch("[0-9a-f]{32}", p.name)]
    for old in sorted(graphs, key=times.__getitem__, reverse=True)[MAX_FOLDERS:]:
        if old not in _in_use:
            with suppress(OSError):
                _remove(old)
    for p, time in times.items():
        if p.name.startswith((BUILDING, GOING)) and times.get(folder, 0.0) - time > STALE_SECONDS:
            shutil.rmtree(p, ignore_errors=True)


def _remove(home: Path) -> None:
    """By one rename, too, so that half of it is never seen."""
    with TemporaryDirectory(prefix=GOING, dir=home.parent, ignore_cleanup_errors=True) as aside:
        home.rename(Path(aside) / home.name)
