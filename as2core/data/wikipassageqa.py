"""WikiPassageQA (Cohen, Yang and Croft, 2018): questions whose candidates are all passages of one Wikipedia article.

`<split>.tsv` has the columns below, the relevant passages divided by commas; the texts are beside it, in
`document_passages.json`: `{document: {passage: text}}`.
"""

from collections.abc import Iterator
from pathlib import Path

from as2core.data.source import Report, drop_repeats, read_json, stream_fields
from as2core.errors import UnreadableFile
from as2core.sources.content import Source
from as2core.types import Candidate, Question

COLUMNS = ("QID", "Question", "DocumentID", "DocumentName", "RelevantPassages")
PASSAGES = "document_passages.json"


def stream(source: Source, report: Report) -> Iterator[Question]:
    """Questions in the order of the TSV; all passages are in memory, in the order of their numbers."""
    if isinstance(source, bytes):
        raise UnreadableFile(f"WikiPassageQA's questions need {PASSAGES} beside them: give the file by its path")
    documents = read_json(
        Path(source).with_name(PASSAGES),
        lambda documents: {str(d): {i: str(p[i]) for i in sorted(p, key=int)} for d, p in documents.items()},
        "{document: {passage: text}}",
    )

    def parse(row: list[str]) -> Question:
        qid, text, document, title, relevant = row
        passages = documents.get(document, {})
        correct = {r.strip() for r in relevant.split(",")}
        if not passages:
            raise ValueError(f"no document {document!r} in {PASSAGES}")
        if wrong := correct - passages.keys():
            raise ValueError(f"no passage {min(wrong)!r} in document {document!r}")
        candidates = (Candidate(f"{document}-{i}", p, int(i in correct), title) for i, p in passages.items())
        return Question(qid, text, tuple(candidates))

    return drop_repeats(stream_fields(source, report, COLUMNS, parse, split=_split_row, has_header=True), report)


def _split_row(line: str) -> list[str]:
    """A row's columns; some copies are quoted as CSV is."""
    fields = line.split("\t")
    return [f[1:-1].replace('""', '"') if len(f) > 1 and f[0] == f[-1] == '"' else f for f in fields]
