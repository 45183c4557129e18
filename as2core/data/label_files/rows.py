"""Rows that hold one label each, as spreadsheets and labelling tools write them: what their fields and labels are
called, and how the rows of a sentence become one candidate.

A sentence that appears twice for a question is one: with the labels of all its annotators where the rows name them,
else if its labels agree.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from as2core.data.source import Report, Row
from as2core.messages import name_some
from as2core.sources.spreadsheet import DELIMITERS, split_header
from as2core.types import CORRECT, INCORRECT, UNSURE, Candidate

NAMES = {
    "question": ("question", "query"),
    "sentence": ("sentence", "text", "answer", "candidate", "passage"),
    "label": ("label", "rating", "relevance", "correct"),
    "title": ("title", "document"),
    "annotator": ("annotator",),
}
# a spreadsheet's TRUE and FALSE in German, French, Spanish, Italian, Portuguese, Dutch and Polish
TRUE_WORDS = ("wahr", "vrai", "verdadero", "vero", "verdadeiro", "waar", "prawda")
FALSE_WORDS = ("falsch", "faux", "falso", "onwaar", "fałsz")
LABELS = {
    **dict.fromkeys(("correct", "yes", "true", "relevant", *TRUE_WORDS), 1),
    **dict.fromkeys(("incorrect", "no", "false", "irrelevant", "not relevant", *FALSE_WORDS), 0),
    **dict.fromkeys(("", "unsure", "?"), None),
}


def parse_label(cell: str, report: Report) -> Candidate:
    """A candidate with nothing but the label, and the grade, of a written one. Raises ValueError."""
    if (word := cell.strip().lower()) in LABELS:
        return Candidate("", "", LABELS[word])
    try:
        return report.rate("", cell)
    except ValueError as error:
        raise ValueError(f"label {cell!r} is neither correct, incorrect, empty nor a whole number") from error


def sign_label(candidate: Candidate, name: str, cell: str) -> Candidate:
    """With its label as that of `name`, who may have been unsure; an empty cell is no label."""
    label = {1: CORRECT, 0: INCORRECT, None: UNSURE}[candidate.label]
    return replace(candidate, grade=None, annotations=((name, label),) if cell else ())


def find_name(fields: Mapping[str, object], column: str) -> str | None:
    """The field that is such a column, by the names it may have."""
    return next((name for name in NAMES[column] if name in fields), None)


def find_question_column(header: str) -> tuple[str, int | None] | None:
    """The delimiter of a table by its first line, and which column has the questions: None where it is the only one."""
    for delimiter in DELIMITERS if "?" not in header else ():
        names = [name.lower() for name in split_header(header.strip(), delimiter)]
        if column := find_name(dict.fromkeys(names), "question"):
            return delimiter, names.index(column) if len(names) > 1 else None
    return None


def describe_columns(header: Sequence[str], places: Mapping[str, int]) -> tuple[str, ...]:
    """Which columns, or fields of a record, stand for others, and which were left out; nothing where all are called as
    in NAMES. `places`: column -> where in `header` it is."""
    names = [name.strip() for name in header]
    renamed = [f"{names[i]} read as the {column}" for column, i in places.items() if names[i].lower() != column]
    rest = [name for i, name in enumerate(names) if name and i not in places.values()]
    omission = [f"columns left out: {name_some(rest)}"] if rest else []
    return (*filter(None, [", ".join(renamed)]), *omission)


def join_rows(rows: Iterable[tuple[int, Row]], report: Report) -> Iterator[tuple[int, Row]]:
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
    return replace(above, label=count_votes(labels.values()), annotations=tuple(sorted(labels.items())))


def count_votes(labels: Iterable[str]) -> int | None:
    """The label of most; None where correct and incorrect are as many."""
    votes = [*labels]
    ahead = votes.count(CORRECT) - votes.count(INCORRECT)
    return None if ahead == 0 else int(ahead > 0)
