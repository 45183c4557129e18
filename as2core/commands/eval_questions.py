"""The questions that `as2 eval` measures on: which count, how they are read, and why none are left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from as2core.commands.eval_result import Source
from as2core.commands.options import SettingName, Titles
from as2core.errors import BadSetting, UnreadableFile
from as2core.evaluation.runs import is_qrels, read_qrels
from as2core.lookup import describe_problems, read_question_set
from as2core.messages import count
from as2core.system.files import is_file
from as2core.terminal import print_note
from as2core.types import Question

if TYPE_CHECKING:
    from as2core.sources.content import Problem


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
        from as2core.questions.synonyms import Synonyms

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
