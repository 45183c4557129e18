"""What a retrain's numbers and states mean, in plain sentences."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import streamlit as st

from app.components.text import count
from app.services import Workbench, adapting
from app.services.views import JobView

CERTAIN = 0.05  # below this p-value we call a difference more than chance
ENOUGH = 6  # fewer changed questions than this can't reach it: six of six one way have p = 2 / 2**6 = 0.03

METRICS = {
    "AP": "average precision: how high all correct sentences stand",
    "RR": "reciprocal rank: how high the first correct sentence stands",
    "P@1": "share of questions whose first sentence is correct",
    "nDCG@10": "how good the first ten are",
}


def verdict(paired: Mapping[str, Any]) -> str:
    """One of "better", "worse", "even", "unclear": what the paired test on held-out questions allows to say."""
    wins, losses = int(paired["wins"]), int(paired["losses"])
    if wins + losses == 0:
        return "even"
    if wins + losses < ENOUGH or float(paired["p"]) >= CERTAIN:
        return "unclear"
    return "better" if float(paired["difference"]) > 0 else "worse"


HEADLINES = {
    "better": "Better on the held-out questions",
    "worse": "Worse on the held-out questions",
    "even": "No difference on the held-out questions",
    "unclear": "No clear difference on the held-out questions",
}


def paired_in_words(paired: Mapping[str, Any], *, metric: str = "AP") -> str:
    """`12 questions better, 3 worse, 5 the same. ...`: the paired test without its vocabulary."""
    wins, losses, ties = (int(paired[k]) for k in ("wins", "losses", "ties"))
    counts = f"{count(wins, 'question')} better, {losses:,} worse, {ties:,} the same"
    if wins + losses == 0:
        return f"{counts}: the order of the correct sentences did not change."
    told = f"{counts}. {metric} changed by {float(paired['difference']):+.3f}"
    if paired.get("low") is not None and paired.get("high") is not None:
        told += f" (95 %: {float(paired['low']):+.3f} to {float(paired['high']):+.3f})"
    p = float(paired["p"])
    chance = "p < 0.001" if p < 0.001 else f"p = {p:.2f}" if p >= 0.01 else f"p = {p:.3f}"
    if wins + losses < ENOUGH:
        return f"{told}. Too few questions changed to tell ({chance})."
    if p < CERTAIN:
        return f"{told}: more than chance would bring ({chance})."
    return f"{told}: chance alone could bring this ({chance})."


NO_WORKER = (
    "Nobody has taken it up yet. The worker may be busy with another job; if none runs, `as2 worker` starts one."
)
PATIENCE = 30  # seconds a worker may take to start


def waits_for(wb: Workbench, job: JobView) -> str:
    """What a queued job waits for, another job or a worker; empty for one that doesn't, or does so on purpose."""
    if job.state != "queued" or job.paused:
        return ""
    if other := next((j for j in adapting.active_jobs(wb) if j.id != job.id and j.state == "running"), None):
        return f"Job {other.id} ({other.kind}) has the worker; this one waits till it ends or makes room."
    return NO_WORKER if _waits_long(job) else ""


def _waits_long(job: JobView) -> bool:
    """Whether this session has seen the job queued for longer than a worker takes to start."""
    seen = st.session_state.setdefault("_as2_queued", {})
    if job.state != "queued":
        seen.pop(job.id, None)
        return False
    return time.monotonic() - seen.setdefault(job.id, time.monotonic()) > PATIENCE


def state_in_words(job: JobView) -> str:
    """What became of a job, and what that means for the models."""
    if job.state == "queued":
        return "Waiting for the worker to take it up."
    if job.state == "running":
        return "Stopping at the next step …" if job.cancelling else "Training, in a process of its own."
    if job.state == "done":
        return "Done."
    if job.state == "cancelled":
        return "You stopped it. No version was made; the model in use is the one from before."
    if job.state == "lost":
        again = f" It was tried {count(job.attempt, 'time')}." if job.attempt > 1 else ""
        return (
            f"Its worker went away in the middle, and no version was made.{again} "
            "The labels are all there; run it again and it takes up where it stopped."
        )
    return "It failed, and no version was made. The model in use is the one from before."


def seconds_in_words(seconds: float) -> str:
    """`40 s`, `2 min 10 s`, `1 h 5 min`."""
    s = max(0, round(seconds))
    if s < 60:
        return f"{s} s"
    if s < 3600:
        return f"{s // 60} min {s % 60} s" if s % 60 else f"{s // 60} min"
    return f"{s // 3600} h {s % 3600 // 60} min"


def log_line(event: Mapping[str, Any]) -> str:
    """An event of a training run as a line to read; empty for the steps, which the curve shows."""
    kind = event.get("kind")
    if kind == "start":
        ready = f", dev MAP {_dev(event)}" if event.get("dev_ap") else ""
        return (
            f"start: {count(int(event.get('questions', 0)), 'question')}, {count(int(event['steps']), 'step')}{ready}"
        )
    if kind == "eval":
        return f"step {int(event.get('step', 0)):,}: dev MAP {_dev(event)}"
    if kind == "end":
        return f"end at step {int(event.get('step', 0)):,}; best dev MAP {float(event.get('best_dev_ap', 0)):.3f}"
    if kind in ("paused", "resumed"):
        return "paused" if kind == "paused" else "going on"
    if kind == "lost":
        return f"the worker stopped without a word in attempt {event.get('attempt', 1)}"
    return "" if kind == "step" else str(event.get("message", ""))


def _dev(event: Mapping[str, Any]) -> str:
    by_exit = event.get("dev_ap") or {}
    if not by_exit:
        return "not measured"
    exits = [e for e in by_exit if e.isdigit()]
    if not exits:  # a ranker without exits: its one value
        return f"{float(*by_exit.values()):.3f}"
    return f"{float(by_exit[max(exits, key=int)]):.3f} at the last exit"
