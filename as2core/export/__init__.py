"""A ranker for other programs, one file a format; and back."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from as2core.errors import As2Error, BadSetting, DamagedModel
from as2core.system.files import PART, remove_abandoned_parts
from as2core.types import Candidate

if TYPE_CHECKING:
    from as2core.rankers.base import HasWeights, Ranker
    from as2core.rankers.versions import Card

FORMATS = {
    "hf": "a Hugging Face directory (AutoModelForSequenceClassification, trust_remote_code=True)",
    "cross-encoder": "a directory for sentence-transformers' CrossEncoder (trust_remote_code=True)",
    "onnx": "one ONNX file with its tokenizer",
    "onnx-int8": "the same with weights in int8, for browsers and phones; it cannot be imported again",
    "as2": "a version's directory as the workbench keeps it: all exits, any trainable ranker",
}
ORIGIN = (  # of a card
    "name", "parent", "recipe", "data", "licence", "settings", "seed", "created", "trained_on", "validated_on",
)  # fmt: skip

PROBES = (  # short, long, and without a known word
    ("When was the tower finished?", "The tower was finished in 1889."),
    ("What keeps bread fresh for longer than a day or two in summer?", "Bread keeps for days in a cloth. " * 40),
    ("Qwxz vbnm?", "Zzyzx 12 %$ \u00e9\u00e9 \u4e16\u754c."),
)


def export_ranker(
    ranker: Ranker, to: str, folder: Path, *, card: Card, depth: int | None = None, version: Path | None = None
) -> list[Path]:
    """Write it to `folder`, which appears whole or not at all; returns its files. Of a cascade the formats of other
    programs hold one exit: the one after `depth` layers, the last by default, without the layers above it. `version`:
    the directory that it was loaded from, whose weights as2 copies.

    Raises BadSetting for an unknown format, a folder that is not empty, a ranker that a format cannot hold, or a depth
    without an exit.
    """
    if to not in FORMATS:
        raise BadSetting(f"no format {to!r}; known: {', '.join(FORMATS)}")
    if depth is not None:
        ranker, card = _cut(ranker, to, depth, card)
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadSetting(f"{folder} exists already: give a new or an empty folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned_parts(folder)
    with TemporaryDirectory(PART, f".{folder.name}.", folder.parent, ignore_cleanup_errors=True) as building:
        part = Path(building) / folder.name  # a version is called as its folder is
        _write(ranker, to, part, card, version)
        if folder.exists():
            folder.rmdir()
        part.rename(folder)
    return sorted(p for p in folder.iterdir() if p.is_file())


def _cut(ranker: Ranker, to: str, depth: int, card: Card) -> tuple[Ranker, Card]:
    """The exit alone, and what of the card holds for it: no figure does, unless it is the last exit's."""
    from as2core.rankers.cascade import CascadeRanker
    from as2core.rankers.cross_encoder import CrossEncoderRanker

    if to == "as2":
        raise BadSetting("as2 keeps every exit: leave out the exit, or choose another format")
    if not isinstance(ranker, CascadeRanker) or depth not in ranker.exits:
        exits = ", ".join(map(str, ranker.exits)) if isinstance(ranker, CascadeRanker) else "none"
        raise BadSetting(f"no exit after layer {depth}; {ranker.name} has exits after: {exits}")
    if depth != ranker.exits[-1]:
        card = {key: card[key] for key in ORIGIN if key in card} | {"exit": depth}
    return CrossEncoderRanker.from_cascade(ranker, depth=depth), card


def _write(ranker: Ranker, to: str, folder: Path, card: Card, version: Path | None) -> None:
    from as2core.export import cross_encoder, hugging_face, onnx_file, onnx_int8
    from as2core.rankers.cascade import CascadeRanker
    from as2core.rankers.cross_encoder import CrossEncoderRanker
    from as2core.rankers.versions import find_weights, save_version

    if to == "as2":
        save_version(ranker, folder, card, weights=find_weights(version) if version else None)
        return
    if not isinstance(ranker, CascadeRanker):
        raise BadSetting(f"{ranker.name} is no cascade or cross-encoder, which {to} is for: export it as as2")
    if isinstance(ranker, CrossEncoderRanker) and ranker.pool == "cls":
        raise BadSetting(f"{ranker.name} reads the [CLS] token, which {to} cannot hold here: export it as as2")
    folder.mkdir()
    writers = {"hf": hugging_face, "cross-encoder": cross_encoder, "onnx": onnx_file, "onnx-int8": onnx_int8}
    writers[to].write(ranker, folder, card)


def import_ranker(folder: Path) -> tuple[HasWeights, Card]:
    """A ranker and its card from a version's directory, or whatever `export_ranker` made of one. It is complete, and
    scores the PROBES with finite numbers.

    Raises DamagedModel for anything else.
    """
    folder = Path(folder)
    try:
        ranker, card = _read(folder)
        _check_numbers(ranker, folder)
    except As2Error:
        raise
    except Exception as e:  # a file from anywhere may hold anything
        raise DamagedModel(f"{folder} holds no version that can be used ({type(e).__name__}: {e})") from e
    if not isinstance(card, dict):
        raise DamagedModel(f"{folder} has a card that is no JSON object: export the version again")
    return ranker, card


def _read(folder: Path) -> tuple[HasWeights, Card]:
    from as2core.export import hugging_face, onnx_file
    from as2core.rankers.catalog import load_version
    from as2core.rankers.versions import is_own_kind, read_card

    if (folder / onnx_file.FILE).is_file():
        return onnx_file.read(folder)
    try:
        json.loads((folder / "config.json").read_text())
    except (OSError, ValueError) as e:
        raise DamagedModel(f"{folder} holds no version: give a directory that as2 exported") from e
    if is_own_kind(folder):
        return hugging_face.read(folder)
    return load_version(folder), read_card(folder)


def _check_numbers(ranker: HasWeights, folder: Path) -> None:
    """Raises DamagedModel unless all weights are finite, also those of exits that few candidates pass, and so is the
    score of each of the PROBES."""
    for name, tensor in ranker.module.state_dict().items():
        if not bool(tensor.isfinite().all()):
            raise DamagedModel(f"{folder} has weights that are no numbers: {name}")
    for question, text in PROBES:
        scores = ranker.score(question, [Candidate("probe", text), Candidate("empty", ".")])
        if scores.shape != (2,) or not all(map(isfinite, scores.tolist())):
            raise DamagedModel(f"{folder} gives {question!r} scores that are no numbers: its weights are damaged")
