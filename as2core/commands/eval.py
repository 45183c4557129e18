"""`as2 eval`: how well a ranker orders labelled questions; of several, whether they differ by more than chance."""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated

import typer

from as2core.commands.eval_files import Files, write_files, write_reports
from as2core.commands.eval_questions import Reading
from as2core.commands.eval_result import EvalResult, compare_all
from as2core.commands.eval_terminal import print_result
from as2core.commands.options import DATA_HELP, RANKER_HELP, JsonFlag, RayAddress
from as2core.errors import As2Error, BadSetting
from as2core.evaluation.gate import check_gate, enforce, read_gate
from as2core.evaluation.runs import evaluate_run, find_run, is_qrels, is_run_file
from as2core.lookup import keep_common_questions, load_ranker, note_trained_on
from as2core.terminal import print_json, print_note, show_progress
from as2core.types import Question

if TYPE_CHECKING:
    from as2core.evaluation.rankers import Evaluation

DIFFERENCE = 0.02  # that a plan is for where no other is given

Figures = tuple["Evaluation", list[str]]  # of a ranker, and what a reader has to know of them


class RankersFailed(As2Error):
    """Some of several rankers have no figures."""


def _require_ranker(rankers: list[str]) -> list[str]:
    """Of one argument alone typer would say that RANKER is missing, which may be the one that was given."""
    if not rankers:
        raise typer.BadParameter("give a RANKER and DATA")
    return rankers


def eval_(
    rankers: Annotated[
        list[str],
        typer.Argument(
            metavar="RANKER",
            help=RANKER_HELP,
            default_factory=list,
            callback=_require_ranker,
            show_default=False,
        ),
    ],
    data: Annotated[str, typer.Argument(metavar="DATA", help=f"{DATA_HELP} For runs also qrels.")],
    files: Files,
    reading: Reading,
    difference: Annotated[
        float, typer.Option(help="Say how many questions it takes to find such a difference.")
    ] = DIFFERENCE,
    ray: RayAddress = None,
    as_json: JsonFlag = False,
) -> None:
    """Evaluate a ranker on labelled questions, or compare several."""
    from as2core.data.catalog import has_order
    from as2core.metrics import average, measure_each_unranked

    requirements = read_gate(files.gate).requirements if files.gate else ()
    _check_options(rankers, data, files, reading, difference, ray)
    questions, texts, omissions = reading.load(data, is_complete=bool(requirements))
    questions, texts, gaps = _keep_common(rankers, data, questions, texts, is_complete=bool(requirements))
    slices, measures = files.slice(questions), files.list_measures()
    evaluations, failures = _evaluate_all(rankers, questions, data, reading.choose_setting(data), measures, ray)
    results = {spec: result for spec, (result, _) in evaluations.items()}
    notes = [*gaps, *(note for _, own in evaluations.values() for note in own)]
    if not is_qrels(data):
        notes += _describe_data([*results], data, questions, texts)
    notes += [f"{spec} failed: {reason}" for spec, reason in failures.items()]
    for note in notes:
        print_note(note)
    in_order = measure_each_unranked(questions, measures) if has_order(data) else {}
    is_checked = failures.keys().isdisjoint([rankers[0], *(r.against for r in requirements)])
    result = EvalResult(
        reading.describe_source(data, omissions),
        questions,
        results,
        average(in_order),
        compare_all(results, difference) if rankers[0] in results else {},
        difference,
        slices,
        check_gate(requirements, results, in_order) if is_checked else [],
        notes,
        failures,
    )
    write_files(files, questions, results)
    if files.report or files.latex:
        write_reports(files, result, _format_command(rankers, data, files, reading, difference, ray))
    print_json(result.to_json()) if as_json else print_result(result)
    enforce(result.checks)
    if failures:
        gate = "" if is_checked or not requirements else "; the gate is not checked"
        raise RankersFailed(f"{len(failures)} of {len(rankers)} rankers failed: {', '.join(failures)}{gate}")


def _check_options(
    rankers: Sequence[str], data: str, files: Files, reading: Reading, difference: float, ray: str | None
) -> None:
    """Raises BadSetting."""
    files.check(data, reading.synonyms, *rankers)
    files.list_measures()
    if not 0 < difference <= 1:
        raise BadSetting(f"--difference {difference:g}: give one above 0 and at most 1, such as 0.02")
    if files.run and len(rankers) > 1:
        raise BadSetting("--run is the file of one ranker: evaluate each alone, or leave it out")
    if len(set(rankers)) < len(rankers):
        raise BadSetting(f"{', '.join(rankers)}: one ranker twice; give different ones")
    if files.qrels and is_run_file(data):
        command = shlex.join(["as2", "eval", *rankers, data, str(files.qrels)])
        raise BadSetting(f"--qrels is a file that is written: to measure runs on it, name it last, as in {command}")
    if is_qrels(data):
        _refuse_texts(rankers, files, reading, ray)


def _refuse_texts(rankers: Sequence[str], files: Files, reading: Reading, ray: str | None) -> None:
    """What needs texts cannot be done with qrels alone. Raises BadSetting."""
    for spec in rankers:
        find_run(spec)
    options = {
        "--slices": files.slices,
        "--slice-file": files.slice_file,
        "--run": files.run,
        "--synonyms": reading.synonyms,
        "--ray": ray,
    }
    if unfit := [name for name, value in options.items() if value]:
        raise BadSetting(
            f"{', '.join(unfit)}: needs texts, which qrels do not hold; leave it out, or give a data set with texts"
        )


def _keep_common(
    rankers: Sequence[str], data: str, questions: Sequence[Question], texts: Sequence[str], *, is_complete: bool
) -> tuple[list[Question], list[str], list[str]]:
    """The questions, and their texts, that no run lacks, and a note on each run that lacks some; of qrels all count.
    Raises BadSetting where no question is left, or one is left out though the data has to be complete."""
    if is_qrels(data):
        return [*questions], [*texts], []
    common, notes = keep_common_questions(rankers, questions)
    if notes and is_complete:
        raise BadSetting(f"{' '.join(notes)} A gate is checked on all questions: rank them, or leave --gate out.")
    qids = {q.qid for q in common}
    return common, [text for q, text in zip(questions, texts, strict=True) if q.qid in qids], notes


def _describe_data(rankers: Sequence[str], data: str, questions: Sequence[Question], texts: Sequence[str]) -> list[str]:
    """What makes figures too high: a ranker was trained on some of the questions, or the lists are short."""
    from as2core.chance import describe_short_lists

    notes = [note for spec in rankers for note in note_trained_on(spec, texts)]
    if warning := describe_short_lists((len(q.candidates), q.positives) for q in questions):
        notes.append(f"{data}: {warning} Label more candidates of each question.")
    return notes


def _format_command(
    rankers: Sequence[str], data: str, files: Files, reading: Reading, difference: float, ray: str | None
) -> str:
    """The command line that does the same again, as a shell takes it."""
    words = ["as2", "eval", *rankers, data]
    values = [(f, getattr(record, f.name)) for record in (reading, files) for f in fields(record)]
    for field, value in values:
        flag = field.name.replace("_", "-")
        if isinstance(value, bool) and value != field.default:
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif value != field.default:
            words += [f"--{flag}", str(value)]
    if difference != DIFFERENCE:
        words += ["--difference", f"{difference:g}"]
    if ray is not None:
        words += ["--ray", ray]
    return shlex.join(words)


def _evaluate_all(
    rankers: Sequence[str],
    questions: Sequence[Question],
    data: str,
    setting: str,
    measures: Sequence[str],
    ray: str | None,
) -> tuple[dict[str, Figures], dict[str, str]]:
    """What `_try_each` returns; on Ray, if an address is given, of all that can be scored elsewhere."""

    def evaluate_here(spec: str) -> Figures:
        return _evaluate(spec, questions, data, setting, measures)

    if ray is None:
        return _try_each(rankers, evaluate_here)
    from as2core.bulk.pool import check_address, open_pool
    from as2core.bulk.ranking import evaluate_on_pool, must_stay_here

    check_address(ray)
    bound = {spec for spec in rankers if must_stay_here(spec)}
    for spec in bound:
        print_note(f"as2: {spec} is scored on this machine: it reads a run or sends texts to an address")
    if len(bound) == len(rankers):
        return _try_each(rankers, evaluate_here)
    with redirect_stdout(sys.stderr), open_pool(ray) as pool:  # Ray tells there of workers that died

        def evaluate_there(spec: str) -> Figures:
            if spec in bound:
                return evaluate_here(spec)
            with show_progress(f"{spec} on {data}") as on_progress:
                return evaluate_on_pool(
                    pool, spec, questions, setting=setting, measures=measures, on_progress=on_progress
                ), []

        return _try_each(rankers, evaluate_there)


def _try_each(rankers: Sequence[str], evaluate: Callable[[str], Figures]) -> tuple[dict[str, Figures], dict[str, str]]:
    """The figures of each ranker, and for each that has none the reason: a fault of one, which may be of another
    package, costs no other's results. Raises the error of a ranker that is alone, RankersFailed where all fail."""
    figures: dict[str, Figures] = {}
    failures: dict[str, str] = {}
    for spec in rankers:
        try:
            figures[spec] = evaluate(spec)
        except Exception as error:  # of code that may not be ours
            if len(rankers) == 1:
                raise
            if os.environ.get("AS2_DEBUG"):
                traceback.print_exc()
            failures[spec] = str(error) if isinstance(error, As2Error) else f"{type(error).__name__}: {error}"
    if not figures:
        raise RankersFailed("; ".join(f"{spec} failed: {reason}" for spec, reason in failures.items()))
    return figures, failures


def _evaluate(spec: str, questions: Sequence[Question], data: str, setting: str, measures: Sequence[str]) -> Figures:
    """Its figures, and what a reader has to know of them."""
    from as2core.evaluation.rankers import evaluate
    from as2core.rankers.base import NeedsQuestions

    if is_qrels(data):
        result, own = evaluate_run(find_run(spec), questions, setting=setting, measures=measures)
        return result, [f"{spec}: {note}" for note in own]
    with show_progress(f"{spec} on {data}") as on_progress:
        ranker = load_ranker(spec)
        result = evaluate(ranker, questions, setting=setting, measures=measures, on_progress=on_progress)
    notes = ranker.describe_differences() if isinstance(ranker, NeedsQuestions) else []
    return result, [f"{spec}: {note}" for note in notes]
