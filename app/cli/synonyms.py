"""`as2 synonyms`: what people call a thing, and what a corpus's documents call it."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from app.cli.context import CorpusName, find_corpus, workbench
from as2core.commands.options import JsonFlag
from as2core.errors import BadSetting
from as2core.messages import count
from as2core.questions.synonyms import ARROW, Synonyms
from as2core.terminal import echo, print_json, print_note


def synonyms(
    file: Annotated[
        Path | None, Argument(metavar="[FILE]", help="Lines `word => meaning` that replace the corpus's synonyms.")
    ] = None,
    corpus: CorpusName = None,
    from_labels: Annotated[
        bool, Option("--from-labels", help="Print those that the labels suggest and the corpus does not have.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Print a corpus's synonyms, or replace them by those of a file. An empty file removes them."""
    from app.corpora.synonyms import read_synonyms
    from app.ranking.synonyms import write_synonyms

    if from_labels:
        if file:
            raise BadSetting("--from-labels prints lines to choose from: give no FILE with it")
        _print_proposals(corpus, as_json)
        return
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
    elif now:
        echo(f"{into.name}: {count(len(now.words), 'synonym')}. Questions are read with them from now on.")
    else:
        echo(f"{into.name} has no synonyms any more: the file has none")


def _print_proposals(corpus: str | None, as_json: bool) -> None:
    """Lines that a file of synonyms may have; the reasons are comments."""
    from app.ranking.synonym_proposals import propose_from_labels

    with workbench() as wb:
        source = find_corpus(wb, corpus)
        proposals = propose_from_labels(wb, source.id)
    if as_json:
        print_json({"corpus": source.name, "proposals": [asdict(p) for p in proposals]})
        return
    for p in proposals:
        echo(f"# {p.answers} of the {p.questions} answers to such questions have it: {p.example}")
        echo(f"{p.word} {ARROW} {p.meaning}")
    if not proposals:
        print_note(f"the labels of {source.name} suggest no more synonyms")
