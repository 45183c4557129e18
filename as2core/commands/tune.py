"""`as2 tune`: what a ranker should be set to, from labelled questions. A cascade gets a drop ratio for every exit, a
fusion its weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from as2core.commands.options import JsonFlag
from as2core.commands.outputs import check_outputs, refuse_dash
from as2core.errors import BadSetting
from as2core.lookup import load_ranker, read_questions
from as2core.terminal import echo, print_json, print_note, print_table, show_progress
from as2core.types import OnProgress, Question

if TYPE_CHECKING:
    from as2core.cascade.tune import Point, Tuning
    from as2core.rankers.cascade import CascadeRanker
    from as2core.rankers.fusion import FusionRanker


def tune(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Labelled questions to tune on; report on others.")],
    ranker: Annotated[str, typer.Option(help="A cascade or a fusion: a catalog name, a version or its directory.")] = (
        "cascade"
    ),
    max_loss: Annotated[
        float | None,
        typer.Option(min=0.0, help="Maximum loss of the measure by dropping; 0.005 by default."),
    ] = None,
    measure: Annotated[
        Literal["AP", "RR", "P@1"] | None, typer.Option(help="The measure to protect; AP by default.")
    ] = None,
    how: Annotated[
        Literal["logistic", "search"] | None,
        typer.Option(help="How a fusion's weights are found; logistic by default."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Use only the first N questions.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the schedule as JSON; of a fusion, the version's directory.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw every schedule tried, as SVG.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Find a cascade's drop ratios, or a fusion's weights, on labelled questions."""
    from as2core.data.catalog import apply_setting
    from as2core.rankers.cascade import CascadeRanker
    from as2core.rankers.fusion import FusionRanker

    refuse_dash(out)
    refuse_dash(picture)
    questions = apply_setting(read_questions(data), "clean")[:limit]
    if not questions:
        raise BadSetting(f"{data} has no question with a correct and an incorrect candidate: nothing to tune by")
    with show_progress("loading") as on_progress:
        model = load_ranker(ranker)
        if isinstance(model, FusionRanker):
            if picture or max_loss is not None or measure is not None:
                raise BadSetting("--picture, --max-loss and --measure are for schedules, and a fusion has none")
            result = _tune_weights(model, questions, how or "logistic", data, out, on_progress)
        elif isinstance(model, CascadeRanker) and len(model.exits) > 1:
            if how is not None:
                raise BadSetting("--how finds a fusion's weights, and a cascade has none: leave it out")
            check_outputs([out, picture], [data, ranker])
            tuning = _tune_schedule(model, questions, measure or "AP", on_progress)
            loss = 0.005 if max_loss is None else max_loss
            result = _describe_tuning(tuning, loss, ranker)
            _write_tuning(tuning, tuning.best(loss), result, model.keep, out, picture)
        else:
            raise BadSetting(f"{ranker} has nothing to tune: take a cascade of several exits, or a fusion")
    if as_json:
        print_json({"ranker": ranker, "data": data, "questions": len(questions), **result.document})
        return
    print_table(result.rows, list(result.rows[0]))
    if result.hint:
        echo(result.hint)


@dataclass(frozen=True, slots=True)
class Result:
    """`document` for JSON, `rows` and `hint` for the terminal."""

    document: dict[str, object]
    rows: list[dict[str, object]]
    hint: str = ""


def _tune_schedule(
    ranker: CascadeRanker, questions: Sequence[Question], measure: str, on_progress: OnProgress
) -> Tuning:
    from as2core.cascade.tune import trace_all, try_schedules

    traces = trace_all(ranker, questions, on_progress)
    return try_schedules(traces, measure=measure, keep=ranker.keep, on_progress=on_progress)


def _describe_tuning(tuning: Tuning, max_loss: float, spec: str) -> Result:
    best = tuning.best(max_loss)

    def describe(point: Point) -> dict[str, object]:
        return {"ratios": point.ratios, tuning.measure: point.value, "relative_cost": point.cost}

    document = {
        "measure": tuning.measure,
        "max_loss": max_loss,
        "schedules": len(tuning.points),
        "full": describe(tuning.full),
        "best": describe(best),
        "front": [describe(p) for p in tuning.front],
        "spec": _with_ratios(spec, _join(best.ratios)),
    }
    rows: list[dict[str, object]] = [
        {"what": name, tuning.measure: p.value, "relative_cost": p.cost, "ratios": _join(p.ratios)}
        for name, p in (("full", tuning.full), ("best", best))
    ]
    return Result(document, rows, f"use it as {document['spec']}")


def _write_tuning(
    tuning: Tuning, best: Point, result: Result, keep: int, out: Path | None, picture: Path | None
) -> None:
    from as2core.system.files import write_text

    if out:
        schedule = {"ratios": best.ratios, "keep": keep, "found": result.document}
        write_text(json.dumps(schedule, indent=2) + "\n", out)
        print_note(f"written to {out}")
    if picture:
        from as2core.experiments.picture import draw_tuning

        write_text(draw_tuning(tuning, best), picture)
        print_note(f"drawn to {picture}")


def _join(ratios: Sequence[float]) -> str:
    return "/".join(map("{:g}".format, ratios))


def _with_ratios(spec: str, ratios: str) -> str:
    """The spec with these drop ratios in place of its own."""
    from as2core.rankers.catalog import CATALOG, split_spec
    from as2core.rankers.specs import split_pairs

    name, _, settings = spec.partition(":")
    if name not in CATALOG:
        name, settings = split_spec(spec)
    others = [s for s in split_pairs(settings) if s.partition("=")[0] != "drop_ratio"]
    return f"{name}:{','.join([*others, f'drop_ratio={ratios}'])}"


def _tune_weights(
    ranker: FusionRanker, questions: Sequence[Question], how: str, data: str, out: Path | None, on_progress: OnProgress
) -> Result:
    from as2core.rankers.versions import save_version
    from as2core.training.fusion import fit_fusion

    if out and out.exists():  # before the fit, not after it
        raise BadSetting(f"{out} exists already: choose another name for the version")
    fitted = fit_fusion(ranker, questions, how=how, on_progress=on_progress)
    weights = dict(zip(fitted.specs, fitted.weights.tolist(), strict=True))
    if out:
        card = {"note": f"weights learned on {data}", "data": data, "questions": len(questions), "how": how,
                "weights": weights}  # fmt: skip
        save_version(fitted, out, card)
        print_note(f"written to {out}")
    rows: list[dict[str, object]] = [{"ranker": name, "weight": weight} for name, weight in weights.items()]
    return Result({"method": fitted.method, "how": how, "weights": weights}, rows)
