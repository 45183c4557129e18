"""`as2 synonyms`: what people call a thing, and what a corpus's documents call it."""

from pathlib import Path
from typing import Annotated

from typer import Argument

from app.cli.context import CorpusName, find_corpus, workbench
from as2core.commands.options import JsonFlag
from as2core.synonyms import Synonyms
from as2core.terminal import echo, print_json, print_note


def synonyms(
    file: Annotated[
        Path | None, Argument(metavar="[FILE]", help="Lines `word => meaning` that replace the corpus's synonyms.")
    ] = None,
    corpus: CorpusName = None,
    as_json: JsonFlag = False,
) -> None:
    """Print a corpus's synonyms, or replace them by those of a file. An empty file removes them."""
    from app.ranking.synonyms import read_synonyms, write_synonyms

    new = Synonyms.read(file) if file else None
    with workbench() as wb:
        into = find_corpus(wb, corpus)
        now = read_synonyms(wb, into.id) if new is None else write_synonyms(wb, into.id, str(new), by=None)
    if as_json:
        print_json({"corpus": into.name, "synonyms": now.meanings})
    elif new is None and not now:
        print_note(f"{into.name} has no synonyms: `as2 synonyms FILE` gives it some")
    elif new is None:
        echo(str(now).rstrip())
    else:
        echo(f"{into.name}: {len(now.words):,} synonyms. Questions are read with them from now on.")
