"""The records that everything else uses. Frozen, and free of torch."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""What a JSON file or column can hold."""

Span: TypeAlias = tuple[int, int]
"""Where a part of a text begins and ends, in characters."""

CORRECT, INCORRECT, UNSURE = LABELS = ("correct", "incorrect", "unsure")  # that an annotator gives a pair
SPLITS = ("train", "dev", "test")  # parts of a divided set
MAX_TEXT_CHARS = 100_000  # of a query or a document that a program sends; what comes after is not read
MAX_TITLE_WORDS = 12  # of a document's title, read before a sentence


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a conflict between annotators was settled, and by whom; the label is one of LABELS."""

    by: str
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that may answer. `label` is 1 for correct, 0 for incorrect, None for unlabelled.

    `grade` is the finer label of a set that has one (ASNQ: 1 to 4; qrels: any whole number), and `label` was made from
    it. `annotations` are the labels of each annotator, as (name, one of LABELS); `verdict` is what settled a
    conflict among them; `label` is what that comes to.
    """

    id: str
    text: str
    label: int | None = None
    title: str = ""
    grade: int | None = None
    annotations: tuple[tuple[str, str], ...] = ()
    verdict: Verdict | None = None

    @property
    def relevance(self) -> int | None:
        """For formats in which a value above 0 is correct: the grade where it agrees with the label, else the label."""
        agrees = self.grade is not None and self.label is not None and (self.grade > 0) == (self.label == 1)
        return self.grade if agrees else self.label

    @property
    def titled_text(self) -> str:
        """The text for rankers that read text: the sentence after its document's title, where that is known. A sentence
        often leaves out its subject."""
        title = " ".join(self.title.split()[:MAX_TITLE_WORDS])
        return f"{title}: {self.text}" if title else self.text


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its candidates in their original order (document order, not rank). `kind`: what it asks for, such
    as "when" or "how-many", in the words of its set; `split`: which part of a divided set it is, of SPLITS. "" where
    nothing says."""

    qid: str
    text: str
    candidates: tuple[Candidate, ...] = ()
    kind: str = field(default="", kw_only=True)
    split: str = field(default="", kw_only=True)

    def drop_titles(self) -> Self:
        """The question with candidates without titles."""
        return replace(self, candidates=tuple(replace(c, title="") for c in self.candidates))

    @property
    def has_titles(self) -> bool:
        """Whether the document of any candidate has one."""
        return any(c.title for c in self.candidates)

    @property
    def positives(self) -> int:
        return sum(c.label == 1 for c in self.candidates)

    @property
    def negatives(self) -> int:
        return sum(c.label == 0 for c in self.candidates)

    @property
    def has_labels(self) -> bool:
        """A correct or an incorrect candidate."""
        return any(c.label is not None for c in self.candidates)

    @property
    def has_both_labels(self) -> bool:
        """A correct and an incorrect candidate: it can be ranked well or badly."""
        return bool(self.positives and self.negatives)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its character offsets in the document's text, its paragraph's number, and its section's heading,
    "" where there is none."""

    text: str
    start: int
    end: int
    paragraph: int
    heading: str = ""


class Heading(NamedTuple):
    """Where a section's heading begins and ends in its document's text, and its level: 1 for the highest."""

    start: int
    end: int
    level: int


class Definition(NamedTuple):
    """A piece of what is said of a term: where it stands in a document's text."""

    start: int
    end: int
    term: str


@dataclass(frozen=True, slots=True)
class Document:
    """A document: plain text, paragraphs divided by a blank line. `verbatim`: the (start, end) of what is no prose, as
    a program; it is not split into sentences. `headings`: those of its sections. `rows`: the (start, end) of each row
    of a table. `definitions`: pieces of what lists say of their terms, in order. `is_numbered`: it is a row that its
    file gives no id, and its id is made of the row's number."""

    id: str
    title: str
    text: str
    source: str = ""
    meta: dict[str, str] = field(default_factory=dict)
    verbatim: tuple[Span, ...] = ()
    headings: tuple[Heading, ...] = ()
    rows: tuple[Span, ...] = ()
    definitions: tuple[Definition, ...] = ()
    is_numbered: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """A unit of the index: a few sentences of one document, `first`..`last` (inclusive) by position in it."""

    id: str
    doc_id: str
    text: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result. `rank` starts at 1; an engine's raw score never leaves it."""

    passage_id: str
    doc_id: str
    rank: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a long call: `done` of `total` (0 when unknown) in the current `stage`."""

    done: int
    total: int
    stage: str = ""

    @property
    def share(self) -> float:
        """From 0 to 1; 0 while the total is unknown."""
        return min(1.0, self.done / self.total) if self.total else 0.0


OnProgress = Callable[[Progress], None]
