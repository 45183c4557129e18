"""What `as2 eval` writes beside its table: a run, qrels, measures by question, a report, a table for LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from as2core.commands.eval_result import EvalResult
from as2core.commands.outputs import check_outputs
from as2core.messages import count
from as2core.terminal import print_note
from as2core.types import Question

if TYPE_CHECKING:
    from as2core.evaluation.error_slices import Slice
    from as2core.evaluation.rankers import Evaluation


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
    measures: Annotated[
        str,
        typer.Option(
            metavar="NAMES", help='Measure these, too, by ir_measures\' names: "R@5 nDCG@5 AP@100 P(rel=2)@5".'
        ),
    ] = ""
    slices: Annotated[bool, typer.Option("--slices", help="Show P@1 by kind of question, length and so on.")] = False
    slice_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Show it by your own slices as well (TOML).")
    ] = None

    def check(self, *inputs: str | Path | None) -> None:
        """Raises BadSetting for a file that cannot be written, or that is one of these inputs."""
        outputs = (self.run, self.qrels, self.per_question, self.report, self.latex)
        check_outputs(outputs, (*inputs, self.gate, self.slice_file))

    def list_measures(self) -> list[str]:
        """What is measured, each once. Raises BadSetting."""
        from as2core.metrics import MEASURES, read_measures

        return [*dict.fromkeys([*MEASURES, *read_measures(self.measures)])]

    def slice(self, questions: Sequence[Question]) -> tuple[Slice, ...]:
        """() where none are to be shown. Raises UnreadableFile, BadSetting."""
        from as2core.evaluation.error_slices import slice_questions
        from as2core.evaluation.slice_rules import read_slice_rules

        rules = read_slice_rules(self.slice_file) if self.slice_file else ()
        return slice_questions(questions, rules) if self.slices or rules else ()


def write_reports(files: Files, result: EvalResult, command: str) -> None:
    """The report and the table for LaTeX, if they are wanted. `command`: the line that makes them again."""
    from as2core.commands.eval_report import describe_result
    from as2core.evaluation.html_report import write_report
    from as2core.evaluation.latex_table import write_latex
    from as2core.system.files import write_text

    contents = describe_result(result, command, datetime.now(UTC))
    for file, write in ((files.report, write_report), (files.latex, write_latex)):
        if file:
            write_text(write(contents), file)


def write_files(files: Files, questions: Sequence[Question], results: dict[str, Evaluation]) -> None:
    from as2core.data import qrels as trec
    from as2core.system.files import write_text

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
    from as2core.sources.spreadsheet import defuse_formula

    measures = [*next(iter(results.values())).metrics]
    rows: list[list[object]] = [["qid", "question", "candidates", "correct", "ranker", *measures]]
    for q in questions:
        for spec, result in results.items():
            values = [result.per_question[name].get(q.qid, "") for name in measures]
            names = [defuse_formula(text) for text in (q.qid, q.text)]
            rows.append([*names, len(q.candidates), q.positives, defuse_formula(spec), *values])
    return format_rows(rows)
