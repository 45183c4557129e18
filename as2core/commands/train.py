"""`as2 train`: learn a ranker from labelled questions, and write it as a version that every command takes."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from as2core.errors import BadSetting
from as2core.named import questions_of, ranker_named
from as2core.terminal import say, say_json, table, training, working


def train(
    ranker: Annotated[str, typer.Argument(metavar="RANKER", help="What to start from, as cosinet:listwise.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="Labelled questions to learn from.")],
    out: Annotated[Path, typer.Option(help="The version's directory; it appears whole, or not at all.")],
    dev: Annotated[
        str | None, typer.Option(help="Labelled questions to measure on; the best state on them is kept.")
    ] = None,
    setting: Annotated[
        Literal["raw", "no-all-neg", "clean"], typer.Option(help="Which questions of DATA are learnt from.")
    ] = "no-all-neg",
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many questions of DATA.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="How often all of DATA is gone through.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="The highest rate of the schedule.")] = None,
    batch_questions: Annotated[int | None, typer.Option(min=1, help="Questions a mini-batch.")] = None,
    loss: Annotated[str | None, typer.Option(help="pointwise, pairwise, listwise, mle, lul or rll.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Draws the first values of what is untrained, and the order of the questions; 0.")
    ] = None,
    told: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="NAME=VALUE", help="Any other training setting, as noise=0.1; may come again."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Train a ranker on labelled questions."""
    if out.exists():
        raise BadSetting(f"{out} exists already: choose another name for the version")
    import torch

    from as2core.data import jsonl
    from as2core.data.catalog import apply_setting
    from as2core.evaluation import evaluate
    from as2core.metrics import NAMES
    from as2core.rankers.specs import read_pairs
    from as2core.rankers.versions import save_version
    from as2core.training.fine_tune import fine_tune, smaller
    from as2core.training.learners import suggested
    from as2core.training.settings import TrainSettings

    others = read_pairs("training", told or (), asdict(TrainSettings()))
    questions = apply_setting(questions_of(data), setting)[:limit]
    judged = apply_setting(questions_of(dev), "clean") if dev else []
    if dev and not judged:
        raise BadSetting(f"{dev} has no question with a correct and an incorrect candidate: nothing to measure on")
    seed = TrainSettings(seed=others.get("seed", 0) if seed is None else seed).seed
    torch.manual_seed(seed)
    base = ranker_named(ranker)
    settings = smaller(
        replace(suggested(base), **others),
        epochs=epochs,
        learning_rate=learning_rate,
        batch_questions=batch_questions,
        loss=loss,
        seed=seed,
    )
    digest = hashlib.sha256(jsonl.dumps(questions).encode()).hexdigest()
    run = json.dumps([ranker, digest, dev, asdict(settings)])
    # named by all that makes the run: called again after a stop it goes on, told something else it starts anew
    work = out.with_name(f".{out.name}.{hashlib.sha256(run.encode()).hexdigest()[:12]}.work")
    with training() as on_event:
        trained = fine_tune(base, questions, judged, settings, workdir=work, on_event=on_event)
    found = None
    if judged:
        with working(f"measuring on {dev}") as on_progress:
            found = evaluate(trained.ranker, judged, on_progress=on_progress).metrics
    card = {
        "ranker": ranker,
        "parent": ranker,
        "data": [{"name": data, "setting": setting, "sha256": digest}],
        "questions": len(questions),
        "settings": {"train": asdict(settings)},
        "seed": seed,
        "minutes": round(trained.seconds / 60, 2),
        "metrics": {"data": dev, **found} if found else None,
    }
    save_version(trained.ranker, out, card)
    shutil.rmtree(work, ignore_errors=True)
    if as_json:
        say_json({"path": out, "card": json.loads((out / "card.json").read_text())})
        return
    say(f"{out}: {ranker} trained on {len(questions):,} questions of {data} in {trained.seconds:.0f} s")
    if found:
        say(table([{"measure": n, dev: found[n]} for n in NAMES], ["measure", dev]))
