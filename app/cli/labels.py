"""`as2 labels import` and `as2 labels export`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option, Typer

from app.cli.context import CorpusName, find_corpus, workbench
from as2core.commands.options import JsonFlag
from as2core.errors import UnreadableFile
from as2core.terminal import echo, print_json, print_note, show_progress

if TYPE_CHECKING:
    from app.exchange.report import ImportView

labels = Typer(help="Import and export labels.", no_args_is_help=False)


@labels.command("import")
def import_(
    file: Annotated[Path, Argument(metavar="FILE", help="Labelled questions in any known format.")],
    corpus: Annotated[
        str | None,
        Option(
            help="The corpus whose sentences they label. Questions and sentences that it lacks are added, the "
            "sentences as documents. Without it the file becomes a corpus of its own."
        ),
    ] = None,
    fmt: Annotated[
        str,
        Option(
            "--format",
            help="auto, or one of jsonl, csv, qrels, wikiqa, trecqa, squad, beir, pairs, triplets, asnq, selqa, "
            "selqa-tsv, qed, natural-questions, yahooqa.",
        ),
    ] = "auto",
    annotator: Annotated[str, Option(help="Annotator name for labels without one.")] = "import",
    split: Annotated[
        str,
        Option(
            help="The split of a set that is already split: train, dev or test; otherwise it is split automatically."
        ),
    ] = "",
    as_json: JsonFlag = False,
) -> None:
    """Import labels; a line that cannot be read, or that conflicts, is reported and the others go in."""
    from app.exchange import imports

    if file.is_dir():
        raise UnreadableFile(f"{file}: it is a folder; give a file of it, or a BEIR folder as a zip")
    if not file.is_file():
        raise UnreadableFile(f"{file}: there is no such file")
    with workbench() as wb:
        into = find_corpus(wb, corpus).id if corpus is not None else None
        try:
            with show_progress(f"importing {file.name}"):
                report = imports.import_labels(wb, into, file.name, file, fmt=fmt, annotator=annotator, split=split)
        except imports.ImportInterrupted as stop:
            print_note(f"as2: {file.name}: {stop}; go on with --corpus {stop.corpus!r}")
            raise
    for line, reason in report.malformed:
        print_note(f"as2: {file.name}: line {line}: {reason}")
    for conflict in report.conflicts:
        print_note(f"as2: {file.name}: not taken: {conflict}")
    if report.is_new_corpus:
        print_note(f"new corpus {report.corpus!r}")
    if as_json:
        print_json(report)
    else:
        echo(_describe(report))
    if report.malformed:
        raise Exit(1)


def _describe(report: "ImportView") -> str:
    additions = report.describe_additions()
    verdicts = f"{report.verdicts:,} new verdicts, " if report.verdicts else ""
    labels = (
        f"{report.new:,} new labels, {verdicts}{report.same:,} the same as before, {report.conflicting:,} conflicting"
    )
    parts = (
        f"{labels}, {len(report.malformed):,} malformed lines",
        f"{report.questions:,} questions",
        additions and f"{additions} in {report.corpus!r}",
        report.describe_textless(),
        report.describe_moved(),
    )
    return "; ".join(filter(None, parts))


@labels.command("export")
def export(
    file: Annotated[Path, Argument(metavar="FILE", help="Where to write; - for standard output.")],
    corpus: CorpusName = None,
    fmt: Annotated[str, Option("--format", help="jsonl, csv, qrels, wikiqa, beir, run, pairs or triplets.")] = "jsonl",
    annotator: Annotated[str | None, Option(help="Only this annotator's labels.")] = None,
) -> None:
    """Export a corpus's labels."""
    from app.exchange import exports
    from app.ranking.synonyms import read_synonyms

    with workbench() as wb:
        of = find_corpus(wb, corpus)
        content = exports.export_labels(wb, of.id, fmt, annotator=annotator, synonyms=read_synonyms(wb, of.id))
    if str(file) == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        file.write_bytes(content)
        print_note(f"{of.name}: {len(content)} bytes of {fmt} in {file}")
