"""How good a ranker is, stored by ranker and questions: the same ranker is never evaluated twice on the same data.

A retrain therefore evaluates the new version alone: its base was evaluated when it was made, and the frozen benchmark
is the same for all. A retrain's measurement has more than an evaluation: AP at every exit, and how well the
probabilities hold.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import cast

import numpy as np

from app.versions.loading import load_ranker, locate
from app.versions.uploaded_runs import find_run
from app.workbench.workbench import Workbench
from as2core import terminal
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace
from as2core.data.catalog import apply_setting
from as2core.data.jsonl import dumps
from as2core.data.question_batches import split_questions
from as2core.errors import As2Error
from as2core.evaluation.rankers import Cut, Evaluation, evaluate
from as2core.metrics import measure_mean
from as2core.rankers.base import CalibratesScores, ChoosesEngine, KeepsTrace, Ranker, TracesTogether
from as2core.rankers.catalog import (
    CATALOG,
    find_kind_of_file,
    list_destinations,
    list_installed,
    list_parts,
    split_spec,
)
from as2core.rankers.classifier import is_classifier, stamp_files
from as2core.rankers.specs import read_settings
from as2core.rankers.versions import is_own_kind
from as2core.system.files import is_file
from as2core.types import Candidate, Json, OnProgress, Progress, Question
from as2core.version import digest_code
from db.models import JsonObject
from db.repositories import versions as rows

MAX_BATCH_CANDIDATES = 128  # between batches progress is reported, and a run can be stopped
WAIT_SECONDS = 1.0  # between two reports of an engine that is prepared in the background
SETTING = "clean"


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """A tenth of the probabilities: their mean, the share of correct candidates among them, and their number."""

    confidence: float
    frequency: float
    candidates: int


@dataclass(frozen=True, slots=True)
class Measurement:
    """`per_exit`: layer -> AP when nothing is dropped. `reliability`: over the labelled candidates. Both empty
    for a ranker without exits."""

    evaluation: Evaluation
    per_exit: dict[str, float]
    reliability: tuple[ReliabilityBin, ...]


def load_or_evaluate(
    wb: Workbench,
    name: str,
    questions: Sequence[Question],
    *,
    data: str,
    setting: str = SETTING,
    ranker: Ranker | None = None,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """The evaluation of a version or catalog spec, from the store, or made now and stored. `ranker` is the loaded one,
    if there is one. What another machine or another package scores is evaluated each time: its model may be another by
    now. Raises BadSetting, UnknownRanker, DamagedModel, EndpointFailed."""
    key, data_hash = hash_ranker(wb, name), hash_questions(questions)
    record = {} if _is_of_others(name) else _load(wb, key, data_hash, setting)
    if record:
        return from_record(record, name, setting)
    evaluation = evaluate(ranker or load_ranker(wb, name), questions, setting=setting, on_progress=on_progress)
    key += hash_scores(name, evaluation)
    _store(wb, (key, data_hash, setting), name, data, to_record(evaluation))
    return evaluation


def _is_of_others(name: str) -> bool:
    """Whether another machine or another package scores."""
    return bool(list_destinations(name) or list_installed(name))


def hash_scores(name: str, e: Evaluation) -> str:
    """What the key of an evaluation has after that of its ranker, where another machine or package scores: of a later
    one with other scores, too, each comparison shows its own. "" for other rankers."""
    if not _is_of_others(name):
        return ""
    digest = hashlib.sha256()
    for qid, scores in e.scores.items():
        digest.update(f"{qid}\n".encode() + scores.tobytes())
    return f"-{digest.hexdigest()[:16]}"


def store_evaluation(wb: Workbench, name: str, questions: Sequence[Question], e: Evaluation, *, data: str) -> None:
    key = hash_ranker(wb, name) + hash_scores(name, e)
    _store(wb, (key, hash_questions(questions), e.setting), name, data, to_record(e))


def has_evaluation(wb: Workbench, name: str, questions: Sequence[Question], setting: str = SETTING) -> bool:
    """Whether `load_or_evaluate` computes nothing."""
    return not _is_of_others(name) and bool(_load(wb, hash_ranker(wb, name), hash_questions(questions), setting))


def load_or_measure(
    wb: Workbench,
    name: str,
    questions: Sequence[Question],
    *,
    data: str,
    ranker: Ranker,
    on_progress: OnProgress | None = None,
) -> Measurement:
    """The measurement of a loaded version, from the store, or made now and stored."""
    record = _load(wb, hash_ranker(wb, name), hash_questions(questions), SETTING)
    if "per_exit" in record:
        reliability = tuple(ReliabilityBin(**row) for row in record["reliability"])
        return Measurement(from_record(record, name, SETTING), record["per_exit"], reliability)
    measurement = measure(ranker, questions, on_progress=on_progress)
    store_measurement(wb, name, questions, measurement, data=data)
    return measurement


def has_measurement(wb: Workbench, name: str, questions: Sequence[Question]) -> bool:
    return "per_exit" in _load(wb, hash_ranker(wb, name), hash_questions(questions), SETTING)


def store_measurement(wb: Workbench, name: str, questions: Sequence[Question], m: Measurement, *, data: str) -> None:
    key = hash_ranker(wb, name), hash_questions(questions), SETTING
    more = to_json({"per_exit": m.per_exit, "reliability": m.reliability})
    _store(wb, key, name, data, to_record(m.evaluation) | more)


def _load(wb: Workbench, ranker_key: str, data_hash: str, setting: str) -> JsonObject:
    """What is stored of an evaluation; {} if there is none, or one of an earlier release that does not say where
    candidates were dropped: it is made again."""
    with wb.read() as s:
        row = rows.find_evaluation(s, ranker_key, data_hash, setting)
        return row.result if row is not None and "cuts" in row.result else {}


def _store(wb: Workbench, key: tuple[str, str, str], name: str, data: str, result: JsonObject) -> None:
    with wb.write() as s:
        rows.put_evaluation(s, *key, ranker=name, data=data, result=result, now=wb.clock())


def hash_ranker(wb: Workbench, name: str) -> str:
    """The name, and for models the digest of their cards, which hold those of their weights; for what others wrote that
    of the files' sizes and times. What has neither, as a ranker that counts words, is what its code is. A ranker made
    of others may hold any of the shipped ones, and has the digests of its parts."""
    kind, _, settings = name.partition(":")
    entry = CATALOG.get(kind)
    digest = hashlib.sha256("".join(hash_ranker(wb, part.spec) for part in list_parts(name)).encode())
    if at := locate(wb, name):
        paths = [at[0]]
    elif entry is None:
        paths = [find_run(wb, name) or Path(split_spec(name)[0])]
    elif entry.required:
        paths = [Path(str(read_settings(entry, settings)[entry.required]))]
    elif entry.nested:
        paths = sorted(wb.settings.models_dir.glob("*"))
    else:
        paths = [wb.settings.models_dir / (entry.shipped or kind)]
    weights = b""
    for path in paths:
        with contextlib.suppress(OSError):
            weights += (path / "card.json").read_bytes()
        is_of_others = is_classifier(path) or is_own_kind(path) or bool(find_kind_of_file(path))
        if is_of_others or (entry and entry.required and is_file(path)):
            weights += stamp_files(path)
    digest.update(weights or digest_code().encode())
    return f"{name}@{digest.hexdigest()[:16]}"


def hash_questions(questions: Sequence[Question]) -> str:
    """Of all but the split: which part of a divided set a question is changes no figure."""
    return hashlib.sha256(dumps(replace(q, split="") for q in questions).encode()).hexdigest()


def to_record(e: Evaluation) -> dict[str, Json]:
    return {k: v for k, v in to_json(e).items() if k not in ("ranker", "setting")}


def from_record(record: JsonObject, name: str, setting: str) -> Evaluation:
    """Raises As2Error for one that an older program stored otherwise."""
    plain = ("questions", "metrics", "per_question", "seconds", "relative_cost")
    try:
        return Evaluation(
            ranker=name,
            setting=setting,
            scores={qid: np.array(values, dtype=np.float32) for qid, values in record["scores"].items()},
            cuts=tuple(Cut(**{**cut, "lost": tuple(cut["lost"])}) for cut in record["cuts"]),
            **{key: record[key] for key in plain},
        )
    except (KeyError, TypeError) as e:
        raise As2Error(f"a stored evaluation of {name} cannot be read ({json.dumps(str(e))}): compare again") from e


def to_json(record: object) -> dict[str, Json]:
    """A dictionary or data class as JSON has it: arrays and tuples as lists, NaN and infinity as null."""
    return cast(dict[str, Json], terminal.to_json(record))


class RecordedCascade(KeepsTrace):
    """A cascade whose complete traces were made beforehand, many questions together, and that ranks as its own schedule
    would: one pass over the questions gives both its measures and those of its exits."""

    name = "cascade"

    def __init__(self, ranker: TracesTogether, questions: Sequence[Question], on_progress: OnProgress | None) -> None:
        self._schedule = ranker.schedule
        traces = chain.from_iterable(trace_in_batches(ranker, questions, on_progress))
        self.traces = {(q.text, q.candidates): t for q, t in zip(questions, traces, strict=True)}

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        return self.trace(question, candidates).scores()

    def trace(self, question: str, candidates: Sequence[Candidate]) -> CascadeTrace:
        return self.traces[question, tuple(candidates)].replay(self._schedule)


def trace_in_batches(
    ranker: TracesTogether, questions: Sequence[Question], on_progress: OnProgress | None
) -> Iterator[list[CascadeTrace]]:
    """Complete traces of the questions, in their order, a batch at a time. An exception from `on_progress` ends it."""
    complete, done = DropSchedule.constant(0.0, exits=len(ranker.exits)), 0
    for batch in split_questions(questions, MAX_BATCH_CANDIDATES):
        if on_progress:
            on_progress(Progress(done, len(questions), batch[0].text))
        yield ranker.trace_many([(q.text, q.candidates) for q in batch], complete)
        done += len(batch)


def measure(ranker: Ranker, questions: Sequence[Question], *, on_progress: OnProgress | None = None) -> Measurement:
    """On the questions that the setting keeps. An exception from `on_progress` stops the run."""
    usable = apply_setting(questions, SETTING)
    if not (isinstance(ranker, TracesTogether) and isinstance(ranker, CalibratesScores)):
        return Measurement(evaluate(ranker, usable, setting=SETTING, on_progress=on_progress), {}, ())
    cascade = RecordedCascade(ranker, usable, on_progress)
    evaluation = evaluate(cascade, usable, setting=SETTING)
    seconds = sum(t.replay(ranker.schedule).seconds for t in cascade.traces.values())
    traces = {q.qid: cascade.traces[q.text, q.candidates] for q in usable}
    per_exit = {
        str(layer): measure_mean(usable, {qid: t.exits[i].scores for qid, t in traces.items()}, ("AP",))["AP"]
        for i, layer in enumerate(ranker.exits)
    }
    reliability = _measure_reliability(ranker.probability, usable, traces)
    return Measurement(replace(evaluation, ranker=ranker.name, seconds=seconds), per_exit, reliability)


def _measure_reliability(
    to_probability: Callable[[np.ndarray], np.ndarray], questions: Sequence[Question], traces: dict[str, CascadeTrace]
) -> tuple[ReliabilityBin, ...]:
    from as2core.training.calibrate import measure_reliability

    scores = np.concatenate([traces[q.qid].exits[-1].scores for q in questions])
    labels = np.array([c.label for q in questions for c in q.candidates], dtype=float)  # NaN for None
    is_labelled = ~np.isnan(labels)
    curve = measure_reliability(np.asarray(to_probability(scores[is_labelled])), labels[is_labelled])
    return tuple(ReliabilityBin(row["confidence"], row["frequency"], int(row["candidates"])) for row in curve)


def wait_for_engine(ranker: Ranker, engine: str, folder: Path, on_progress: OnProgress) -> None:
    """Have a loaded ranker run on an engine. What it prepares in the background already is waited for, not made twice.
    An exception from `on_progress` ends the wait."""
    if not isinstance(ranker, ChoosesEngine):
        return
    while not ranker.wait_until_prepared(WAIT_SECONDS):
        on_progress(ranker.preparing or Progress(0, 1))
    if ranker.engine.name == "torch":
        use_engine(ranker, engine, folder, on_progress)


def use_engine(ranker: Ranker, engine: str, folder: Path | None = None, on_progress: OnProgress | None = None) -> None:
    """Have a ranker run on an engine ("auto": the fastest here), if it can choose one; graphs are kept in `folder`."""
    if isinstance(ranker, ChoosesEngine):
        with contextlib.suppress(OSError):
            ranker.use(engine, folder=folder, on_progress=on_progress)
