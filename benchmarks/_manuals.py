"""Manuals of Debian packages as documents, from AS2_BENCH_MANUALS or /usr/share/doc, and names for sentences of them.

A sentence is named by a digest of its text without white space, so that labels need no text of the manuals.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import blake2s
from pathlib import Path

from _word_search import Pages

from as2core.documents.reading import read_documents
from as2core.documents.sections import split_document
from as2core.text import split_sentences
from as2core.types import Document, Sentence

MANUALS = Path(os.environ.get("AS2_BENCH_MANUALS", "/usr/share/doc"))


def read_pages(files: Sequence[str]) -> Pages:
    if missing := [f for f in files if not (MANUALS / f).exists()]:
        raise SystemExit(
            f"not at hand: {len(missing)} pages such as {missing[0]}; --help names the packages to install"
        )
    documents = (d for f in files for d in read_documents(MANUALS / f))
    return {d.id: (d, split_document(d)) for d in documents}


def strip_heading(document: Document, sentence: Sentence) -> str:
    """The text of a sentence without the heading before it."""
    ends = [h.end for h in document.headings if h.start == sentence.start and h.end < sentence.end]
    heading = " ".join(document.text[sentence.start : ends[0]].split()) if ends else ""
    return sentence.text.removeprefix(heading).removeprefix(":").strip() if heading else sentence.text


def digest_parts(document: Document, sentence: Sentence) -> set[str]:
    """Of its text, without what stands before it, and of each sentence in it."""
    text = document.text[sentence.start : sentence.end]
    parts = [strip_heading(document, sentence), text, *(s.text for s in split_sentences(text))]
    return {blake2s("".join(text.split()).encode(), digest_size=6).hexdigest() for text in parts}
