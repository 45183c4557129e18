"""YahooQA (Tay et al., 2017): Yahoo Answers' questions, each with five answers.

Published as one pickle, `{"train" | "dev" | "test": {question: [[answer, 0 or 1], ...]}}`, with the splits inside.
A pickle can run any code, so only one made of plain dictionaries, lists, texts and numbers is opened; anything else is
refused before it is made.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator

from as2core.data.csv_ratings import qid_of
from as2core.data.source import MALFORMED, Report, Source, collect, name_of, read_bytes, reason_of
from as2core.errors import BadSetting, UnreadableFile
from as2core.types import Candidate, Question

SPLITS = ("train", "dev", "test")


def read(source: Source, *, split: str = "test", strict: bool = False) -> tuple[list[Question], Report]:
    """A split's questions. A problem's number is the question's. Raises UnreadableFile, BadSetting."""
    return collect(lambda s, report: stream(s, report, split=split), source, strict=strict)


def stream(source: Source, report: Report, *, split: str = "test") -> Iterator[Question]:
    """The same; the whole file is in memory."""
    if split not in SPLITS:
        raise BadSetting(f"YahooQA has no split {split!r}; known: {', '.join(SPLITS)}")
    try:
        splits = _Plain(io.BytesIO(read_bytes(source)), encoding="utf-8").load()
        questions = splits[split].items()
    except (*MALFORMED, pickle.UnpicklingError, EOFError) as error:
        raise UnreadableFile(f"{name_of(source)}: not YahooQA's splits ({type(error).__name__} {error})") from error
    for number, (text, answers) in enumerate(questions, 1):
        try:
            yield report.took(_question(text, answers))
        except MALFORMED as error:
            report.add(number, f"not [[answer, 0 or 1], ...] ({reason_of(error)})", "question")


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        raise pickle.UnpicklingError(f"it would load {module}.{name}")


def _question(text: str, answers: list) -> Question:
    qid, candidates = qid_of(text), []
    for i, (answer, label) in enumerate(answers):
        if label not in (0, 1) or not isinstance(answer, str):
            raise ValueError(f"answer {i + 1} is labelled {label!r}")
        candidates.append(Candidate(f"{qid}-{i}", answer, int(label)))
    return Question(qid, text, tuple(candidates))
