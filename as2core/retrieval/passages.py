"""Documents are indexed in passages of a few sentences: a whole one hides its details, one sentence has no context."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2s

from as2core.errors import BadSetting
from as2core.types import Passage, Sentence

PASSAGE_SENTENCES = 5


def split_passages(
    doc_id: str,
    sentences: Sequence[Sentence | str],
    size: int = PASSAGE_SENTENCES,
    overlap: int = 1,
    *,
    title: str = "",
) -> list[Passage]:
    """Windows of `size` sentences, each beginning with the last `overlap` of the one before; the title heads each.

    An id holds a digest of the text, so that a vector of an older text is never used for this one. Raises
    BadSetting for an overlap that is not smaller than the size.
    """
    if size < 1 or not 0 <= overlap < size:
        raise BadSetting(f"passages of {size} sentences overlapping by {overlap}: the overlap must be smaller")
    texts = [s if isinstance(s, str) else s.text for s in sentences]
    passages = []
    for first in range(0, max(1, len(texts) - overlap), size - overlap):
        window = texts[first : first + size]
        if window:
            text = " ".join([title, *window] if title else window)
            digest = blake2s(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
            passages.append(Passage(f"{doc_id}:{first}:{digest}", doc_id, text, first, first + len(window) - 1))
    return passages


def count_passages(sentences: int) -> int:
    """How many `split_passages` makes of a document of that many sentences, as it does by default."""
    return len(range(0, max(1, sentences - 1), PASSAGE_SENTENCES - 1)) if sentences else 0


def find_first_sentence(passage_id: str) -> int:
    """The place in the document of a passage's first sentence, which its id has."""
    return int(passage_id.rsplit(":", 2)[1])
