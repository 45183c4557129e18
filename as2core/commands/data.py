"""`as2 data`: what is in a data set, the same in another format, and the papers' sets built from their sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from as2core.errors import UnreadableFile
from as2core.terminal import note, say, say_json, table, working
from as2core.types import OnProgress, Progress, Question

Set = Annotated[
    str, typer.Argument(metavar="SET", help="A file in any format known here, a BEIR folder, starter-dev ...")
]
Out = Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; it appears whole, or not at all.")]
Setting = Annotated[
    Literal["raw", "no-all-neg", "clean"],
    typer.Option(help="no-all-neg: without questions that have no correct candidate; clean: nor only correct ones."),
]
Split = Annotated[str | None, typer.Option(help="Of a BEIR folder or YahooQA's file; test if not given.")]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first malformed line.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]

BASELINES = ("rr", "wo", "wo-rr")  # as the Structure paper has them: wo's ties at random, wo-rr's in their order
SHOWN = 20  # problems told on standard error; --json has them all


def register(cli: typer.Typer) -> None:
    """Mount the group."""
    group = typer.Typer(help="Data sets: what is in them, other formats, and building them.")
    for command in (stats, convert, build):
        group.command(command.__name__)(command)
    cli.add_typer(group, name="data")


def stats(
    set_: Set,
    setting: Setting = "raw",
    split: Split = None,
    counts: Annotated[bool, typer.Option("--counts", help="Counts alone: no lengths, no baselines; fast.")] = False,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Print the papers' statistics of a data set, and what could not be read."""
    from as2core.data.catalog import stream_questions
    from as2core.data.statistics import MEASURES, gather
    from as2core.rankers.catalog import get

    with working("reading") as on_progress:
        questions, report = stream_questions(set_, strict=strict, split=split)
        rankers = None if counts else {name: get(name) for name in BASELINES}
        found = gather(_watched(questions, on_progress), setting=setting, rankers=rankers, shuffled=("wo",))
    read = _told(report)
    if as_json:
        say_json({"set": set_, "setting": setting, "read": read, **asdict(found)})
        return
    say(f"{set_}: {report.lines:,} lines, {len(report):,} problems" + _left_out(report))
    say()
    say(table([{"setting": n, **_thousands(c)} for n, c in found.counts.items()], _COUNTED))
    say()
    rows = [
        ("questions with a correct candidate", found.answered),
        ("candidates a question", found.candidates_per_question),
        ("correct candidates a question", found.correct_per_question),
        ("tokens a question", None if counts else found.question_tokens),
        ("tokens a candidate", None if counts else found.candidate_tokens),
        *((f"grade {grade}", f"{n:,}") for grade, n in found.grades.items()),
    ]
    say(table([{"measure": name, setting: value} for name, value in rows if value is not None], ["measure", setting]))
    if found.baselines:
        say()
        say(table([{"ranker": n, **values} for n, values in found.baselines.items()], ["ranker", *MEASURES]))


_COUNTED = ["setting", "questions", "candidates", "correct"]


def convert(
    set_: Set,
    out: Out,
    to: Annotated[
        Literal["jsonl", "asnq", "wikiqa", "qrels", "csv", "pairs", "triplets", "beir"],
        typer.Option(help="The format; beir makes OUT a folder. A name that ends in .gz is packed."),
    ] = "jsonl",
    setting: Setting = "raw",
    split: Split = None,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Write a data set in another format."""
    from as2core.data import beir
    from as2core.data.catalog import kept, stream_questions

    with working("converting") as on_progress:
        questions, report = stream_questions(set_, strict=strict, split=split)
        chosen = _Counted(q for q in _watched(questions, on_progress) if kept(q, setting))
        if to == "beir":
            held = list(chosen)
            _some(chosen, set_, report)
            beir.write(held, out, split=split or "test")
        else:
            _write(chosen, out, to, set_, report)
    _finish(chosen, out, report, as_json)


def build(
    kind: Annotated[
        Literal["asnq", "asnq++", "nq-la", "squad-sent"], typer.Argument(metavar="KIND", help="What to build.")
    ],
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Natural Questions' file, ASNQ's, or SQuAD's.")],
    out: Out,
    candidates: Annotated[int, typer.Option(min=1, help="asnq++: how many candidates a question shall have.")] = 1300,
    seed: Annotated[int, typer.Option(help="asnq++: which sentences of other questions are drawn.")] = 0,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Build a data set as the papers did: one question in memory at a time, on files of any size."""
    from as2core.data import asnq_plus, natural_questions, squad
    from as2core.data.catalog import stream_questions
    from as2core.data.source import Report

    with working(f"building {kind}") as on_progress:
        if kind == "asnq++":
            first, _ = stream_questions(source, strict=strict)
            again, report = stream_questions(source, strict=strict)
            made = asnq_plus.extend(first, again, candidates=candidates, seed=seed)
        else:
            report = Report(source, strict=strict)
            made = {
                "asnq": natural_questions.stream,
                "nq-la": natural_questions.stream_la,
                "squad-sent": squad.stream,
            }[kind](source, report)
        written = _Counted(_watched(made, on_progress))
        rows = kind.startswith("asnq") and ".jsonl" not in out.name
        _write(written, out, "asnq" if rows else "jsonl", source, report)
    _finish(written, out, report, as_json)


class _Counted:
    """Questions on their way, counted."""

    def __init__(self, questions: Iterable[Question]) -> None:
        self._questions, self.questions, self.candidates = questions, 0, 0

    def __iter__(self) -> Iterator[Question]:
        for q in self._questions:
            self.questions += 1
            self.candidates += len(q.candidates)
            yield q


def _watched(questions: Iterable[Question], on_progress: OnProgress) -> Iterator[Question]:
    for number, question in enumerate(questions, 1):
        if number % 100 == 0:
            on_progress(Progress(number, 0, "questions"))
        yield question


def _write(questions: _Counted, out: Path, to: str, what: str, report: Any) -> None:
    from as2core.data.catalog import WRITERS
    from as2core.data.source import writing

    with writing(out) as write:
        for text in WRITERS[to](questions):
            write(text)
        _some(questions, what, report)


def _some(questions: _Counted, what: str, report: Any) -> None:
    if not questions.questions:
        raise UnreadableFile(
            f"{what}: no question left to write" + (f" ({report[0]})" if report else _left_out(report))
        )


def _finish(written: _Counted, out: Path, report: Any, as_json: bool) -> None:
    read = _told(report)
    if as_json:
        say_json({"file": out, "questions": written.questions, "candidates": written.candidates, "read": read})
        return
    say(
        f"{out}: {written.questions:,} questions, {written.candidates:,} candidates, from {report.lines:,} lines, "
        f"{len(report):,} problems" + _left_out(report)
    )


def _told(report: Any) -> dict[str, Any]:
    """The report as JSON has it; its first problems are told on standard error too."""
    for problem in report[:SHOWN]:
        note(f"as2: {report.name}: {problem}")
    if len(report) > SHOWN:
        note(f"as2: {report.name}: and {len(report) - SHOWN:,} more")
    return {
        "lines": report.lines,
        "questions": report.questions,
        "candidates": report.candidates,
        "left_out": dict(report.left_out),
        "problems": [{"line": p.line, "reason": p.reason} for p in report],
    }


def _left_out(report: Any) -> str:
    return "".join(f"; left out: {n:,}, as {why}" for why, n in report.left_out.items())


def _thousands(counts: Any) -> dict[str, str]:
    return {name: f"{n:,}" for name, n in asdict(counts).items()}
