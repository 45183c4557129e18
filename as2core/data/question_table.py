"""Labels as people keep them in a spreadsheet: a table of question, sentence and label, with a header.

CSV with commas, semicolons (as spreadsheets write it where the comma is the decimal sign) or tabs. Columns are found by
their names, in any order; others are left out. A sentence that appears twice for a question is one: with the labels of
all its annotators where the rows name them, as labelling tools write it, else if its labels agree. Written, what a
spreadsheet would take for a formula has an apostrophe in front, which reading takes away again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from as2core.data import source
from as2core.data.pairs import has_texts
from as2core.data.source import Report, Row, Source
from as2core.data.spreadsheet import defuse_formula, restore_formula
from as2core.errors import UnreadableFile
from as2core.types import CORRECT, INCORRECT, UNSURE, Candidate, Question

COLUMNS = ("question", "sentence", "label", "title")  # of a written table
REQUIRED = COLUMNS[:3]
NAMES = {
    "question": ("question", "query"),
    "sentence": ("sentence", "text", "answer", "candidate", "passage"),
    "label": ("label", "rating", "relevance", "correct"),
    "title": ("title", "document"),
    "annotator": ("annotator",),
}
LABELS = {
    **dict.fromkeys(("correct", "yes", "true", "relevant"), 1),
    **dict.fromkeys(("incorrect", "no", "false", "irrelevant", "not relevant"), 0),
    **dict.fromkeys(("", "unsure", "?"), None),
}
DELIMITERS = ",;\t"


def find_columns(header: str) -> tuple[str, dict[str, int]] | None:
    """The delimiter of a table's first line, and where each column is; None if one that is needed is missing."""
    for delimiter in DELIMITERS:
        fields = [field.strip().strip('"').strip().lower() for field in header.split(delimiter)]
        places = {c: fields.index(name) for c in NAMES for name in reversed(NAMES[c]) if name in fields}
        if all(c in places for c in REQUIRED):
            return delimiter, places
    return None


def stream(file: Source, report: Report) -> Iterator[Question]:
    """Questions in the order of their first row. Their ids and the sentences' are digests of the texts. Raises
    UnreadableFile without the three columns."""
    _, header = next(source.stream_lines(file, Report(file)), (0, ""))
    columns = find_columns(header)
    if columns is None:
        needed = "; ".join(" or ".join(NAMES[c]) for c in REQUIRED)
        raise UnreadableFile(f"{report.name}: the first line must name three columns: {needed}")
    delimiter, places = columns
    rows = source.stream_rows(file, report, delimiter)
    next(rows, None)
    parsed = source.parse_each(rows, partial(_parse, places), report)
    yield from source.group_rows(_join_rows(parsed, report), report)


def _parse(places: Mapping[str, int], row: Sequence[str]) -> Row:
    if len(row) <= (last := max(places[c] for c in REQUIRED)):
        raise ValueError(f"{len(row)} fields, and the header has at least {last + 1}")
    cells = {c: restore_formula(row[place]).strip() for c, place in places.items() if place < len(row)}
    question, sentence = cells["question"], cells["sentence"]
    if not question or not sentence:
        raise ValueError(f"the {'sentence' if question else 'question'} is empty")
    candidate = replace(_label(cells["label"]), id=source.digest_id("s", sentence), text=sentence)
    if name := cells.get("annotator"):
        candidate = _sign(candidate, name, cells["label"])
    return source.digest_id("q", question), question, replace(candidate, title=cells.get("title", ""))


def _sign(candidate: Candidate, name: str, cell: str) -> Candidate:
    """With its label as that of `name`, who may have been unsure; an empty cell is no label."""
    label = {1: CORRECT, 0: INCORRECT, None: UNSURE}[candidate.label]
    return replace(candidate, grade=None, annotations=((name, label),) if cell else ())


def _label(cell: str) -> Candidate:
    if (word := cell.lower()) in LABELS:
        return Candidate("", "", LABELS[word])
    try:
        return source.rated_candidate("", cell)
    except ValueError as error:
        raise ValueError(f"label {cell!r} is neither correct, incorrect, empty nor a whole number") from error


def _join_rows(rows: Iterable[tuple[int, Row]], report: Report) -> Iterator[tuple[int, Row]]:
    """One row for each sentence of a question, where it came first; one that contradicts those above is a problem."""
    by_sentence: dict[tuple[str, str], tuple[int, Row]] = {}
    for number, (qid, question, candidate) in rows:
        key = qid, candidate.id
        first, (_, _, above) = by_sentence.get(key, (number, (qid, question, candidate)))
        both = _join(above, candidate)
        if both is None:
            report.add(number, "the sentence has another label above, for the same question")
        else:
            by_sentence[key] = first, (qid, question, both)
    yield from by_sentence.values()


def _join(above: Candidate, candidate: Candidate) -> Candidate | None:
    """With the labels of both rows, its label that of most; None where they contradict each other."""
    if not above.annotations and not candidate.annotations:
        return above if above.relevance == candidate.relevance else None
    if any(c.label is not None and not c.annotations for c in (above, candidate)):
        return None
    labels = dict(above.annotations)
    if any(labels.setdefault(name, label) != label for name, label in candidate.annotations):
        return None
    votes = [*labels.values()]
    ahead = votes.count(CORRECT) - votes.count(INCORRECT)
    return replace(above, label=None if ahead == 0 else int(ahead > 0), annotations=tuple(sorted(labels.items())))


def to_lines(questions: Iterable[Question]) -> Iterator[str]:
    """The header, and a row for each labelled candidate that has a text."""
    yield source.format_rows([COLUMNS])
    for q, c in source.iterate_labels(questions):
        if has_texts(q, c):
            label = ("correct" if c.label else "incorrect") if c.grade is None else str(c.relevance)
            yield source.format_rows([[defuse_formula(text) for text in (q.text, c.text, label, c.title)]])
