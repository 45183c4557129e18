"""`as2 eval`: how well a ranker orders labelled questions; of several, whether they differ by more than chance."""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from as2core.commands.eval_result import EvalResult, Source, compare_all
from as2core.commands.eval_terminal import print_result
from as2core.commands.options import DATA_HELP, RANKER_HELP, JsonFlag, RayAddress, SettingName, Titles
from as2core.commands.outputs import check_outputs
from as2core.data.source import is_file
from as2core.errors import As2Error, BadSetting, UnreadableFile
from as2core.gate import check_gate, enforce, read_gate
from as2core.lookup import (
    describe_problems,
    keep_common_questions,
    load_ranker,
    note_trained_on,
    read_question_set,
)
from as2core.run_evaluation import evaluate_run, find_run, is_qrels, read_qrels
from as2core.terminal import print_json, print_note, show_progress
from as2core.text import count
from as2core.types import Question

if TYPE_CHECKING:
    from as2core.data.source import Problem
    from as2core.error_slices import Slice
    from as2core.evaluation import Evaluation

DIFFERENCE = 0.02  # that a plan is for where no other is given

Figures = tuple["Evaluation", list[str]]  # of a ranker, and what a reader has to know of them


class RankersFailed(As2Error):
    """Some of several rankers have no figures."""


@dataclass(frozen=True, slots=True)
class Files:
    """What is shown and written beside the table, and what it has to meet."""

    run: Annotated[Path | None, typer.Option(help="Write the scores as a trec_eval run.")] = None
    qrels: Annotated[Path | None, typer.Option(help="Write the labels as trec_eval qrels.")] = None
    per_question: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write each question's measures as CSV.")
    ] = None
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it all as one HTML file.")] = None
    latex: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the means as a table for LaTeX.")] = None
    gate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What the first ranker has to meet (TOML); else exit code 3.")
    ] = None
    slices: Annotated[bool, typer.Option("--slices", help="Show P@1 by kind of question, length and so on.")] = False
    slice_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Show it by your own slices as well (TOML).")
    ] = None

    def check(self, *inputs: str | Path | None) -> None:
        """Raises BadSetting for a file that cannot be written, or that is one of these inputs."""
        outputs = (self.run, self.qrels, self.per_question, self.report, self.latex)
        check_outputs(outputs, (*inputs, self.gate, self.slice_file))

    def slice(self, questions: Sequence[Question]) -> tuple[Slice, ...]:
        """() where none are to be shown. Raises UnreadableFile, BadSetting."""
        from as2core.error_slices import slice_questions
        from as2core.slice_rules import read_slice_rules

        rules = read_slice_rules(self.slice_file) if self.slice_file else ()
        return slice_questions(questions, rules) if self.slices or rules else ()


@dataclass(frozen=True, slots=True)
class Reading:
    """Which questions count, and how they are read."""

    setting: Annotated[
        SettingName | None,
        typer.Option(
            help="Which questions count. raw: all; no-all-neg: those with a correct candidate; clean: those with a "
            "correct and an incorrect one. By default clean, for qrels raw."
        ),
    ] = None
    titles: Titles = True
    synonyms: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read a word with its meaning, by lines `word => meaning`.")
    ] = None
    limit: Annotated[int | None, typer.Option(min=1, help="Use only the first N questions.")] = None

    def load(self, data: str, *, is_complete: bool) -> tuple[list[Question], list[str], int]:
        """The questions, their texts without synonyms, and how many lines could not be read; with `is_complete` none
        may be. Raises UnknownData, UnreadableFile, BadSetting where no question is left or none has a label."""
        from as2core.data.catalog import apply_setting
        from as2core.synonyms import Synonyms

        synonyms = Synonyms.read(self.synonyms) if self.synonyms else Synonyms()
        whole = read_qrels(data) if is_qrels(data) else read_question_set(data, titles=self.titles)
        if whole.problems:
            _tell_problems(data, whole.problems, is_complete)
        if whole.questions:
            _require_label(whole.questions, data)
        setting = self.choose_setting(data)
        questions = apply_setting(whole.questions, setting)[: self.limit]
        if not questions:
            raise BadSetting(_explain_empty(whole.questions, data, setting))
        _require_label(questions, data)
        return list(synonyms.expand_all(questions)), [q.text for q in questions], len(whole.problems)

    def choose_setting(self, data: str) -> SettingName:
        """The one given; by default what papers report, of qrels what trec_eval does."""
        return self.setting or ("raw" if is_qrels(data) else "clean")

    def describe_source(self, data: str, omissions: int) -> Source:
        titles = None if is_qrels(data) else self.titles
        synonyms = self.synonyms.name if self.synonyms else None
        return Source(data, self.choose_setting(data), titles, synonyms, omissions)


def _tell_problems(data: str, problems: Sequence[Problem], is_complete: bool) -> None:
    """Raises UnreadableFile where the data has to be complete."""
    text = f"{data}: {describe_problems(problems)}"
    if is_complete:
        raise UnreadableFile(f"{text}; a gate is checked on whole data only: mend the file, or remove these lines")
    print_note(f"as2: {text}")


def _explain_empty(whole: Sequence[Question], data: str, setting: str) -> str:
    if not whole and data.partition(":")[0] == "labels" and not is_file(data):
        return f"{data}: nothing is labelled there yet; label on the page Label, or see as2 labels import"
    if not whole:
        return f"{data} holds no question that can be read"
    where = f"{data} has no question in the setting {setting!r}"
    gaps = sum(not q.has_both_labels and any(c.label is None for c in q.candidates) for q in whole)
    if gaps and setting != "raw":
        needs = "a candidate labelled correct" + (" and one labelled incorrect" if setting == "clean" else "")
        where += f", which takes {needs}: {count(gaps, 'question')} lack one and have candidates without a label"
        return f"{where}; label some, or try --setting raw"
    return f"{where}: try --setting raw, or other data"


def _require_label(questions: Sequence[Question], data: str) -> None:
    """Raises BadSetting."""
    if all(c.label is None for q in questions for c in q.candidates):
        raise BadSetting(f"no candidate of {data} has a label: label some, or compare two rankers with as2 decide")


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
    slices = files.slice(questions)
    evaluations, failures = _evaluate_all(rankers, questions, data, reading.choose_setting(data), ray)
    results = {spec: result for spec, (result, _) in evaluations.items()}
    notes = [*gaps, *(note for _, own in evaluations.values() for note in own)]
    if not is_qrels(data):
        notes += _describe_data([*results], data, questions, texts)
    notes += [f"{spec} failed: {reason}" for spec, reason in failures.items()]
    for note in notes:
        print_note(note)
    in_order = measure_each_unranked(questions) if has_order(data) else {}
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
    _write_files(files, questions, results)
    if files.report or files.latex:
        _write_reports(files, result, _format_command(rankers, data, files, reading, difference, ray))
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
    if not 0 < difference <= 1:
        raise BadSetting(f"--difference {difference:g}: give one above 0 and at most 1, such as 0.02")
    if files.run and len(rankers) > 1:
        raise BadSetting("--run is the file of one ranker: evaluate each alone, or leave it out")
    if len(set(rankers)) < len(rankers):
        raise BadSetting(f"{', '.join(rankers)}: one ranker twice; give different ones")
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


def _write_reports(files: Files, result: EvalResult, command: str) -> None:
    from as2core.commands.eval_report import describe_result
    from as2core.data.source import write_text
    from as2core.html_report import write_report
    from as2core.latex_table import write_latex

    contents = describe_result(result, command, datetime.now(UTC))
    for file, write in ((files.report, write_report), (files.latex, write_latex)):
        if file:
            write_text(write(contents), file)


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
    rankers: Sequence[str], questions: Sequence[Question], data: str, setting: str, ray: str | None
) -> tuple[dict[str, Figures], dict[str, str]]:
    """What `_try_each` returns; on Ray, if an address is given, of all that can be scored elsewhere."""

    def evaluate_here(spec: str) -> Figures:
        return _evaluate(spec, questions, data, setting)

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
                return evaluate_on_pool(pool, spec, questions, setting=setting, on_progress=on_progress), []

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


def _evaluate(spec: str, questions: Sequence[Question], data: str, setting: str) -> Figures:
    """Its figures, and what a reader has to know of them."""
    from as2core.evaluation import evaluate
    from as2core.rankers.base import NeedsQuestions

    if is_qrels(data):
        result, own = evaluate_run(find_run(spec), questions, setting=setting)
        return result, [f"{spec}: {note}" for note in own]
    with show_progress(f"{spec} on {data}") as on_progress:
        ranker = load_ranker(spec)
        result = evaluate(ranker, questions, setting=setting, on_progress=on_progress)
    notes = ranker.describe_differences() if isinstance(ranker, NeedsQuestions) else []
    return result, [f"{spec}: {note}" for note in notes]


def _write_files(files: Files, questions: Sequence[Question], results: dict[str, Evaluation]) -> None:
    from as2core.data import qrels as trec
    from as2core.data.source import write_text

    if files.run:
        [(spec, result)] = results.items()
        write_text("".join(trec.run_to_lines(questions, result.scores, tag=spec)), files.run)
        if ties := sum(trec.has_ties(scores) for scores in result.scores.values()):
            print_note(
                f"{files.run}: the scores of {count(ties, 'question')} tie and are written as falling whole numbers: "
                "they keep the order and are no scores to add or to compare with a limit"
            )
    if files.qrels:
        write_text("".join(trec.to_lines(questions)), files.qrels)
    if files.per_question:
        write_text(_tabulate(questions, results), files.per_question)


def _tabulate(questions: Sequence[Question], results: dict[str, Evaluation]) -> str:
    """CSV: a row for each question and ranker."""
    from as2core.data.source import format_rows
    from as2core.data.spreadsheet import defuse_formula

    measures = [*next(iter(results.values())).metrics]
    rows: list[list[object]] = [["qid", "question", "candidates", "correct", "ranker", *measures]]
    for q in questions:
        for spec, result in results.items():
            values = [result.per_question[name].get(q.qid, "") for name in measures]
            names = [defuse_formula(text) for text in (q.qid, q.text)]
            rows.append([*names, len(q.candidates), q.positives, defuse_formula(spec), *values])
    return format_rows(rows)
