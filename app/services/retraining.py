"""The retrain itself, in the worker: freeze the labels, train, judge on questions held out, keep the version.

Everything it needs is in the job's folder, so a run that was cancelled or killed goes on from its last checkpoint with
the same labels. The version's directory appears by one rename and is entered in the database afterwards, so that no
half-made version is ever seen.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from app.running import Running
from app.services import learning, measuring, slips, snapshots, version_care, versions
from app.services.corpora import get_corpus
from app.services.evaluations import plain
from app.services.learning import Learnt
from app.services.measuring import Measured
from app.services.slips import Believed
from app.services.snapshots import FROZEN, WIKIQA, Snapshot
from app.services.versions import Base
from as2core.errors import As2Error
from as2core.evaluation import Evaluation, intervals, paired_test
from as2core.rankers.base import order
from as2core.types import OnProgress, Progress, Question
from db.repositories import versions as rows

BENCHMARKS = {FROZEN: "the frozen benchmark", WIKIQA: "WikiQA's dev questions"}
READ, LISTED = 300, 50  # characters of a sentence, and labels left out, that are kept to be read on the card


def run_retrain(job: Running) -> dict[str, Any]:
    """The background job; its result is what the Adapt page shows as the version's card."""
    wb, began = job.wb, job.seconds()
    if job.corpus_id is None:
        raise As2Error("the corpus this retrain was for is deleted")
    if (done := _finished(job)) is not None:
        return done
    kind = job.settings.get("kind", versions.CASCADE)
    job.progress(0.0, "freezing the labels")
    base = versions.base_for(wb, job.settings["base"], versions.kind_learnt(kind))
    learnt_before = tuple(base.card.get("trained_on", ()))
    snapshot = snapshots.frozen(wb, job.corpus_id, job.folder, job.settings, learnt_before)
    job.progress(0.01, f"loading {base.name}")
    ranker = base.load()
    graphs = _telling(job, (0.02, 0.03), "preparing the quick engine")
    measuring.quick(ranker, None, graphs, engine=wb.settings.engine)
    held_out = snapshot.parts.held_out
    telling = _telling(job, (0.03, 0.08), f"measuring {base.name} on held-out questions")
    before = measuring.measured(wb, base.spec, held_out, data="held-out", ranker=lambda: ranker, on_progress=telling)
    trusted = _believed(job, kind, snapshot)
    learnt = learning.learn(
        kind,
        ranker,
        replace(snapshot, parts=replace(snapshot.parts, train=trusted.questions)),
        job.settings,
        job.folder / "work",
        on_event=lambda e: _tell(job, e),
        on_progress=_telling(job, (0.1, 0.62), "scoring the questions to learn from"),
        should_stop=job.should_stop,
        clock=job.seconds,
    )
    job.check()
    job.progress(0.64, "preparing the quick engine")
    telling = _telling(job, (0.64, 0.66), "preparing")
    made = measuring.quick(learnt.ranker, job.folder / "work" / "graphs", telling, engine=wb.settings.engine)
    telling = _telling(job, (0.66, 0.74), "measuring the new version on held-out questions")
    after = measuring.measure(made, held_out, on_progress=telling)
    frozen = _benchmarks(job, base, ranker, made)
    told = {data: {side: m.evaluation.metrics for side, m in sides.items()} for data, sides in frozen.items()}
    result = plain(
        {
            "base": base.name,
            "kind": kind,
            **_compared(before.evaluation, after.evaluation),
            "per_question": _per_question(held_out, before.evaluation, after.evaluation),
            "per_exit": {"before": before.per_exit, "after": after.per_exit},
            "reliability": {"before": before.reliability, "after": after.reliability},
            "frozen": told.pop(FROZEN, {}),
            "frozen_others": told,
            "labels": _counts(snapshot),
            "left_out": _left_out(trusted),
            "choice": snapshot.choice.stored(),
            "replay": job.settings.get("replay") or 0.0,
            "weights": learnt.weights,
            "settings": learnt.settings,
            "snapshot": snapshot.digest,
            "seconds": round(job.seconds() - began + learnt.earlier, 1),
            "training_seconds": round(learnt.seconds, 1),
        }
    )
    job.progress(0.98, "keeping the version")
    trained_on = sorted({*learnt_before, *(q.text for q in snapshot.learnt)})
    name = _keep(job, base, learnt, result, trained_on)
    measuring.keep(wb, name, held_out, after, data="held-out")
    for data, questions in snapshots.benchmarks(wb).items():
        if data in frozen:
            measuring.keep(wb, name, questions, frozen[data]["after"], data=data)
    return {"version": name, **result}


def _believed(job: Running, kind: str, snapshot: Snapshot) -> Believed:
    """What is learnt from by gradient descent; a few numbers are fitted on all labels, which a slip hardly moves."""
    train = snapshot.parts.train
    if snapshot.choice.doubtful or kind in (learning.FUSION, learning.CALIBRATION):
        return Believed(tuple(train))
    telling = _telling(job, (0.08, 0.1), "looking for labels that look wrong")
    judge, seed = slips.shipped_judge(job.wb), job.settings.get("seed", 0)

    def taught(half: Sequence[Question], number: int) -> Any:
        def tell(event: dict[str, Any]) -> None:
            what = f"half of the labels, to judge the other, {number + 1} of 2"
            job.progress(0.09, f"learning from {what}: step {event.get('step', 0)} of {event.get('steps', 0)}")

        work = job.folder / "work" / "judges" / str(number)
        return learning.taught(judge, half, work, seed=seed, on_event=tell, should_stop=job.should_stop)

    found = slips.believed(judge, train, seed=seed, taught=taught, on_progress=telling)
    if found.left_out:
        job.event({"kind": "note", "message": f"{len(found.left_out):,} labels that look wrong are left out"})
    return found


def _left_out(trusted: Believed) -> dict[str, Any]:
    """For the card; {} where nothing was left out."""
    if not trusted.left_out:
        return {}
    return {
        "rate": trusted.rate,
        "labels": len(trusted.left_out),
        "correct": sum(c.label == 1 for _, c in trusted.left_out),
        "to_read": [
            {"question": q.text, "text": c.text[:READ], "correct": c.label == 1} for q, c in trusted.left_out[:LISTED]
        ],
    }


def _tell(job: Running, event: dict[str, Any]) -> None:
    job.event(event)
    if event.get("steps"):
        share = event.get("step", 0) / event["steps"]
        job.progress(0.1 + 0.52 * share, f"training, step {event.get('step', 0)} of {event['steps']}")


def _telling(job: Running, span: tuple[float, float], what: str) -> OnProgress:
    """Progress of a stretch of the whole, which also waits while the job is paused and ends it when it is cancelled."""

    def tell(p: Progress) -> None:
        job.progress(span[0] + (span[1] - span[0]) * p.done / max(1, p.total), what)
        job.check()

    return tell


def _benchmarks(job: Running, base: Base, ranker: Any, made: Any) -> dict[str, dict[str, Measured]]:
    """On questions that no retrain learns from, those that are at hand: benchmark -> before, after."""
    found = snapshots.benchmarks(job.wb)
    share, measured = 0.23 / max(1, len(found)), {}
    for i, (data, questions) in enumerate(found.items()):
        start, what = 0.74 + i * share, BENCHMARKS[data]
        telling = _telling(job, (start, start + share / 2), f"measuring {base.name} on {what}")
        before = measuring.measured(job.wb, base.spec, questions, data=data, ranker=lambda: ranker, on_progress=telling)
        telling = _telling(job, (start + share / 2, start + share), f"measuring the new version on {what}")
        measured[data] = {"before": before, "after": measuring.measure(made, questions, on_progress=telling)}
    return measured


def _compared(before: Evaluation, after: Evaluation) -> dict[str, Any]:
    return {
        "before": before.metrics,
        "after": after.metrics,
        "intervals": {"before": intervals(before.per_question), "after": intervals(after.per_question)},
        "paired": asdict(paired_test(after.per_question["AP"], before.per_question["AP"])),
    }


def _per_question(questions: Sequence[Question], before: Evaluation, after: Evaluation) -> list[dict[str, Any]]:
    a, b = after.per_question["AP"], before.per_question["AP"]
    return [
        {
            "qid": q.qid,
            "question": q.text,
            "before": b[q.qid],
            "after": a[q.qid],
            "top_before": _top(q, before.scores[q.qid]),
            "top_after": _top(q, after.scores[q.qid]),
        }
        for q in questions
        if q.qid in a
    ]


def _top(question: Question, scores: Any) -> dict[str, Any]:
    """The sentence that was ranked first, to be read."""
    best = question.candidates[int(order(scores)[0])]
    return {"text": best.text[:READ], "correct": best.label == 1}


def _counts(snapshot: Snapshot) -> dict[str, Any]:
    parts = snapshot.parts
    return {
        "origins": dict(snapshot.origins),
        "givers": dict(snapshot.givers),
        "questions": len(parts.train),
        "correct": sum(q.positives for q in parts.train),
        "incorrect": sum(q.negatives for q in parts.train),
        "dev_questions": len(parts.dev),
        "held_out_questions": len(parts.held_out),
        "replayed_questions": len(snapshot.replay),
    }


def _keep(job: Running, base: Base, learnt: Learnt, result: dict[str, Any], trained_on: Sequence[str]) -> str:
    """The version's name: the corpus's and the job's number, unless one that was renamed or imported has it."""
    from as2core.rankers.versions import save_version

    wb, note = job.wb, str(job.settings.get("note", ""))
    wanted = f"{_slug(get_corpus(wb, job.corpus_id).name)}-{job.id}"
    path = versions.free_folder(wb, wanted, wb.settings.versions_dir)
    for left in (path, *path.parent.glob(f".{path.name}.*")):  # of a run that was killed before it entered it
        shutil.rmtree(left, ignore_errors=True)
    metrics = {**result["after"], **{f"before {k}": v for k, v in result["before"].items()}}
    shared = (
        "intervals", "paired", "per_exit", "reliability", "per_question", "frozen", "frozen_others", "choice", "replay",
        "weights", "left_out",
    )  # fmt: skip
    card = {
        "parent": base.name,
        "note": note,
        "job": job.id,
        "data": {"sha256": result["snapshot"], **result["labels"]},
        "seed": learnt.settings.get("seed", 0),
        "settings": learnt.settings,
        "metrics": result["after"],
        "before": result["before"],
        **{key: result[key] for key in shared},
        "calibration": plain(learnt.calibration) if learnt.calibration else f"that of {base.name}",
        "stopped_early": learnt.stopped_early,
        "seconds": result["seconds"],
        "training_seconds": result["training_seconds"],
        "created": wb.clock().isoformat(timespec="seconds"),
        "trained_on": list(trained_on),
    }
    kept = {"path": str(path), "result": result}
    making = job.folder / "result.part"
    making.write_text(json.dumps(kept), encoding="utf-8")
    making.replace(job.folder / "result.json")  # a kill leaves no half of it, which no later attempt could read
    job.check()
    save_version(learnt.ranker, path, card)
    with wb.write() as s:
        name = versions.free_name(s, wanted)
        parent = rows.version(s, base.id) if base.id is not None else None  # it may have been renamed meanwhile
        rows.add_version(
            s,
            name,
            kind=versions.kind_of(path),
            path=str(path),
            state="candidate",
            parent=parent.name if parent else base.name,
            note=note,
            metrics=metrics,
            now=wb.clock(),
        )
    shutil.rmtree(job.folder / "work", ignore_errors=True)
    return name


def _finished(job: Running) -> dict[str, Any] | None:
    """The result of an earlier attempt that was killed after it had kept its version, which is known by its directory:
    it may have been renamed since, and another may have the name it was to get."""
    file = job.folder / "result.json"
    kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    with job.wb.read() as s:
        row = rows.version_at(s, version_care.in_this_home(job.wb, kept.get("path", "")))
    return {"version": row.name, **kept["result"]} if row is not None else None


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "corpus"
