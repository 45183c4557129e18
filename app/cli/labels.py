"""`as2 labels import` and `as2 labels export`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Exit, Option, Typer

from app.cli.context import CorpusName, find_corpus, workbench
from as2core.commands.options import JsonFlag
from as2core.commands.outputs import check_outputs, is_dash
from as2core.errors import BadSetting, UnreadableFile
from as2core.messages import count
from as2core.system.files import replace_file
from as2core.terminal import echo, ignore_closed_pipe, print_json, print_note, show_progress

if TYPE_CHECKING:
    from app.corpora.corpora import CorpusView
    from app.exchange.report import ImportView
    from app.workbench.workbench import Workbench

ImportFormat = Literal[
    "auto", "jsonl", "csv", "qrels", "wikiqa", "trecqa", "squad", "beir", "pairs", "triplets", "table",
    "asnq", "selqa", "selqa-tsv", "qed", "natural-questions", "quepid", "label-studio", "argilla", "prodigy",
    "records",
]  # fmt: skip
ExportFormat = Literal[
    "jsonl", "csv", "table", "qrels", "wikiqa", "beir", "run", "pairs", "triplets",
    "label-studio", "argilla", "prodigy",
]  # fmt: skip

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
        ImportFormat,
        Option("--format", help="auto finds it by the content."),
    ] = "auto",
    annotator: Annotated[str, Option(help="Annotator name for labels without one.")] = "import",
    who: Annotated[
        list[str] | None,
        Option(metavar="NAME=PERSON", help="Who an annotator is that the file calls NAME; may be repeated."),
    ] = None,
    split: Annotated[
        Literal["train", "dev", "test"] | None,
        Option(help="The split of a set that is already split; otherwise it is split automatically."),
    ] = None,
    correct_from: Annotated[
        int, Option(metavar="N", help="The lowest rating that counts as correct, of files with ratings.")
    ] = 1,
    as_json: JsonFlag = False,
) -> None:
    """Import labels; a line that cannot be read, or that conflicts, is reported and the others go in."""
    from app.exchange import file_annotators, imports, label_files

    names = _read_names(who or [])
    if file.is_dir():
        raise UnreadableFile(f"{file}: it is a folder; give a file of it, or a BEIR folder as a zip")
    if not file.is_file():
        raise UnreadableFile(f"{file}: there is no such file")
    with workbench() as wb:
        into = _find_target(wb, corpus).id if corpus is not None else None
        try:
            with show_progress(f"importing {file.name}") as on_progress:
                content = label_files.read_labels(file.name, file, fmt, min_correct=correct_from)
                content = file_annotators.rename_annotators(content, names)
                report = imports.store_labels(wb, into, content, annotator, split=split or "", on_progress=on_progress)
        except imports.ImportInterrupted as stop:
            print_note(f"as2: {file.name}: {stop}; go on with --corpus {stop.corpus!r}")
            raise
    for line, reason in report.malformed:
        print_note(f"as2: {file.name}: {report.unit} {line}: {reason}")
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


def _read_names(pairs: list[str]) -> dict[str, str]:
    """Raises BadSetting."""
    names = {name.strip(): person.strip() for name, _, person in (pair.partition("=") for pair in pairs)}
    if "" in names or not all(names.values()):
        raise BadSetting('--who takes NAME=PERSON, as in --who "Label Studio user 3=ana"')
    return names


def _find_target(wb: "Workbench", name: str) -> "CorpusView":
    """Raises UnknownCorpus: a corpus made of the labels' sentences would have none of its documents."""
    from app.corpora.corpora import UnknownCorpus

    try:
        return find_corpus(wb, name)
    except UnknownCorpus as e:
        remedy = "`as2 ingest --corpus` makes one of documents; without --corpus the file becomes one"
        raise UnknownCorpus(f"{e}; {remedy}") from e


def _describe(report: "ImportView") -> str:
    additions = report.describe_additions()
    verdicts = f"{count(report.verdicts, 'new verdict')}, " if report.verdicts else ""
    labels = f"{count(report.new, 'new label')}, {verdicts}{report.same:,} the same as before"
    parts = (
        f"{labels}, {report.conflicting:,} conflicting, {count(len(report.malformed), f'malformed {report.unit}')}",
        count(report.questions, "question"),
        additions and f"{additions} in {report.corpus!r}",
        report.describe_textless(),
        report.describe_moved(),
        *report.notes,
        *report.signers,
    )
    return "; ".join(filter(None, parts))


@labels.command("export")
def export(
    file: Annotated[Path, Argument(metavar="FILE", help="Where to write; - for standard output.")],
    corpus: CorpusName = None,
    fmt: Annotated[ExportFormat, Option("--format", help="The format.")] = "jsonl",
    annotator: Annotated[str | None, Option(help="Only this annotator's labels.")] = None,
) -> None:
    """Export a corpus's labels."""
    from app.exchange import exports
    from app.labels.consensus import LabelRequest

    if not is_dash(file):
        check_outputs([file])
    with workbench() as wb:
        of = find_corpus(wb, corpus)
        content = exports.export_labels(wb, of.id, fmt, annotator=annotator)
        questions = exports.select_parts(
            exports.load_labelled_questions(wb, of.id, LabelRequest(annotator, signed=fmt in exports.SIGNED_FORMATS)),
            fmt,
        )
    if is_dash(file):
        with ignore_closed_pipe():
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
    else:
        with replace_file(file) as part:
            part.write_bytes(content)
        pairs = sum(c.label is not None or bool(c.annotations) for q in questions for c in q.candidates)
        sizes = f"{count(len(questions), 'question')} with {count(pairs, 'labelled pair')}"
        print_note(f"{of.name}: {sizes} as {fmt} in {file}")
