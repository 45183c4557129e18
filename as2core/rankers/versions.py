"""A version of a ranker as a directory: `model.safetensors`, `config.json`, `card.json`. Never pickle.

Only the tensors that differ from the backbone are stored; loading lays them over it. Compact, as the shipped models
are, a matrix is stored as int8 steps from the backbone's with a scale for each row: what training moved is small, so
few steps are fine enough, and all else is in half precision. The card carries the SHA-256 of the weights and of the
configuration. A directory appears by one rename, so a half-written version is never seen.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import torch

from as2core.data.source import sha256
from as2core.errors import BadSetting, DamagedModel, UnreadableFile
from as2core.nn.backbone import load_backbone
from as2core.nn.word_vectors import word_vectors
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.compare_aggregate import CompareAggregateRanker
from as2core.rankers.cosinet import CosinetRanker
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.rankers.fusion import FusionRanker
from as2core.rankers.generative import GenerativeRanker, load_question_lm
from as2core.rankers.rel_cnn import RelCNNRanker
from as2core.rankers.seq2seq_classifier import Seq2SeqClassifierRanker, load_seq2seq_classifier
from as2core.rankers.specs import pointed_anew
from as2core.rankers.word_ranker import WordRanker

FORMAT = 1
WORD_RANKERS = {cls.kind: cls for cls in (CosinetRanker, RelCNNRanker, CompareAggregateRanker)}
STEPS, SCALE = ".steps", ".scale"
MOST_STEPS = 8  # of a row either way: int8 could hold 127, but few compress better, and rank alike (decision 0024)
WEIGHTS, CONFIG, CARD = "model.safetensors", "config.json", "card.json"


def save_version(ranker, path: Path, card: dict, *, compact: bool = False) -> None:
    """Write a ranker as a version; `compact` takes a third of the room and is no longer exact.

    Raises BadSetting if the path exists or the ranker has no weights of its own.
    """
    from safetensors.torch import save_file

    path = Path(path)
    if path.exists():
        raise BadSetting(f"{path} exists already: choose another name for the version")
    config = _config(ranker)
    original = load_backbone(config["backbone"]).state_dict() if hasattr(ranker.module, "backbone") else {}
    tensors = _own_tensors(ranker, original)
    if compact:
        tensors = _compact(tensors, original)
    tensors = {name: t.contiguous() for name, t in tensors.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        save_file(tensors, building / WEIGHTS)
        _describe(building, config, {**card, "name": path.name})
        (building / WEIGHTS).chmod(0o644)  # safetensors writes for the owner alone; a container's user must read it
        building.chmod(0o755)
        building.rename(path)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise


def describe_anew(ranker, path: Path, card: dict) -> None:
    """Another configuration and card for a version whose weights stay as they are. It can be loaded all the while:
    until the new card is there, the old one stands without the configuration's sum, as cards once did."""
    path, config = Path(path), _config(ranker)
    _put(path / CARD, {k: v for k, v in read_card(path).items() if k != "config_sha256"})
    _describe(path, config, {**card, "name": path.name})


def point_anew(path: Path, moved: Mapping[str, str]) -> None:
    """Have a saved fusion name its rankers where they are now, by old directory -> new. A configuration that is damaged
    stays so, and a kill does no more harm than in `describe_anew`. Raises DamagedModel."""
    config, card = _read(path, CONFIG), read_card(path)
    settings = config.get("settings") or {}
    told = [pointed_anew(spec, moved) for spec in settings.get("rankers", ())]
    intact = card.get("config_sha256") in (None, sha256(path / CONFIG))
    if intact and told != settings.get("rankers", []):
        _put(path / CARD, {k: v for k, v in card.items() if k != "config_sha256"})
        _put(path / CONFIG, {**config, "settings": {**settings, "rankers": told}})
        _put(path / CARD, {**card, "config_sha256": sha256(path / CONFIG)})


def _describe(path: Path, config: dict, card: dict) -> None:
    _put(path / CONFIG, config)
    _put(path / CARD, {**card, "sha256": sha256(path / WEIGHTS), "config_sha256": sha256(path / CONFIG)})


def _put(path: Path, content: dict) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content, indent=2) + "\n")
    part.replace(path)  # a kill leaves no half of it


def load_version(path: Path):
    """The ranker saved at `path`, ready to score. Raises DamagedModel, saying what is wrong and how to mend it."""
    from safetensors.torch import load_file

    path = Path(path)
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
        ranker = _build(config, path)
    except (BadSetting, KeyError, TypeError) as e:  # a setting that is missing, unknown, or of another kind
        raise DamagedModel(f"{path / CONFIG} cannot be used ({_told(e)}): {_remedy(path)}") from e
    state = ranker.module.state_dict()
    tensors = _full(load_file(weights), state)
    unknown = set(tensors) - set(state)
    if unknown:
        raise DamagedModel(f"{weights} holds tensors this version of the program does not know: {sorted(unknown)[0]}")
    ranker.module.load_state_dict(tensors, strict=False)
    ranker.module.eval()
    ranker.name, ranker.trained = path.name, True
    return ranker


def kind_of(path: Path) -> str:
    """The kind of ranker a version is of, as its configuration has it. Raises DamagedModel."""
    return str(_read(Path(path), CONFIG).get("ranker", ""))


def read_card(path: Path) -> dict:
    """The card of a version: data, recipe, numbers, hash. Raises DamagedModel."""
    return _read(Path(path), CARD)


def _read(path: Path, name: str) -> dict:
    try:
        read = json.loads((path / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DamagedModel(f"{path / name} is missing: {_remedy(path)}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as e:
        raise DamagedModel(f"{path / name} is not JSON ({e}): {_remedy(path)}") from None
    if not isinstance(read, dict):
        raise DamagedModel(f"{path / name} is not a JSON object: {_remedy(path)}")
    return read


def _told(e: Exception) -> str:
    return f"it has no {e}" if isinstance(e, KeyError) else str(e)


def _remedy(path: Path) -> str:
    return f"restore {path.name} (a shipped one {fetched(path.name)}), or choose another version"


def fetched(name: str) -> str:
    """How a shipped model is had again."""
    return f"comes back with `git checkout -- models/{name}` in a clone, elsewhere with the program fetched anew"


def _config(ranker) -> dict:
    if isinstance(ranker, CascadeRanker):
        kind = "cross-encoder" if isinstance(ranker, CrossEncoderRanker) else "cascade"
        settings = {
            "exits": list(ranker.exits),
            "drop_ratio": ranker.drop_ratio if isinstance(ranker.drop_ratio, int | float) else list(ranker.drop_ratio),
            "keep": ranker.keep,
            "max_length": ranker.max_length,
            "calibration": [list(c) for c in ranker.calibration] if ranker.calibrated else None,
            "threshold": ranker.threshold,
        }
        if isinstance(ranker, CrossEncoderRanker):
            settings["pool"] = ranker.pool
        return {"format": FORMAT, "ranker": kind, "backbone": ranker.backbone.name, "settings": settings}
    if isinstance(ranker, GenerativeRanker):
        module = ranker.module
        name = module.backbone.name if hasattr(module, "backbone") else module.model.config._name_or_path
        return {
            "format": FORMAT,
            "ranker": "generative",
            "backbone": name,
            "settings": {"max_length": module.max_length, "direction": ranker.direction},
        }
    if isinstance(ranker, Seq2SeqClassifierRanker):
        settings = {"max_length": ranker.module.max_length}
        return {"format": FORMAT, "ranker": "seq2seq-classifier", "backbone": ranker.module.name, "settings": settings}
    if isinstance(ranker, WordRanker):
        words = {"backbone": None, **ranker.vectors.origin, "size": ranker.vectors.size}
        return {"format": FORMAT, "ranker": ranker.kind, **words, "settings": ranker.settings}
    if isinstance(ranker, FusionRanker):
        settings = {"method": ranker.method, "k": ranker.k, "rankers": list(ranker.specs)}
        return {"format": FORMAT, "ranker": "fusion", "backbone": None, "settings": settings}
    raise BadSetting(f"the ranker {getattr(ranker, 'name', ranker)!r} has no weights to save")


def _build(config: dict, path: Path):
    settings = dict(config["settings"])
    if config["ranker"] == "generative":
        module = load_question_lm(config["backbone"], max_length=settings["max_length"])
        return GenerativeRanker(module, direction=settings.get("direction", "question"))
    if config["ranker"] == "seq2seq-classifier":
        return Seq2SeqClassifierRanker(load_seq2seq_classifier(config["backbone"], **settings))
    if config["ranker"] == "fusion":
        from as2core.rankers.catalog import get  # the catalog imports this module when it loads a version

        specs = settings.pop("rankers")
        return FusionRanker([get(s) for s in specs], specs=specs, **settings)
    if config["ranker"] in WORD_RANKERS:
        try:
            vectors = word_vectors(backbone=config["backbone"], path=config.get("vectors"))
        except UnreadableFile as e:
            raise DamagedModel(f"{path} needs the word vectors it was trained with, but {e}") from e
        if vectors.size != config["size"]:
            raise DamagedModel(
                f"{path} was trained with word vectors of {config['size']} numbers, "
                f"{config.get('vectors') or config['backbone']} has {vectors.size}: put the old back, or train anew"
            )
        return WORD_RANKERS[config["ranker"]](vectors, **settings, trained=True)
    backbone = load_backbone(config["backbone"])
    if config["ranker"] == "cascade":
        return CascadeRanker(backbone, **settings)
    if config["ranker"] == "cross-encoder":
        depth = settings.pop("exits")[-1]
        return CrossEncoderRanker(backbone, depth=depth, **settings)
    raise DamagedModel(f"{path} is a {config['ranker']!r}, which this program does not know: update it")


def _own_tensors(ranker, original: dict) -> dict:
    """What differs from the untouched backbone; everything, for models that have no backbone of ours."""
    state = ranker.module.state_dict()  # detached; what is tied shares its memory until it is copied from a GPU
    state = {k: v.cpu() for k, v in (state if original else untied(state)).items()}
    if not original:
        return state
    return {
        k: v
        for k, v in state.items()
        if not (k.startswith("backbone.") and v.equal(original[k.removeprefix("backbone.")]))
    }


def _compact(tensors: dict, original: dict) -> dict:
    """`<name>.steps` (int8) and `<name>.scale` (one a row) for the backbone's matrices, float16 for the rest."""
    out = {}
    for name, t in tensors.items():
        before = original.get(name.removeprefix("backbone.")) if name.startswith("backbone.") else None
        if before is None or t.ndim != 2:
            out[name] = t.half() if t.is_floating_point() else t
            continue
        moved = t.float() - before.float()
        scale = moved.abs().amax(1).clamp(min=1e-12) / MOST_STEPS
        out[name + STEPS] = (moved / scale[:, None]).round().to(torch.int8)
        out[name + SCALE] = scale
    return out


def _full(tensors: dict, state: dict) -> dict:
    """Half precision as float32, what `_compact` stored as steps laid over `state`, the backbone's."""
    out = {}
    for name, t in tensors.items():
        if name.endswith(STEPS) and (whole := name.removesuffix(STEPS)) in state:
            out[whole] = state[whole] + t.float() * tensors[whole + SCALE][:, None]
        elif not name.endswith(SCALE) or name.removesuffix(SCALE) + STEPS not in tensors:
            out[name] = t.float() if t.dtype in (torch.float16, torch.bfloat16) else t
    return out


def untied(state: dict) -> dict:
    """Each shared tensor once: safetensors refuses aliases, and tied weights come back by loading either name."""
    seen: set[int] = set()
    return {k: v for k, v in state.items() if not (v.data_ptr() in seen or seen.add(v.data_ptr()))}
