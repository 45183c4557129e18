"""`as2 data`: the statistics of a data set, the same in another format, and the papers' sets from their sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from as2core.commands.options import TRAINING, JsonFlag, Seed, Setting
from as2core.commands.outputs import check_output_folder, check_outputs, is_dash, open_output
from as2core.errors import BadSetting, UnreadableFile
from as2core.messages import count
from as2core.terminal import echo, print_json, print_note, print_table, show_progress
from as2core.types import Json, OnProgress, Progress, Question

if TYPE_CHECKING:
    from as2core.data.source import Report
    from as2core.data.statistics import Counts

Set = Annotated[
    str,
    typer.Argument(
        metavar="SET", help="A file in any supported format, a BEIR folder, or a shipped set such as starter-dev."
    ),
]
Out = Annotated[
    Path, typer.Argument(metavar="OUT", help="The file to write, whole or not at all; - is standard output.")
]
Split = Annotated[str | None, typer.Option(help="The split of a BEIR folder or of YahooQA's file; test by default.")]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first malformed line.")]

BASELINES = ("rr", "wo", "wo-rr")  # as in the Structure paper: wo's ties at random, wo-rr's in their order
MAX_PRINTED_PROBLEMS = 20  # on standard error; --json has them all
PROGRESS_QUESTIONS = 100  # between two reports of progress


def register(cli: typer.Typer) -> None:
    """Mount the group."""
    group = typer.Typer(help="Data sets: statistics, conversion, and building the papers' sets.")
    for command in (stats, convert, build, vectors):
        group.command(command.__name__)(command)
    cli.add_typer(group, name="data", rich_help_panel=TRAINING)


def stats(
    set_: Set,
    setting: Setting = "raw",
    split: Split = None,
    counts: Annotated[
        bool, typer.Option("--counts", help="Only the counts, without lengths and baselines: fast.")
    ] = False,
    strict: Strict = False,
    as_json: JsonFlag = False,
) -> None:
    """Print the statistics of a data set, and its malformed lines."""
    from as2core.data.catalog import stream_questions
    from as2core.data.statistics import BASELINE_MEASURES, compute_statistics
    from as2core.rankers.catalog import get

    with show_progress("reading") as on_progress:
        questions, report = stream_questions(set_, strict=strict, split=split)
        rankers = None if counts else {name: get(name) for name in BASELINES}
        result = compute_statistics(_Watched(questions, on_progress), setting=setting, rankers=rankers)
    document = _print_problems(report)
    if as_json:
        print_json({"set": set_, "setting": setting, "read": document, **asdict(result)})
        return
    echo(f"{set_}: {count(report.lines, 'line')}, {count(len(report), 'problem')}" + _describe_omissions(report))
    echo()
    print_table([{"setting": n, **_format_counts(c)} for n, c in result.counts.items()], _COUNT_COLUMNS)
    echo()
    rows = [
        ("questions with a correct candidate", result.answered),
        ("candidates a question", result.candidates_per_question),
        ("correct candidates a question", result.correct_per_question),
        ("tokens a question", None if counts else result.question_tokens),
        ("tokens a candidate", None if counts else result.candidate_tokens),
        ("candidates without a text", f"{result.textless:,}" if result.textless else None),
        *((f"grade {grade}", f"{n:,}") for grade, n in result.grades.items()),
    ]
    print_table([{"measure": name, setting: value} for name, value in rows if value is not None], ["measure", setting])
    if result.baselines:
        echo()
        print_table([{"ranker": n, **values} for n, values in result.baselines.items()], ["ranker", *BASELINE_MEASURES])


_COUNT_COLUMNS = ["setting", "questions", "candidates", "correct"]


ConvertFormat = Literal[
    "jsonl", "asnq", "wikiqa", "qrels", "csv", "table", "pairs", "triplets", "beir",
    "label-studio", "argilla", "prodigy",
]  # fmt: skip


def convert(
    set_: Set,
    out: Out,
    to: Annotated[
        ConvertFormat,
        typer.Option(help="The format; beir makes OUT a folder. A file whose name ends in .gz is compressed."),
    ] = "jsonl",
    setting: Setting = "raw",
    split: Split = None,
    part: Annotated[
        str | None, typer.Option(metavar="K/N", help="Every Nth question from the Kth on: 1/2 and 2/2 are two halves.")
    ] = None,
    strict: Strict = False,
    as_json: JsonFlag = False,
) -> None:
    """Write a data set in another format."""
    from as2core.data import beir
    from as2core.data.catalog import matches_setting, stream_questions

    first, step = _read_part(part)
    if to == "beir":
        check_output_folder(out)
    else:
        _check_out(out, set_, as_json)
    output = open_output(out)
    with show_progress("converting") as on_progress:
        questions, report = stream_questions(set_, strict=strict, split=split)
        some = islice((q for q in questions if matches_setting(q, setting)), first, None, step)
        selection = _Watched(some, on_progress, to)
        if to == "beir":
            in_memory = list(selection)
            _check_any(selection, set_, report)
            beir.write(in_memory, out, split=split or "test")
        else:
            _write(selection, output, to, set_, report)
    _print_result(selection, out, report, as_json)


def _read_part(text: str | None) -> tuple[int, int]:
    """`2/3` as (1, 3): the first question to take, counted from 0, and how far it is to the next. Raises BadSetting."""
    numbers = [int(n) if n.isdecimal() else 0 for n in (text or "1/1").split("/")]
    if len(numbers) != 2 or not 1 <= numbers[0] <= numbers[1]:
        raise BadSetting(f"--part {text}: write K/N with K from 1 to N, as 1/2 for the first of two parts")
    return numbers[0] - 1, numbers[1]


def build(
    kind: Annotated[
        Literal["asnq", "asnq++", "nq-la", "qnli", "squad-sent"], typer.Argument(metavar="KIND", help="What to build.")
    ],
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The file of Natural Questions, ASNQ or SQuAD.")],
    out: Out,
    candidates: Annotated[int, typer.Option(min=1, help="asnq++: candidates for each question.")] = 1300,
    seed: Seed = 0,
    strict: Strict = False,
    as_json: JsonFlag = False,
) -> None:
    """Build a data set as the papers did, from files of any size: one question is in memory at a time."""
    from as2core.data import asnq_plus, natural_questions, qnli, squad
    from as2core.data.catalog import stream_questions
    from as2core.data.source import Report

    _check_out(out, source, as_json)
    output = open_output(out)
    with show_progress(f"building {kind}") as on_progress:
        if kind == "asnq++":
            first, _ = stream_questions(source, strict=strict)
            again, report = stream_questions(source, strict=strict)
            questions = asnq_plus.extend(first, again, candidates=candidates, seed=seed)
        else:
            report = Report(source, strict=strict)
            streams = {
                "asnq": natural_questions.stream,
                "nq-la": natural_questions.stream_la,
                "qnli": qnli.stream,
                "squad-sent": squad.stream,
            }
            questions = report.count_questions(streams[kind](source, report))
        fmt = "asnq" if kind.startswith("asnq") and ".jsonl" not in out.name else "jsonl"
        watched = _Watched(questions, on_progress, fmt)
        _write(watched, output, fmt, source, report)
    _print_result(watched, out, report, as_json)


def vectors(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The documents of a corpus.", exists=True)],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")],
    as_json: JsonFlag = False,
) -> None:
    """Embed the passages of documents into a file that a shipped corpus brings along, for search by meaning at once."""
    from as2core.documents.reading import read_documents
    from as2core.documents.sections import split_document
    from as2core.nn.backbone import DEFAULT_SHA256
    from as2core.rankers.bi_encoder import build as build_bi_encoder
    from as2core.retrieval.passages import split_passages
    from as2core.retrieval.vector_file import VectorFile

    check_outputs([out], [folder])
    documents = [d for file in sorted(folder.glob("*")) for d in read_documents(file)]
    texts = [p.text for d in documents for p in split_passages(d.id, split_document(d), title=d.title)]
    if not texts:
        raise UnreadableFile(f"{folder}: holds no documents with text")
    with show_progress("embedding") as on_progress:
        VectorFile(texts, build_bi_encoder().embed(texts, on_progress), DEFAULT_SHA256).save(out)
    if as_json:
        print_json({"file": str(out), "documents": len(documents), "passages": len(texts)})
    else:
        echo(f"{count(len(texts), 'passage')} of {count(len(documents), 'document')} -> {out}")


class _Watched:
    """Questions with their progress reported, and counted as they pass: what a file of format `fmt` holds of them."""

    def __init__(self, questions: Iterable[Question], on_progress: OnProgress, fmt: str = "jsonl") -> None:
        self._questions, self._on_progress, self._fmt = questions, on_progress, fmt
        self.questions = self.candidates = 0
        self.omissions: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Question]:
        from as2core.data.catalog import describe_unwritable, select_writable

        for number, q in enumerate(self._questions, 1):
            if number % PROGRESS_QUESTIONS == 0:
                self._on_progress(Progress(number, 0, "questions"))
            part = select_writable(q, self._fmt)
            if part is None:
                self.omissions[describe_unwritable(self._fmt)] += 1
                continue
            if n := len(q.candidates) - len(part.candidates):
                unlabelled = sum(c.label is None for c in q.candidates)
                parts = {"candidates without a label": unlabelled, "candidates without a text": n - unlabelled}
                self.omissions += Counter(parts)  # without those of which there are 0
            self.questions += 1
            self.candidates += len(part.candidates)
            yield part

    def describe_omissions(self) -> str:
        parts = [(n, what.partition("s ")) for what, n in self.omissions.items()]
        return "".join(f"; {count(n, noun)} {which} left out" for n, (noun, _, which) in parts)


def _check_out(out: Path, source: str, as_json: bool) -> None:
    """Raises BadSetting."""
    if not is_dash(out):
        check_outputs([out], [source])
    elif as_json:
        raise BadSetting("--json and the data cannot both go to standard output: name a file in place of -")


def _write(
    questions: _Watched, output: AbstractContextManager[Callable[[str], object]], to: str, what: str, report: Report
) -> None:
    from as2core.data.catalog import WRITERS

    with output as write:
        for text in WRITERS[to](questions):
            write(text)
        _check_any(questions, what, report)


def _check_any(questions: _Watched, what: str, report: Report) -> None:
    if not questions.questions:
        reason = f" ({report[0]})" if report else _describe_omissions(report)
        raise UnreadableFile(f"{what}: no questions to write{reason}{questions.describe_omissions()}")


def _print_result(watched: _Watched, out: Path, report: Report, as_json: bool) -> None:
    document = _print_problems(report)
    if as_json:
        counts = {"questions": watched.questions, "candidates": watched.candidates, "left_out": watched.omissions}
        print_json({"file": out, **counts, "read": document})
        return
    (print_note if is_dash(out) else echo)(
        f"{out}: {count(watched.questions, 'question')}, {count(watched.candidates, 'candidate')}, "
        f"from {count(report.lines, 'line')}, {count(len(report), 'problem')}"
        f"{_describe_omissions(report)}{watched.describe_omissions()}"
    )


def _print_problems(report: Report) -> dict[str, Json]:
    """Prints the first problems on standard error. Returns the report as JSON."""
    for problem in report[:MAX_PRINTED_PROBLEMS]:
        print_note(f"as2: {report.name}: {problem}")
    if len(report) > MAX_PRINTED_PROBLEMS:
        print_note(f"as2: {report.name}: and {len(report) - MAX_PRINTED_PROBLEMS:,} more")
    return {
        "lines": report.lines,
        "questions": report.questions,
        "candidates": report.candidates,
        "left_out": dict(report.omissions),
        "problems": [{"line": p.line, "reason": p.reason} for p in report],
    }


def _describe_omissions(report: Report) -> str:
    return "".join(f"; left out: {n:,}, as {why}" for why, n in report.omissions.items())


def _format_counts(counts: Counts) -> dict[str, str]:
    return {name: f"{n:,}" for name, n in asdict(counts).items()}
