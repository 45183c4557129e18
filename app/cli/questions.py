"""`as2 questions`: list the questions of a corpus, and add those of a file."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Option, Typer

from app.cli.context import CorpusName, find_corpus, workbench
from as2core.commands.options import JsonFlag
from as2core.messages import count
from as2core.terminal import echo, print_json, print_note, print_table

Search = Annotated[str, Option(help="Only those with these words, or parts of them.")]
Limit = Annotated[int, Option(min=1, help="How many at most, last asked first.")]

questions = Typer(help="List the questions of a corpus, and add those of a file.", invoke_without_command=True)


@questions.callback()
def list_by_default(
    context: Context, corpus: CorpusName = None, search: Search = "", limit: Limit = 100, as_json: JsonFlag = False
) -> None:
    """List the questions, last asked first, unless a command follows."""
    if context.invoked_subcommand is None:
        list_(corpus, search, limit, as_json)


@questions.command("list")
def list_(corpus: CorpusName = None, search: Search = "", limit: Limit = 100, as_json: JsonFlag = False) -> None:
    """List the questions, last asked first."""
    from app.ask.stored_questions import list_questions

    with workbench() as wb:
        source = find_corpus(wb, corpus)
        view = list_questions(wb, source.id, search=search, limit=limit)
    if as_json:
        print_json({"corpus": source.name, "total": view.total, "questions": view.page})
        return
    if not view.page:
        echo(f"no question in {source.name!r}" + (f" with {search!r}" if search else ""))
        return
    rows = [{"question": q.text, "origin": q.origin, "labels": q.labels, "queued": q.queued} for q in view.page]
    print_table(rows, ["question", "origin", "labels", "queued"])
    if len(view.page) < view.total:
        which = " with these words" if search else ""
        print_note(f"{source.name!r} has {count(view.total, 'question')}{which}: --search and --limit find others")


@questions.command()
def add(
    file: Annotated[
        Path,
        Argument(
            metavar="FILE",
            help="A text with one question per line, or a table (CSV, Excel) or JSONL with a column question or query.",
        ),
    ],
    corpus: CorpusName = None,
    as_json: JsonFlag = False,
) -> None:
    """Add the questions of a file to a corpus. The worker ranks their candidates, then Label offers them."""
    from app.ask.questions import add_questions
    from app.exchange.question_files import read_questions

    lines = read_questions(file.name, file)
    with workbench() as wb:
        into = find_corpus(wb, corpus)
        report = add_questions(wb, into.id, lines, by=None)
    if as_json:
        print_json({"corpus": into.name, "result": report})
        return
    parts = [f"{count(report.new_count, 'question')} added to {into.name!r}"]
    if report.repeat_count:
        parts.append(f"{count(report.repeat_count, 'repeated line')} skipped")
    if report.existing_questions:
        parts.append(f"{count(len(report.existing_questions), 'question')} existed already")
    echo("; ".join(parts))
