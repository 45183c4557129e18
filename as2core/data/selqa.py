"""SelQA, answer sentence selection (Jurczyk, Zhai and Choi, 2016): `selqa-ass-<split>.json`, or `.tsv` / `.txt`.

The JSON is a list of `{"question", "article", "candidates": [sentence], "answers": [place of a correct one], ...}`;
the TSV has tokenised rows of question, sentence, label 0 or 1. A question's first type is its `kind`. Empty sentences
are kept: the published counts have them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from as2core.data import triples
from as2core.data.source import MALFORMED, Report, Source, collect, name_of, read_text, reason_of
from as2core.errors import UnreadableFile
from as2core.types import Candidate, Question

_LABELS = {"0": (0, None), "1": (1, None)}


def read(source: Source, *, strict: bool = False) -> tuple[list[Question], Report]:
    """The JSON's questions. A problem's number is the question's. Raises UnreadableFile."""
    return collect(stream, source, strict=strict)


def stream(source: Source, report: Report) -> Iterator[Question]:
    """The same; ids are the file's name with the place, as in `selqa-ass-dev-0`."""
    text = read_text(source)
    try:
        records = json.loads(text)
    except MALFORMED as error:
        raise UnreadableFile(f"{name_of(source)}: not SelQA's JSON ({reason_of(error)})") from error
    if not isinstance(records, list):
        raise UnreadableFile(f"{name_of(source)}: not SelQA's JSON, which is a list of questions")
    report.lines = text.count("\n") + 1
    stem = "selqa" if isinstance(source, bytes) else Path(source).name.partition(".")[0]
    for i, record in enumerate(records):
        try:
            yield report.took(_question(record, stem, i))
        except MALFORMED as error:
            report.add(i + 1, reason_of(error), "question")


def stream_tsv(source: Source, report: Report) -> Iterator[Question]:
    """Questions of the tokenised rows."""
    return triples.stream(source, report, _LABELS)


def _question(record: dict, stem: str, i: int) -> Question:
    sentences, answers = record["candidates"], record["answers"]
    if not all(isinstance(s, str) for s in [record["question"], record["article"], *sentences]):
        raise ValueError("a text is not a string")
    if wrong := [a for a in answers if not isinstance(a, int) or not 0 <= a < len(sentences)]:
        raise ValueError(f"answer {wrong[0]} is not among its {len(sentences)} candidates")
    candidates = (Candidate(f"{i}-{j}", s, int(j in answers), record["article"]) for j, s in enumerate(sentences))
    return Question(f"{stem}-{i}", record["question"], tuple(candidates), (record.get("q_types") or [""])[0])
