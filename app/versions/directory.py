"""What is in a version's directory: its configuration, its card, and what is missing."""

import json
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from pathlib import Path

from as2core.types import Json

UNFINISHED_SECONDS = 3600.0  # no version takes longer to write
UNFINISHED_NAME = re.compile(r"\..+\.[a-z0-9_]{8}")  # as `save_version` calls the folder that it writes to
FILES = ("config.json", "card.json", "model.safetensors")


def read_json(folder: Path, file: str = "config.json") -> dict[str, Json]:
    """config.json or card.json, {} if it cannot be read. `as2core.rankers.versions.read_card` raises instead."""
    try:
        content = json.loads((folder / file).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def read_kind(folder: Path) -> str:
    """The kind of ranker, "" if the configuration cannot be read."""
    return str(read_json(folder).get("ranker", ""))


def read_drop_ratio(folder: Path) -> float | None:
    """What a cascade drops at every exit without further settings; None where that is not one number."""
    settings = read_json(folder).get("settings")
    ratio = settings.get("drop_ratio") if isinstance(settings, dict) else None
    return float(ratio) if isinstance(ratio, int | float) else None


def find_problem(folder: Path) -> str:
    """Why the directory cannot be used, "" if nothing is missing."""
    if not folder.is_dir():
        return f"its directory {folder} is missing"
    missing = [f for f in FILES if not (folder / f).is_file()]
    return f"{', '.join(missing)} missing in {folder}" if missing else ""


def list_unfinished(versions: Path, now: float) -> list[Path]:
    """The folders in which versions were being written by processes that were killed. `versions`: the home's folder of
    them; `now`: seconds since 1970."""
    unfinished = []
    for folder in sorted([*versions.glob(".*"), *versions.glob("@*/.*")]):  # beside the versions, not in one
        with suppress(OSError):  # its writer may end at this moment
            if (
                UNFINISHED_NAME.fullmatch(folder.name)
                and folder.is_dir()
                and now - folder.stat().st_mtime > UNFINISHED_SECONDS
            ):
                unfinished.append(folder)
    return unfinished


def delete_unfinished(versions: Path, now: float) -> None:
    """Delete `list_unfinished`."""
    for folder in list_unfinished(versions, now):
        shutil.rmtree(folder, ignore_errors=True)


def flatten_metrics(metrics: object) -> dict[str, float]:
    """The numbers of a card's metrics; nested ones are named "outer inner"."""
    flat: dict[str, float] = {}
    for key, value in metrics.items() if isinstance(metrics, Mapping) else ():
        if isinstance(value, Mapping):
            flat |= {f"{key} {inner}": v for inner, v in flatten_metrics(value).items()}
        elif isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            flat[str(key)] = float(value)
    return flat
