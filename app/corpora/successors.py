"""What stands in the documents now in place of a sentence that left them: the same words elsewhere in the corpus, as
after a file got another name, or the sentence of its document that has most of its words, which a person confirms.

Two sentences share words by Dice's coefficient of their sets of words (Dice 1945).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from app.workbench.workbench import Workbench
from as2core.text import tokenize
from db.models import Sentence
from db.repositories import corpora as rows

MIN_DICE = 0.5  # of two sentences that may be two wordings of one
MAX_DISTANCE = 500  # in sentences of the document: comparing all of a long one takes long


@dataclass(frozen=True, slots=True)
class Successor:
    """A sentence that is in a document, and the title of that. `is_same`: it has the words of the one that is gone."""

    sentence_id: int
    text: str
    title: str
    is_same: bool


def find_same_sentences(wb: Workbench, corpus_id: int, sentence_ids: Collection[int]) -> dict[int, Successor]:
    """By the ids of those of the sentences whose words stand in a document of the corpus."""
    with wb.read() as s:
        words = {i: " ".join(text.split()) for i, text in rows.load_texts(s, sorted(sentence_ids)).items()}
        by_words: dict[str, Sentence] = {}
        for row in rows.list_sentences_of_texts(s, corpus_id, words.values()):
            by_words.setdefault(" ".join(row.text.split()), row)
        titles = rows.load_titles(s, [row.document_id for row in by_words.values()])
        return {
            i: Successor(row.id, row.text, titles[row.document_id], is_same=True)
            for i, text in words.items()
            for row in [by_words.get(text)]
            if row is not None
        }


def find_successor(wb: Workbench, corpus_id: int, sentence_id: int) -> Successor | None:
    """None if its words are nowhere, and its document has no sentence like it."""
    if same := find_same_sentences(wb, corpus_id, [sentence_id]).get(sentence_id):
        return same
    with wb.read() as s:
        sentence = s.get(Sentence, sentence_id)
        if sentence is None:
            return None
        words = set(tokenize(sentence.text))
        shares = {row: measure_overlap(words, row.text) for row in rows.list_sentences_near(s, sentence, MAX_DISTANCE)}
        best = max(shares, key=shares.__getitem__, default=None)
        if best is None or shares[best] < MIN_DICE:
            return None
        return Successor(best.id, best.text, rows.load_titles(s, [best.document_id])[best.document_id], is_same=False)


def measure_overlap(words: set[str], text: str) -> float:
    """Dice's coefficient of a sentence's words and those of a text, 0 to 1."""
    others = set(tokenize(text))
    return 2 * len(words & others) / (len(words) + len(others) or 1)
