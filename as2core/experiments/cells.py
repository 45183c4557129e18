"""The cells of an experiment on disk: one system at one seed, with what every question got. A run that is stopped goes
on after the last of them, and intervals over questions need them.

A cell is named by all that makes it: experiment, system, seed, questions, encoder, sizes. Of which code it is, it says
itself (`Cell.code`): a changed program does not throw away days of training, but its results are not passed off as the
new one's.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from pathlib import Path

from as2core.errors import UnreadableFile
from as2core.experiments.report.findings import ValuesByMeasure
from as2core.system.files import write_text
from as2core.types import Json
from as2core.version import digest_code


@dataclass(frozen=True, slots=True)
class Cell:
    """`values`: each measure by question, by system. `numbers`, and `lists` of them: whatever else was counted, timed
    or is needed again. `code` and `day`: of what is stored; "" before."""

    values: Mapping[str, ValuesByMeasure]
    numbers: Mapping[str, float] = field(default_factory=dict)
    lists: Mapping[str, list[float]] = field(default_factory=dict)
    code: str = ""
    day: str = ""


@dataclass(frozen=True, slots=True)
class CellStore:
    """Cells, and the folders of what is being trained, below `folder`."""

    folder: Path

    def path(self, key: Mapping[str, Json]) -> Path:
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
        name = re.sub(r"[^a-z0-9]+", "-", f"{key['cell']}-{key['seed']}".lower()).strip("-")
        return self.folder / str(key["experiment"]) / f"{name[:60]}-{digest}.json"

    def read(self, key: Mapping[str, Json]) -> Cell | None:
        """Raises UnreadableFile for a damaged one."""
        path = self.path(key)
        if not path.is_file():
            return None
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            return Cell(record["values"], record["numbers"], record["lists"], record["code"], record["day"])
        except (ValueError, KeyError, TypeError) as error:
            raise UnreadableFile(f"{path} is damaged: delete it, and the experiment measures it again") from error

    def write(self, key: Mapping[str, Json], cell: Cell) -> Cell:
        """The cell as it is stored: with today's date and this program's code."""
        cell = replace(cell, code=digest_code(), day=date.today().isoformat())
        path = self.path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(json.dumps({"key": key, **asdict(cell)}), path)
        return cell

    def work_folder(self, key: Mapping[str, Json]) -> Path:
        """Where checkpoints of the cell lie until it is written."""
        return self.path(key).with_suffix(".work")


def describe_code() -> str:
    """`2026-11-25 a1b2c3d4e5`: of which day and code a figure measured now is."""
    return f"{date.today().isoformat()} {digest_code()}"
