"""Runs against qrels alone, as trec_eval measures them: both know documents by their ids, so no text is needed.

A run is measured on the documents that it has. One that the qrels lack is not relevant, a relevant one that the run
lacks counts in the denominator, equal scores are ordered by document id. A question that the run lacks counts 0, as in
ir_measures and with trec_eval's -c, so that several runs are compared over the same questions. (Where there is a data
set with texts, a run ranks that set's candidates instead, see `as2core.rankers.run`.) The reasons:
docs/decisions/0087-a-run-is-measured-on-qrels-as-by-trec-eval.md.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from as2core.data import qrels as trec
from as2core.data import runs
from as2core.data.catalog import QuestionSet, sniff
from as2core.data.source import read_all
from as2core.errors import BadSetting
from as2core.evaluation.rankers import Evaluation, select_questions
from as2core.messages import count
from as2core.metrics import MEASURES, average, measure_run
from as2core.rankers.run import has_ending
from as2core.system.files import is_file
from as2core.types import Question

JUDGED_SHARE = "Judged@10"  # the share of a question's first ten that are in the qrels


def is_qrels(data: str | Path) -> bool:
    """Whether it is a file of trec_eval's qrels. Raises UnreadableFile."""
    return is_file(data) and sniff(Path(data)) == "qrels"


def is_run_file(data: str | Path) -> bool:
    """Whether it is a file of a run, in any form. Raises UnreadableFile."""
    return is_file(data) and sniff(Path(data)) == "run"


def read_qrels(file: str | Path) -> QuestionSet:
    """Questions without texts; a candidate for each document that is in the file. Raises UnreadableFile."""
    return QuestionSet(*read_all(trec.stream, Path(file)))


def find_run(spec: str) -> Path:
    """The file of a ranker that is a run: `run:file=FILE` or a path, whatever its ending. Raises BadSetting."""
    file = Path(spec.removeprefix("run:file="))
    if not is_file(file):
        if spec.startswith("run:file=") or has_ending(file):
            raise BadSetting(f"there is no run file {file}")
        raise BadSetting(
            f"{spec} is no run, and qrels hold no texts that a ranker could read: give files of runs, or a "
            "data set with texts in place of the qrels"
        )
    return file


def evaluate_run(
    file: Path, questions: Sequence[Question], *, setting: str = "raw", measures: Sequence[str] = MEASURES
) -> tuple[Evaluation, list[str]]:
    """Its figures for questions of `read_qrels` that the setting selects, with `JUDGED_SHARE`, and what a reader has to
    know of them. `scores` are empty. Raises UnreadableFile, and BadSetting for a run that has none of the questions."""
    questions = select_questions(questions, setting)
    started = time.perf_counter()
    run = runs.read_run_scores(file)
    labels = {trec.escape_id(q.qid): {trec.escape_id(c.id): c.relevance or 0 for c in q.candidates} for q in questions}
    rows = {
        name: _sort_as_trec_eval({trec.escape_id(docid): score for docid, score in row.items()})
        for name, q in zip(labels, questions, strict=True)
        if (row := run.get(q.qid))
    }
    if not rows:
        own = f"; its questions are like {next(iter(run))!r}" if run else ", because it is empty"
        raise BadSetting(
            f"{file} has none of the {count(len(questions), 'question')} of the qrels, such as "
            f"{questions[0].qid!r}{own}: give a run of these questions"
        )
    by_name = measure_run(labels, rows, [*dict.fromkeys((*measures, JUDGED_SHARE))])
    per_question = {
        measure: {q.qid: values[name] for name, q in zip(labels, questions, strict=True)}
        for measure, values in by_name.items()
    }
    evaluation = Evaluation(
        ranker="run",
        setting=setting,
        questions=len(questions),
        metrics=average(per_question),
        per_question=per_question,
        scores={},
        seconds=time.perf_counter() - started,
        relative_cost=None,
    )
    return evaluation, _describe_gaps(len(rows), len(questions), len(run.keys() - {q.qid for q in questions}))


def _sort_as_trec_eval(row: Mapping[str, float]) -> dict[str, float]:
    """Falling whole numbers in its order: by 32-bit scores, equal ones by the later id first. Of what shares a score
    ir_measures counts the earlier id into Judged@10, which would then be of another ten than the other measures."""
    with np.errstate(over="ignore"):  # what is too large is infinite there, too
        scores = np.array([*row.values()]).astype(np.float32)
    ranking = sorted(zip(scores.tolist(), row, strict=True), reverse=True)
    return {docid: float(-place) for place, (_, docid) in enumerate(ranking)}


def _describe_gaps(common: int, total: int, others: int) -> list[str]:
    notes = []
    if missing := total - common:
        notes.append(
            f"questions that are not in the run and count 0: {missing:,} of {total:,}; trec_eval leaves them out "
            "unless it has -c"
        )
    if others:
        notes.append(f"questions of the run that are not among these and do not count: {others:,}")
    return notes
