"""`as2 ask`: a question over a corpus, answered in the terminal."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from app.cli.context import CorpusName, find_corpus, workbench
from as2core.commands.options import JsonFlag
from as2core.terminal import echo, print_json, print_note, print_table, show_progress

if TYPE_CHECKING:
    from app.ask.asking import AskView
    from as2core.cascade.trace import CascadeTrace


def ask(
    question: Annotated[str, Argument(metavar="QUESTION", help="The question.")],
    corpus: CorpusName = None,
    version: Annotated[str, Option(help="The model version that answers.")] = "active",
    documents: Annotated[int, Option(min=1, help="How many documents to retrieve.")] = 30,
    candidates: Annotated[
        int | None, Option(min=1, help="How many of their sentences to consider at most; 1,300 if not set.")
    ] = None,
    first_keep: Annotated[
        int | None, Option(min=1, help="How many of those the cascade reads; 100 if not set.")
    ] = None,
    drop_ratio: Annotated[
        float, Option(help="The share of candidates dropped at each exit, for the reported drops and cost.")
    ] = 0.3,
    as_typed: Annotated[bool, Option("--as-typed", help="Do not correct typos in the question.")] = False,
    top_n: Annotated[int, Option(min=1, help="How many sentences to show.")] = 5,
    as_json: JsonFlag = False,
) -> None:
    """Answer a question with a sentence of a corpus, and report which candidates were dropped and what that saved."""
    from app.ask import asking
    from app.ranking.scoring import RankLimits
    from as2core.cascade.schedule import DropSchedule

    with workbench() as wb:
        source = find_corpus(wb, corpus)
        limits = RankLimits.from_settings(
            wb.settings, documents=documents, candidates=candidates, first_keep=first_keep
        )
        with show_progress("asking") as on_progress:
            ask = partial(asking.ask, version=version, limits=limits, as_typed=as_typed, store_later=True)
            view = ask(wb, source.id, question, on_progress=on_progress)
        if view.typed:
            print_note(f"corrected to: {view.question} (--as-typed searches as typed)")
        for note in (*view.hints, *view.notes):
            print_note(note)
        run = view.trace.replay(DropSchedule.constant(drop_ratio, exits=len(view.trace.exits)))
        if as_json:
            print_json(to_document(view, run, source.name))
        else:
            _show(view, run, source.name, top_n)


def to_document(view: "AskView", run: "CascadeTrace", corpus: str) -> dict[str, object]:
    """The answer as JSON; `run` is its trace under the drop ratio, which the drops and the cost are of."""
    exits = [
        {"layer": e.layer, "candidates": len(e.alive), "kept": e.survivors, "seconds": e.seconds, "flops": e.flops}
        for e in run.stages
    ]
    return {
        "question": view.question,
        "typed": view.typed or view.question,
        "corpus": corpus,
        "version": view.version,
        "answered": view.answered,
        "threshold": view.threshold,
        "calibrated": view.is_calibrated,
        "candidates": rank_candidates(view, run),
        "exits": exits,
        "relative_cost": run.relative_cost,
        "cascade_cost": run.cascade_cost,
        "seconds": view.seconds,
    }


def rank_candidates(view: "AskView", run: "CascadeTrace") -> list[dict[str, object]]:
    """Best first by the complete trace."""
    dropped = run.dropped_at()
    names = ("text", "title", "document_id", "sentence_id", "retrieval_rank", "label")
    return [
        {
            "rank": rank,
            "probability": float(view.probability[i]),
            **{name: getattr(view.candidates[i], name) for name in names},
            "dropped_after_layer": None if dropped[i] < 0 else run.stages[dropped[i]].layer,
        }
        for rank, i in enumerate(view.trace.ranking().tolist(), 1)
    ]


def _show(view: "AskView", run: "CascadeTrace", corpus: str, top_n: int) -> None:
    if view.best is None:
        echo(f"Nothing in {corpus!r} shares a word with the question.")
        return
    best = view.candidates[view.best]
    if view.answered:
        echo(" ".join(part for part in (best.before, f"[{best.text}]", best.after) if part))
        echo(f"  {best.title}, probability {float(view.probability[view.best]):.2f}")
    else:
        echo(f"No sentence answers the question (none reaches probability {view.threshold:.2f}). The best candidates:")
    echo()
    print_table(rank_candidates(view, run)[:top_n], ["rank", "probability", "title", "text"])
    echo()
    steps = " -> ".join(str(len(e.alive)) for e in run.stages)
    echo(
        f"{steps} candidates, {max(0.0, 1 - run.cascade_cost):.0%} of the cascade's compute saved; "
        f"{view.seconds['total']:.2f} s with {view.version} on {corpus}"
    )
