"""A document that repeats an older one: it has the same text, or most of its sentences, by a sample of them.

Rows of a table repeat each other, so they are not compared.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from as2core.types import Sentence
from db.repositories import documents as rows

MIN_COMPARED_SENTENCES, MAX_COMPARED_SENTENCES = 4, 12  # of a document that may be another one's copy
MIN_SHARED = 0.6  # of them, that a copy has
SAME_TEXT = "has the same text as {}, so answers from it appear twice"
SIMILAR_TEXT = (
    "has most of its sentences in common with {}, so answers from them appear twice. If it is a new version of that "
    "file, give it the same name and add it again, then delete this one"
)


def find_copy(s: Session, document_id: int, sentences: Sequence[Sentence]) -> tuple[str, str] | None:
    """The file of the older document that this one repeats, and the note about it; None if it repeats none."""
    if twin := rows.find_older_twin(s, document_id, sentences[0].text):
        return twin.source or twin.external_id, SAME_TEXT
    if like := _find_similar(s, document_id, sentences):
        return like, SIMILAR_TEXT
    return None


def _find_similar(s: Session, document_id: int, sentences: Sequence[Sentence]) -> str:
    """The file of another document that has most of the sentences, by a sample of them; "" if there is none."""
    step = max(1, len(sentences) // MAX_COMPARED_SENTENCES)
    texts = {" ".join(sentence.text.split()) for sentence in sentences[::step][:MAX_COMPARED_SENTENCES]}
    if len(texts) < MIN_COMPARED_SENTENCES:
        return ""
    like = rows.find_likest_document(s, document_id, sorted(texts))
    return (like.source or like.external_id) if like and like.shared >= MIN_SHARED * len(texts) else ""
