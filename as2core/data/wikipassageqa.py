"""WikiPassageQA (Cohen, Yang and Croft, 2018): questions whose candidates are all passages of one Wikipedia article.

`<split>.tsv` has the columns below, the relevant passages divided by commas; the texts are beside it, in
`document_passages.json`: `{document: {passage: text}}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from as2core.data.source import MALFORMED, Report, Source, collect, name_of, read_text, reason_of, stream_lines
from as2core.errors import UnreadableFile
from as2core.types import Candidate, Question

COLUMNS = ("QID", "Question", "DocumentID", "DocumentName", "RelevantPassages")
PASSAGES = "document_passages.json"


def read(source: str | Path, *, strict: bool = False) -> tuple[list[Question], Report]:
    """Questions in the order of the TSV. Raises UnreadableFile, also when the passages are missing."""
    return collect(stream, source, strict=strict)


def stream(source: Source, report: Report) -> Iterator[Question]:
    """The same; all passages are in memory."""
    documents = _passages(source)
    lines = stream_lines(source, report)
    if tuple(_fields(next(lines, (0, ""))[1])) != COLUMNS:
        raise UnreadableFile(f"{name_of(source)}: the first line must be {' <tab> '.join(COLUMNS)}")
    seen: set[str] = set()
    for number, line in lines:
        fields = _fields(line)
        if len(fields) != len(COLUMNS):
            report.add(number, f"{len(fields)} columns instead of {len(COLUMNS)}")
            continue
        qid, text, document, title, relevant = fields
        passages = documents.get(document, {})
        correct = {r.strip() for r in relevant.split(",")}
        if qid in seen:
            report.add(number, f"question {qid!r} stands twice")
        elif not passages:
            report.add(number, f"no document {document!r} in {PASSAGES}")
        elif not correct <= passages.keys():
            report.add(number, f"no passage {min(correct - passages.keys())!r} in document {document!r}")
        else:
            seen.add(qid)
            candidates = (Candidate(f"{document}-{i}", p, int(i in correct), title) for i, p in passages.items())
            yield report.took(Question(qid, text, tuple(candidates)))


def _passages(source: Source) -> dict[str, dict[str, str]]:
    """Passages by document and number, in the order of the numbers."""
    if isinstance(source, bytes):
        raise UnreadableFile(f"WikiPassageQA's questions need {PASSAGES} beside them: give the file by its path")
    path = Path(source).with_name(PASSAGES)
    try:
        found = json.loads(read_text(path))
        return {str(d): {i: str(p[i]) for i in sorted(p, key=int)} for d, p in found.items()}
    except MALFORMED as error:
        raise UnreadableFile(f"{PASSAGES}: not {{document: {{passage: text}}}} ({reason_of(error)})") from error


def _fields(line: str) -> list[str]:
    """A row's columns; some copies are quoted as CSV is."""
    fields = line.split("\t")
    return [f[1:-1].replace('""', '"') if len(f) > 1 and f[0] == f[-1] == '"' else f for f in fields]
