"""Comparing rankers on a labelled set: measures with intervals, paired tests, costs, and ranks question by question.

The job freezes the set into its folder and stores evaluations by ranker and data, so repeating a comparison with one
more ranker scores only that one.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from app import jobs
from app.running import Running
from app.services import labels, versions
from app.services.corpora import UnknownCorpus, corpus_named, list_corpora
from app.services.evaluations import data_hash, evaluated, load, plain, ranker_key
from app.services.exchange import labelled_questions
from app.services.views import ComparisonView, JobView
from app.services.workbench import Workbench
from as2core.data.catalog import SETTINGS, SHIPPED, apply_setting
from as2core.errors import As2Error, BadSetting, UnknownData, UnknownRanker
from as2core.evaluation import Evaluation, intervals, paired_test
from as2core.metrics import bounds
from as2core.rankers.base import order, untrained
from as2core.types import Progress, Question
from db.models import Evaluation as Stored
from db.repositories import versions as rows

if TYPE_CHECKING:
    import pandas as pd

LABELS = "labels:"
SAMPLE_SEED = 0
TRAIN = "`as2 train` makes a version of it; compare that by its directory."
MOST = 24  # rankers in one comparison


def rankers(wb: Workbench) -> list[str]:
    """What can be compared: the catalog's names, then the versions made here, newest first."""
    from as2core.rankers.catalog import CATALOG

    made = [v.name for v in versions.list_versions(wb, kind=None) if not v.problem and v.name not in CATALOG]
    return [*CATALOG, *made]


def datasets(wb: Workbench) -> list[str]:
    """The shipped sets that are there, and the labels of every corpus that has some."""
    shipped = [n for n in SHIPPED if (wb.settings.corpora_dir / "starter" / f"{n.partition('-')[2]}.jsonl").is_file()]
    return [*shipped, *(f"{LABELS}{c.name}" for c in list_corpora(wb) if c.labels)]


def questions_of(wb: Workbench, data: str) -> list[Question]:
    """A shipped set, a corpus's labels, or a file. Raises UnknownData, UnknownCorpus, UnreadableFile."""
    from as2core.data.catalog import load_questions

    if data.startswith(LABELS):
        return labelled_questions(wb, corpus_named(wb, data.removeprefix(LABELS)).id)
    return load_questions(data, corpora=wb.settings.corpora_dir).questions


def start_compare(
    wb: Workbench, rankers: Sequence[str], data: str, setting: str = "clean", limit: int | None = None
) -> JobView:
    """Queue a comparison; `limit` takes a fixed sample of the questions. What cannot work is said here.

    Raises UnknownRanker, UnknownData, BadSetting.
    """
    names = list(dict.fromkeys(_by_name(wb, r) for r in rankers))
    if not names:
        raise BadSetting("no ranker is chosen: choose two or more")
    if len(names) > MOST:
        raise BadSetting(f"{len(names)} rankers at once are too many: choose at most {MOST}")
    for name in names:
        _known(wb, name)
    if setting not in SETTINGS:
        raise BadSetting(f"no setting {setting!r}; known: {', '.join(SETTINGS)}")
    if limit is not None and limit < 1:
        raise BadSetting(f"limit {limit}: give at least 1 question, or none for all")
    questions = questions_of(wb, data)
    if not apply_setting(questions, setting):
        raise UnknownData(f"{data}: the setting {setting!r} keeps none of its {len(questions)} questions; label more")
    settings = {"rankers": names, "data": data, "setting": setting, "limit": limit}
    return jobs.enqueue(wb, "compare", settings)


def _by_name(wb: Workbench, spec: str) -> str:
    """`active`, with settings or without, by the name of the version it is now."""
    name, colon, settings = spec.partition(":")
    return f"{versions.active(wb).name}{colon}{settings}" if name == "active" else spec


def _known(wb: Workbench, name: str) -> None:
    from as2core.rankers.catalog import CATALOG, check, check_version

    if at := versions.located(wb, name):
        check_version(*at)
    elif name.partition(":")[0] in CATALOG:
        check(name)
    else:
        known = ", ".join(rankers(wb))
        raise UnknownRanker(f"no ranker {name!r}; known: {known}, or the directory of a version")


def run_compare(job: Running) -> dict[str, Any]:
    """The background job: every ranker over the frozen set, then the tests between them."""
    told, wb = job.settings, job.wb
    questions = _frozen(job)
    made: dict[str, Evaluation] = {}
    keys, notes = {}, _unlabelled(questions)
    for place, name in enumerate(told["rankers"]):

        def tell(p: Progress, name: str = name, place: int = place) -> None:
            job.check()
            share = (place + p.done / max(1, p.total)) / len(told["rankers"])
            job.progress(0.95 * share, f"{name}: {p.done} of {p.total} questions")

        job.progress(0.95 * place / len(told["rankers"]), f"loading {name}")
        try:
            keys[name] = ranker_key(wb, name)
            ranker = load(wb, name)
            made[name] = evaluated(
                wb,
                name,
                questions,
                data=told["data"],
                setting=told["setting"],
                ranker=ranker,
                on_progress=tell,
            )
            if parts := untrained(ranker):
                notes.append(f"{name}: {', '.join(parts)} has not been trained, its order may be chance. {TRAIN}")
            notes += _learnt_from(_unset(name), versions.trained_on(wb, name), questions)
        except As2Error as e:
            job.check()
            notes.append(f"{name} was left out: {e}")
            job.event({"kind": "note", "message": notes[-1]})
    if not made:
        raise As2Error(" ".join(notes))
    job.progress(0.96, "testing the differences")
    best_first = sorted(made, key=lambda n: -made[n].metrics["AP"])
    pairs = []
    for a, b in combinations(best_first, 2):
        job.check()
        test = paired_test(made[a].per_question["AP"], made[b].per_question["AP"])
        pairs.append({"a": a, "b": b, "metric": "AP", **asdict(test)})
    return plain(
        {
            "rows": [_row(name, made[name], questions) for name in told["rankers"] if name in made],
            "paired": pairs,
            "keys": {name: keys[name] for name in made},
            "data_hash": data_hash(questions),
            "questions": next(iter(made.values())).questions,
            "notes": list(dict.fromkeys(notes)),  # of one version with several settings once
        }
    )


def _unlabelled(questions: Sequence[Question]) -> list[str]:
    """What missing labels mean for the figures; nothing when every candidate has one."""
    labels = [c.label for q in questions for c in q.candidates]
    missing = labels.count(None)
    if not missing:
        return []
    return [
        f"{missing:,} of {len(labels):,} candidates carry no label and count as not correct: a ranker that puts good "
        "ones of them first is judged too low. The table says how far."
    ]


def _unset(name: str) -> str:
    """A ranker without its settings, which change nothing about what it learnt from; one made of others as it is."""
    from as2core.rankers.catalog import CATALOG, version_and_settings

    of_catalog = name.partition(":")[0]
    if of_catalog not in CATALOG:
        return version_and_settings(name)[0]
    return name if CATALOG[of_catalog].nested else of_catalog


def _learnt_from(name: str, trained_on: Sequence[str], questions: Sequence[Question]) -> list[str]:
    """What it means for the figures that a ranker knows the answers; nothing when it learnt from none of these."""
    known = set(trained_on)
    learnt = sum(q.text in known for q in questions)
    if not learnt:
        return []
    return [
        f"{name} learnt from {learnt:,} of these {len(questions):,} questions, so that it is judged too well here, "
        "intervals and tests included. What its card says of held-out questions is fair (Adapt, or `as2 versions "
        f"show '{name}'`)."
    ]


def _frozen(job: Running) -> list[Question]:
    """The questions as they were when the job first ran."""
    from as2core.data import jsonl

    file = job.folder / "data.jsonl"
    if not file.exists():
        kept = apply_setting(questions_of(job.wb, job.settings["data"]), job.settings["setting"])
        limit = job.settings.get("limit")
        if limit is not None and limit < len(kept):
            chosen = sorted(random.Random(SAMPLE_SEED).sample(range(len(kept)), limit))
            kept = [kept[i] for i in chosen]
        jsonl.write(kept, file.with_suffix(".part"))
        file.with_suffix(".part").rename(file)
    return jsonl.read(file, strict=True)[0]


def _row(name: str, e: Evaluation, questions: Sequence[Question]) -> dict[str, Any]:
    row: dict[str, Any] = {"ranker": name, "questions": e.questions}
    for metric, (low, high) in intervals(e.per_question).items():
        row |= {metric: e.metrics[metric], f"{metric} low": low, f"{metric} high": high}
    if any(c.label is None for q in questions for c in q.candidates):
        for metric, (least, most) in bounds(questions, e.scores).items():
            row |= {f"{metric} least": least, f"{metric} most": most}
    return {**row, "seconds": e.seconds, "relative_cost": e.relative_cost, "cuts": [asdict(cut) for cut in e.cuts]}


def comparison(wb: Workbench, job_id: int, *, by: int | None = None) -> ComparisonView:
    """What a finished comparison found, without the labels that `by` may not know yet; its rows say when their seconds
    were taken (`measured`, None if unknown) and whether that was in this comparison (`timed_here`). Raises UnknownJob,
    As2Error when it is not finished or its files are gone."""
    import pandas as pd

    from as2core.data import jsonl

    done = jobs.get(wb, job_id)
    if done.kind != "compare" or done.state != "done":
        raise As2Error(f"job {job_id} is no finished comparison: it is a {done.kind} and {done.state}")
    file = wb.settings.jobs_dir / str(job_id) / "data.jsonl"
    if not file.is_file():
        raise As2Error(f"the questions of comparison {job_id} are gone ({file}): compare again")
    questions = jsonl.read(file)[0]
    hidden = _hidden(wb, done.settings["data"], by)
    kept = _stored(wb, done)
    found = {name: row.result for name, row in kept.items()}
    measured = {name: row.created for name, row in kept.items()}
    texts = {q.qid: q.text for q in questions}
    columns: dict[str, list[Any]] = {"qid": [], "question": [], "ranker": []}
    for name, stored in found.items():
        for metric in stored["per_question"]:
            columns.setdefault(metric, [])
        for qid in next(iter(stored["per_question"].values()), {}):
            columns["qid"].append(qid)
            columns["question"].append(texts.get(qid, ""))
            columns["ranker"].append(name)
            for metric, values in stored["per_question"].items():
                columns[metric].append(values[qid])
    return ComparisonView(
        data=done.settings["data"],
        setting=done.settings["setting"],
        questions=done.result["questions"],
        rows=tuple({**row, **_timed(done, measured.get(row["ranker"]))} for row in done.result["rows"]),
        paired=tuple(done.result["paired"]),
        per_question=pd.DataFrame(columns),
        ranks=_Ranks(questions, {n: stored["scores"] for n, stored in found.items()}, hidden),
        notes=tuple(done.result["notes"]),
    )


def _hidden(wb: Workbench, data: str, by: int | None) -> set[tuple[str, str]]:
    if not data.startswith(LABELS):
        return set()
    try:
        return labels.hidden(wb, corpus_named(wb, data.removeprefix(LABELS)).id, by)
    except UnknownCorpus:  # deleted or renamed since
        return set()


def _timed(done: JobView, measured: datetime | None) -> dict[str, Any]:
    """Seconds remembered from another moment were taken under another load. An evaluation later than the job has
    replaced the one it used, whose moment is lost."""
    if measured is None or not done.started or not done.finished or measured > done.finished:
        return {"measured": None, "timed_here": False}
    return {"measured": measured, "timed_here": measured >= done.started}


def _stored(wb: Workbench, done: JobView) -> dict[str, Stored]:
    found = {}
    with wb.read() as s:
        for name, key in done.result["keys"].items():
            row = rows.evaluation(s, key, done.result["data_hash"], done.settings["setting"])
            if row is not None:
                found[name] = row
    return found


class _Ranks(Mapping[str, "pd.DataFrame"]):
    """Question id -> its candidates' ranks by every ranker, made when asked for."""

    def __init__(
        self,
        questions: Sequence[Question],
        scores: Mapping[str, Mapping[str, list[float]]],
        hidden: Collection[tuple[str, str]],
    ) -> None:
        self._questions = {q.qid: q for q in questions}
        self._scores, self._hidden = scores, hidden

    def __getitem__(self, qid: str) -> pd.DataFrame:
        import pandas as pd

        question = self._questions[qid]
        frame: dict[str, Any] = {
            "candidate": [c.text for c in question.candidates],
            "label": [None if (question.text, c.text) in self._hidden else c.label for c in question.candidates],
        }
        for name, by_question in self._scores.items():
            if qid in by_question:
                frame[name] = 1 + np.argsort(order(np.array(by_question[qid])))
        return pd.DataFrame(frame)

    def __iter__(self) -> Iterator[str]:
        return iter(self._questions)

    def __len__(self) -> int:
        return len(self._questions)
