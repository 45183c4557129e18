"""Labels at work without a retrain: asked again, in the same or nearly the same words, a question has first what people
labelled correct for it, and last what they labelled incorrect.

The model's ranking stays as it is: what is stored, measured, drawn in the picture or used by a queue never comes from
here. Where people disagree evenly, nothing moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.ask.asking import Answer
from app.ask.judgements import Judgement, read_judgements
from app.ask.same_question import EarlierQuestion, find_same_questions
from app.ranking.retrieval import RetrievedSentence
from app.workbench.workbench import Workbench
from as2core.cascade.trace import CascadeTrace
from as2core.types import CORRECT, INCORRECT, UNSURE
from db.repositories import sentences as sentence_rows


@dataclass(frozen=True, slots=True)
class Pin:
    """A judged sentence. `label` is None where people disagree evenly. `by`: who gave that label; nobody where a
    verdict alone says so. `question` is the text it was labelled for; `is_same_wording`: that of the question asked,
    white space aside. `is_current`: the label has not changed since. `settled_by`, `own`: as in `Judgement`."""

    sentence_id: int
    label: str | None
    by: tuple[str, ...]
    question: str
    is_same_wording: bool
    is_current: bool = True
    settled_by: str = ""
    own: str = ""


@dataclass(frozen=True, slots=True)
class PinnedSentence:
    """`position` is its place among the candidates, None if it was not retrieved (its `retrieval_rank` is 0 then)."""

    pin: Pin
    sentence: RetrievedSentence
    position: int | None


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The candidates with the pins at work, in each part by the model's order. `order`: positions, all of them. `top`:
    what is labelled correct, those that were not retrieved last. `bottom`: what is labelled incorrect, `rejections`
    those of it that reached the last exit; `conflicts`: what people disagree on; `orphans`: what is labelled correct,
    and in no document any more. `answer`: the position of the best candidate that is not labelled incorrect, None where
    all that reached the last exit are. `own`: that of the model's own answer."""

    order: tuple[int, ...]
    top: tuple[PinnedSentence, ...]
    bottom: tuple[PinnedSentence, ...]
    rejections: tuple[PinnedSentence, ...]
    conflicts: tuple[PinnedSentence, ...]
    orphans: tuple[Pin, ...]
    answer: int | None
    own: int

    @property
    def first(self) -> int | None:
        """The position of the sentence that comes first, None where it is no candidate or there is none."""
        return self.top[0].position if self.top else self.answer

    def sentence(self, answer: Answer) -> RetrievedSentence:
        """The one that comes first; where every candidate is labelled incorrect, the model's own."""
        if self.top:
            return self.top[0].sentence
        return answer.candidates[self.own if self.answer is None else self.answer]

    @property
    def is_own(self) -> bool:
        """Whether the model's own answer comes first."""
        return self.first == self.own

    def outline(self, answer: Answer) -> tuple[int | None, tuple[int, ...]]:
        """The ids of the sentence that comes first, None without an answer, and of the others labelled correct: what
        changes for a reader when these change."""
        is_answered = bool(self.top) or self.answer is not None
        first = self.sentence(answer).sentence_id if is_answered else None
        return first, tuple(x.sentence.sentence_id for x in self.top[1:])


def find_pins(wb: Workbench, corpus_id: int, answer: Answer, viewer_id: int | None = None) -> dict[int, Pin]:
    """By sentence id, as this person may see them; None is the command line, which sees all. What was labelled for this
    very wording counts before what was labelled for a similar one."""
    earlier = find_same_questions(wb, corpus_id, answer.question, by_meaning=not answer.awaits_vectors)
    judgements = read_judgements(wb, corpus_id, [q.id for q in earlier], viewer_id)
    pins: dict[int, Pin] = {}
    for question in earlier:
        for sentence_id, judgement in judgements.get(question.id, {}).items():
            if judgement.label != UNSURE:
                pins.setdefault(sentence_id, _make_pin(sentence_id, judgement, question, answer.question))
    return pins


def compare_pins(pins: Mapping[int, Pin], present: Mapping[int, Pin]) -> dict[int, Pin]:
    """Pins read earlier, those marked whose label is another by now."""
    labels = {sentence_id: pin.label for sentence_id, pin in present.items()}
    return {i: replace(pin, is_current=i in labels and labels[i] == pin.label) for i, pin in pins.items()}


def _make_pin(sentence_id: int, judgement: Judgement, earlier: EarlierQuestion, question: str) -> Pin:
    is_same = earlier.text.split() == question.split()
    return Pin(
        sentence_id,
        judgement.label,
        judgement.by,
        earlier.text,
        is_same,
        settled_by=judgement.settled_by,
        own=judgement.own,
    )


def arrange(wb: Workbench, answer: Answer, run: CascadeTrace, pins: Mapping[int, Pin]) -> Arrangement:
    """By the run's ranking. A sentence that left its document is not shown, whatever its label."""
    best_first: list[int] = run.ranking().tolist()
    parts: dict[str | None, list[PinnedSentence]] = {CORRECT: [], INCORRECT: [], None: []}
    label_of: dict[int, str | None] = {}
    for i in best_first:
        sentence = answer.candidates[i]
        if pin := pins.get(sentence.sentence_id):
            parts[pin.label].append(PinnedSentence(pin, sentence, i))
            label_of[i] = pin.label
    candidate_ids = {c.sentence_id for c in answer.candidates}
    missing = sorted(i for i, pin in pins.items() if pin.label == CORRECT and i not in candidate_ids)
    places = {x.sentence_id: x for x in _load_missing(wb, missing)}
    top = [*parts[CORRECT], *(PinnedSentence(pins[i], x, None) for i, x in places.items())]
    alive = set(run.exits[-1].alive.tolist())
    first, last = (tuple(x.position for x in parts[label] if x.position is not None) for label in (CORRECT, INCORRECT))
    rest = tuple(i for i in best_first if label_of.get(i) not in (CORRECT, INCORRECT))
    return Arrangement(
        order=(*first, *rest, *last),
        top=tuple(top),
        bottom=tuple(parts[INCORRECT]),
        rejections=tuple(x for x in parts[INCORRECT] if x.position in alive),
        conflicts=tuple(parts[None]),
        orphans=tuple(pins[i] for i in missing if i not in places),
        answer=next((i for i in (*first, *rest) if i in alive or i in first), None),
        own=best_first[0],
    )


def _load_missing(wb: Workbench, sentence_ids: Sequence[int]) -> list[RetrievedSentence]:
    """Those that are still in a document, between their neighbours."""
    if not sentence_ids:
        return []
    with wb.read() as s:
        return [
            RetrievedSentence(
                row.id,
                row.text,
                row.title,
                row.document_id,
                row.position,
                *around,
                retrieval_rank=0,
                label=CORRECT,
                heading=row.heading,
            )
            for row in sentence_rows.load_placed_sentences(s, sentence_ids)
            for around in (sentence_rows.find_neighbours(s, row.document_id, row.position),)
        ]
