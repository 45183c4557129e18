"""`as2 ask`: a question over a corpus, answered in the terminal."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from app.cli.context import CorpusName, find_corpus, workbench
from as2core.commands.options import JsonFlag
from as2core.terminal import echo, print_json, print_note, print_table, show_progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.ask.asking import AskView
    from app.ask.pins import Arrangement, Pin
    from app.corpora.documents import SentenceInDocument
    from app.ranking.retrieval import RetrievedSentence
    from app.workbench.workbench import Workbench
    from as2core.cascade.trace import CascadeTrace

    Places = Mapping[int, SentenceInDocument]  # by sentence id

MAX_ROWS = 5  # of candidates, on a terminal
PLACE = ("source", "external_id", "start", "end")  # of a sentence


def ask(
    question: Annotated[str, Argument(metavar="QUESTION", help="The question.")],
    corpus: CorpusName = None,
    version: Annotated[str, Option(help="The version that answers.")] = "active",
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
    ignore_labels: Annotated[
        bool,
        Option(
            "--ignore-labels",
            help="Show the ranker's own order: do not put what was labelled correct for this question first, and what "
            "was labelled incorrect last.",
        ),
    ] = False,
    top_n: Annotated[
        int | None, Option(min=1, help="How many sentences to show; 5 if not set, with --json all.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Answer a question with a sentence of a corpus, and report which candidates were dropped and what that saved."""
    from app.ask import asking
    from app.ask.pins import arrange, find_pins
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
        if view.spelling_before:
            print_note(f"corrected to: {view.question} (--as-typed searches as typed)")
        if view.expanded_question != view.question:
            print_note(f"read as: {view.expanded_question}")
        for note in (*view.hints, *view.notes):
            print_note(note)
        run = view.trace.replay(DropSchedule.constant(drop_ratio, exits=len(view.trace.exits)))
        pins = {} if ignore_labels else find_pins(wb, source.id, view)
        arrangement = arrange(wb, view, view.trace, pins) if view.candidates else None
        places = _load_places(wb, arrangement, view)
        rows = list_candidates(view, run, arrangement, places)
        if as_json:
            print_json(to_document(view, run, source.name, rows[:top_n]))
        elif arrangement is None:
            echo(f"Nothing in {source.name!r} shares a word with the question.")
        else:
            _show_answer(view, arrangement, places)
            _show_candidates(arrangement, rows, top_n or MAX_ROWS)
            _show_cost(view, run, source.name)


def _load_places(wb: "Workbench", arrangement: "Arrangement | None", view: "AskView") -> "Places":
    from app.corpora.documents import load_sentences

    if arrangement is None:
        return {}
    ids = {x.sentence_id for x in (*view.candidates, *(x.sentence for x in arrangement.top))}
    return {x.id: x for x in load_sentences(wb, sorted(ids))}


def to_document(
    view: "AskView", run: "CascadeTrace", corpus: str, candidates: "Sequence[Mapping[str, object]]"
) -> dict[str, object]:
    """The answer as JSON; `run` is its trace under the drop ratio, which the drops and the cost are of."""
    exits = [
        {"layer": e.layer, "candidates": len(e.alive), "kept": e.survivors, "seconds": e.seconds, "flops": e.flops}
        for e in run.stages
    ]
    return {
        "question": view.question,
        "typed": view.spelling_before or view.question,
        "read": view.expanded_question,
        "corpus": corpus,
        "version": view.version,
        "answered": view.is_answered,
        "calibrated": view.is_calibrated,
        "candidates": candidates,
        "exits": exits,
        "relative_cost": run.relative_cost,
        "cascade_cost": run.cascade_cost,
        "seconds": view.seconds,
    }


def list_candidates(
    view: "AskView", run: "CascadeTrace", arrangement: "Arrangement | None", places: "Places"
) -> list[dict[str, object]]:
    """What is labelled correct first, then best first, what is labelled incorrect last; `rank` is the complete
    trace's. A sentence that was not retrieved has none. One that left its document meanwhile has no place."""
    if arrangement is None:
        return []
    ranks = {position: rank for rank, position in enumerate(view.trace.ranking().tolist(), 1)}
    dropped = run.dropped_at()
    pins = {x.sentence.sentence_id: x.pin for x in (*arrangement.top, *arrangement.bottom)}
    names = ("text", "title", "heading", "document_id", "sentence_id", "retrieval_rank", "document_rank", "label")

    def describe(sentence: "RetrievedSentence", position: int | None) -> dict[str, object]:
        pin = pins.get(sentence.sentence_id)
        stage = -1 if position is None else dropped[position]
        return {
            "rank": None if position is None else ranks[position],
            "probability": None if position is None else float(view.probability[position]),
            **{name: getattr(sentence, name) for name in names},
            **{name: getattr(places.get(sentence.sentence_id), name, None) for name in PLACE},
            "retrieval_rank": sentence.retrieval_rank or None,
            "document_rank": sentence.document_rank or None,
            "dropped_after_layer": None if stage < 0 else run.stages[stage].layer,
            "labelled": pin and _describe_pin(pin),
        }

    top = [describe(x.sentence, x.position) for x in arrangement.top]
    others = arrangement.order[sum(x.position is not None for x in arrangement.top) :]
    return top + [describe(view.candidates[i], i) for i in others]


def _show_candidates(arrangement: "Arrangement", rows: "Sequence[Mapping[str, object]]", limit: int) -> None:
    rows, rest = rows[:limit], rows[limit:]
    columns = ["rank", "probability", "title", "text"]
    if arrangement.top or arrangement.bottom:
        columns.append("labelled")
    echo()
    print_table([{**row, "labelled": _describe_label(row["labelled"])} for row in rows], columns)
    echo()
    ends = [rank for row in rows if isinstance(rank := row["rank"], int)]
    omissions = [str(x) for x in sorted(_list_rejected_ranks(rest)) if x < max(ends, default=0)]
    if omissions:
        ranks = f"rank {omissions[0]} is" if len(omissions) == 1 else f"ranks {', '.join(omissions)} are"
        print_note(f"{ranks} labelled incorrect and listed last (--ignore-labels shows the ranker's order)")


def _list_rejected_ranks(rows: "Sequence[Mapping[str, object]]") -> "Iterator[int]":
    for row in rows:
        rank, pin = row["rank"], row["labelled"]
        if isinstance(rank, int) and isinstance(pin, dict) and pin["label"] == "incorrect":
            yield rank


def _show_cost(view: "AskView", run: "CascadeTrace", corpus: str) -> None:
    steps = " -> ".join(str(len(e.alive)) for e in run.stages)
    load = view.seconds["load"]
    echo(
        f"{steps} candidates, {max(0.0, 1 - run.cascade_cost):.0%} of the cascade's compute saved; "
        f"{view.seconds['total'] - load:.2f} s, after {load:.2f} s to load it, with {view.version} on {corpus}"
    )


def _show_answer(view: "AskView", arrangement: "Arrangement", places: "Places") -> None:
    first, position = arrangement.sentence(view), arrangement.first
    own, probability = view.candidates[arrangement.own], 0.0 if position is None else float(view.probability[position])
    place = places.get(first.sentence_id)
    title = " > ".join(filter(None, (first.title, first.heading)))
    if place is not None and place.source:
        title += f" ({place.source})"
    context = " ".join(part for part in (first.before, f"[{first.text}]", first.after) if part)
    if arrangement.top:
        pin = arrangement.top[0].pin
        where = "" if pin.is_same_wording else f" for “{pin.question}”"
        echo(context)
        echo(f"  {title}, labelled correct{_name(_describe_pin(pin))}{where}")
    elif position is not None and view.is_answer[position]:
        echo(context)
        echo(f"  {title}, probability {probability:.2f}")
    else:
        echo("No sentence seems to answer the question. The probabilities only compare the candidates with each other:")
    if not arrangement.is_own:
        print_note(f"the ranker's own answer: {own.text} (--ignore-labels shows its order)")
    for dispute in arrangement.conflicts[:1]:
        print_note(f"people disagree on this sentence, so it stays where the ranker puts it: {dispute.sentence.text}")


def _describe_pin(pin: "Pin") -> dict[str, object]:
    settled_by = pin.settled_by or None
    return {"label": pin.label, "by": list(pin.by), "settled_by": settled_by, "question": pin.question}


def _describe_label(entry: object) -> str:
    return f"{entry['label']}{_name(entry)}" if isinstance(entry, dict) else ""


def _name(entry: "Mapping[str, Any]") -> str:
    """Who labelled it so; whoever settled it decides alone."""
    if entry["settled_by"]:
        return f", settled by {entry['settled_by']}"
    return f" by {', '.join(entry['by'])}" if entry["by"] else ""
