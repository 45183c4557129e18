"""Gates: comparisons with conditions that a version has to meet before it is promoted.

Each TOML file in the folder `gates` of the home is one, named by the file, in the format of `as2 eval --gate` with the
questions added (`data = "starter-test"`). `against = "active"` compares with the version that is active now. A version
that was in use before is not checked: going back has to work when something is wrong. What is stored of an evaluation
is used again, so a gate on the frozen benchmark costs no time after a retrain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.compare.question_sets import load_questions, read_synonyms_of
from app.compare.rankers import check_ranker, note_trained_on
from app.versions import promotion, registry
from app.versions.evaluations import has_evaluation, load_or_evaluate
from app.versions.registry import VersionView
from app.workbench import people
from app.workbench.workbench import Workbench
from as2core.data.catalog import apply_setting, has_order
from as2core.errors import BadSetting, UnknownData
from as2core.evaluation.gate import Check, Gate, GateFailed, check_gate, read_gate
from as2core.evaluation.rankers import Evaluation
from as2core.metrics import measure_each_unranked
from as2core.types import Progress, Question

ACTIVE = "active"
NOT_CHECKED = ("active", "former", "shipped")  # states of versions that were in use
Report = Callable[[float, str], None]  # a share from 0 to 1, and what is measured


@dataclass(frozen=True, slots=True)
class GateResult:
    """A gate for one version. `notes`: what makes its figures too good."""

    name: str
    data: str
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def is_passed(self) -> bool:
        return all(check.is_met for check in self.checks)

    @property
    def misses(self) -> str:
        """The conditions that are not met, each with what was measured."""
        return "; ".join(f"{c.requirement}: {c.value:.3f}" for c in self.checks if not c.is_met)


def list_gates(wb: Workbench, kind: str) -> dict[str, Gate]:
    """The gates of the home for versions of a kind, by name. Raises UnreadableFile, BadSetting for a file that is not
    one: a gate with a typo is not open."""
    gates = {file.stem: _read(file) for file in sorted(wb.settings.gates_dir.glob("*.toml"))}
    return {name: gate for name, gate in gates.items() if gate.kind == kind}


def _read(file: Path) -> Gate:
    try:
        gate = read_gate(file)
    except OSError as error:
        raise BadSetting(f"the gate {file} cannot be read ({error.strerror}): mend or remove the file") from error
    if not gate.data:
        raise BadSetting(f'{file} does not say on which questions: write data = "starter-test" above [[require]]')
    return gate


def check_version_gates(wb: Workbench, name: str, report: Report | None = None) -> list[GateResult]:
    """Every gate for a version, whatever its state. Raises UnknownVersion, BadSetting, UnknownRanker, UnknownData,
    DamagedModel."""
    view = registry.get_version(wb, name)
    gates = list_gates(wb, view.kind)
    results = []
    for place, (title, gate) in enumerate(gates.items()):

        def report_gate(share: float, message: str, title: str = title, place: int = place) -> None:
            if report is not None:
                report((place + share) / len(gates), f"measuring the gate {title}: {message}")

        results.append(_check(wb, view, title, gate, report_gate))
    return results


def is_measured(wb: Workbench, version: VersionView) -> bool:
    """Whether a promotion has nothing to measure. Raises as `check_version_gates`."""
    if version.state in NOT_CHECKED:
        return True
    is_ready = True
    for title, gate in list_gates(wb, version.kind).items():  # all of them: a mistake in one is told at the click
        questions = _load_questions(wb, title, gate)
        for name in _name_sides(wb, version, gate).values():
            check_ranker(wb, name)
            is_ready = is_ready and has_evaluation(wb, name, questions, gate.setting)
    return is_ready


def _load_questions(wb: Workbench, title: str, gate: Gate) -> list[Question]:
    questions = apply_setting(load_questions(wb, gate.data), gate.setting)
    if not questions:
        raise UnknownData(f"the gate {title}: {gate.data} has no question in the setting {gate.setting}")
    return list(read_synonyms_of(wb, gate.data).expand_all(questions))


def _name_sides(wb: Workbench, view: VersionView, gate: Gate) -> dict[str, str]:
    """The version, then what the gate compares it with: the name in the gate -> the ranker."""
    names = {other: registry.get_active(wb, view.kind).name if other == ACTIVE else other for other in gate.others}
    return {view.name: view.name, **names}


def _check(wb: Workbench, view: VersionView, title: str, gate: Gate, report: Report) -> GateResult:
    questions = _load_questions(wb, title, gate)
    results: dict[str, Evaluation] = {}
    sides = _name_sides(wb, view, gate)
    for place, (side, name) in enumerate(sides.items()):

        def on_progress(p: Progress, name: str = name, place: int = place) -> None:
            share = (place + p.share) / len(sides)
            report(share, f"{name}, {p.done:,} of {p.total:,} questions")

        check_ranker(wb, name)
        report(place / len(sides), f"loading {name}")
        results[side] = load_or_evaluate(
            wb, name, questions, data=gate.data, setting=gate.setting, on_progress=on_progress
        )
    in_order = measure_each_unranked(questions) if has_order(gate.data) else {}
    checks = check_gate(gate.requirements, results, in_order)
    notes = note_trained_on(wb, view.name, [q.text for q in questions])
    return GateResult(title, gate.data, tuple(checks), tuple(notes))


def promote(
    wb: Workbench,
    name: str,
    reason: str = "",
    *,
    by: int | None = None,
    ignores_gates: bool = False,
    report: Report | None = None,
) -> VersionView:
    """`promotion.promote` for a version that passes its gates. With `ignores_gates` one that misses some is promoted
    with a reason, which is stored with what was missed. Raises GateFailed, NeedsReason, and as `promotion.promote` and
    `check_version_gates`."""
    view = registry.get_version(wb, name)
    with wb.read() as s:
        people.allow(s, by, "promote a version")
    results = [] if view.state in NOT_CHECKED else check_version_gates(wb, name, report)
    misses = [r for r in results if not r.is_passed]
    if not misses:
        return promotion.promote(wb, name, reason, by=by)
    details = ". ".join(f"The gate {r.name} on {r.data} is missed: {r.misses}" for r in misses)
    if not ignores_gates:
        raise GateFailed(f"{view.name} is not promoted. {details}")
    if not reason.strip():
        raise promotion.NeedsReason(f"{details}. Give a reason to promote {view.name} all the same")
    return promotion.promote(wb, name, f"{reason.strip()} ({details})", by=by)
