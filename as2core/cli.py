"""`as2`: rank, evaluate, train. Commands that need the database are mounted by the entry-point group `as2.commands`.

Every error is one line on standard error: exit code 1 for what a user can correct, 2 for wrong usage, 130 after Ctrl-C.
torch is imported by the commands that need it, so that `as2 --help` is quick.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer.exceptions import TyperException

from as2core.commands import data, generate, keys
from as2core.commands.decide import decide
from as2core.commands.eval import eval_
from as2core.commands.options import RANKER_HELP, RANKING, TRAINING, JsonFlag, bundle_options, hide_flag_types
from as2core.commands.parity import parity
from as2core.commands.reproduce import reproduce
from as2core.commands.serve import serve
from as2core.commands.train import train
from as2core.commands.tune import tune
from as2core.errors import FULL_DISK, As2Error, BadSetting, is_disk_full
from as2core.lookup import (
    COMMANDS,
    cite,
    list_versions,
    load_entry_points,
    load_ranker,
    read_candidates,
)
from as2core.terminal import (
    echo,
    empty_output,
    ignore_closed_pipe,
    open_outputs,
    print_json,
    print_note,
    print_table,
    show_progress,
    show_training,
)
from as2core.version import __version__


def build(mount: Sequence[Callable[[typer.Typer], None]] | None = None) -> typer.Typer:
    """The command line with its own commands, then those of `mount` (None: of the registered entry points)."""
    cli = typer.Typer(
        help="Choose the sentence that answers a question.", add_completion=False, pretty_exceptions_enable=False
    )
    cli.callback(invoke_without_command=True)(_print_help_or_version)
    panels = {RANKING: (rank, eval_, decide, parity, tune, rankers, serve), TRAINING: (train, transfer, reproduce)}
    for panel, commands in panels.items():
        for command in commands:
            cli.command(command.__name__.rstrip("_"), rich_help_panel=panel)(bundle_options(command))
    data.register(cli)
    generate.register(cli)
    cli.add_typer(keys.keys, name="keys", rich_help_panel=RANKING)
    for register in load_entry_points(COMMANDS).values() if mount is None else mount:
        register(cli)
    return cli


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code and never raises."""
    open_outputs()
    _configure_logging()
    try:
        return _run(argv)
    finally:
        empty_output()


def _run(argv: Sequence[str] | None) -> int:
    try:
        command = typer.main.get_command(build())
        hide_flag_types(command)
        code = command.main(args=argv, prog_name="as2", standalone_mode=False)
        with ignore_closed_pipe():
            sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        if os.environ.get("AS2_DEBUG"):
            traceback.print_exc()
        print_note(f"as2: {_describe_error(error)}")
        return getattr(error, "exit_code", 1)
    if code == 130:
        print_note("stopped")
    return code if isinstance(code, int) else 0


def rank(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question.")],
    candidates: Annotated[
        Path,
        typer.Option(
            help='One text a line, or JSON lines with "text" and optionally "id" and "title"; - reads standard input.'
        ),
    ],
    ranker: Annotated[str, typer.Option(help=RANKER_HELP)] = "cascade",
    top_n: Annotated[int | None, typer.Option(min=1, help="Return only the best N; all by default.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Order candidate texts by how well they answer a question."""
    from as2core.rankers.base import rank as rank_texts

    if not question.strip():
        raise BadSetting("the question is empty: give one")
    texts = read_candidates(candidates)
    with show_progress("ranking"):
        results = rank_texts(load_ranker(ranker), question, texts, top_n=top_n)
    rows = [{"rank": i, "id": texts[r["corpus_id"]].id, **r} for i, r in enumerate(results, 1)]
    if as_json:
        print_json({"question": question, "ranker": ranker, **cite(ranker), "results": rows})
    else:
        print_table(rows, ["rank", "score", "id", "text"])


def transfer(
    data_dir: Annotated[Path | None, typer.Option(envvar="AS2_DATA_DIR", help="The folder with the data sets.")] = None,
    recipe: Annotated[str, typer.Option(help="The training recipe; --list shows them.")] = "default",
    out: Annotated[Path, typer.Option(help="The folder for the versions; work files go to .work in it.")] = Path(
        "runs/transfer"
    ),
    stage: Annotated[
        Literal["both", "cascade", "generative", "measure"],
        typer.Option(help="Train only one model, or measure the versions in --out again without training."),
    ] = "both",
    show: Annotated[bool, typer.Option("--list", help="List the recipes and exit.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Train the shipped models again on general data; an interrupted run is resumed."""
    from as2core.rankers.versions import read_card
    from as2core.training.recipe_run import measure_again, run_recipe
    from as2core.training.recipes import RECIPES

    if show:
        rows = [{"recipe": name, "what": r.what} for name, r in RECIPES.items()]
        print_json({"recipes": rows}) if as_json else print_table(rows, ["recipe", "what"])
        return
    if stage == "measure":
        paths = measure_again(out)
    elif data_dir is None:
        raise BadSetting("set the folder with the data sets: --data-dir DIR, or AS2_DATA_DIR")
    else:
        stages = ("generative", "cascade") if stage == "both" else (stage,)
        with show_progress("reading the data") as on_progress, show_training() as on_event:
            paths = run_recipe(recipe, data_dir, out, stages=stages, on_event=on_event, on_progress=on_progress)
    if as_json:
        print_json({"recipe": recipe, "versions": [{"path": p, "card": read_card(p)} for p in paths]})
    else:
        echo("\n".join(map(str, paths)))


def rankers(as_json: JsonFlag = False) -> None:
    """List the available rankers: those of the catalog and the versions trained here."""
    from as2core.rankers.catalog import CATALOG

    entries = [
        {"name": e.name, "what": e.description, "paper": e.paper, "trains": e.trains, "settings": e.settings}
        for e in CATALOG.values()
    ]
    own = [{"name": name, "path": path} for name, path in list_versions().items()]
    if as_json:
        print_json({"rankers": entries, "versions": own})
        return
    settings = [e.describe_settings() for e in CATALOG.values()]
    rows = [{**entry, "settings": text} for entry, text in zip(entries, settings, strict=True)]
    print_table(rows, ["name", "what", "paper", "settings"])
    echo("what the settings mean: docs/techniques/README.md; how a ranker is written with settings: docs/cli.md")
    if own:
        echo()
        print_table(own, ["name", "path"])


def _print_help_or_version(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log progress to standard error.")] = False,
) -> None:
    if verbose:
        logging.getLogger("as2core").setLevel(logging.INFO)
        logging.getLogger("app").setLevel(logging.INFO)
    if version:
        echo(f"as2 {__version__}")
    elif context.invoked_subcommand is None:
        echo(context.get_help())


def _configure_logging() -> None:
    """Show only our own warnings: the libraries' remarks would hide the one line that matters."""
    logging.basicConfig(level=logging.WARNING, format="as2: %(message)s", stream=sys.stderr)
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")  # each retry would be a line, twice
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


def _describe_error(error: Exception) -> str:
    """The message of an error, with the remedy where there is one."""
    if isinstance(error, As2Error):
        return str(error)
    if isinstance(error, TyperException):
        context = getattr(error, "ctx", None)
        message = error.format_message().replace("Value error, ", "")
        if message.startswith("No such command") and not load_entry_points(COMMANDS):
            message += " Those for corpora, labels, versions and pages need a clone, with its `app` extra installed"
        return f"{message} (see {context.command_path if context else 'as2'} --help)"
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"this needs the package {error.name!r}: run `make setup`, or pip install the extra (docs/running.md)"
    if is_disk_full(error):
        return FULL_DISK
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'the system'}: {error.strerror}"
    return f"unexpected {type(error).__name__}: {error} (AS2_DEBUG=1 shows where)"


if __name__ == "__main__":
    sys.exit(main())
