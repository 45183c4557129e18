"""What a retrain's numbers, its job's states and its events mean, in plain sentences."""

import time

import streamlit as st

from app.corpora.corpora import CorpusView
from app.jobs import queue
from app.jobs.kinds import JobKind
from app.jobs.process import read_failure
from app.jobs.queue import JobView
from app.jobs.remaining import find_remaining
from app.ranking.retrieval import MeaningState
from app.ranking.retrieval_order import RETRIEVAL, WORDS
from app.ui.charts.training import Event
from app.ui.text import format_signed
from app.workbench.workbench import Workbench
from as2core.evaluation.rankers import is_clear
from as2core.messages import count
from as2core.metrics import PairedTest

UNRANKED = {  # order -> what it is
    RETRIEVAL: "the order of retrieval",
    WORDS: "in BM25's order, because this corpus's search did not retrieve all candidates",
}
JOB_KINDS: dict[str, str] = {
    JobKind.RETRAIN: "Retrain",
    JobKind.SCORE: "Ranking for Label",
    JobKind.EMBED: "Preparing search by meaning",
    JobKind.SECOND_LOOKS: "Second looks",
    JobKind.MEASURE: "Preparing the next retrain",
    JobKind.PROPOSE: "Proposing questions",
    JobKind.DECIDE: "Ranking for a decision",
}
STATES = {
    "queued": "Waiting for the worker.",
    "running": "Training in the background.",
    "done": "Done.",
    "cancelled": "It was stopped. No version was made; the version in use has not changed. Run it again: it resumes "
    "where it stopped.",
    "failed": "It failed, and no version was made. The version in use has not changed.",
}
NO_WORKER = "No worker has started it yet. One may be busy with another job; if none runs, `as2 worker` starts one."
SMALLEST_DIFFERENCE = 0.0005  # that three digits show
PATIENCE_SECONDS = 30  # that a worker may take to start


def describe_test(
    test: PairedTest,
    *,
    metric: str = "AP",
    holm: float | None = None,
    sides: tuple[str, str] | None = None,
    pairs: int = 1,
) -> str:
    """`12 questions better, 3 worse, 5 the same. ...`: the paired test without its vocabulary, of a version and what it
    was made from; with `sides`, of these two rankers. `holm`: its p, corrected for all `pairs` of a comparison, which
    is then the p that is given."""
    counts = _count_questions(test, metric, sides)
    if test.changes == 0:
        return f"{counts}."
    p = describe_p(test.p if holm is None else holm)
    interval = f"95 %: {format_signed(test.low)} to {format_signed(test.high)}"
    text = f"{counts}. {_describe_difference(test, metric, sides)} ({interval})"
    if test.has_few_changes:
        return f"{text}. Too few questions changed to tell ({p})."
    if not is_clear(test):
        return f"{text}. This could be chance ({p})."
    if not is_clear(test, holm):
        return f"{text}. Corrected for {count(pairs, 'pair')}, this could be chance ({p})."
    return f"{text}. This is more than chance ({p})."


def _name_all(questions: int) -> str:
    return "the one question" if questions == 1 else f"each of {questions:,} questions"


def _count_questions(test: PairedTest, metric: str, sides: tuple[str, str] | None) -> str:
    if sides is None and test.changes == 0:
        return f"No question became better or worse: {metric} is the same on {_name_all(test.ties)}"
    if sides is None:
        return f"{count(test.wins, 'question')} better, {test.losses:,} worse, {test.ties:,} the same"
    if test.changes == 0:
        return f"{sides[0]} and {sides[1]} have the same {metric} on {_name_all(test.ties)}"
    return (
        f"{sides[0]} is better on {count(test.wins, 'question')}, {sides[1]} on {test.losses:,}, "
        f"{count(test.ties, 'is', 'are')} the same"
    )


def _describe_difference(test: PairedTest, metric: str, sides: tuple[str, str] | None) -> str:
    if sides is None:
        return f"{metric} changed by {format_signed(test.difference)}"
    if abs(test.difference) < SMALLEST_DIFFERENCE:
        return f"{metric} of {sides[0]} and {sides[1]} differs by less than 0.001"
    return f"{metric} of {sides[0]} is {abs(test.difference):.3f} {'higher' if test.difference >= 0 else 'lower'}"


def describe_p(p: float) -> str:
    """`p = 0.03`, `p < 0.001`, never broken over two lines; three digits below 0.01 and around 0.05, which the second
    one would round away."""
    if p < 0.001:
        return "p\u00a0<\u00a00.001"
    digits = 3 if p < 0.01 or 0.045 <= p < 0.055 else 2
    return f"p\u00a0=\u00a0{p:.{digits}f}"


def describe_vectors(done: int, total: int, remaining: str = "") -> str:
    """How far search by meaning is, wherever that is said; 100 % only when all passages have a vector. `remaining`: as
    `find_remaining` gives it."""
    text = f"Search by meaning is {100 * done // max(1, total)} % prepared{remaining}."
    return text if MeaningState(done, total).is_used else f"{text} Answers get better once it is ready."


def describe_vectors_of(wb: Workbench, corpus: CorpusView) -> str:
    """`describe_vectors`, with the time left as the job that computes them last estimated it."""
    jobs = queue.list_active(wb, JobKind.EMBED, corpus.id)
    return describe_vectors(corpus.vectors_done, corpus.vectors_total, find_remaining(jobs[0].message) if jobs else "")


def describe_wait(wb: Workbench, job: JobView) -> str:
    """What a queued job waits for, another job or a worker; "" for one that doesn't wait, or is paused."""
    if job.state != "queued" or job.paused:
        return ""
    slot = queue.find_slot(job.kind)
    if other := next((j for j in queue.list_active(wb) if j.state == "running" and j.kind in slot), None):
        kind = JOB_KINDS.get(other.kind, other.kind)
        what = kind[0].lower() + kind[1:]
        return f"Job {other.id} ({what}) runs first. This job starts when that one ends or is paused."
    if failure := read_failure(wb.settings):
        return f"{failure.describe(wb.settings)} This job {'goes on' if job.attempt else 'starts'} with the next one."
    first_times = st.session_state.setdefault("_as2_queued", {})  # by this session
    seconds = time.monotonic() - first_times.setdefault((job.id, job.attempt), time.monotonic())
    return NO_WORKER if seconds > PATIENCE_SECONDS else ""


def is_paused(job: JobView) -> bool:
    """A paused job that is being cancelled waits for nobody."""
    return job.paused and not job.cancelling


def name_state(job: JobView) -> str:
    """`queued`, `running`, `paused`: of an active job."""
    return "paused" if is_paused(job) else job.state


def describe_state(job: JobView) -> str:
    """What became of a job, and what that means for the versions."""
    if job.state == "running" and job.cancelling:
        return "Stopping at the next step …"
    if job.state == "lost":
        again = f" It was tried {count(job.attempt, 'time')}." if job.attempt > 1 else ""
        return f"Its worker was interrupted, and no version was made.{again} Run it again: it resumes where it stopped."
    return STATES[job.state]


def name_version_state(state: str) -> str:
    """`in use`, `used before`, `not promoted`: of a version; `shipped` and `rejected` as they are."""
    return {"active": "in use", "former": "used before", "candidate": "not promoted"}.get(state, state)


def describe_seconds(seconds: float) -> str:
    """`40 s`, `2 min 10 s`, `1 h 5 min`."""
    s = max(0, round(seconds))
    if s < 60:
        return f"{s} s"
    if s < 3600:
        return f"{s // 60} min {s % 60} s" if s % 60 else f"{s // 60} min"
    return f"{s // 3600} h {s % 3600 // 60} min"


def format_event(event: Event) -> str:
    """An event of a training run as a line to read; "" for the steps, which the curve shows."""
    kind, step = event.get("kind"), int(event.get("step", 0))
    if kind == "start":
        dev = f", validation AP {_format_dev(event)}" if event.get("dev_ap") else ""
        return f"start: {count(int(event.get('questions', 0)), 'question')}, {count(int(event['steps']), 'step')}{dev}"
    if kind == "eval":
        return f"step {step:,}: validation AP {_format_dev(event)}"
    if kind == "end":
        best = float(event.get("best_dev_ap") or 0)  # 0 without validation questions
        return f"end at step {step:,}" + (f"; best validation AP {best:.3f}" if best else "")
    if kind in ("paused", "resumed"):
        return kind
    if kind == "lost":
        end = "; the job goes on" if event.get("goes_on") else ""
        return f"the worker was interrupted in attempt {event.get('attempt', 1)}{end}"
    return "" if kind == "step" else str(event.get("message", ""))


def _format_dev(event: Event) -> str:
    by_exit = event.get("dev_ap")
    if not by_exit:
        return "not measured"
    exits = [e for e in by_exit if e.isdigit()]
    if not exits:  # a ranker without exits has one value
        return f"{float(*by_exit.values()):.3f}"
    return f"{float(by_exit[max(exits, key=int)]):.3f} at the last exit"
