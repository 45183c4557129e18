"""`as2 reproduce`: a paper's experiment made again, as a table of what it says and what comes out here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from as2core.commands.options import JsonFlag, Titles
from as2core.commands.outputs import refuse_dash
from as2core.terminal import echo, print_json, print_note, print_table, show_progress

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results.md"
Target = Literal["wikiqa", "trecqa", "wikipassageqa", "insuranceqa", "yahooqa", "asnq"]


@dataclass(frozen=True, slots=True)
class Scale:
    """What is measured, and how much of it."""

    set_: Annotated[Target, typer.Option("--set", help="The target: what is trained on and measured.")] = "wikiqa"
    test: Annotated[
        Path | None,
        typer.Option(
            help="Measure on this file; by default on the set's test part, or its dev part and the train questions "
            "that nothing is trained on."
        ),
    ] = None
    backbone: Annotated[str | None, typer.Option(help="The encoder or language model, a directory or a hub name.")] = (
        None
    )
    reset_layers: Annotated[
        int,
        typer.Option(min=0, help="Re-initialise this many of the encoder's last layers, so that it starts untrained."),
    ] = 0
    full: Annotated[bool, typer.Option("--full", help="At the papers' scale, on a GPU.")] = False
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds; by default the experiment's own.")] = None
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Start no new cell after so many minutes; a later call goes on.")
    ] = None
    again: Annotated[bool, typer.Option("--again", help="Measure the stored cells again.")] = False
    titles: Titles = False


def reproduce(
    scale: Scale,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The experiment; without a name they are listed.")
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option("--data", "--data-dir", envvar="AS2_DATA_DIR", help="The folder of the data sets."),
    ] = None,
    store: Annotated[Path, typer.Option(help="The folder of the cells and of unfinished trainings.")] = Path(
        "runs/reproduce"
    ),
    out: Annotated[
        Path | None, typer.Option(help="The page to write the tables to; by default docs/results.md, in its place.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Print a paper's figures beside ours."""
    from as2core.experiments.base import EXPERIMENTS

    if name is None:
        names = [{"experiment": n, "what": what} for n, what in EXPERIMENTS.items()]
        print_json({"experiments": names}) if as_json else print_table(names, ["experiment", "what"])
        return
    from as2core.experiments.base import Options
    from as2core.experiments.catalog import reproduce as run
    from as2core.experiments.report.page import describe_experiment, to_json, write_page

    refuse_dash(out)
    out = out or (RESULTS if RESULTS.parent.is_dir() else None)
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)  # before the run: a wrong place fails at once
    options = Options(
        store,
        data_dir,
        full=scale.full,
        seeds=scale.seeds,
        pictures=out.parent / "img" if out else None,
        titles=scale.titles,
        backbone=scale.backbone,
        reset_layers=scale.reset_layers,
        target=scale.set_,
        test=scale.test,
        minutes=scale.minutes,
        again=scale.again,
    )
    with show_progress(name) as on_progress:
        record = run(name, options, on_progress)
    if out:
        write_page(out, record)
        print_note(f"written to {os.path.relpath(out)}")
    if as_json:
        print_json(to_json(record))
        return
    rows = [{"finding": r.finding, "paper": r.paper, "ours": r.ours, "verdict": r.verdict} for r in record.report.rows]
    print_table(rows, ["finding", "paper", "ours", "verdict"])
    echo()
    echo(describe_experiment(name, [record]))
