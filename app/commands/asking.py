"""`as2 ask`: a question over a corpus, answered in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.opened import CorpusName, chosen, workbench
from as2core.cli import Json
from as2core.terminal import note, say, say_json, table, working

if TYPE_CHECKING:
    from app.services.views import AskView


def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question.")],
    corpus: CorpusName = None,
    version: Annotated[str, typer.Option(help="The version that answers.")] = "active",
    documents: Annotated[int, typer.Option(min=1, help="How many documents to retrieve.")] = 30,
    candidates: Annotated[
        int | None, typer.Option(min=1, help="How many of their sentences to look at, at most; 1,300 if not set.")
    ] = None,
    first_keep: Annotated[
        int | None, typer.Option(min=1, help="How many of those the cascade reads; 100 if not set.")
    ] = None,
    drop_ratio: Annotated[
        float, typer.Option(help="The share dropped at each exit, for the account of the cost.")
    ] = 0.3,
    as_typed: Annotated[bool, typer.Option("--as-typed", help="Mend no slip of the finger in the question.")] = False,
    top_n: Annotated[int, typer.Option(min=1, help="How many sentences to show.")] = 5,
    as_json: Json = False,
) -> None:
    """Answer a question from a corpus, with the cascade's account of who was dropped where."""
    from app.services import asking

    with workbench() as wb:
        of = chosen(wb, corpus)
        with working("asking") as on_progress:
            asked = asking.ask(
                wb,
                of.id,
                question,
                version=version,
                documents=documents,
                candidates=candidates,
                first_keep=first_keep,
                as_typed=as_typed,
                on_progress=on_progress,
            )
    if asked.typed:
        note(f"read as: {asked.question} (--as-typed reads it as it is)")
    for remark in asked.notes:
        note(remark)
    document = described(asked, of.name, drop_ratio)
    if as_json:
        say_json(document)
    else:
        _show(document, asked, top_n)


def described(asked: AskView, corpus: str, drop_ratio: float) -> dict[str, Any]:
    """The answer as one document: candidates best first by the complete trace, drops and cost under the ratio."""
    from as2core.cascade.schedule import DropSchedule

    run = asked.trace.replay(DropSchedule.constant(drop_ratio, exits=len(asked.trace.exits)))
    dropped = run.dropped_at()
    ranked = []
    for rank, i in enumerate(asked.trace.ranking().tolist(), 1):
        c = asked.candidates[i]
        ranked.append(
            {
                "rank": rank,
                "probability": float(asked.probability[i]),
                "text": c.text,
                "title": c.title,
                "document_id": c.document_id,
                "sentence_id": c.sentence_id,
                "retrieval_rank": c.retrieval_rank,
                "dropped_after_layer": None if dropped[i] < 0 else run.stages[dropped[i]].layer,
                "label": c.label,
            }
        )
    return {
        "question": asked.question,
        "typed": asked.typed or asked.question,
        "corpus": corpus,
        "version": asked.version,
        "answered": asked.answered,
        "threshold": asked.threshold,
        "calibrated": asked.calibrated,
        "candidates": ranked,
        "exits": [
            {"layer": e.layer, "candidates": len(e.alive), "kept": e.kept, "seconds": e.seconds, "flops": e.flops}
            for e in run.stages
        ],
        "relative_cost": run.relative_cost,
        "seconds": asked.seconds,
    }


def _show(document: dict[str, Any], asked: AskView, top_n: int) -> None:
    best = asked.best
    if best is None:
        say(f"Nothing in {document['corpus']!r} shares a word with the question.")
        return
    if asked.answered:
        c = asked.candidates[best]
        say(" ".join(part for part in (c.before, f"[{c.text}]", c.after) if part))
        say(f"  {c.title}, probability {float(asked.probability[best]):.2f}")
    else:
        say(f"No sentence here answers it (none reaches probability {asked.threshold:.2f}). The nearest:")
    say()
    say(table(document["candidates"][:top_n], ["rank", "probability", "title", "text"]))
    say()
    steps = " -> ".join(str(e["candidates"]) for e in document["exits"])
    say(
        f"{steps} candidates, {1 - document['relative_cost']:.0%} of the computing saved; "
        f"{document['seconds']['total']:.2f} s with {document['version']} on {document['corpus']}"
    )
