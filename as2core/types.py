"""The few nouns everything else speaks of. Frozen, and free of torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

TITLE_WORDS = 12  # of a title are read before a sentence


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a conflict between people was settled: who said that the label is "correct", "incorrect" or "unsure"."""

    by: str
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that may answer. `label` is a person's: 1 correct, 0 incorrect, None not labelled.

    `grade` is the finer label of a set that has one (ASNQ: 1 to 4; qrels: any whole number), and `label` was made from
    it. `said` is who labelled it what, where that is told: (name, "correct", "incorrect" or "unsure"), and `verdict`
    what settled a conflict among them; `label` is what that comes to.
    """

    id: str
    text: str
    label: int | None = None
    title: str = ""
    grade: int | None = None
    said: tuple[tuple[str, str], ...] = ()
    verdict: Verdict | None = None

    @property
    def relevance(self) -> int | None:
        """For formats in which what is above 0 is correct: the grade if it says what the label says, else the label."""
        agrees = self.grade is not None and self.label is not None and (self.grade > 0) == (self.label == 1)
        return self.grade if agrees else self.label

    @property
    def reading(self) -> str:
        """What a ranker that understands text reads: the sentence after its document's title, where that is known. A
        sentence often leaves out what its document is about."""
        title = " ".join(self.title.split()[:TITLE_WORDS])
        return f"{title}: {self.text}" if title else self.text


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its candidates in their original order (document order, not rank)."""

    qid: str
    text: str
    candidates: tuple[Candidate, ...] = ()
    kind: str = ""

    def untitled(self) -> Question:
        """The same with candidates that tell no title."""
        return replace(self, candidates=tuple(replace(c, title="") for c in self.candidates))

    @property
    def positives(self) -> int:
        return sum(c.label == 1 for c in self.candidates)

    @property
    def negatives(self) -> int:
        return sum(c.label == 0 for c in self.candidates)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and its place: character offsets into the document's text, and the paragraph it stands in."""

    text: str
    start: int
    end: int
    paragraph: int


@dataclass(frozen=True, slots=True)
class Document:
    """A document as read: plain text, paragraphs divided by a blank line."""

    id: str
    title: str
    text: str
    source: str = ""
    meta: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Passage:
    """What is indexed: a few sentences of one document, `first`..`last` (inclusive) by position in it."""

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
    """How far a long call is: `done` of `total` (0 when unknown) and what it is at."""

    done: int
    total: int
    what: str = ""


OnProgress = Callable[[Progress], None]
