"""Sentences that people labelled correct, where the model answers with another one."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.ask.asking import AskView
from app.corpora import documents
from app.workbench.workbench import Workbench
from as2core.cascade.trace import CascadeTrace
from as2core.types import CORRECT


@dataclass(frozen=True, slots=True)
class OverlookedSentence:
    """`position` is its place in its document, from 0; `candidate` that among the candidates, None if it was not
    retrieved."""

    text: str
    title: str
    heading: str
    document_id: int
    position: int
    candidate: int | None


def list_overlooked_sentences(
    wb: Workbench, view: AskView, run: CascadeTrace, labels: Mapping[int, str]
) -> tuple[OverlookedSentence, ...]:
    """Best-ranked first, those that were not retrieved last; none if the run's answer is itself labelled correct, or
    has the words of one that is. `labels` by sentence id, those that the reader may see."""
    correct = {sentence_id for sentence_id, label in labels.items() if label == CORRECT}
    if not correct:
        return ()
    best_first = [(i, view.candidates[i]) for i in run.ranking().tolist()]
    candidates = [
        OverlookedSentence(c.text, c.title, c.heading, c.document_id, c.position, i)
        for i, c in best_first
        if c.sentence_id in correct
    ]
    missing = correct - {c.sentence_id for c in view.candidates}
    others = [
        OverlookedSentence(s.text, s.title, s.heading, s.document_id, s.position, None)
        for s in documents.load_sentences(wb, sorted(missing))
    ]
    answer = best_first[0][1].text
    return () if any(s.text == answer for s in (*candidates, *others)) else (*candidates, *others)
