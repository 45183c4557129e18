"""`as2 ingest` and `as2 reindex`: add documents, and rebuild the search index."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option

from app.cli.context import CorpusName, ensure_corpus, find_corpus, workbench
from app.cli.documents import delete_confirmed, describe
from as2core.commands.options import RAY_FORMS, JsonFlag
from as2core.documents.reading import SUFFIXES, clean_file_name
from as2core.errors import BadSetting, UnreadableFile
from as2core.messages import count, name_some
from as2core.terminal import echo, print_json, print_note, show_progress

if TYPE_CHECKING:
    from app.corpora.corpora import CorpusView
    from app.corpora.ingest_report import IngestView
    from app.workbench.workbench import Workbench

MAX_KINDS = 10  # of files left out, that are named
MAX_NOTES = 5  # of one kind, that are printed
FORMATS = f"{', '.join(suffix[1:] for suffix in SUFFIXES[:-1])} and {SUFFIXES[-1][1:]}"
LIBRARY_FOLDERS = ("node_modules", "__pycache__")


def ingest(
    paths: Annotated[list[Path], Argument(metavar="PATH...", help=f"{FORMATS} files, or folders of them.")],
    corpus: Annotated[str, Option(help="The corpus they are added to; created if it does not exist.")] = "documents",
    replace: Annotated[
        bool, Option("--replace", help="Replace also documents of the same name whose text is another one.")
    ] = False,
    prune: Annotated[
        bool,
        Option("--prune", help="Delete documents whose files are no longer in the folders, or rows that left a table."),
    ] = False,
    yes: Annotated[bool, Option("--yes", help="Do not ask before --prune deletes.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Add documents to a corpus. Unchanged documents are skipped."""
    from app.corpora import ingestion
    from app.corpora.batch_storage import ADD
    from app.workbench import audit

    if prune and any(path.is_file() for path in paths):
        raise BadSetting("--prune compares the corpus with folders: give folders alone")
    files = list(find_files(paths))
    with workbench() as wb:
        with ensure_corpus(wb, corpus) as into:
            deletions = _prune(wb, into, paths, [name for name, _ in files], yes=yes) if prune else None
            with show_progress("reading") as on_progress:
                result = ingestion.ingest(wb, into.id, files, on_progress=on_progress, replaces_unlike=replace)
            if deletions is not None:
                deletions += _prune_rows(wb, into, result, yes=yes)
        if result.added or result.updated:
            audit.write(wb, None, ADD, into.name, f"{result.added:,} new, {result.updated:,} changed")
        _print_notes(result, is_pruned=prune)
        if as_json:
            document = {"corpus": into.name, "corpus_id": into.id, "result": result}
            print_json(document if deletions is None else document | {"deleted": deletions})
        else:
            echo(f"{into.name}: {_describe(result, deletions)}")
        if result.job_id is not None and (result.added or result.updated):
            print_note("Vectors are computed in the background. Until then, search matches words only.")
        if result.failed:
            raise Exit(1)


def _describe(result: "IngestView", deletions: list[str] | None) -> str:
    files = len({name for name, _ in result.failed})
    problems = f"{count(len(result.failed), 'problem')} in {count(files, 'file')}" if files else "0 failed"
    parts = [f"{result.added} added", f"{result.updated} updated", f"{result.unchanged} unchanged", problems]
    if deletions is not None:
        parts.append(f"{len(deletions)} deleted")
    return f"{', '.join(parts)}; {count(result.sentences, 'new sentence')} in {result.seconds:.1f} s"


def _print_notes(result: "IngestView", *, is_pruned: bool) -> None:
    from app.corpora.unlike_documents import UNLIKE

    for name, reason in result.failed:
        print_note(f"as2: {name}: {reason}")
    if any(reason.endswith(UNLIKE) for _, reason in result.failed):
        print_note("as2: --replace replaces such documents; to have both, ingest the folder above, or rename one file")
    for note, names in result.notes_by_text.items():
        for name in names[:MAX_NOTES]:
            print_note(f"as2: {name} {note}")
        if len(names) > MAX_NOTES:
            print_note(f"as2: the same holds for {count(len(names) - MAX_NOTES, 'other document')}")
    if result.orphans:
        print_note(
            f"as2: labelled pairs whose sentence is gone: {result.orphans:,}; exports and retrains still use them"
        )
    if result.leftovers and not is_pruned:
        leftovers = name_some([describe(view) for view in result.leftovers])
        note = f"no longer in their tables, and still in the corpus: {leftovers}; --prune deletes such documents"
        print_note(f"as2: {note}")
    if result.replacements:
        print_note(f"replaced by another text: {name_some(result.replacements)}")
    if result.updated_files:
        print_note(f"updated: {name_some(result.updated_names)}")


def _prune(
    wb: "Workbench", corpus: "CorpusView", folders: Sequence[Path], names: Sequence[str], *, yes: bool
) -> list[str]:
    """Delete the documents whose files are in none of the folders any more; returns their names."""
    from app.corpora.missing_files import find_missing

    views = find_missing(wb, corpus.id, folders, {clean_file_name(name) for name in names})
    if views:
        delete_confirmed(wb, corpus, views, yes=yes, refusal="nothing was deleted or added (--yes does not ask)")
    return [view.external_id for view in views]


def _prune_rows(wb: "Workbench", corpus: "CorpusView", result: "IngestView", *, yes: bool) -> list[str]:
    """Delete what left a table that was read without a problem; returns the names."""
    damaged = {name for name, _ in result.failed}
    views = [view for view in result.leftovers if view.source not in damaged]
    if views:
        delete_confirmed(
            wb, corpus, views, yes=yes, refusal="the rows that left their tables stay (--yes does not ask)"
        )
    return [view.external_id for view in views]


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
            visible = [p for p in files if not _is_hidden(p.relative_to(path))]
            inside = [p for p in visible if p.suffix.lower() in SUFFIXES]
            if not inside:
                raise UnreadableFile(f"{path}: has no supported file ({' '.join(SUFFIXES)})")
            if hidden := sum(p.suffix.lower() in SUFFIXES for p in files) - len(inside):
                print_note(f"as2: {path}: files that are hidden or of libraries left out: {hidden}")
            others = [p for p in visible if p.suffix.lower() not in SUFFIXES]
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
    """Within the folder given, which may itself be in a hidden one. Office puts "~$report.xlsx" beside an open file."""
    return any(part.startswith((".", "~$")) or part in LIBRARY_FOLDERS for part in path.parts)


def reindex(
    corpus: CorpusName = None,
    ray: Annotated[
        str | None,
        Option(metavar="ADDRESS", help=f"Keep the index, and compute the vectors that it lacks on Ray: {RAY_FORMS}"),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Rebuild the search index from the documents; the vectors are computed in the background."""
    from app.corpora import indexing
    from app.workbench import audit

    if ray is not None:
        _embed_on_ray(corpus, ray, as_json)
        return
    with workbench() as wb:
        source = find_corpus(wb, corpus)
        with show_progress("indexing") as on_progress:
            documents = indexing.reindex(wb, source.id, on_progress=on_progress)
        audit.write(wb, None, "rebuild a search index", source.name, count(documents, "document"))
    if as_json:
        print_json({"corpus": source.name, "documents": documents})
    else:
        echo(f"{source.name}: {documents} documents indexed")


def _embed_on_ray(corpus: str | None, address: str, as_json: bool) -> None:
    """The documents that are not in the index are added to it."""
    from app.corpora import indexing
    from as2core.bulk.pool import check_address

    check_address(address)
    with workbench() as wb:
        source = find_corpus(wb, corpus)
        with show_progress("indexing") as on_progress:
            documents = indexing.index_pending(wb, source.id, on_progress)
            passages = indexing.embed_on_ray(wb, source.id, address, on_progress)
    if as_json:
        print_json({"corpus": source.name, "documents": documents, "passages": passages})
    else:
        echo(f"{source.name}: {documents} documents indexed, {count(passages, 'vector')} computed")
