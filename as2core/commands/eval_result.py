"""What `as2 eval` found, for the terminal, the JSON and the report alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from as2core.evaluation.gate import Check
from as2core.lookup import cite
from as2core.types import Question

if TYPE_CHECKING:
    from as2core.evaluation.error_slices import Slice
    from as2core.evaluation.rankers import Evaluation

Tests = dict[tuple[str, str], dict[str, dict[str, Any]]]  # of each pair of rankers, by measure


@dataclass(frozen=True, slots=True)
class Source:
    """Which questions, and how they were read. `titles`: None where there are no texts, as in qrels. `omissions`: lines
    of the data that could not be read."""

    data: str
    setting: str
    titles: bool | None
    synonyms: str | None
    omissions: int

    def to_json(self) -> dict[str, object]:
        synonyms = {"synonyms": self.synonyms} if self.synonyms else {}
        return {"data": self.data, "setting": self.setting, "titles": self.titles, **synonyms}

    def describe(self) -> str:
        synonyms = f", with synonyms of {self.synonyms}" if self.synonyms else ""
        return f"{self.data}, {self.setting}{', without titles' if self.titles is False else ''}{synonyms}"


@dataclass(frozen=True, slots=True)
class EvalResult:
    """`results` by spec; `unranked` are the means of the order in the data, {} where it has none; `difference` is what
    the tests' sample sizes are for; `notes` are what a reader has to know of a ranker's figures; `failures` says why
    other rankers have none."""

    source: Source
    questions: Sequence[Question]
    results: Mapping[str, Evaluation]
    unranked: Mapping[str, float]
    tests: Tests
    difference: float
    slices: Sequence[Slice]
    checks: Sequence[Check]
    notes: Sequence[str]
    failures: Mapping[str, str]

    def to_json(self) -> dict[str, object]:
        """Of one ranker its own, of several a list of them with the paired tests."""
        source = self.source.to_json()
        more = {"left_out": self.source.omissions, "notes": self.notes} | ({"gate": self.checks} if self.checks else {})
        if self.failures:
            more["failed"] = [{"ranker": spec, "error": reason} for spec, reason in self.failures.items()]
        each = self.describe_rankers()
        if len(each) == 1 and not self.failures:
            identity = {name: each[0].pop(name) for name in ("ranker", "version", "weights")}
            return {**identity, **source, **each[0], "unranked": self.unranked or None, **more}
        return {
            **source, "rankers": each, "unranked": self.unranked or None, "comparisons": self.list_tests(), **more
        }  # fmt: skip

    def describe_rankers(self) -> list[dict[str, Any]]:
        return [{"ranker": spec, **cite(spec), **self._describe(r)} for spec, r in self.results.items()]

    def list_tests(self) -> list[dict[str, Any]]:
        return [{"a": a, "b": b, **by_name} for (a, b), by_name in self.tests.items()]

    @property
    def unlabelled_candidates(self) -> int:
        return sum(c.label is None for q in self.questions for c in q.candidates)

    def _describe(self, result: Evaluation) -> dict[str, object]:
        from as2core.evaluation.error_slices import measure_slices
        from as2core.evaluation.rankers import compute_intervals
        from as2core.metrics import bound_metrics

        document: dict[str, object] = {
            "questions": result.questions,
            **result.metrics,
            "seconds": result.seconds,
            "relative_cost": result.relative_cost,
            "intervals": compute_intervals(result.per_question),
            "cuts": [asdict(cut) for cut in result.cuts],
        }
        if unlabelled := self.unlabelled_candidates:
            document |= {
                "unlabelled": unlabelled,
                "questions_with_labels": count_measured_questions(result),
                "bounds": bound_metrics(self.questions, result.scores),
            }
        if self.slices:
            measures = measure_slices(self.slices, result.per_question["P@1"])
            document["slices"] = [asdict(m) for m in measures]
        return document


def count_measured_questions(result: Evaluation) -> int:
    """Questions with a label: the means are over these."""
    return len(result.per_question["AP"])


def compare_all(results: Mapping[str, Evaluation], difference: float) -> Tests:
    """Pair -> measure -> the paired test, its p by Holm among all pairs, the effect size, the smallest difference that
    these questions would have shown, and how many such a `difference` takes."""
    from as2core.metrics import (
        adjust_by_holm,
        find_detectable_difference,
        find_effect_size,
        find_sample_size,
        paired_test,
    )

    pairs = _pair_up(results)
    tests: Tests = {pair: {} for pair in pairs}
    for name in list_measures(results.values()):
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


def list_measures(results: Iterable[Evaluation]) -> list[str]:
    """Those that are of the rankers, and not of the labels."""
    from as2core.metrics import LABEL_SHARE

    names = dict.fromkeys(name for result in results for name in result.metrics)
    return [name for name in names if not name.startswith(LABEL_SHARE)]


def _pair_up(results: Mapping[str, Evaluation]) -> list[tuple[str, str]]:
    """The first ranker with each of the others."""
    first, *others = results
    return [(first, other) for other in others]
