"""WikiQA's TSV (Yang, Yih and Meek, 2015): a header, then one candidate a row.

A document's id is the sentence's without its last "-<position>". Reading and writing the official files gives the same
bytes, but for carriage returns: they are read, and never written. Not kept, since a row has no place for it: a question
without candidates, a question's kind, line ends and tabs inside a text (written as a space). An empty label is an
unlabelled sentence.
"""

from collections.abc import Iterable, Iterator

from as2core.data.source import Report, Row, group_rows, stream_fields, tab_line
from as2core.sources.content import Source
from as2core.types import Candidate, Question

COLUMNS = ("QuestionID", "Question", "DocumentID", "DocumentTitle", "SentenceID", "Sentence", "Label")
_LABELS = {"0": 0, "1": 1, "": None}


def stream(source: Source, report: Report) -> Iterator[Question]:
    """Questions in the order of their first row. All are in memory, as a question's rows may stand apart."""
    return group_rows(stream_fields(source, report, COLUMNS, _parse, has_header=True), report)


def _parse(fields: list[str]) -> Row:
    qid, question, _, title, sid, sentence, label = fields
    if not qid or not sid:
        raise ValueError(f"{'QuestionID' if not qid else 'SentenceID'} is empty")
    if label not in _LABELS:
        raise ValueError(f"label {label!r} is not 0 or 1")
    return qid, question, Candidate(sid, sentence, _LABELS[label], title)


def to_lines(questions: Iterable[Question]) -> Iterator[str]:
    """The header, and a row for each candidate."""
    yield tab_line(COLUMNS)
    for q in questions:
        for c in q.candidates:
            label = "" if c.label is None else str(c.label)
            yield tab_line((q.qid, q.text, c.id.rpartition("-")[0], c.title, c.id, c.text, label))
