"""`as2 propose`: proposed questions for a corpus. The worker makes them, a person reviews them on the Data page."""

from typing import Annotated

from typer import Option

from app.cli.adapt import follow
from app.cli.context import CorpusName, find_corpus, workbench
from as2core.commands.options import JsonFlag
from as2core.messages import count
from as2core.terminal import echo, print_json, print_note, print_table


def propose(
    corpus: CorpusName = None,
    number: Annotated[int, Option(min=1, help="How many questions to propose.")] = 20,
    seed: Annotated[int | None, Option(min=0, help="Seed for drawing sentences; random by default.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Propose questions made of a corpus's sentences; accept or reject them on the Data page."""
    from app.ask import proposals

    with workbench() as wb:
        source = find_corpus(wb, corpus)
        job = proposals.find_same_job(wb, source.id, number=number, seed=seed)  # a command before may have been killed
        if job is not None:
            print_note(f"job {job.id} already does this: following it to its end")
        job = follow(wb, job or proposals.start(wb, source.id, number=number, seed=seed))
        view = proposals.list_waiting(wb, source.id)
    if as_json:
        print_json({"corpus": source.name, **job.result, "waiting": view.waiting, "proposals": view.page})
        return
    echo(
        f"{count(job.result['proposed'], 'question')} proposed from {count(job.result['tried'], 'sentence')}; "
        f"{view.waiting} waiting for review"
    )
    rows = [{"question": p.text, "place": p.place, "sentence": p.sentence} for p in view.page]
    if rows:
        print_table(rows, ["question", "place", "sentence"])
