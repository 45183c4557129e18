"""`as2 reproduce`: a paper's experiment made again, as a table of what it says and what comes out here."""

from __future__ import annotations

import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from as2core.commands.options import JsonFlag, Titles
from as2core.terminal import echo, print_json, print_note, print_table, show_progress

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results.md"


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The experiment; without a name they are listed.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="At the papers' scale, on a GPU, instead of minutes.")] = False,
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds; by default the experiment's own.")] = None,
    titles: Titles = False,
    data_dir: Annotated[Path | None, typer.Option(envvar="AS2_DATA_DIR", help="The folder of the data sets.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="The file to write the table to; by default docs/results.md.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Print a paper's figures beside ours."""
    from as2core.experiments.catalog import EXPERIMENTS

    if name is None:
        names = [{"experiment": n, "what": what} for n, what in EXPERIMENTS.items()]
        print_json({"experiments": names}) if as_json else print_table(names, ["experiment", "what"])
        return
    from as2core.experiments.base import Options, write_section
    from as2core.experiments.catalog import markdown
    from as2core.experiments.catalog import reproduce as run

    out = out or (RESULTS if RESULTS.parent.is_dir() else None)
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)  # before the run: a wrong place fails at once
    pictures = out.parent / "img" if out else None
    options = Options(Path(tempfile.gettempdir()), data_dir, full, seeds, pictures, titles)
    with show_progress(name) as on_progress:
        report, seconds = run(name, options, on_progress)
    flags = {" --full": full, f" --seeds {seeds}": seeds, " --titles": titles}
    command = f"as2 reproduce {name}" + "".join(text for text, is_set in flags.items() if is_set)
    if out:
        write_section(out, name, markdown(name, report, command, seconds))
        print_note(f"written to {os.path.relpath(out)}")
    if as_json:
        print_json(
            {"experiment": name, "full": full, "seeds": seeds, "titles": titles, "seconds": seconds, **asdict(report)}
        )
        return
    words = {True: "yes", False: "no", None: None}
    rows = [{**asdict(r), "holds": words[r.holds]} for r in report.rows]
    print_table(rows, ["finding", "paper", "ours", "holds", "differs"])
    for text in report.notes:
        echo()
        echo(text)
