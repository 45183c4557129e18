"""WikiQA's TSV (Yang, Yih and Meek, 2015): a header, then one candidate a row.

A document's id is the sentence's without its last "-<position>". Reading and writing the official files gives the same
bytes. What a row cannot hold is not kept: a question without candidates, a question's kind, line ends and tabs inside a
text (written as a space). An empty label is a sentence nobody judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from as2core.data.source import Report, Source, collect, name_of, stream_lines, write_text
from as2core.errors import UnreadableFile
from as2core.types import Candidate, Question

COLUMNS = ("QuestionID", "Question", "DocumentID", "DocumentTitle", "SentenceID", "Sentence", "Label")
_LABELS = {"0": 0, "1": 1, "": None}


def read(source: Source, *, strict: bool = False) -> tuple[list[Question], Report]:
    """Questions in the order of their first row. Raises UnreadableFile (at the first bad row when `strict`)."""
    return collect(stream, source, strict=strict)


def stream(source: Source, report: Report) -> Iterator[Question]:
    """The same; nothing comes before the last row is read, as a question's rows may stand apart."""
    lines = stream_lines(source, report)
    if tuple(next(lines, (0, ""))[1].split("\t")) != COLUMNS:
        raise UnreadableFile(f"{name_of(source)}: no WikiQA header; the first line must be {' <tab> '.join(COLUMNS)}")
    texts: dict[str, str] = {}
    candidates: dict[str, dict[str, Candidate]] = {}
    for number, line in lines:
        fields = line.split("\t")
        if len(fields) != len(COLUMNS):
            report.add(number, f"{len(fields)} columns instead of {len(COLUMNS)}")
            continue
        qid, question, _, title, sid, sentence, label = fields
        if not qid or not sid:
            report.add(number, f"{'QuestionID' if not qid else 'SentenceID'} is empty")
        elif label not in _LABELS:
            report.add(number, f"label {label!r} is not 0 or 1")
        elif texts.setdefault(qid, question) != question:
            report.add(number, f"question {qid!r} has another text than above")
        elif sid in candidates.setdefault(qid, {}):
            report.add(number, f"sentence {sid!r} stands twice for question {qid!r}")
        else:
            candidates[qid][sid] = Candidate(sid, sentence, _LABELS[label], title)
    for qid, found in candidates.items():
        yield report.took(Question(qid, texts[qid], tuple(found.values())))


def write(questions: Iterable[Question], path: str | Path) -> None:
    """See the module for what a row cannot hold."""
    write_text(dumps(questions), path)


def dumps(questions: Iterable[Question]) -> str:
    """What `write` writes."""
    rows = ["\t".join(COLUMNS)]
    for q in questions:
        for c in q.candidates:
            label = "" if c.label is None else str(c.label)
            fields = (q.qid, q.text, c.id.rpartition("-")[0], c.title, c.id, c.text, label)
            rows.append("\t".join(re.sub(r"[\t\r\n]+", " ", field) for field in fields))
    return "\n".join(rows) + "\n"
