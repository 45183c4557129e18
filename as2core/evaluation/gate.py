"""A regression gate: conditions on an evaluation, in a TOML file. A program in CI checks them by an exit code, and the
workbench before a version is promoted.

    data = "starter-test"    # for promotions: on which questions, and in which setting
    setting = "clean"

    [[require]]              # of the first ranker named, or the version to promote
    measure = "AP"
    at_least = 0.80

    [[require]]
    measure = "P@1"
    against = "bm25"         # another ranker named; "no reranking" for the order in the data
    max_loss = 0.02          # the mean difference may be -0.02
    sure = true              # not the mean, but the lower end of its 95 % interval

A mean moves with the questions, so `sure` is the safer condition, and takes more questions to pass: never fewer than
`MIN_CHANGED_QUESTIONS` of `as2core.metrics`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from as2core.errors import As2Error, BadSetting, UnreadableFile

if TYPE_CHECKING:
    from as2core.evaluation.rankers import Evaluation

UNRANKED = "no reranking"
KEYS = {"measure", "at_least", "against", "max_loss", "sure"}
FILE_KEYS = {"data", "setting", "kind", "require"}


class GateFailed(As2Error):
    """An evaluation that does not meet its gate."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Requirement:
    """`limit`: of the measure, or with `against` of the difference. `is_sure`: the interval's lower end has to reach
    it."""

    measure: str
    limit: float
    against: str | None = None
    is_sure: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """A file's content. `data`, `setting` and `kind` are for promotions: on which questions ("" where the file does not
    say), and versions of which kind have to pass it."""

    requirements: tuple[Requirement, ...]
    data: str = ""
    setting: str = "clean"
    kind: str = "cascade"

    @property
    def others(self) -> tuple[str, ...]:
        """The rankers that it compares with."""
        names = (r.against for r in self.requirements)
        return tuple(dict.fromkeys(name for name in names if name is not None and name != UNRANKED))


@dataclass(frozen=True, slots=True)
class Check:
    """A requirement in words, what was found, and whether that is enough; in `note` why not, where the value does not
    say it."""

    requirement: str
    value: float
    is_met: bool
    note: str = ""

    def describe(self) -> str:
        """`met`, `missed`, or that with the reason."""
        return f"{'met' if self.is_met else 'missed'}{': ' if self.note else ''}{self.note}"


def read_gate(file: Path) -> Gate:
    """Raises UnreadableFile, BadSetting, OSError."""
    from as2core.data.catalog import SETTINGS

    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UnreadableFile(f"{file}: not TOML ({error})") from None
    rows = document.get("require")
    if not isinstance(rows, list) or not rows:
        raise BadSetting(f"{file} requires nothing: write [[require]] with measure and at_least, or against")
    if unknown := set(document) - FILE_KEYS:
        raise BadSetting(f"{file} has {', '.join(sorted(unknown))}; known: {', '.join(sorted(FILE_KEYS))}")
    about = {name: value for name, value in document.items() if name != "require"}
    if not all(isinstance(value, str) for value in about.values()):
        raise BadSetting(f"{file}: data, setting and kind are texts")
    if about.get("setting", "clean") not in SETTINGS:
        raise BadSetting(f"{file}: no setting {about['setting']!r}; known: {', '.join(SETTINGS)}")
    return Gate(tuple(_read_requirement(file, number, row) for number, row in enumerate(rows, 1)), **about)


def _read_requirement(file: Path, number: int, row: Mapping[str, object]) -> Requirement:
    from as2core.metrics import MEASURES

    where = f"{file}: requirement {number}"
    if not isinstance(row, dict):
        raise BadSetting(f"{where} is no table: write [[require]] above it")
    if unknown := set(row) - KEYS:
        raise BadSetting(f"{where} has {', '.join(sorted(unknown))}; known: {', '.join(sorted(KEYS))}")
    measure, against, is_sure = str(row.get("measure", "")), row.get("against"), row.get("sure", False)
    if measure not in MEASURES:
        raise BadSetting(f"{where}: no measure {measure!r}; known: {', '.join(MEASURES)}")
    if ("at_least" in row) == (against is not None):
        raise BadSetting(f"{where}: give either at_least, or against (with max_loss)")
    limit = row.get("at_least") if against is None else row.get("max_loss", 0.0)
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not isinstance(is_sure, bool):
        raise BadSetting(f"{where}: at_least and max_loss are numbers, sure is true or false")
    if not 0 <= limit <= 1:  # nan is not, either
        raise BadSetting(f"{where}: {limit:g} is no share: at_least and max_loss are from 0 to 1, as 0.8 for 80 %")
    return Requirement(
        measure, float(limit if against is None else 0.0 - limit), None if against is None else str(against), is_sure
    )


def check_gate(
    requirements: Sequence[Requirement],
    results: Mapping[str, Evaluation],
    unranked: Mapping[str, Mapping[str, float]],
) -> list[Check]:
    """Of the first of `results`. `unranked`: measure -> question id -> value of the order in the data, empty where it
    has none. Raises BadSetting for a ranker that was not evaluated."""
    first = next(iter(results))
    return [_check(r, first, results, unranked) for r in requirements]


def _check(
    r: Requirement, first: str, results: Mapping[str, Evaluation], unranked: Mapping[str, Mapping[str, float]]
) -> Check:
    from as2core.metrics import MIN_CHANGED_QUESTIONS, bound_mean

    values = dict(results[first].per_question[r.measure])
    name = f"{r.measure} of {first}"
    if r.against is not None:
        if r.against != UNRANKED and r.against not in results:
            raise BadSetting(f"the gate compares with {r.against!r}: name it on the command line, too")
        if r.against == UNRANKED and not unranked:
            raise BadSetting(f"the gate compares with {UNRANKED!r}, and the data has no order: take another ranker")
        others = unranked[r.measure] if r.against == UNRANKED else results[r.against].per_question[r.measure]
        values = {qid: value - others[qid] for qid, value in values.items()}
        name = f"{name} minus {r.against}"
    mean = sum(values.values()) / len(values)
    limits = (0.0, 1.0) if r.against is None else (-1.0, 1.0)
    value = bound_mean(values.values(), limits=limits)[0] if r.is_sure else mean
    part = ", lower end of its 95 % interval," if r.is_sure else ""
    note = ""
    if r.is_sure and len(values) < MIN_CHANGED_QUESTIONS:
        note = f"too few questions to be sure: {len(values)}, and it takes {MIN_CHANGED_QUESTIONS}"
    is_met = value >= r.limit - 1e-12 and not note
    return Check(f"{name}{part} at least {r.limit:g}", float(value), is_met, note)


def enforce(checks: Sequence[Check]) -> None:
    """Raises GateFailed."""
    if missed := [c for c in checks if not c.is_met]:
        details = "; ".join(f"{c.requirement}: {c.value:.3f}{f' ({c.note})' if c.note else ''}" for c in missed)
        raise GateFailed(f"the gate is not passed ({len(missed)} of {len(checks)}): {details}")
