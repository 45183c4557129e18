"""The release and its code, where every module can read them."""

import hashlib
from functools import cache
from pathlib import Path

__version__ = "0.1.0"


@cache
def digest_code(root: Path = Path(__file__).parent) -> str:
    """The first digits of the SHA-256 of what ranks, trains and measures: as2core's modules but for the experiments,
    whose sizes and settings are in a cell's key, and the commands."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if name.parts[0] not in ("experiments", "commands"):
            digest.update(str(name).encode() + path.read_bytes())
    return digest.hexdigest()[:10]
