"""`as2 tune`: what a ranker should be set to, from labelled questions. A cascade gets a drop ratio for every exit, a
fusion its weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from as2core.errors import BadSetting
from as2core.named import questions_of, ranker_named
from as2core.terminal import note, say, say_json, table, working
from as2core.types import OnProgress, Question


def tune(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Labelled questions to choose by, not to report on.")],
    ranker: Annotated[str, typer.Option(help="A cascade or a fusion: a catalog name, a version or its directory.")] = (
        "cascade"
    ),
    max_loss: Annotated[
        float | None,
        typer.Option(min=0.0, help="How much of the measure may be lost by dropping.", show_default="0.005"),
    ] = None,
    measure: Annotated[
        Literal["AP", "RR", "P@1"] | None, typer.Option(help="What may be lost.", show_default="AP")
    ] = None,
    how: Annotated[
        Literal["logistic", "search"] | None,
        typer.Option(help="How a fusion's weights are found.", show_default="logistic"),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many questions.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the schedule as JSON; of a fusion, the version's directory.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw every schedule tried, as SVG.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Find a cascade's drop ratios, or a fusion's weights, on labelled questions."""
    from as2core.data.catalog import apply_setting

    questions = apply_setting(questions_of(data), "clean")[:limit]
    if not questions:
        raise BadSetting(f"{data} has no question with a correct and an incorrect candidate: nothing to tune by")
    with working("loading") as on_progress:
        chosen = ranker_named(ranker)
        if hasattr(chosen, "opinions"):
            if picture:
                raise BadSetting("--picture draws a cascade's schedules, and a fusion has none: leave it out")
            if max_loss is not None or measure is not None:
                raise BadSetting(
                    "--max-loss and --measure choose a cascade's schedule; a fusion drops nobody: leave them out"
                )
            if out and out.exists():  # told before the fit, not after it
                raise BadSetting(f"{out} exists already: choose another name for the version")
            document = _weights(chosen, questions, how or "logistic", out, data, on_progress)
        elif hasattr(chosen, "exits") and len(chosen.exits) > 1:
            if how is not None:
                raise BadSetting("--how finds a fusion's weights, and a cascade has none: leave it out")
            max_loss, measure = 0.005 if max_loss is None else max_loss, measure or "AP"
            document = _ratios(chosen, questions, max_loss, measure, out, picture, ranker, on_progress)
        else:
            raise BadSetting(f"{ranker} has nothing to tune: take a cascade of several exits, or a fusion")
    document = {"ranker": ranker, "data": data, "questions": len(questions), **document}
    if as_json:
        say_json(document)
    elif "weights" in document:
        say(table([{"ranker": n, "weight": w} for n, w in document["weights"].items()], ["ranker", "weight"]))
    else:
        rows = [{"what": k, **document[k], "ratios": "/".join(map("{:g}".format, document[k]["ratios"]))}
                for k in ("full", "best")]  # fmt: skip
        say(table(rows, ["what", measure, "relative_cost", "ratios"]))
        say(f"use it as {document['spec']}")


def _ratios(
    ranker: Any,
    questions: Sequence[Question],
    max_loss: float,
    measure: str,
    out: Path | None,
    picture: Path | None,
    spec: str,
    on_progress: OnProgress,
) -> dict[str, Any]:
    from as2core.cascade.tune import grid, traces
    from as2core.data.source import write_text

    tuning = grid(traces(ranker, questions, on_progress), measure=measure, keep=ranker.keep, on_progress=on_progress)
    best = tuning.best(max_loss)
    ratios = "/".join(map("{:g}".format, best.ratios))
    found = {
        "measure": measure,
        "max_loss": max_loss,
        "schedules": len(tuning.points),
        **{
            name: {"ratios": p.ratios, measure: p.value, "relative_cost": p.cost}
            for name, p in (("full", tuning.full), ("best", best))
        },
        "front": [{"ratios": p.ratios, measure: p.value, "relative_cost": p.cost} for p in tuning.front],
        "spec": _with_ratios(spec, ratios),
    }
    if out:
        write_text(json.dumps({"ratios": best.ratios, "keep": ranker.keep, "found": found}, indent=2) + "\n", out)
        note(f"written to {out}")
    if picture:
        from as2core.experiments.picture import draw_tuning

        write_text(draw_tuning(tuning, best), picture)
        note(f"drawn to {picture}")
    return found


def _with_ratios(spec: str, ratios: str) -> str:
    """The spec with these drop ratios in place of its own."""
    from as2core.rankers.catalog import CATALOG, version_and_settings

    name, _, given = spec.partition(":")
    if name not in CATALOG:
        name, given = version_and_settings(spec)
    others = [s for s in given.split(",") if s and s.partition("=")[0] != "drop_ratio"]
    return f"{name}:{','.join([*others, f'drop_ratio={ratios}'])}"


def _weights(
    ranker: Any, questions: Sequence[Question], how: str, out: Path | None, data: str, on_progress: OnProgress
) -> dict[str, Any]:
    from as2core.rankers.versions import save_version
    from as2core.training.fusion import fit_fusion

    fitted = fit_fusion(ranker, questions, how=how, on_progress=on_progress)
    weights = dict(zip(fitted.specs, fitted.weights.tolist(), strict=True))
    if out:
        card = {"note": f"weights learned on {data}", "data": data, "questions": len(questions), "how": how,
                "weights": weights}  # fmt: skip
        save_version(fitted, out, card)
        note(f"written to {out}")
    return {"method": fitted.method, "how": how, "weights": weights}
