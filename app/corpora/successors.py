"""What stands in the documents now in place of a sentence that left them: the same words in the document that took the
place of its own, as after a file got another name, or the sentence of its document that has all or most of its words,
or the same words in any other document, which a person confirms.

A document takes another's place if it has more than half of the labelled sentences that left that one, and no document
has as many: what many documents have, such as a line on all of their topics, says nothing of where a label belongs.
Two sentences share words by Dice's coefficient of their sets of words (Dice 1945).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.workbench.workbench import Workbench
from as2core.text import tokenize
from db.models import Sentence
from db.repositories import documents as document_rows
from db.repositories import sentences as sentence_rows

MIN_DICE = 0.5  # of two sentences that may be two wordings of one
MIN_WHOLE_WORDS = 3  # of a sentence that a longer one has in it; fewer are a heading or a name
MAX_DISTANCE = 500  # in sentences of the document: comparing all of a long one takes long


@dataclass(frozen=True, slots=True)
class Successor:
    """A sentence that is in a document, and the title of that. `is_same`: it has the words of the one that is gone."""

    sentence_id: int
    text: str
    title: str
    is_same: bool


def find_same_sentences(wb: Workbench, corpus_id: int, sentence_ids: Collection[int]) -> dict[int, Successor]:
    """By the ids of those of the sentences whose words stand in the document that took the place of theirs."""
    with wb.read() as s:
        sentences = {row.id: row for row in sentence_rows.load_sentences(s, sorted(sentence_ids))}
        losses: dict[int, set[str]] = defaultdict(set)  # document id -> the words of what left it
        for row in sentence_rows.list_retired_sentences(s, {row.document_id for row in sentences.values()}):
            losses[row.document_id].add(_join_words(row))
        places: dict[str, dict[int, Sentence]] = defaultdict(dict)  # words -> document id -> the first sentence
        for row in sentence_rows.list_sentences_of_texts(s, corpus_id, set().union(*losses.values())):
            places[_join_words(row)].setdefault(row.document_id, row)
        heirs = {i: _find_heir([places[words].keys() for words in of_one]) for i, of_one in losses.items()}
        titles = document_rows.load_titles(s, [i for i in heirs.values() if i is not None])
        return {
            i: Successor(same.id, same.text, titles[same.document_id], is_same=True)
            for i, row in sentences.items()
            if (heir_id := heirs.get(row.document_id)) is not None
            and (same := places[_join_words(row)].get(heir_id)) is not None
        }


def _find_heir(places: Sequence[Collection[int]]) -> int | None:
    """The document that has more than half of the sentences, and more of them than any other. `places`: of each
    sentence, the ids of the documents that have it."""
    counts = Counter(document_id for of_one in places for document_id in of_one).most_common(2)
    if not counts or 2 * counts[0][1] <= len(places) or (len(counts) > 1 and counts[1][1] == counts[0][1]):
        return None
    return counts[0][0]


def _join_words(sentence: Sentence) -> str:
    return " ".join(sentence.text.split())


def find_successor(wb: Workbench, corpus_id: int, sentence_id: int) -> Successor | None:
    """None if its words are nowhere, and its document has no sentence like it."""
    if same := find_same_sentences(wb, corpus_id, [sentence_id]).get(sentence_id):
        return same
    with wb.read() as s:
        sentence = s.get(Sentence, sentence_id)
        if sentence is None:
            return None
        words = tokenize(sentence.text)
        near = sentence_rows.list_sentences_near(s, sentence, MAX_DISTANCE)
        shares = {row: measure_overlap(words, row.text) for row in near}
        # of equals the one nearest to its old place: what stood beside it then may share as many words
        best = max(near, key=lambda row: (shares[row], -abs(row.position - sentence.position)), default=None)
        if best is None or shares[best] < MIN_DICE:
            best = next(iter(sentence_rows.list_sentences_of_texts(s, corpus_id, [sentence.text])), None)
        if best is None:
            return None
        is_same = _join_words(best) == _join_words(sentence)
        title = document_rows.load_titles(s, [best.document_id])[best.document_id]
        return Successor(best.id, best.text, title, is_same=is_same)


def measure_overlap(words: Sequence[str], text: str) -> float:
    """Dice's coefficient of a sentence's words and those of a text, 0 to 1. 1 if the text has the whole sentence in it,
    as a list has its items."""
    others = tokenize(text)
    if len(words) >= MIN_WHOLE_WORDS and f" {' '.join(words)} " in f" {' '.join(others)} ":
        return 1.0
    own, distinct = set(words), set(others)
    return 2 * len(own & distinct) / (len(own) + len(distinct) or 1)
