"""Where the shipped models are: in a clone beside the package, else where its wheel put them."""

import importlib.metadata
from contextlib import suppress
from pathlib import Path

PACKAGE = "as2core"
SHIPPED_FOLDER = "models"
_KNOWN_BY = (SHIPPED_FOLDER, "cascade", "config.json")


def locate_models(root: Path) -> Path:
    """The folder with the shipped models; `root` holds the package. Where there are none, where a clone has them."""
    beside = root / SHIPPED_FOLDER
    if not (beside / "cascade").is_dir():
        with suppress(importlib.metadata.PackageNotFoundError):
            for file in importlib.metadata.files(PACKAGE) or ():
                if file.parts[-len(_KNOWN_BY) :] == _KNOWN_BY:
                    return Path(file.locate()).resolve().parents[1]
    return beside


def describe_recovery(name: str) -> str:
    """How to get a shipped model back."""
    return (
        f"comes back with `git checkout -- {SHIPPED_FOLDER}/{name}` in a clone, elsewhere by installing {PACKAGE} again"
    )
