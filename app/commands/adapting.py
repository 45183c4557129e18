"""`as2 adapt`: retrain from labels. The worker trains; the command asks for it and shows how it goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.opened import CorpusName, chosen, workbench
from as2core.cli import Json
from as2core.errors import As2Error, NotEnoughLabels
from as2core.terminal import note, say, say_json, table, training

if TYPE_CHECKING:
    from app.services import Workbench
    from app.services.adapt_views import Readiness
    from app.services.views import JobView

POLL = 0.5


class NotAdapted(As2Error):
    """The retrain ended without a version."""


def adapt(
    corpus: CorpusName = None,
    kind: Annotated[
        str, typer.Option(help="What is adapted: cascade, generative, calibration and others.")
    ] = "cascade",
    base: Annotated[str, typer.Option(help="The version to start from.")] = "active",
    annotator: Annotated[list[str] | None, typer.Option(help="Only this person's labels; may be repeated.")] = None,
    since: Annotated[str, typer.Option(help="Only labels from this day on, as 2024-05-01.")] = "",
    conflicts: Annotated[str, typer.Option(help="majority, latest, adjudicated or leave-out.")] = "majority",
    presumed: Annotated[int, typer.Option(help="Unlabelled candidates a question taken for incorrect.")] = 0,
    label_kind: Annotated[
        list[str] | None, typer.Option(help="Only labels of this kind: people or imported; both if not given.")
    ] = None,
    unsure_incorrect: Annotated[
        bool, typer.Option("--unsure-incorrect", help="Pairs with nothing but doubt count as incorrect.")
    ] = False,
    keep_doubtful: Annotated[
        bool, typer.Option("--keep-doubtful", help="Learn from labels that look wrong, too.")
    ] = False,
    replay: Annotated[float | None, typer.Option(help="Share of the shipped questions mixed in, 0 to 1.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the labels; the default if not given.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Peak rate; the default if not given.")] = None,
    seed: Annotated[int, typer.Option(help="Makes the run repeatable.")] = 0,
    remark: Annotated[str, typer.Option("--note", help="What the new version is for.")] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be learnt from, and train nothing.")
    ] = False,
    promote: Annotated[bool, typer.Option(help="Promote the version if its held-out AP is not lower.")] = False,
    as_json: Json = False,
) -> None:
    """Retrain from a corpus's labels, and compare with before on held-out questions."""
    from app.services import adapting, versions
    from app.services.choosing import KINDS, Choice
    from app.services.snapshots import REPLAY

    with workbench() as wb:
        of = chosen(wb, corpus)
        choice = Choice(
            annotators=tuple(annotator or ()),
            kinds=tuple(label_kind or KINDS),
            since=since,
            unsure_incorrect=unsure_incorrect,
            conflicts=conflicts,
            presumed=presumed,
            doubtful=keep_doubtful,
        )
        share = REPLAY if replay is None else replay
        ready = adapting.readiness(wb, of.id, choice, kind=kind, base=base, replay=share)
        for warning in ready.warnings:
            note(warning)
        if dry_run:
            _say_ready(ready, as_json)
            return
        job = adapting.start_retrain(
            wb,
            of.id,
            kind=kind,
            base=base,
            choice=choice,
            replay=share,
            epochs=epochs,
            learning_rate=learning_rate,
            seed=seed,
            note=remark,
        )
        job = follow(wb, job)
        result = dict(job.result)
        better = result["after"]["AP"] >= result["before"]["AP"]
        if promote and better:
            versions.promote(wb, result["version"], reason="as2 adapt --promote")
            result["promoted"] = True
    if as_json:
        say_json(result)
    else:
        _say_result(result, ready, promote)


def _say_result(result: Mapping[str, Any], ready: Readiness, promote: bool) -> None:
    say(f"{result['version']}: {ready.train_questions} questions to learn from, {ready.heldout_questions} held out")
    rows = [{"measure": m, "before": result["before"][m], "after": result["after"][m]} for m in result["before"]]
    say(table(rows, ["measure", "before", "after"]))
    if result.get("promoted"):
        say("promoted")
    elif promote:
        say("not promoted: its AP is lower than before")
    else:
        say(f"to use it: as2 versions promote {result['version']}")


def _say_ready(ready: Readiness, as_json: bool) -> None:
    """What a retrain would learn from; what stands in its way is an error. Raises NotEnoughLabels."""
    if as_json:
        say_json(asdict(ready))
        return
    if ready.problems:
        raise NotEnoughLabels(" ".join(ready.problems))
    say(f"{ready.labels:,} labels: {ready.correct:,} correct, {ready.incorrect:,} incorrect, {ready.unsure:,} unsure")
    say(
        f"{ready.train_questions:,} questions to learn from ({ready.train_correct:,} correct, "
        f"{ready.train_incorrect:,} incorrect, {ready.presumed:,} of them presumed), {ready.dev_questions:,} to steer "
        f"by, {ready.heldout_questions:,} held out; {ready.replayed:,} shipped ones mixed in"
    )


def _newest_step(job: JobView) -> list[Mapping[str, Any]]:
    return [e for e in job.events if e.get("kind") == "step"][-1:]


def follow(wb: Workbench, job: JobView, sleep: Callable[[float], None] = time.sleep) -> JobView:
    """Show a job's events until it is over; Ctrl-C asks it to stop. Raises NotAdapted if it is not done then."""
    from app.services import adapting

    shown, said = 0, ""
    with training() as on_event:
        try:
            while True:
                lasting = [e for e in job.events if e.get("kind") != "step"]  # of the steps not all are told
                for event in [*lasting[shown:], *_newest_step(job)]:
                    on_event(event)
                shown = len(lasting)
                phase = job.message.partition(",")[0]  # "training, step 3 of 40": the bar has the rest
                if phase != said and job.active:
                    note(f"job {job.id}: {phase}")
                    said = phase
                if not job.active:
                    break
                sleep(POLL)
                job = adapting.job(wb, job.id)
        except KeyboardInterrupt:
            adapting.cancel(wb, job.id)
            raise
    if job.state != "done":
        raise NotAdapted(f"job {job.id} {job.state}: {job.error or job.message} (`as2 jobs retry {job.id}` goes on)")
    return job
