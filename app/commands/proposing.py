"""`as2 propose`: questions for a corpus nobody has asked. The worker makes them, a person decides on the Data page."""

from __future__ import annotations

from typing import Annotated

import typer

from app.commands.adapting import follow
from app.commands.opened import CorpusName, chosen, workbench
from as2core.cli import Json
from as2core.terminal import say, say_json, table


def propose(
    corpus: CorpusName = None,
    number: Annotated[int, typer.Option(min=1, help="How many questions are wanted.")] = 20,
    seed: Annotated[int | None, typer.Option(help="Which sentences are drawn; others every time if not given.")] = None,
    as_json: Json = False,
) -> None:
    """Propose questions for sentences of a corpus, to be accepted or rejected on the Data page."""
    from app.services import proposing

    with workbench() as wb:
        of = chosen(wb, corpus)
        job = follow(wb, proposing.start(wb, of.id, wanted=number, seed=seed))
        held = proposing.waiting(wb, of.id)
    if as_json:
        say_json({"corpus": of.name, **job.result, "waiting": held.waiting, "proposals": held.shown})
        return
    say(f"{job.result['proposed']} questions kept of {job.result['tried']} sentences tried; {held.waiting} wait")
    say(table([{"question": p.text, "place": p.place, "sentence": p.sentence} for p in held.shown],
              ["question", "place", "sentence"]))  # fmt: skip
