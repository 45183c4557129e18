"""`as2 ingest` and `as2 reindex`: add documents, and rebuild the search index."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from app.cli.context import CorpusName, ensure_corpus, find_corpus, workbench
from as2core.commands.options import JsonFlag
from as2core.data.documents import SUFFIXES
from as2core.errors import UnreadableFile
from as2core.terminal import echo, print_json, print_note, show_progress

MAX_KINDS = 10  # of files left out, that are named


def ingest(
    paths: Annotated[list[Path], Argument(metavar="PATH...", help="Files, or folders to search for files.")],
    corpus: Annotated[str, Option(help="The corpus they are added to; created if it does not exist.")] = "documents",
    as_json: JsonFlag = False,
) -> None:
    """Add documents to a corpus: txt, md, html, pdf, csv, tsv, jsonl. Unchanged documents are skipped."""
    from app.corpora import documents

    files = list(find_files(paths))
    with workbench() as wb:
        with ensure_corpus(wb, corpus) as into, show_progress("reading") as on_progress:
            result = documents.ingest(wb, into.id, files, on_progress=on_progress)
        for name, reason in result.failed:
            print_note(f"as2: {name}: {reason}")
        for name, note in result.notes:
            print_note(f"as2: {name} {note}")
        if as_json:
            print_json({"corpus": into.name, "corpus_id": into.id, "result": result})
        else:
            echo(
                f"{into.name}: {result.added} added, {result.updated} updated, {result.unchanged} unchanged, "
                f"{len(result.failed)} failed; {result.sentences} sentences in {result.seconds:.1f} s"
            )
        if result.job_id is not None and (result.added or result.updated):
            print_note("Vectors are computed in the background. Until then, search matches words only.")
        if result.failed:
            raise Exit(1)


def find_files(paths: list[Path]) -> Iterator[tuple[str, Path]]:
    """Every file once, with the name that its documents get: the path from the given folder. Raises UnreadableFile,
    also for two files of one name, because the second would replace the first."""
    by_name: dict[str, Path] = {}
    for name, path in _list_files(paths):
        if name not in by_name:
            by_name[name] = path
            yield name, path
        elif not path.samefile(by_name[name]):
            raise UnreadableFile(
                f"{by_name[name]} and {path} would both be named {name!r}: name the folder above them, or rename one"
            )


def _list_files(paths: list[Path]) -> Iterator[tuple[str, Path]]:
    """A file named directly is read whatever its suffix, so that an unsupported one is reported."""
    for path in paths:
        if path.is_dir():
            files = [p for p in sorted(path.rglob("*")) if p.is_file()]
            inside = [p for p in files if p.suffix.lower() in SUFFIXES]
            if not inside:
                raise UnreadableFile(f"{path}: has no supported file ({' '.join(SUFFIXES)})")
            others = [p for p in files if p.suffix.lower() not in SUFFIXES and not _is_hidden(p.relative_to(path))]
            if others:
                kinds = sorted({p.suffix.lower() or "without a suffix" for p in others})
                more = ", ..." if len(kinds) > MAX_KINDS else ""
                names = ", ".join(kinds[:MAX_KINDS])
                print_note(f"as2: {path}: files of other kinds left out: {len(others)} ({names}{more})")
            yield from ((str(p.relative_to(path)), p) for p in inside)
        elif path.exists():
            yield path.name, path
        else:
            raise UnreadableFile(f"{path}: no such file or folder")


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def reindex(corpus: CorpusName = None, as_json: JsonFlag = False) -> None:
    """Rebuild the search index from the documents; the vectors are computed in the background."""
    from app.corpora import indexing

    with workbench() as wb:
        source = find_corpus(wb, corpus)
        with show_progress("indexing") as on_progress:
            documents = indexing.reindex(wb, source.id, on_progress=on_progress)
    if as_json:
        print_json({"corpus": source.name, "documents": documents})
    else:
        echo(f"{source.name}: {documents} documents indexed")
