"""The retrain itself, in the worker: freeze the labels, train, judge on questions held out, keep the version.

Everything it needs is in the job's folder, so a run that was cancelled or killed goes on from its last checkpoint with
the same labels. The version's directory appears by one rename and is entered in the database afterwards, so that no
half-made version is ever seen.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.running import Running
from app.services import labels, splitting, versions
from app.services.corpora import get_corpus
from app.services.evaluations import data_hash, evaluated, plain
from app.services.splitting import Split
from app.services.versions import Chosen
from app.services.workbench import Workbench
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace
from as2core.errors import As2Error, NotEnoughLabels
from as2core.evaluation import Evaluation, evaluate, intervals, paired_test
from as2core.metrics import measures
from as2core.types import Candidate, Progress, Question
from db.repositories import versions as rows

PARTS = ("train", "dev", "held_out")
STEER_QUESTIONS, STEER_CANDIDATES = 40, 24  # dev questions and their candidates looked at while training
NEGATIVES_AT_LEAST = 20  # of a question whose labels are taken for complete when calibrating


def run_retrain(job: Running) -> dict[str, Any]:
    """The background job; its result is what the Adapt page shows as the version's card."""
    from as2core.training.fine_tune import fine_tune

    wb = job.wb
    if job.corpus_id is None:
        raise As2Error("the corpus this retrain was for is deleted")
    name = f"{_slug(get_corpus(wb, job.corpus_id).name)}-{job.id}"
    if (done := _finished(wb, job, name)) is not None:
        return done
    job.progress(0.0, "freezing the labels")
    parts, snapshot = frozen(wb, job.corpus_id, job.folder)
    job.progress(0.01, "loading the base version")
    base = versions.choose(wb, job.settings["base"])
    if base.note:
        job.event({"kind": "note", "message": base.note})
    earlier = Recording(base.ranker)
    before = _judge(job, earlier, parts.held_out, (0.02, 0.1), f"{base.name} on held-out questions")
    settings = _settings(job.settings)
    trained = fine_tune(
        base.ranker,
        list(parts.train),
        steering(parts.dev, settings.seed),
        settings,
        workdir=job.folder / "work",
        on_event=lambda e: _tell(job, e),
        should_stop=job.should_stop,
    )
    job.check()
    calibration = _calibrated(job, trained.ranker, parts.dev)
    later = Recording(trained.ranker)
    after = _judge(job, later, parts.held_out, (0.68, 0.78), "the new version on held-out questions")
    result = {
        "version": name,
        "base": base.name,
        **_compared(before, after),
        "per_question": _per_question(parts.held_out, before, after),
        "per_exit": {
            "before": earlier.per_exit(parts.held_out),
            "after": later.per_exit(parts.held_out),
        },
        "frozen": _benchmark(job, base, trained.ranker),
        "labels": _counts(parts),
        "snapshot": snapshot,
    }
    job.progress(0.98, "keeping the version")
    result = plain(result)
    _keep(wb, job, name, base, trained, result, asdict(settings), calibration)
    return result


def frozen(wb: Workbench, corpus_id: int, folder: Path) -> tuple[Split, str]:
    """The division of the labels as it was when the job first ran, written down then, and its SHA-256."""
    from as2core.data import jsonl

    file = folder / "snapshot.jsonl"
    if not file.exists():
        parts = splitting.split(labels.load(wb, corpus_id))
        lines = [
            json.dumps({"part": part, **jsonl.to_record(q)}, ensure_ascii=False)
            for part in PARTS
            for q in getattr(parts, part)
        ]
        making = file.with_suffix(".part")
        making.write_text("\n".join(lines) + "\n", encoding="utf-8")
        making.rename(file)
    found: dict[str, list[Question]] = {part: [] for part in PARTS}
    for line in file.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        found[record.pop("part")].append(jsonl.from_record(record))
    if not found["train"] or not found["held_out"]:
        raise NotEnoughLabels("the labels were withdrawn meanwhile: nothing is left to train on or to judge by")
    parts = Split(*(tuple(found[part]) for part in PARTS))
    return parts, data_hash([q for part in PARTS for q in found[part]])


def steering(dev: Sequence[Question], seed: int) -> list[Question]:
    """Dev questions cut down to what can be scored after every epoch: all correct candidates and a sample of others."""
    rng = random.Random(seed)
    able = [q for q in dev if q.positives and q.negatives]
    chosen = sorted(rng.sample(able, min(STEER_QUESTIONS, len(able))), key=lambda q: q.qid)
    cut = []
    for q in chosen:
        others = [i for i, c in enumerate(q.candidates) if c.label != 1]
        kept = set(rng.sample(others, min(len(others), max(1, STEER_CANDIDATES - q.positives))))
        candidates = tuple(c for i, c in enumerate(q.candidates) if c.label == 1 or i in kept)
        cut.append(Question(q.qid, q.text, candidates, q.kind))
    return cut


class Recording:
    """A cascade that scores everybody at every exit and remembers it, but ranks as its own schedule would: one pass
    over the questions then gives both its measures and those of its exits."""

    def __init__(self, ranker: Any) -> None:
        self.name, self._ranker = ranker.name, ranker
        self._complete = DropSchedule.constant(0.0, exits=len(ranker.exits))
        self._traces: dict[tuple[str, tuple[Candidate, ...]], CascadeTrace] = {}

    def trace(self, question: str, candidates: Sequence[Candidate]) -> CascadeTrace:
        made = self._ranker.trace(question, candidates, self._complete)
        self._traces[question, tuple(candidates)] = made
        return made.replay(self._ranker.schedule)

    def per_exit(self, questions: Sequence[Question]) -> dict[str, float]:
        """AP after every exit when nothing is dropped, by layer, over questions that were traced."""
        traces = {q.qid: self._traces[q.text, q.candidates] for q in questions}
        return {
            str(layer): measures(questions, {qid: t.exits[i].scores for qid, t in traces.items()}, ("AP",))["AP"]
            for i, layer in enumerate(self._ranker.exits)
        }


def _settings(told: Mapping[str, Any]) -> Any:
    from as2core.training.fine_tune import smaller
    from as2core.training.settings import ADAPT

    return smaller(ADAPT, **{k: told.get(k) for k in ("epochs", "learning_rate", "seed")})


def _tell(job: Running, event: dict[str, Any]) -> None:
    job.event(event)
    if event.get("steps"):
        share = event.get("step", 0) / event["steps"]
        job.progress(0.1 + 0.52 * share, f"training, step {event.get('step', 0)} of {event['steps']}")


def _judge(
    job: Running, ranker: Any, questions: Sequence[Question], span: tuple[float, float], what: str
) -> Evaluation:
    def tell(p: Progress) -> None:
        job.check()
        job.progress(span[0] + (span[1] - span[0]) * p.done / max(1, p.total), f"measuring {what}")

    return evaluate(ranker, questions, setting="clean", on_progress=tell)


def _benchmark(job: Running, base: Chosen, trained: Any) -> dict[str, Any]:
    """The measures on the starter corpus's test questions, which no retrain learns from; {} if they are not there."""
    from as2core.data import jsonl

    file = job.wb.settings.corpora_dir / "starter" / "test.jsonl"
    if not file.is_file():
        return {}
    questions, _ = jsonl.read(file)

    def tell(p: Progress) -> None:
        job.check()
        job.progress(0.8 + 0.08 * p.done / max(1, p.total), f"measuring {base.name} on the frozen benchmark")

    before = evaluated(job.wb, base.name, questions, data="starter-test", ranker=base.ranker, on_progress=tell)
    after = _judge(job, trained, questions, (0.88, 0.97), "the new version on the frozen benchmark")
    return {"before": before.metrics, "after": after.metrics}


def _calibrated(job: Running, ranker: Any, dev: Sequence[Question]) -> dict[str, Any] | None:
    """Fit probabilities and the no-answer threshold anew where dev questions allow it: some answered, some not, their
    labels complete. Otherwise the base's stay."""
    from as2core.training.calibrate import calibrate

    complete = [q for q in dev if q.negatives >= NEGATIVES_AT_LEAST]
    if not any(q.positives for q in complete) or all(q.positives for q in complete):
        return None
    job.progress(0.63, "calibrating probabilities")
    return calibrate(ranker, complete)


def _compared(before: Evaluation, after: Evaluation) -> dict[str, Any]:
    return {
        "before": before.metrics,
        "after": after.metrics,
        "intervals": {"before": intervals(before.per_question), "after": intervals(after.per_question)},
        "paired": asdict(paired_test(after.per_question["AP"], before.per_question["AP"])),
    }


def _per_question(questions: Sequence[Question], before: Evaluation, after: Evaluation) -> list[dict[str, Any]]:
    a, b = after.per_question["AP"], before.per_question["AP"]
    return [{"qid": q.qid, "question": q.text, "before": b[q.qid], "after": a[q.qid]} for q in questions if q.qid in a]


def _counts(parts: Split) -> dict[str, int]:
    return {
        "questions": len(parts.train),
        "correct": sum(q.positives for q in parts.train),
        "incorrect": sum(q.negatives for q in parts.train),
        "dev_questions": len(parts.dev),
        "held_out_questions": len(parts.held_out),
    }


def _keep(
    wb: Workbench,
    job: Running,
    name: str,
    base: Chosen,
    trained: Any,
    result: dict[str, Any],
    settings: dict[str, Any],
    calibration: dict[str, Any] | None,
) -> None:
    from as2core.rankers.versions import save_version

    path = wb.settings.versions_dir / name
    note = str(job.settings.get("note", ""))
    with wb.read() as s:
        known = rows.version_named(s, name)
    if known is None and path.exists():
        shutil.rmtree(path)  # a run that was killed before it entered it
    metrics = {**result["after"], **{f"before {k}": v for k, v in result["before"].items()}}
    card = {
        "parent": base.name,
        "note": note,
        "data": {"sha256": result["snapshot"], **result["labels"]},
        "seed": settings["seed"],
        "settings": settings,
        "metrics": result["after"],
        "before": result["before"],
        "paired": result["paired"],
        "per_exit": result["per_exit"],
        "frozen": result["frozen"],
        "calibration": plain(calibration) if calibration else f"that of {base.name}",
        "stopped_early": trained.stopped,
        "training_seconds": round(trained.seconds, 1),
        "created": wb.clock().isoformat(timespec="seconds"),
    }
    (job.folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
    job.check()
    save_version(trained.ranker, path, card)
    with wb.write() as s:
        rows.add_version(
            s,
            name,
            kind=versions.CASCADE,
            path=str(path),
            state="candidate",
            parent=base.name,
            note=note,
            metrics=metrics,
            now=wb.clock(),
        )
    shutil.rmtree(job.folder / "work", ignore_errors=True)


def _finished(wb: Workbench, job: Running, name: str) -> dict[str, Any] | None:
    """The result of an earlier attempt that was killed after it had kept its version."""
    with wb.read() as s:
        if rows.version_named(s, name) is None:
            return None
    return json.loads((job.folder / "result.json").read_text(encoding="utf-8"))


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "corpus"
