"""`as2 eval`: how well a ranker orders labelled questions; of several, whether they differ by more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from as2core.commands.options import JsonFlag, Setting, Titles
from as2core.commands.outputs import check_outputs
from as2core.errors import BadSetting
from as2core.gate import Check, check_gate, enforce, read_gate
from as2core.lookup import cite, load_ranker, read_questions
from as2core.terminal import echo, print_json, print_note, print_table, show_progress
from as2core.text import count
from as2core.types import Question

if TYPE_CHECKING:
    from as2core.error_slices import Slice
    from as2core.evaluation import Evaluation

Tests = dict[tuple[str, str], dict[str, dict[str, Any]]]  # of each pair of rankers, by measure


@dataclass(frozen=True, slots=True)
class Files:
    """What is shown and written beside the table, and what it has to meet."""

    run: Annotated[Path | None, typer.Option(help="Write the scores as a trec_eval run.")] = None
    qrels: Annotated[Path | None, typer.Option(help="Write the labels as trec_eval qrels.")] = None
    per_question: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write each question's measures as CSV.")
    ] = None
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it all as one HTML file.")] = None
    gate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What the first ranker has to meet (TOML); else exit code 3.")
    ] = None
    slices: Annotated[bool, typer.Option("--slices", help="Show P@1 by kind of question, length and so on.")] = False
    slice_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Show it by your own slices as well (TOML).")
    ] = None

    def check(self, *inputs: str | Path | None) -> None:
        """Raises BadSetting for a file that cannot be written, or that is one of these inputs."""
        outputs = (self.run, self.qrels, self.per_question, self.report)
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

    setting: Setting = "clean"
    titles: Titles = True
    synonyms: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read a word with its meaning, by lines `word => meaning`.")
    ] = None
    limit: Annotated[int | None, typer.Option(min=1, help="Use only the first N questions.")] = None

    def load(self, data: str) -> list[Question]:
        """Raises UnknownData, UnreadableFile, BadSetting where none is left or none has a label."""
        from as2core.data.catalog import apply_setting
        from as2core.synonyms import Synonyms

        synonyms = Synonyms.read(self.synonyms) if self.synonyms else Synonyms()
        whole = read_questions(data, titles=self.titles)
        if whole:
            _require_label(whole, data)
        questions = apply_setting(whole, self.setting)[: self.limit]
        if not questions:
            where = f"{data} has no question in the setting {self.setting!r}"
            raise BadSetting(f"{where}: try --setting raw, or other data")
        _require_label(questions, data)
        return list(synonyms.expand_all(questions))

    def describe(self, data: str) -> str:
        synonyms = f", with synonyms of {self.synonyms.name}" if self.synonyms else ""
        return f"{data}, {self.setting}{'' if self.titles else ', without titles'}{synonyms}"


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
            help="A catalog name, a version's name, or its directory.",
            default_factory=list,
            callback=_require_ranker,
            show_default=False,
        ),
    ],
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A file of labelled questions, starter-train|dev|test, or labels.")
    ],
    files: Files,
    reading: Reading,
    difference: Annotated[
        float, typer.Option(help="Say how many questions it takes to find such a difference.")
    ] = 0.02,
    as_json: JsonFlag = False,
) -> None:
    """Evaluate a ranker on labelled questions, or compare several."""
    from as2core.data.catalog import has_order
    from as2core.metrics import average, measure_each_unranked

    requirements = read_gate(files.gate).requirements if files.gate else ()
    files.check(data, reading.synonyms, *rankers)
    if not 0 < difference <= 1:
        raise BadSetting(f"--difference {difference:g}: give one above 0 and at most 1, such as 0.02")
    if files.run and len(rankers) > 1:
        raise BadSetting("--run is the file of one ranker: evaluate each alone, or leave it out")
    if len(set(rankers)) < len(rankers):
        raise BadSetting(f"{', '.join(rankers)}: one ranker twice; give different ones")
    questions = reading.load(data)
    slices = files.slice(questions)
    results = {spec: _evaluate(spec, questions, data, reading.setting) for spec in rankers}
    source = {"data": data, "setting": reading.setting, "titles": reading.titles}
    source |= {"synonyms": reading.synonyms.name} if reading.synonyms else {}
    in_order = measure_each_unranked(questions) if has_order(data) else {}
    checks, unranked = check_gate(requirements, results, in_order), average(in_order)
    tests = _test_all(results, difference)
    _write_files(files, questions, results)
    if files.report:
        _write_report(files.report, source, questions, results, tests, checks, unranked)
    if as_json:
        document = _describe_all(source, questions, results, tests, slices, unranked)
        print_json(document | ({"gate": checks} if checks else {}))
    else:
        _print_all(reading.describe(data), questions, results, slices, unranked)
        _print_tests(tests, difference)
        _print_checks(checks)
    enforce(checks)


def _print_all(
    where: str,
    questions: Sequence[Question],
    results: dict[str, Evaluation],
    slices: Sequence[Slice],
    unranked: dict[str, float],
) -> None:
    for spec, result in results.items():
        _print_result(spec, result, questions, where)
        _print_slices(result, slices)
    if unranked:
        values = ", ".join(f"{name} {value:.3f}" for name, value in unranked.items())
        echo(f"no reranking, the order in the data: {values}")


def _print_tests(tests: Tests, difference: float) -> None:
    for pair, by_name in tests.items():
        _print_comparison(pair, by_name, difference)
    if len(tests) > 1:
        echo(f"holm: p corrected for these {len(tests)} comparisons (Holm)")


def _print_checks(checks: Sequence[Check]) -> None:
    for check in checks:
        echo(f"gate: {check.requirement}: {check.value:.3f}, {check.describe()}")


def _write_report(
    file: Path,
    source: dict[str, object],
    questions: Sequence[Question],
    results: dict[str, Evaluation],
    tests: Tests,
    checks: Sequence[Check],
    unranked: dict[str, float],
) -> None:
    from as2core.commands.eval_report import write_report
    from as2core.data.source import write_text

    rankers = [{"ranker": spec, **_describe(r, questions)} for spec, r in results.items()]
    about = {**source, "questions": len(questions)}
    write_text(write_report(about, rankers, unranked, _list_tests(tests), checks), file)


def _evaluate(spec: str, questions: Sequence[Question], data: str, setting: str) -> Evaluation:
    from as2core.evaluation import evaluate
    from as2core.rankers.base import NeedsQuestions

    with show_progress(f"{spec} on {data}") as on_progress:
        ranker = load_ranker(spec)
        result = evaluate(ranker, questions, setting=setting, on_progress=on_progress)
    if isinstance(ranker, NeedsQuestions) and ranker.missing:
        print_note(
            f"{spec}: candidates that are not in the run and come last: {ranker.missing:,}; "
            "trec_eval counts them as not retrieved"
        )
    return result


def _pair_up(results: dict[str, Evaluation]) -> list[tuple[str, str]]:
    """The first ranker with each of the others."""
    first, *others = results
    return [(first, other) for other in others]


def _write_files(files: Files, questions: Sequence[Question], results: dict[str, Evaluation]) -> None:
    from as2core.data import qrels as trec
    from as2core.data.source import write_text

    if files.run:
        [(spec, result)] = results.items()
        write_text("".join(trec.run_to_lines(questions, result.scores, tag=spec)), files.run)
    if files.qrels:
        write_text("".join(trec.to_lines(questions)), files.qrels)
    if files.per_question:
        write_text(_tabulate(questions, results), files.per_question)


def _tabulate(questions: Sequence[Question], results: dict[str, Evaluation]) -> str:
    """CSV: a row for each question and ranker."""
    from as2core.data.source import format_rows
    from as2core.data.spreadsheet import defuse_formula
    from as2core.metrics import MEASURES

    rows: list[list[object]] = [["qid", "question", "candidates", "correct", "ranker", *MEASURES]]
    for q in questions:
        for spec, result in results.items():
            values = [result.per_question[name].get(q.qid, "") for name in MEASURES]
            names = [defuse_formula(text) for text in (q.qid, q.text)]
            rows.append([*names, len(q.candidates), q.positives, defuse_formula(spec), *values])
    return format_rows(rows)


def _describe_all(
    source: dict[str, object],
    questions: Sequence[Question],
    results: dict[str, Evaluation],
    tests: Tests,
    slices: Sequence[Slice],
    unranked: dict[str, float],
) -> dict[str, object]:
    """The JSON: of one ranker its own, of several a list of them with the paired tests."""
    each = [{"ranker": spec, **cite(spec), **_describe(r, questions, slices)} for spec, r in results.items()]
    if len(each) == 1:
        identity = {name: each[0].pop(name) for name in ("ranker", "version", "weights")}
        return {**identity, **source, **each[0], "unranked": unranked or None}
    return {**source, "rankers": each, "unranked": unranked or None, "comparisons": _list_tests(tests)}


def _list_tests(tests: Tests) -> list[dict[str, Any]]:
    return [{"a": a, "b": b, **by_name} for (a, b), by_name in tests.items()]


def _describe(result: Evaluation, questions: Sequence[Question], slices: Sequence[Slice] = ()) -> dict[str, object]:
    from as2core.error_slices import measure_slices
    from as2core.evaluation import compute_intervals
    from as2core.metrics import MEASURES

    unlabelled = _count_unlabelled(questions)
    return {
        "questions": result.questions,
        **{name: result.metrics[name] for name in MEASURES},
        "seconds": result.seconds,
        "relative_cost": result.relative_cost,
        "intervals": compute_intervals(result.per_question),
        "cuts": [asdict(cut) for cut in result.cuts],
        **(_describe_unlabelled(result, questions, unlabelled) if unlabelled else {}),
        **({"slices": list(map(asdict, measure_slices(slices, result.per_question["P@1"])))} if slices else {}),
    }


def _describe_unlabelled(result: Evaluation, questions: Sequence[Question], unlabelled: int) -> dict[str, object]:
    from as2core.metrics import bound_metrics

    return {
        "unlabelled": unlabelled,
        "questions_with_labels": _count_measured_questions(result),
        "bounds": bound_metrics(questions, result.scores),
    }


def _count_measured_questions(result: Evaluation) -> int:
    """Questions with a label: the means are over these."""
    return len(result.per_question["AP"])


def _count_unlabelled(questions: Sequence[Question]) -> int:
    return sum(c.label is None for q in questions for c in q.candidates)


def _test_all(results: dict[str, Evaluation], difference: float) -> Tests:
    """Pair -> measure -> the paired test, its p by Holm among all pairs, the effect size, the smallest difference that
    these questions would have shown, and how many such a `difference` takes."""
    from as2core.metrics import (
        MEASURES,
        adjust_by_holm,
        find_detectable_difference,
        find_effect_size,
        find_sample_size,
        paired_test,
    )

    pairs = _pair_up(results)
    tests: Tests = {pair: {} for pair in pairs}
    for name in MEASURES:
        sides = [[results[spec].per_question[name] for spec in pair] for pair in pairs]
        in_order = [paired_test(a, b) for a, b in sides]
        holm = adjust_by_holm([test.p for test in in_order])
        for pair, (a, b), test, p in zip(pairs, sides, in_order, holm, strict=True):
            values = [a[qid] - b[qid] for qid in a]
            tests[pair][name] = {
                **asdict(test),
                "holm": p,
                "effect": find_effect_size(values),
                "detectable": find_detectable_difference(values),
                "sample_size": find_sample_size(values, difference),
            }
    return tests


def _print_result(spec: str, result: Evaluation, questions: Sequence[Question], where: str) -> None:
    from as2core.evaluation import compute_intervals
    from as2core.metrics import bound_metrics

    measured_count = _count_measured_questions(result)
    some = "" if measured_count == result.questions else f", {measured_count} with a label,"
    echo(f"{spec} on {where}: {count(result.questions, 'question')}{some} in {result.seconds:.1f} s")
    intervals = compute_intervals(result.per_question)
    rows = [{"measure": n, "mean": result.metrics[n], "low": low, "high": high} for n, (low, high) in intervals.items()]
    print_table(rows, ["measure", "mean", "low", "high"])
    if unlabelled := _count_unlabelled(questions):
        limits = bound_metrics(questions, result.scores)
        ranges = ", ".join(f"{name} {low:.3f} to {high:.3f}" for name, (low, high) in limits.items())
        what = count(unlabelled, "candidate")
        echo(f"{what} without a label count as not correct; with all labels it could be {ranges}")
    for cut in (c for c in result.cuts if c.dropped):
        echo(
            f"{cut.stage}: dropped {cut.dropped:,} of {cut.entered:,}, {cut.correct:,} of them correct; "
            f"questions left without a correct one: {len(cut.lost):,}"
        )
    if result.relative_cost is not None:
        echo(f"cost: {result.relative_cost:.2f} of the monolithic model's")


def _print_slices(result: Evaluation, slices: Sequence[Slice]) -> None:
    from as2core.error_slices import measure_slices

    if not slices:
        return
    measures = measure_slices(slices, result.per_question["P@1"])
    rows = [{"slice": f"{r.group}: {r.name}", "P@1": r.share, **asdict(r)} for r in measures]
    print_table(rows, ["slice", "questions", "P@1", "low", "high"])
    names = {(r.group, r.name) for r in measures}
    if empty := [row.name for row in slices if (row.group, row.name) not in names]:
        echo(f"no question is in {', '.join(map(repr, empty))}")


def _print_comparison(pair: tuple[str, str], tests: dict[str, dict[str, Any]], difference: float) -> None:
    from as2core.metrics import name_effect

    echo()
    echo(f"{pair[0]} minus {pair[1]}, the mean of the differences over the same questions:")
    columns = ["difference", "low", "high", "p", "holm", "effect", "wins", "losses", "ties", "detectable"]
    sizes = f"questions for {difference:g}"
    rows = [{"measure": name, sizes: test["sample_size"], **test} for name, test in tests.items()]
    print_table(rows, ["measure", *columns, sizes])
    if (effect := tests["AP"]["effect"]) is not None:
        echo(f"effect size of AP: {name_effect(effect)}, the mean is {abs(effect):.2f} of the spread between questions")
