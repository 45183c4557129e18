"""`as2 adapt`: retrain from labels. The worker trains; the command queues the job and shows its progress."""

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Option

from app.cli.context import CorpusName, find_corpus, workbench
from as2core.commands.options import JsonFlag, Seed
from as2core.errors import As2Error, BadSetting, NotEnoughLabels
from as2core.messages import format_signed
from as2core.sources.content import read_lines
from as2core.terminal import echo, print_json, print_note, print_table, show_training

if TYPE_CHECKING:
    from app.adapt.readiness import Readiness
    from app.adapt.report import RetrainReport
    from app.adapt.settings import RetrainSettings
    from app.jobs.queue import JobView
    from app.workbench.workbench import Workbench

Kind = Literal[  # as app.adapt.settings.KINDS, which importing a command does not load
    "cascade", "generative", "cross-encoder", "cosinet", "rel-cnn", "compare-aggregate", "fusion", "calibration"
]
Conflicts = Literal["majority", "latest", "adjudicated", "leave-out"]
POLL_SECONDS = 0.5
BASELINES = {"retrieval": "not reranked", "words": "by words (BM25)", "shipped": "shipped"}


class NotAdapted(As2Error):
    """The retrain ended without a version."""


def adapt(
    corpus: CorpusName = None,
    kind: Annotated[Kind, Option(help="The kind of ranker to adapt.")] = "cascade",
    base: Annotated[str, Option(help="The version to start from.")] = "active",
    annotator: Annotated[list[str] | None, Option(help="Only this person's labels; may be repeated.")] = None,
    since: Annotated[str, Option(help="Only labels from this day (UTC) on, as 2024-05-01.")] = "",
    conflicts: Annotated[Conflicts, Option(help="How conflicts among labels are resolved.")] = "majority",
    presumed: Annotated[
        int | None, Option(help="Unlabelled candidates per question counted as incorrect; 10 by default.")
    ] = None,
    label_kind: Annotated[
        list[str] | None, Option(help="Only labels of this kind: people or imported; both by default.")
    ] = None,
    questions: Annotated[
        Path | None, Option(metavar="FILE", help="Train only on the questions in this file, one a line.")
    ] = None,
    unsure_incorrect: Annotated[
        bool, Option("--unsure-incorrect", help="Count pairs labelled only unsure as incorrect.")
    ] = False,
    keep_doubtful: Annotated[bool, Option("--keep-doubtful", help="Train on labels that look wrong, too.")] = False,
    replay: Annotated[
        float | None, Option(help="Share of the shipped questions mixed in, 0 to 1; 0.25 by default.")
    ] = None,
    epochs: Annotated[int | None, Option(min=1, help="Passes over the labels; by default those of the kind.")] = None,
    learning_rate: Annotated[float | None, Option(help="Peak rate; by default that of the kind.")] = None,
    seed: Seed = 0,
    remark: Annotated[str, Option("--note", help="What the new version is for.")] = "",
    dry_run: Annotated[bool, Option("--dry-run", help="Show the training data, and train nothing.")] = False,
    promote: Annotated[bool, Option(help="Promote the version unless it is worse or forgets too much.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Retrain from a corpus's labels, and compare before and after on held-out questions."""
    from app.adapt import readiness
    from app.adapt.label_selection import LABEL_KINDS, PRESUMED_COUNT, LabelSelection, find_questions
    from app.adapt.report import RetrainReport
    from app.adapt.settings import REPLAY, RetrainSettings

    texts = _read_texts(questions) if questions else ()
    choice = LabelSelection(
        annotators=tuple(annotator or ()),
        kinds=tuple(label_kind or LABEL_KINDS),
        since=since,
        unsure_incorrect=unsure_incorrect,
        conflicts=conflicts,
        presumed=PRESUMED_COUNT if presumed is None else presumed,
        doubtful=keep_doubtful,
    )
    share = REPLAY if replay is None else replay
    settings = RetrainSettings(kind, base, choice, share, epochs, learning_rate, seed, remark)
    with workbench() as wb:
        of = find_corpus(wb, corpus)
        settings = replace(settings, choice=replace(choice, questions=find_questions(wb, of.id, texts)))
        view = readiness.check_readiness(wb, of.id, settings)
        for warning in (*view.warnings, *filter(None, [view.expectation])):
            print_note(warning)
        if dry_run:
            _print_readiness(view, as_json)
            return
        job = follow(wb, start(wb, of.id, settings))
        report = RetrainReport.from_json(job.result)
        objection = report.change.objection
        if promote and not objection:
            objection = _promote(wb, report.version)
        is_promoted = promote and not objection
    if as_json:
        outcome = {"outcome": report.outcome, "objection": objection}
        print_json({**job.result, **outcome, **({"promoted": True} if is_promoted else {})})
        return
    print_report(report, view)
    if promote:
        echo("promoted" if is_promoted else f"not promoted: {objection}")
    else:
        echo(f"to use it: as2 versions promote {report.version}")


def start(wb: "Workbench", corpus_id: int, settings: "RetrainSettings") -> "JobView":
    """Queue the retrain, or go on with one of the same settings: the command before may have been killed, and its
    worker, too. Raises as `retrain_job.start_retrain` does."""
    from app.adapt import retrain_job
    from app.jobs import supervisor
    from app.jobs.queue import START_RETRAIN, JobActive
    from app.workbench import audit

    try:
        new = retrain_job.start_retrain(wb, corpus_id, settings)
        audit.write(wb, None, START_RETRAIN, f"job {new.id}")
        return new
    except JobActive:
        supervisor.attend(wb)  # or a job whose worker is gone would wait for ever where nothing else runs
        if (job := retrain_job.find_same_retrain(wb, corpus_id, settings)) is None:
            raise
        print_note(f"job {job.id} already does this retrain: following it to its end")
        return job


def _read_texts(file: Path) -> list[str]:
    """The questions of a file, one a line. Raises UnreadableFile, BadSetting."""
    if not (texts := [line.strip() for _, line in read_lines(file)]):
        raise BadSetting(f"{file} has no question: write one a line, or leave --questions out")
    return texts


def _promote(wb: "Workbench", version: str) -> str:
    """Why it was not promoted: a gate that is missed, or has a mistake; "" if it was."""
    from app.compare import gates

    try:
        gates.promote(wb, version, reason="as2 adapt --promote")
    except As2Error as error:
        return str(error)
    return ""


def print_report(report: "RetrainReport", view: "Readiness") -> None:
    echo(f"{report.version}: {view.useful_questions} training questions, {view.heldout_questions} held out")
    fixed = {BASELINES[b.name]: b.metrics for b in report.baselines}
    sides = {**fixed, "before": report.before, "after": report.after}
    print_table(
        [{"measure": m} | {side: v[m] for side, v in sides.items()} for m in report.before], ["measure", *sides]
    )
    test = report.paired
    echo(
        f"{report.change.headline}: AP {format_signed(test.difference)} "
        f"(95 %: {format_signed(test.low)} to {format_signed(test.high)})"
    )
    if (smallest := report.detectable_difference) is not None:
        echo(f"these questions would have shown a change of {smallest:.3f} AP or more four times in five")
    elif report.has_few_changes:
        echo(f"only {report.paired.changes:,} of {report.change.questions:,} questions changed: too few to judge")


def _print_readiness(view: "Readiness", as_json: bool) -> None:
    """The training data. Raises NotEnoughLabels with what blocks a retrain."""
    if as_json:
        print_json(asdict(view))
        return
    if view.problems:
        raise NotEnoughLabels(" ".join(view.problems))
    conflicts = f", {view.conflict_count:,} disputed" if view.conflict_count else ""
    counts = f"{view.correct:,} correct, {view.incorrect:,} incorrect"
    echo(f"{view.labels:,} labelled pairs: {counts}, {view.unsure:,} unsure{conflicts}")
    echo(
        f"{view.useful_questions:,} training questions ({view.train_correct:,} correct, {view.train_incorrect:,} "
        f"incorrect labels, {view.presumed:,} of them presumed), {view.dev_questions:,} for validation, "
        f"{view.heldout_questions:,} held out; {view.replayed:,} shipped questions mixed in"
    )
    if (n := view.narrowing) is not None:
        echo(
            f"of {n.questions:,} chosen questions {n.train:,} are trained on, {n.dev:,} are for validation, "
            f"{n.held_out:,} held out, {n.unlabelled:,} have no label"
        )


def follow(wb: "Workbench", job: "JobView", sleep: Callable[[float], None] = time.sleep) -> "JobView":
    """Show a job's events until it is over; Ctrl-C cancels it. Raises NotAdapted if it is not done then."""
    from app.jobs import queue, supervisor

    position, last_phase, last_step = 0, "", None
    with show_training() as on_event:
        try:
            while True:
                lasting = [e for e in job.events if e.get("kind") != "step"]
                step = next((e for e in reversed(job.events) if e.get("kind") == "step"), None)
                steps = [] if step is None or step == last_step else [step]  # not every one is shown
                for event in [*lasting[position:], *steps]:
                    on_event(event)
                position, last_step = len(lasting), step
                phase = job.message.partition(",")[0]  # "training, step 3 of 40": the bar has the rest
                if phase != last_phase and job.is_active:
                    print_note(f"job {job.id}: {phase}")
                    last_phase = phase
                elif job.is_active and not steps:
                    on_event({"kind": "stage", "name": f"job {job.id}: {job.message}"})
                if not job.is_active:
                    break
                sleep(POLL_SECONDS)
                supervisor.attend(wb)
                job = queue.load_job(wb, job.id)
        except KeyboardInterrupt:
            queue.cancel(wb, job.id)
            raise
    if job.state != "done":
        raise NotAdapted(f"job {job.id} {job.state}: {job.error or job.message} (`as2 jobs retry {job.id}` resumes it)")
    return job
