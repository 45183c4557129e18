"""`as2 ingest` and `as2 reindex`: documents in, and the search index made from them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from app.commands.opened import CorpusName, chosen, chosen_or_made, workbench
from as2core.cli import Json
from as2core.errors import UnreadableFile
from as2core.terminal import note, say, say_json, working


def ingest(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files, or folders to look through.")],
    corpus: Annotated[str, typer.Option(help="The corpus they go into; made if there is none.")] = "documents",
    as_json: Json = False,
) -> None:
    """Bring documents in: txt, md, html, pdf, csv, tsv, jsonl. What is there already is left alone."""
    from app.services import corpora

    files = list(found(paths))
    with workbench() as wb:
        into = chosen_or_made(wb, corpus)
        with working("reading") as on_progress:
            done = corpora.ingest(wb, into.id, files, on_progress=on_progress)
        for name, reason in done.failed:
            note(f"as2: {name}: {reason}")
        if as_json:
            say_json({"corpus": into.name, "corpus_id": into.id, "result": done})
        else:
            say(
                f"{into.name}: {done.added} added, {done.updated} updated, {done.unchanged} unchanged, "
                f"{len(done.failed)} failed; {done.sentences} sentences in {done.seconds:.1f} s"
            )
        if done.job_id is not None:
            note("Vectors follow in the background; search by words works already.")
        if done.failed:
            raise typer.Exit(1)


def found(paths: list[Path]) -> Iterator[tuple[str, Path]]:
    """The files meant, each once, with the name its documents keep: below a folder the path from there. Raises
    UnreadableFile, also for two files of one name: the second would replace the first."""
    taken: dict[str, Path] = {}
    for name, path in _named(paths):
        if name not in taken:
            taken[name] = path
            yield name, path
        elif not path.samefile(taken[name]):
            raise UnreadableFile(
                f"{taken[name]} and {path} would both be {name!r}, and one replace the other: give the folder above "
                "them, or another name to one"
            )


def _named(paths: list[Path]) -> Iterator[tuple[str, Path]]:
    """A file given by name is taken whatever its suffix, so that its fault is told."""
    from as2core.data.documents import SUFFIXES

    for path in paths:
        if path.is_dir():
            inside = [p for p in sorted(path.rglob("*")) if p.is_file() and p.suffix.lower() in SUFFIXES]
            if not inside:
                raise UnreadableFile(f"{path}: holds no file of a known kind ({' '.join(SUFFIXES)})")
            yield from ((str(p.relative_to(path)), p) for p in inside)
        elif path.exists():
            yield path.name, path
        else:
            raise UnreadableFile(f"{path}: there is no such file or folder")


def reindex(corpus: CorpusName = None, as_json: Json = False) -> None:
    """Build the search index anew from the documents; vectors follow in the background."""
    from app.services import corpora

    with workbench() as wb:
        of = chosen(wb, corpus)
        with working("indexing") as on_progress:
            documents = corpora.reindex(wb, of.id, on_progress=on_progress)
    if as_json:
        say_json({"corpus": of.name, "documents": documents})
    else:
        say(f"{of.name}: {documents} documents indexed")
