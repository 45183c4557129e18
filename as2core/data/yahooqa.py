"""YahooQA (Tay et al., 2017): Yahoo Answers' questions, each with five answers.

Published as one pickle, `{"train" | "dev" | "test": {question: [[answer, 0 or 1], ...]}}`, with the splits inside.
A pickle can run any code, so only one made of plain dictionaries, lists, texts and numbers is opened; anything else is
refused before it is created. The unpickler in Python reads it: the one in C makes room for any number of objects that
a file of nine bytes names.
"""

import io
import pickle
import struct
from collections.abc import Iterator

from as2core.data.source import Report, digest_id, parse_each
from as2core.errors import BadSetting, UnreadableFile
from as2core.sources.content import MALFORMED, Source, read_bytes
from as2core.types import SPLITS, Candidate, Question


def stream(source: Source, report: Report, *, split: str = "test") -> Iterator[Question]:
    """A split's questions; the whole file is in memory. A problem's number is the question's. Raises BadSetting."""
    if split not in SPLITS:
        raise BadSetting(f"YahooQA has no split {split!r}; known: {', '.join(SPLITS)}")
    try:
        splits = _SafeUnpickler(io.BytesIO(read_bytes(source)), encoding="utf-8").load()
        questions = splits[split].items()
    except (*MALFORMED, pickle.UnpicklingError, EOFError, OverflowError, MemoryError, struct.error) as error:
        raise UnreadableFile(f"{report.name}: not YahooQA's splits ({type(error).__name__} {error})") from error
    rows = enumerate(questions, 1)
    for _, question in parse_each(rows, _parse, report, message="not [[answer, 0 or 1], ...]", unit="question"):
        yield question


class _SafeUnpickler(pickle._Unpickler):
    def find_class(self, module: str, name: str) -> object:
        raise pickle.UnpicklingError(f"it would load {module}.{name}")


def _parse(item: tuple[str, list]) -> Question:
    text, answers = item
    qid, candidates = digest_id("q", text), []
    for i, (answer, label) in enumerate(answers):
        if not isinstance(answer, str) or not isinstance(label, int):
            raise ValueError(f"answer {i + 1} is no text with a label")
        if label not in (0, 1):
            raise ValueError(f"answer {i + 1} is labelled {label!r}")
        candidates.append(Candidate(f"{qid}-{i}", answer, int(label)))
    return Question(qid, text, tuple(candidates))
