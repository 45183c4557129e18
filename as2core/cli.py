"""`as2`: rank, evaluate, train. Commands that need the database are mounted by the entry-point group `as2.commands`.

Every error is one line on standard error: exit code 1 for what a user can mend, 2 for wrong usage, 130 after Ctrl-C.
torch is imported by the commands that need it, so that `as2 --help` is quick.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer.exceptions import TyperException

import as2core
from as2core.commands import data, generate
from as2core.commands.reproduce import reproduce
from as2core.commands.serve import serve
from as2core.commands.train import train
from as2core.commands.tune import tune
from as2core.errors import As2Error, BadSetting
from as2core.named import COMMANDS, cite, questions_of, ranker_named, read_candidates, registered, versions
from as2core.terminal import note, say, say_json, table, training, working

Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
RankerName = Annotated[
    str, typer.Argument(metavar="RANKER", help="A catalog name, a version's name, or its directory.")
]


def build(mount: Sequence[Callable[[typer.Typer], None]] | None = None) -> typer.Typer:
    """The command line with its own commands, then those of `mount` (None: of whoever registered an entry point)."""
    cli = typer.Typer(
        help="Choose the sentence that answers a question.", add_completion=False, pretty_exceptions_enable=False
    )
    cli.callback(invoke_without_command=True)(_start)
    for command in (rank, eval_, train, transfer, rankers, tune, reproduce, serve):
        cli.command(command.__name__.rstrip("_"))(command)
    data.register(cli)
    generate.register(cli)
    for register in registered(COMMANDS).values() if mount is None else mount:
        register(cli)
    return cli


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; gives the exit code and never raises."""
    _quiet()
    try:
        command = typer.main.get_command(build())
        code = command.main(args=argv, prog_name="as2", standalone_mode=False)
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:  # the reader of our output, `head` perhaps, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if os.environ.get("AS2_DEBUG"):
            traceback.print_exc()
        note(f"as2: {_in_a_line(error)}")
        return getattr(error, "exit_code", 1)
    if code == 130:
        note("stopped")
    return code if isinstance(code, int) else 0


def rank(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question.")],
    candidates: Annotated[
        Path,
        typer.Option(
            help='One text a line, or JSON lines with "text" and, if you like, "id" and "title"; - reads them here.'
        ),
    ],
    ranker: Annotated[str, typer.Option(help="A catalog name, a version's name, or its directory.")] = "cascade",
    top_n: Annotated[int | None, typer.Option(min=1, help="How many to give; all if not set.")] = None,
    as_json: Json = False,
) -> None:
    """Order candidate texts by how well they answer a question."""
    from as2core.rankers.base import rank as ranked

    texts = read_candidates(candidates)
    with working("ranking"):
        results = ranked(ranker_named(ranker), question, texts, top_n=top_n)
    rows = [{"rank": i, "id": texts[r["corpus_id"]].id, **r} for i, r in enumerate(results, 1)]
    if as_json:
        say_json({"question": question, "ranker": ranker, **cite(ranker), "results": rows})
    else:
        say(table(rows, ["rank", "score", "id", "text"]))


def eval_(
    ranker: RankerName,
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A file of labelled questions, starter-train|dev|test, or labels.")
    ],
    setting: Annotated[
        Literal["raw", "no-all-neg", "clean"],
        typer.Option(
            help="no-all-neg: without questions that have no correct candidate; clean: nor only correct ones."
        ),
    ] = "clean",
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many questions.")] = None,
    run: Annotated[Path | None, typer.Option(help="Write the scores as a trec_eval run.")] = None,
    qrels: Annotated[Path | None, typer.Option(help="Write the labels as trec_eval qrels.")] = None,
    as_json: Json = False,
) -> None:
    """Measure a ranker on labelled questions."""
    from as2core.data import qrels as trec
    from as2core.data.catalog import apply_setting
    from as2core.evaluation import evaluate
    from as2core.metrics import NAMES, bootstrap, bounds

    questions = apply_setting(questions_of(data), setting)[:limit]
    if not questions:
        raise BadSetting(f"{data} has no question left in the setting {setting!r}: try --setting raw, or other data")
    with working(f"{ranker} on {data}") as on_progress:
        found = evaluate(ranker_named(ranker), questions, setting=setting, on_progress=on_progress)
    if run:
        trec.write_run(questions, found.scores, run, tag=ranker)
    if qrels:
        trec.write(questions, qrels)
    document = {
        "ranker": ranker,
        **cite(ranker),
        "data": data,
        "setting": setting,
        "questions": found.questions,
        **{name: found.metrics[name] for name in NAMES},
        "seconds": found.seconds,
        "relative_cost": found.relative_cost,
        "intervals": {name: bootstrap(found.per_question[name].values()) for name in NAMES},
        "cuts": [asdict(cut) for cut in found.cuts],
    }
    missing = sum(c.label is None for q in questions for c in q.candidates)
    if missing:
        document |= {"unlabelled": missing, "bounds": bounds(questions, found.scores)}
    if as_json:
        say_json(document)
        return
    say(f"{ranker} on {data}, {setting}: {found.questions} questions in {found.seconds:.1f} s")
    ends = document["intervals"]
    say(table([{"measure": n, "mean": document[n], "low": ends[n][0], "high": ends[n][1]} for n in NAMES], _MEASURES))
    if missing:
        told = ", ".join(f"{name} {low:.3f} to {high:.3f}" for name, (low, high) in document["bounds"].items())
        say(f"{missing:,} candidates carry no label and count as not correct; with theirs it could be {told}")
    for cut in (c for c in found.cuts if c.dropped):
        say(
            f"{cut.stage}: dropped {cut.dropped:,} of {cut.entered:,}, {cut.correct:,} of them correct; "
            f"questions left without a correct one: {len(cut.lost):,}"
        )
    if found.relative_cost is not None:
        say(f"cost: {found.relative_cost:.2f} of the monolithic model's")


_MEASURES = ["measure", "mean", "low", "high"]


def transfer(
    data_dir: Annotated[Path | None, typer.Option(envvar="AS2_DATA_DIR", help="The folder of the data sets.")] = None,
    recipe: Annotated[str, typer.Option(help="What to train on and how; --list shows them.")] = "default",
    out: Annotated[Path, typer.Option(help="Where the versions are written; work files go to its .work.")] = Path(
        "runs/transfer"
    ),
    stage: Annotated[
        Literal["both", "cascade", "generative", "measure"],
        typer.Option(help="One of the two alone; or measure what is in --out again, without training."),
    ] = "both",
    show: Annotated[bool, typer.Option("--list", help="Show the recipes and train nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Train the shipped models anew on general data; a second call goes on where one stopped."""
    if data_dir is None and not show and stage != "measure":
        raise BadSetting("say where the data sets are: --data-dir DIR, or AS2_DATA_DIR")
    from as2core.rankers.versions import read_card
    from as2core.training.recipes import RECIPES, measure_again, run_recipe

    if show:
        rows = [{"recipe": name, "what": r.what} for name, r in RECIPES.items()]
        say_json({"recipes": rows}) if as_json else say(table(rows, ["recipe", "what"]))
        return
    if stage == "measure":
        made = measure_again(out)
    else:
        stages = ("generative", "cascade") if stage == "both" else (stage,)
        with working("reading the data") as on_progress, training() as on_event:
            made = run_recipe(recipe, data_dir, out, stages=stages, on_event=on_event, on_progress=on_progress)
    if as_json:
        say_json({"recipe": recipe, "versions": [{"path": p, "card": read_card(p)} for p in made]})
    else:
        say("\n".join(str(p) for p in made))


def rankers(as_json: Json = False) -> None:
    """List the rankers there are: the catalog's and the versions made here."""
    from as2core.rankers.catalog import CATALOG

    known = [
        {"name": e.name, "what": e.what, "paper": e.paper, "trains": e.trains, "settings": e.settings}
        for e in CATALOG.values()
    ]
    made = [{"name": name, "path": path} for name, path in versions().items()]
    if as_json:
        say_json({"rankers": known, "versions": made})
        return
    said = [{**k, "settings": ", ".join(f"{n}={v}" for n, v in k["settings"].items()) or "none"} for k in known]
    say(table(said, ["name", "what", "paper", "settings"]))
    if made:
        say()
        say(table(made, ["name", "path"]))


def _start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what happens, on standard error.")] = False,
) -> None:
    if verbose:
        logging.getLogger("as2core").setLevel(logging.INFO)
        logging.getLogger("app").setLevel(logging.INFO)
    if version:
        say(f"as2 {as2core.__version__}")
    elif context.invoked_subcommand is None:
        say(context.get_help())


def _quiet() -> None:
    """Only warnings of ours reach the terminal: a page of a library's remarks would hide the one line that matters."""
    logging.basicConfig(level=logging.WARNING, format="as2: %(message)s", stream=sys.stderr)
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


def _in_a_line(error: Exception) -> str:
    """What to say of an error, with the remedy where we know one."""
    if isinstance(error, As2Error):
        return str(error)
    if isinstance(error, TyperException):
        context = getattr(error, "ctx", None)
        said = error.format_message().replace("Value error, ", "")
        return f"{said} (see {context.command_path if context else 'as2'} --help)"
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"this needs the package {error.name!r}: run `make setup`, or pip install the extra (docs/running.md)"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'the system'}: {error.strerror}"
    return f"unexpected {type(error).__name__}: {error} (AS2_DEBUG=1 shows where)"


if __name__ == "__main__":
    sys.exit(main())
