"""How good a ranker is, measured once: its measures, those of its exits, and how well its probabilities hold.

What was measured is kept, so a retrain measures the new version alone: its base was measured when it was made, and the
frozen benchmark is the same for all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from app.services.evaluations import data_hash, from_stored, ranker_key, to_stored
from app.services.workbench import Workbench
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace
from as2core.data.catalog import apply_setting
from as2core.evaluation import Evaluation, evaluate
from as2core.metrics import measures
from as2core.types import Candidate, OnProgress, Progress, Question
from db.repositories import versions as rows

TOGETHER = 256  # candidates that share the batches; between them a run can be stopped
SETTING = "clean"


@dataclass(frozen=True, slots=True)
class Measured:
    """`per_exit`: layer -> AP when nothing is dropped. `reliability`: rows {"p", "frequency", "n"} over the judged
    candidates, by tenths of probability. Both empty for a ranker without exits or probabilities."""

    evaluation: Evaluation
    per_exit: dict[str, float]
    reliability: list[dict[str, float]]


class Recording:
    """A cascade whose complete traces were made beforehand, many questions together, and that ranks as its own schedule
    would: one pass over the questions gives both its measures and those of its exits."""

    def __init__(self, ranker: Any, questions: Sequence[Question], on_progress: OnProgress | None) -> None:
        self.name, self._ranker = ranker.name, ranker
        complete = DropSchedule.constant(0.0, exits=len(ranker.exits))
        self.traces: dict[tuple[str, tuple[Candidate, ...]], CascadeTrace] = {}
        done = 0
        for chunk in _chunks(questions):
            if on_progress:
                on_progress(Progress(done, len(questions), chunk[0].text))
            made = ranker.trace_many([(q.text, q.candidates) for q in chunk], complete)
            self.traces |= {(q.text, q.candidates): t for q, t in zip(chunk, made, strict=True)}
            done += len(chunk)

    def trace(self, question: str, candidates: Sequence[Candidate]) -> CascadeTrace:
        return self.traces[question, tuple(candidates)].replay(self._ranker.schedule)


def _chunks(questions: Sequence[Question]) -> Iterator[list[Question]]:
    chunk: list[Question] = []
    held = 0
    for q in questions:
        if chunk and held + len(q.candidates) > TOGETHER:
            yield chunk
            chunk, held = [], 0
        chunk.append(q)
        held += len(q.candidates)
    if chunk:
        yield chunk


def measure(ranker: Any, questions: Sequence[Question], *, on_progress: OnProgress | None = None) -> Measured:
    """Questions that the setting leaves out are not looked at. An exception from `on_progress` stops the run."""
    kept = apply_setting(questions, SETTING)
    if not hasattr(ranker, "trace_many"):
        return Measured(evaluate(ranker, kept, setting=SETTING, on_progress=on_progress), {}, [])
    recording = Recording(ranker, kept, on_progress)
    evaluation = evaluate(recording, kept, setting=SETTING)
    seconds = sum(t.replay(ranker.schedule).seconds for t in recording.traces.values())
    traces = {q.qid: recording.traces[q.text, q.candidates] for q in kept}
    per_exit = {
        str(layer): measures(kept, {qid: t.exits[i].scores for qid, t in traces.items()}, ("AP",))["AP"]
        for i, layer in enumerate(ranker.exits)
    }
    return Measured(replace(evaluation, seconds=seconds), per_exit, _reliability(ranker, kept, traces))


def _reliability(ranker: Any, questions: Sequence[Question], traces: dict[str, CascadeTrace]) -> list[dict[str, float]]:
    from as2core.training.calibrate import reliability

    judged = [(traces[q.qid].exits[-1].scores[i], c.label) for q in questions for i, c in enumerate(q.candidates)]
    known = [(score, label) for score, label in judged if label is not None]
    p = np.asarray(ranker.probability(np.array([score for score, _ in known])))
    return reliability(p, np.array([float(label == 1) for _, label in known]))


def measured(
    wb: Workbench,
    name: str,
    questions: Sequence[Question],
    *,
    data: str,
    ranker: Callable[[], Any],
    on_progress: OnProgress | None = None,
) -> Measured:
    """From the store, or made now and kept. `ranker` is called only if it has to be made."""
    key, digest = ranker_key(wb, name), data_hash(questions)
    with wb.read() as s:
        row = rows.evaluation(s, key, digest, SETTING)
        stored = dict(row.result) if row is not None else {}
    if "per_exit" in stored:
        return Measured(from_stored(stored, name, SETTING), stored["per_exit"], stored["reliability"])
    made = measure(ranker(), questions, on_progress=on_progress)
    keep(wb, name, questions, made, data=data)
    return made


def keep(wb: Workbench, name: str, questions: Sequence[Question], made: Measured, *, data: str) -> None:
    result = {**to_stored(made.evaluation), "per_exit": made.per_exit, "reliability": made.reliability}
    with wb.write() as s:
        rows.put_evaluation(
            s,
            ranker_key(wb, name),
            data_hash(questions),
            SETTING,
            ranker=name,
            data=data,
            result=result,
            now=wb.clock(),
        )


def quick(ranker: Any, folder: Path | None, on_progress: OnProgress | None = None, *, engine: str = "auto") -> Any:
    """The same ranker on the engine asked for ("auto": the fastest here); graphs are kept in `folder`."""
    if hasattr(ranker, "use"):
        with contextlib.suppress(OSError):
            ranker.use(engine, folder=folder, on_progress=on_progress)
    return ranker
