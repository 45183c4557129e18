"""The background job of a comparison: every ranker over one labelled set, then the tests between them.

It freezes the set into its folder and stores evaluations by ranker and data, so repeating a comparison with one more
ranker scores only that one. Seconds are measured anew in every comparison, all rankers in turns (timing), and last: the
rest of the result is published before.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict

from app.compare import new_weights, question_sets
from app.compare.comparison import QUESTIONS, ComparisonSettings, to_row
from app.compare.pairs import compare_pairs
from app.compare.rankers import check_ranker, describe_destinations, is_path, name_active, note_trained_on
from app.compare.short_names import shorten_paths
from app.compare.timing import MAX_TIMED_RANKERS, count_runs, time_in_turns
from app.corpora.corpora import CORPUS_PREFIX
from app.jobs import queue
from app.jobs.attempt import JobRun
from app.jobs.kinds import JobKind
from app.jobs.queue import JobView
from app.jobs.remaining import describe_remaining
from app.labels.consensus import load_summary, mark_outcomes
from app.ranking.retrieval_order import measure_retrieval
from app.ranking.synonyms import describe_synonyms
from app.versions import loading
from app.versions.evaluations import hash_questions, hash_ranker, hash_scores, load_or_evaluate, to_json
from app.workbench import people
from app.workbench.workbench import DatabaseOutage, Workbench
from as2core.data import catalog as datasets
from as2core.data import jsonl
from as2core.errors import As2Error, BadSetting, UnknownData
from as2core.evaluation.rankers import Evaluation
from as2core.metrics import MEASURES
from as2core.questions.synonyms import Synonyms
from as2core.rankers.base import NeedsQuestions, Ranker, bind_questions, list_untrained, needs_questions
from as2core.rankers.catalog import list_destinations, list_installed
from as2core.system.files import replace_file
from as2core.types import Json, OnProgress, Progress, Question
from db.models import JsonObject

log = logging.getLogger(__name__)

SYNONYMS, OMISSIONS = "synonyms.txt", "omissions.txt"  # of the job's folder
SAMPLE_SEED = 0
MAX_RANKERS = 24  # in one comparison
EVALUATION_SHARE, TIMING_SHARE = 0.9, 0.96  # of a comparison's progress, at the end of each
TRAIN_FIRST = "`as2 train` makes a version of it; compare that by its directory."


def start_compare(
    wb: Workbench,
    rankers: Sequence[str],
    data: str,
    setting: str = "clean",
    limit: int | None = None,
    *,
    by: int | None = None,
    with_unlabelled: bool = False,
) -> JobView:
    """Queue a comparison, once if the same waits or runs; `limit` takes a fixed sample of the questions,
    `with_unlabelled` is as in ComparisonSettings, `by` is who asks for it. Raises UnknownRanker, UnknownData,
    BadSetting before anything is queued, NotAllowed where a ranker or the data is from elsewhere on the machine or from
    the hub and `by` is no admin."""
    is_own = data.startswith(CORPUS_PREFIX) or data in question_sets.list_datasets(wb)
    if outside := [name for name in rankers if is_path(name)] + [data] * (not is_own):
        with wb.read() as s:
            people.allow(s, by, f"compare with {outside[0]}, which is not of this workbench", people.ADMIN)
    names = tuple(dict.fromkeys(name_active(wb, r) for r in rankers))
    if not names:
        raise BadSetting("no ranker is chosen: choose two or more")
    if len(names) > MAX_RANKERS:
        raise BadSetting(f"{len(names)} rankers are too many at once: choose at most {MAX_RANKERS}")
    for name in names:
        check_ranker(wb, name)
    if setting not in datasets.SETTINGS:
        raise BadSetting(f"no setting {setting!r}; known: {', '.join(datasets.SETTINGS)}")
    if limit is not None and limit < 1:
        raise BadSetting(f"limit {limit}: give at least 1 question, or none for all")
    settings = ComparisonSettings(names, data, setting, limit, with_unlabelled and data.startswith(CORPUS_PREFIX))
    questions = question_sets.load_questions(wb, data, with_unlabelled=settings.with_unlabelled)
    selection = question_sets.select_questions(questions, setting, with_unlabelled=settings.with_unlabelled)
    if not selection:
        raise UnknownData(f"{data}: the setting {setting!r} keeps none of its {len(questions)} questions; label more")
    question_sets.keep_common_questions(wb, names, selection)
    detail = f"{', '.join(names)} on {data}"
    return queue.enqueue(wb, JobKind.COMPARE, asdict(settings), by=by, detail=detail, once=True)


def run_compare(job: JobRun) -> dict[str, Json]:
    """The background job: every ranker over the frozen set, then the tests between them."""
    settings = ComparisonSettings.of(queue.load_job(job.wb, job.id))
    questions = _freeze_questions(job, settings)
    synonyms = _read_frozen_synonyms(job)
    expanded_questions = synonyms.expand_all(questions)
    evaluations: dict[str, Evaluation] = {}
    rankers: dict[str, Ranker] = {}
    keys: dict[str, str] = {}
    notes = [*_read_omissions(job), *_note_unlabelled(questions), *describe_synonyms(synonyms)]
    for place, name in enumerate(settings.rankers):
        try:
            keys[name] = hash_ranker(job.wb, name)
            job.progress(EVALUATION_SHARE * place / len(settings.rankers), f"{_name_place(settings, place)}: loading")
            ranker = loading.load_ranker(job.wb, name)
            bind_questions(ranker, expanded_questions)
            evaluations[name] = _evaluate(job, settings, expanded_questions, place, ranker, notes)
            keys[name] += hash_scores(name, evaluations[name])
            notes += note_trained_on(job.wb, name, [q.text for q in questions])
            if len(settings.rankers) <= MAX_TIMED_RANKERS and is_timeable(name, ranker):
                rankers[name] = ranker
        except Exception as e:
            _leave_out(job, name, e, notes)
    if not evaluations:
        raise As2Error(" ".join(notes))
    job.progress(EVALUATION_SHARE, "testing the differences")
    result = to_json(
        {
            "rows": [to_row(name, e, questions, None) for name, e in evaluations.items()],
            "paired": _test_pairs(job, evaluations),
            "keys": {name: keys[name] for name in evaluations},
            "data_hash": hash_questions(expanded_questions),
            "questions": next(iter(evaluations.values())).questions,
            "notes": list(dict.fromkeys(notes)),  # one version with several settings has its notes once
            "unranked": _measure_retrieval(job.wb, settings, questions),
        }
    )
    job.publish(result)
    seconds = _time_rankers(job, rankers, expanded_questions, evaluations, notes)
    if not evaluations:
        raise As2Error(" ".join(notes))
    return {**_add_seconds(result, seconds, evaluations), "notes": list[Json](dict.fromkeys(notes))}


def _add_seconds(result: JsonObject, seconds: Mapping[str, float], evaluations: Collection[str]) -> dict[str, Json]:
    """A result with the times, and without the rankers that are not among the evaluations any more."""
    rows = [row for row in result["rows"] if row["ranker"] in evaluations]
    return {
        **result,
        "rows": [{**row, "seconds_per_question": seconds.get(row["ranker"])} for row in rows],
        "paired": [r for r in result["paired"] if {r["a"], r["b"]} <= set(evaluations)],
        "keys": {name: key for name, key in result["keys"].items() if name in evaluations},
    }


def is_timeable(name: str, ranker: Ranker) -> bool:
    """Not what is asked elsewhere, which may cost money, nor a run, which was ranked at another time."""
    return not (list_destinations(name) or needs_questions(ranker))


def _leave_out(job: JobRun, name: str, error: Exception, notes: list[str]) -> None:
    """Note why a ranker is not among the results. Raises the error where it says nothing of the ranker."""
    if isinstance(error, DatabaseOutage):  # the job goes on when the database is back
        raise error
    if not isinstance(error, As2Error) and not list_installed(name):
        raise error
    job.check()
    notes.append(f"{name} was left out: {_describe_failure(name, error)}")
    job.event({"kind": "note", "message": notes[-1]})


def _time_rankers(
    job: JobRun,
    rankers: Mapping[str, Ranker],
    questions: Sequence[Question],
    evaluations: dict[str, Evaluation],
    notes: list[str],
) -> dict[str, float]:
    """Seconds a question by ranker. The evaluation of one that fails now is taken out: it cannot be relied on."""

    def drop(name: str, error: Exception) -> None:
        _leave_out(job, name, error, notes)
        del evaluations[name]

    check = _report_timing(job, len(rankers), len(questions))
    return time_in_turns(rankers, questions, check=check, on_error=drop)


def _describe_failure(name: str, error: Exception) -> str:
    """Also of what the code of another package raises."""
    if isinstance(error, As2Error):
        return str(error)
    log.exception("the ranker %s of another package failed", name)
    return f"{type(error).__name__}: {error}"


def _measure_retrieval(wb: Workbench, settings: ComparisonSettings, questions: Sequence[Question]) -> dict[str, object]:
    """The means without reranking as the card of a retrain has them; {} for what is no corpus's labels."""
    corpus = question_sets.find_own_corpus(wb, settings.data)
    if corpus is None:
        return {}
    order, evaluation = measure_retrieval(wb, corpus.id, questions, settings.measured_setting)
    return {"order": order, "metrics": evaluation.metrics}


def _evaluate(
    job: JobRun,
    settings: ComparisonSettings,
    questions: Sequence[Question],
    place: int,
    ranker: Ranker,
    notes: list[str],
) -> Evaluation:
    """Evaluate the ranker at `place` on the questions as it reads them, and add what the reader has to know of it to
    `notes`."""
    wb, name = job.wb, settings.rankers[place]
    report = _report_questions(job, settings, place)
    evaluation = load_or_evaluate(
        wb, name, questions, data=settings.data, setting=settings.measured_setting, ranker=ranker, on_progress=report
    )
    if isinstance(ranker, NeedsQuestions):
        notes += [f"{name}: {text}" for text in ranker.describe_differences()]
    if list_destinations(name):
        notes.append(f"{name}: {describe_destinations([name])}")
    if parts := list_untrained(ranker):
        notes.append(f"{name}: {', '.join(parts)} has not been trained, its order may be chance. {TRAIN_FIRST}")
    return evaluation


def _name_place(settings: ComparisonSettings, place: int) -> str:
    """`ranker 3 of 8, bm25`."""
    name = shorten_paths(settings.rankers).get(settings.rankers[place], settings.rankers[place])
    return f"ranker {place + 1} of {len(settings.rankers)}, {name}"


def _report_questions(job: JobRun, settings: ComparisonSettings, place: int) -> OnProgress:
    """Says how far the ranker at `place` is, and how long that one still takes at its pace. What the others will take
    is not known: rankers differ by a factor of thousands."""
    title, first = _name_place(settings, place), (0, job.seconds())

    def report(p: Progress) -> None:
        nonlocal first
        job.check()
        if not first[0]:  # loading and what is prepared once do not count
            first = p.done, job.seconds()
        left = describe_remaining(job.seconds() - first[1], p.done - first[0], p.total - first[0])
        share = (place + p.share) / len(settings.rankers)
        message = f"{title}: {p.done} of {p.total} questions{left}{' for this one' if left else ''}"
        job.progress(EVALUATION_SHARE * share, message)

    return report


def _report_timing(job: JobRun, rankers: int, questions: int) -> Callable[[], None]:
    """What `time_in_turns` calls before each run."""
    runs, total = 0, count_runs(rankers, questions)

    def report() -> None:
        nonlocal runs
        job.check()
        share = TIMING_SHARE - EVALUATION_SHARE
        job.progress(EVALUATION_SHARE + share * runs / total, f"measuring the time: {runs} of {total} runs")
        runs += 1

    return report


def _test_pairs(job: JobRun, evaluations: Mapping[str, Evaluation]) -> list[dict[str, Json]]:
    """Of every metric, so that the page computes none of them."""
    per_question = {name: e.per_question for name, e in evaluations.items()}
    return [record for metric in MEASURES for record in compare_pairs(per_question, metric, job.check)]


def _note_unlabelled(questions: Sequence[Question]) -> list[str]:
    """What missing labels mean for the figures; nothing when every candidate has one."""
    labels = [c.label for q in questions for c in q.candidates]
    if not (missing := labels.count(None)):
        return []
    return [
        f"{missing:,} of {len(labels):,} candidates have no label and count as incorrect, so a ranker that puts good "
        "ones among them first is rated too low. The table shows by how much at most."
    ]


def _freeze_questions(job: JobRun, settings: ComparisonSettings) -> list[Question]:
    """The questions as they were when the job first ran, and beside them the synonyms with which they are read."""
    file = job.folder / QUESTIONS
    if not file.exists():
        questions, omissions = _choose_questions(job.wb, settings)
        (job.folder / OMISSIONS).write_text("\n".join(omissions), encoding="utf-8")
        if settings.limit is not None and settings.limit < len(questions):
            places = sorted(random.Random(SAMPLE_SEED).sample(range(len(questions)), settings.limit))
            questions = [questions[i] for i in places]
        (job.folder / SYNONYMS).write_text(str(question_sets.read_synonyms_of(job.wb, settings.data)), encoding="utf-8")
        with replace_file(file) as part:
            jsonl.write(questions, part)
    return list(jsonl.read(file, strict=True)[0])


def _choose_questions(wb: Workbench, settings: ComparisonSettings) -> tuple[list[Question], list[str]]:
    """Those that can be compared on now, whatever the limit, and a note on each run that lacks some."""
    with_unlabelled = settings.with_unlabelled
    questions = question_sets.load_questions(wb, settings.data, with_unlabelled=with_unlabelled)
    questions = question_sets.select_questions(questions, settings.setting, with_unlabelled=with_unlabelled)
    return question_sets.keep_common_questions(wb, settings.rankers, questions)


def describe_changes(wb: Workbench, job: JobView) -> str:
    """How the labels and synonyms of a corpus, and the weights of shipped versions, differ from those of a comparison:
    `3 more questions, other synonyms`. "" where they do not."""
    weights = new_weights.list_changes(wb, ComparisonSettings.of(job).rankers, job.finished)
    return ", ".join([*_list_label_changes(wb, job), *weights])


def _list_label_changes(wb: Workbench, job: JobView) -> list[str]:
    """[] also for a set that is no corpus's, and where today's questions cannot be had, as without a run that was
    deleted."""
    settings, folder = ComparisonSettings.of(job), wb.settings.jobs_dir / str(job.id)
    corpus = question_sets.find_own_corpus(wb, settings.data)
    if corpus is None or not (folder / QUESTIONS).is_file():
        return []

    def make() -> list[str]:
        before = jsonl.read(folder / QUESTIONS)[0]
        now, _ = _choose_questions(wb, settings)
        return question_sets.list_changes(before, now, is_sample=settings.limit == len(before))

    try:
        changes = load_summary(wb, mark_outcomes(wb, corpus.id), ("comparison", job.id), make)
    except As2Error:
        return []
    file, synonyms = folder / SYNONYMS, question_sets.read_synonyms_of(wb, settings.data)
    is_other = file.exists() and Synonyms.read(file) != synonyms
    return [*changes, *["other synonyms"] * is_other]


def _read_omissions(job: JobRun) -> list[str]:
    """Which questions were left out when they were frozen, and why; [] also where an older program froze them."""
    file = job.folder / OMISSIONS
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def _read_frozen_synonyms(job: JobRun) -> Synonyms:
    """Empty where an older program froze the questions."""
    file = job.folder / SYNONYMS
    return Synonyms.read(file) if file.exists() else Synonyms()
