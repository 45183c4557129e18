"""A version of a ranker as a directory: `model.safetensors`, `config.json`, `card.json`. Never pickle.

Only the tensors that differ from the backbone are stored; loading lays them over it. Compact, as the shipped models
are, a matrix is stored as int8 steps from the backbone's with a scale for each row: what training moved is small, so
few steps are fine enough, and all else is in half precision. The card carries the SHA-256 of the weights and of the
configuration. A directory appears by one rename, so a half-written version is never seen.

What a configuration holds is the ranker's own business (`HasWeights.config` and `restore`); `catalog.load_version`
loads a version of any kind.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from as2core.errors import BadSetting, DamagedModel
from as2core.rankers.base import HasWeights, JsonObject, Ranker, VersionConfig
from as2core.rankers.config_schema import check_config
from as2core.rankers.shipped import SHIPPED_FOLDER, describe_recovery
from as2core.rankers.specs import replace_rankers
from as2core.rankers.tensor_check import check_tensors
from as2core.system.files import match_mode, sha256, write_text

if TYPE_CHECKING:
    from torch import Tensor

    from as2core.nn.backbone import Backbone

Card = JsonObject  # what a version tells of itself: data, recipe, numbers, hashes
FORMAT = 1
STEPS, SCALE = ".steps", ".scale"
MAX_STEPS = 8  # of a row either way: int8 could hold 127, but few compress better, and rank alike (decision 0024)
WEIGHTS, CONFIG, CARD = "model.safetensors", "config.json", "card.json"


def save_version(
    ranker: Ranker, path: Path, card: Mapping[str, object], *, compact: bool = False, weights: Path | None = None
) -> None:
    """Write a ranker as a version; `compact` takes a third of the room and is no longer exact. `weights`: of the
    version that it was loaded from, if it is the same still; they are copied, so that they keep their form and SHA-256.

    Raises BadSetting if the path exists or the ranker has no weights of its own.
    """
    from safetensors.torch import save_file

    path = Path(path)
    if path.exists():
        raise BadSetting(f"{path} exists already: choose another name for the version")
    if not isinstance(ranker, HasWeights):
        raise BadSetting(f"the ranker {ranker.name!r} has no weights to save")
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent, ignore_cleanup_errors=True) as folder:
        building = Path(folder)
        if weights:
            shutil.copyfile(weights, building / WEIGHTS)
        else:
            save_file(_list_tensors(ranker, compact=compact), building / WEIGHTS)
        _write_description(building, ranker, {**card, "name": path.name})
        match_mode(building, building / CARD)
        building.rename(path)


def _list_tensors(ranker: HasWeights, *, compact: bool) -> dict[str, Tensor]:
    original = _backbone_state(ranker)
    tensors = _own_tensors(ranker, original)
    if compact:
        tensors = _compact(tensors, original)
    return {name: t.contiguous() for name, t in tensors.items()}


def update_description(ranker: HasWeights, path: Path, card: Mapping[str, object]) -> None:
    """Write another configuration and card for a version whose weights stay. It can be loaded meanwhile: until the new
    card is there, the old one stands without the configuration's hash, as older cards do."""
    _remove_config_hash(path)
    _write_description(path, ranker, {**card, "name": path.name})


def update_directories(path: Path, moved: Mapping[str, str]) -> None:
    """Replace the directories of a saved fusion's rankers, old -> new. A damaged configuration stays as it is, and a
    kill does no more harm than in `update_description`. Raises DamagedModel."""
    config, card = _read(path, CONFIG), read_card(path)
    settings = config.get("settings") or {}
    specs = [replace_rankers(spec, moved) for spec in settings.get("rankers", ())]
    is_intact = card.get("config_sha256") in (None, sha256(path / CONFIG))
    if is_intact and specs != settings.get("rankers", []):
        _remove_config_hash(path)
        _write_json(path / CONFIG, {**config, "settings": {**settings, "rankers": specs}})
        _write_json(path / CARD, {**card, "config_sha256": sha256(path / CONFIG)})


def _write_description(path: Path, ranker: HasWeights, card: Mapping[str, object]) -> None:
    _write_json(path / CONFIG, {"format": FORMAT, "ranker": ranker.kind, **ranker.config()})
    _write_json(path / CARD, {**card, "sha256": sha256(path / WEIGHTS), "config_sha256": sha256(path / CONFIG)})


def _remove_config_hash(path: Path) -> None:
    _write_json(path / CARD, {k: v for k, v in read_card(path).items() if k != "config_sha256"})


def _write_json(path: Path, content: Mapping[str, object]) -> None:
    write_text(json.dumps(content, indent=2) + "\n", path)


def read_version(path: Path, restore: Callable[[VersionConfig, Path], HasWeights]) -> HasWeights:
    """The ranker saved at `path`, ready to score; `restore` makes it of its configuration. Raises DamagedModel, saying
    what is wrong and how to repair it."""
    config, card = _read(path, CONFIG), read_card(path)
    weights = path / WEIGHTS
    if not weights.is_file():
        raise DamagedModel(f"{weights} is missing: {_remedy(path)}")
    if sha256(weights) != card.get("sha256"):
        raise DamagedModel(f"{weights} is damaged (its SHA-256 is not the card's): {_remedy(path)}")
    if config.get("format") != FORMAT:
        raise DamagedModel(f"{path} has format {config.get('format')!r}, this program reads {FORMAT}: update it")
    if "config_sha256" in card and sha256(path / CONFIG) != card["config_sha256"]:  # older cards have none
        raise DamagedModel(f"{path / CONFIG} is damaged (its SHA-256 is not the card's): {_remedy(path)}")
    try:
        check_config(config)
        ranker = restore(config, path)
    except (BadSetting, KeyError, TypeError) as e:  # a setting that is missing, unknown, or of another kind
        raise DamagedModel(f"{path / CONFIG} cannot be used ({_describe_error(e)}): {_remedy(path)}") from e
    state = ranker.module.state_dict()
    tensors = _expand(_load_tensors(weights), state, weights)
    has_backbone = _find_backbone(ranker) is not None
    optional = [name for name in state if has_backbone and name.startswith("backbone.")]  # as `_own_tensors` leaves out
    check_tensors(tensors, state, str(weights), optional)
    ranker.module.load_state_dict(tensors, strict=False)
    ranker.module.eval()
    ranker.name, ranker.is_trained = path.name, True
    return ranker


def read_kind(path: Path) -> str:
    """The kind of ranker of a version, from its configuration. Raises DamagedModel."""
    return str(_read(Path(path), CONFIG).get("ranker", ""))


def read_card(path: Path) -> Card:
    """The card of a version. Raises DamagedModel."""
    return _read(Path(path), CARD)


def find_weights(folder: Path) -> Path | None:
    """The weights of a version, None in a directory that is none. Raises DamagedModel."""
    is_version = (folder / WEIGHTS).is_file() and _read(folder, CONFIG).get("format") == FORMAT
    return folder / WEIGHTS if is_version else None


def is_own_kind(folder: Path) -> bool:
    """Whether a directory is an export (`as2core.export`) whose classes are ours: neither a version nor a checkpoint of
    others."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and config.get("model_type") == "as2-cross-encoder"


def _read(path: Path, name: str) -> Card:
    try:
        content = json.loads((path / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DamagedModel(f"{path / name} is missing: {_remedy(path)}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as e:
        raise DamagedModel(f"{path / name} is not JSON ({e}): {_remedy(path)}") from None
    if not isinstance(content, dict):
        raise DamagedModel(f"{path / name} is not a JSON object: {_remedy(path)}")
    return content


def _describe_error(e: Exception) -> str:
    return f"it has no {e}" if isinstance(e, KeyError) else str(e)


def _remedy(path: Path) -> str:
    if path.resolve().parent.name == SHIPPED_FOLDER:
        return f"restore {path.name} (a shipped one {describe_recovery(path.name)}), or choose another version"
    return f"restore {path.name} from a backup or export it again, or choose another version"


def _backbone_state(ranker: HasWeights) -> dict[str, Tensor]:
    """The tensors of the backbone as it was before any training; {} for a ranker that has none of ours."""
    from as2core.nn.backbone import load_backbone

    backbone = _find_backbone(ranker)
    return {} if backbone is None else load_backbone(backbone.name).state_dict()


def _find_backbone(ranker: HasWeights) -> Backbone | None:
    """The ranker's encoder, None where it is none of ours."""
    from as2core.nn.backbone import Backbone

    return ranker.encoder if isinstance(ranker.encoder, Backbone) else None


def _own_tensors(ranker: HasWeights, original: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What differs from the untouched backbone; everything, for models that have no backbone of ours."""
    state = ranker.module.state_dict()  # detached; what is tied shares its memory until it is copied from a GPU
    state = {k: v.cpu() for k, v in (state if original else deduplicate_tensors(state)).items()}
    if not original:
        return state
    return {
        k: v
        for k, v in state.items()
        if not (k.startswith("backbone.") and v.equal(original[k.removeprefix("backbone.")]))
    }


def _compact(tensors: Mapping[str, Tensor], original: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """`<name>.steps` (int8) and `<name>.scale` (one a row) for the backbone's matrices, float16 for the rest."""
    import torch

    out: dict[str, Tensor] = {}
    for name, t in tensors.items():
        before = original.get(name.removeprefix("backbone.")) if name.startswith("backbone.") else None
        if before is None or t.ndim != 2:
            out[name] = t.half() if t.is_floating_point() else t
            continue
        moved = t.float() - before.float()
        scale = moved.abs().amax(1).clamp(min=1e-12) / MAX_STEPS
        out[name + STEPS] = (moved / scale[:, None]).round().to(torch.int8)
        out[name + SCALE] = scale
    return out


def _expand(tensors: Mapping[str, Tensor], state: Mapping[str, Tensor], where: Path) -> dict[str, Tensor]:
    """Half precision as float32, what `_compact` stored as steps laid over `state`, the backbone's. Raises DamagedModel
    for steps that do not fit."""
    import torch

    out: dict[str, Tensor] = {}
    for name, t in tensors.items():
        if name.endswith(STEPS) and (whole := name.removesuffix(STEPS)) in state:
            scale, expected = tensors.get(whole + SCALE), state[whole]
            if scale is None or (t.dtype, t.shape, scale.shape) != (torch.int8, expected.shape, expected.shape[:1]):
                raise DamagedModel(f"{where}: the steps of {whole} do not fit {tuple(expected.shape)}")
            out[whole] = expected + t.float() * scale.float()[:, None]
        elif not name.endswith(SCALE) or name.removesuffix(SCALE) + STEPS not in tensors:
            out[name] = t.float() if t.dtype in (torch.float16, torch.bfloat16) else t
    return out


def _load_tensors(file: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(file)
    except (SafetensorError, OSError) as e:
        raise DamagedModel(f"{file} is no file of weights ({e}): {_remedy(file.parent)}") from e


def deduplicate_tensors(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Each shared tensor once: safetensors refuses aliases, and tied weights come back by loading either name."""
    first_names: dict[int, str] = {}
    for name, tensor in state.items():
        first_names.setdefault(tensor.data_ptr(), name)
    return {name: state[name] for name in first_names.values()}
