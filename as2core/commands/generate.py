"""`as2 generate`: questions for passages, by rule or from a generative ranker's model, and passages for questions."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from as2core.errors import BadSetting
from as2core.named import ranker_named, read_candidates
from as2core.terminal import say, say_json, table, working

NONE, RULES = "none", "rules"

Each = Annotated[int, typer.Option(min=1, help="At most so many for each.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same texts.")]
TopK = Annotated[int, typer.Option(min=1, help="Draw from the so many likeliest tokens ...")]
TopP = Annotated[float, typer.Option(min=0.01, max=1.0, help="... that make up this share of their probability.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]


def register(cli: typer.Typer) -> None:
    """Mount the group."""
    group = typer.Typer(help="Write questions for passages, or passages for questions.")
    for command in (questions, passages):
        group.command(command.__name__)(command)
    cli.add_typer(group, name="generate")


def questions(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help='One passage a line, or JSON lines with "text"; - reads them here.')
    ],
    each: Each = 1,
    generator: Annotated[str, typer.Option(help=f"A generative ranker to sample from, or {RULES}.")] = RULES,
    ranker: Annotated[
        str, typer.Option(help=f"It has to find the passage again among all of FILE; {NONE} asks nobody.")
    ] = "cascade",
    within: Annotated[int, typer.Option(min=1, help="Among its first so many.")] = 1,
    seed: Seed = 0,
    top_k: TopK = 40,
    top_p: TopP = 0.9,
    as_json: Json = False,
) -> None:
    """Write questions for passages, without repeats, and keep those that lead back to their passage."""
    from as2core.generation.questions import questions_from, ruled, sampled
    from as2core.generation.sampling import Sampling

    held = read_candidates(file)
    texts = [c.text for c in held]
    sampling = Sampling(top_k=top_k, top_p=top_p, seed=seed)
    with working("proposing questions") as on_progress:
        found = questions_from(
            ruled(texts) if generator == RULES else sampled(_writer(generator), sampling),
            texts,
            each=each,
            ranker=None if ranker == NONE else ranker_named(ranker),
            within=within,
            on_progress=on_progress,
        )
    rows = [{"question": p.text, "id": held[p.source].id, "passage": held[p.source].text, "log_p": p.log_p,
             "rank": p.rank} for p in found]  # fmt: skip
    if as_json:
        say_json({"generator": generator, "ranker": ranker, "seed": seed, "passages": len(held), "questions": rows})
        return
    say(table(rows, ["question", "id", "passage", "log_p", "rank"]))


def passages(
    asked: Annotated[list[str], typer.Argument(metavar="QUESTION...", help="One or more questions.")],
    generator: Annotated[
        str, typer.Option(help="A generative ranker of answers: a version trained with direction=answer.")
    ],
    each: Each = 1,
    seed: Seed = 0,
    top_k: TopK = 40,
    top_p: TopP = 0.9,
    as_json: Json = False,
) -> None:
    """Sample passages for questions: they read like answers and need not be true."""
    from as2core.generation.passages import passages_from
    from as2core.generation.sampling import Sampling

    settings = Sampling(top_k=top_k, top_p=top_p, seed=seed, max_tokens=64)
    with working("writing passages"):
        found = passages_from(_writer(generator), asked, each=each, settings=settings)
    if as_json:
        say_json({"generator": generator, "seed": seed, "questions": asked, "passages": [asdict(w) for w in found]})
        return
    rows = [{"question": asked[w.source], "passage": w.text, "log_p": w.log_p} for w in found]
    say(table(rows, ["question", "passage", "log_p"]))


def _writer(spec: str) -> Any:
    """The generative ranker of a spec. Raises BadSetting for one that only scores."""
    from as2core.rankers.generative import GenerativeRanker

    ranker = ranker_named(spec)
    if not isinstance(ranker, GenerativeRanker):
        raise BadSetting(f"the ranker {spec!r} writes nothing: take generative, or a version of that kind")
    return ranker
