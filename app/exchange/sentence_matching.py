"""Finds the sentence of an imported candidate, by its id or else by its text.

A sentence that the corpus does not have is stored in a document made of such sentences. Ids are kept, so an export has
the ids of the import.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from datetime import datetime
from itertools import chain, count

from sqlalchemy.orm import Session

from app.corpora.document_identity import hash_content
from as2core.documents.sections import list_ends
from as2core.types import Candidate, Document, Question
from db.models import Document as DocumentRow
from db.models import Sentence as SentenceRow
from db.models import text_key
from db.repositories import corpora as corpus_rows
from db.repositories import documents as document_rows
from db.repositories import sentences as sentence_rows

SOURCE = "imported with labels"  # of the documents made from imported sentences
_NUMBERED_ID = re.compile(r"(.+)-(\d{1,9})")  # document id, position


class SentenceMatcher:
    """The corpus's sentences as a batch of candidates needs them; new ones are made on demand if `add`.
    `new_sentences`: those that no document here had; `new_documents`: those made for them. `lengths`: of the documents
    whose id, and no text, a candidate has, the number of sentences."""

    def __init__(self, s: Session, corpus_id: int, now: datetime, batch: Sequence[Question], *, add: bool) -> None:
        self._s, self._corpus_id, self._now, self._add = s, corpus_id, now, add
        self.new_sentences = self.new_documents = 0
        candidates = [c for q in batch for c in q.candidates]
        self._by_name: defaultdict[str, list[SentenceRow]] = defaultdict(list)
        for row in sentence_rows.find_sentences(s, corpus_id, sorted({c.id for c in candidates})):
            self._by_name[row.external_id].append(row)
        self.lengths = self._read_short_documents({c.id for c in candidates if not c.text} - set(self._by_name))
        self._by_text = find_by_text(s, corpus_id, {c.text for c in candidates if c.text})
        self._documents: dict[str, DocumentRow] = {}
        self._own_documents: defaultdict[tuple[str, str], list[DocumentRow]] = defaultdict(list)  # by name and title
        self._own_numbers: defaultdict[str, Iterator[int]] = defaultdict(count)  # by name, of the next one
        self._touched: dict[int, tuple[DocumentRow, list[SentenceRow]]] = {}

    def _read_short_documents(self, names: Set[str]) -> dict[str, int]:
        """A search team rates documents: the rating of one with a single sentence is that sentence's."""
        documents = document_rows.find_documents_by_name(self._s, self._corpus_id, sorted(names))
        names_by_id = {row.id: name for name, row in documents.items() if row.sentences == 1}
        for row in sentence_rows.list_sentences(self._s, list(names_by_id)):
            self._by_name[names_by_id[row.document_id]].append(row)
        return {name: row.sentences for name, row in documents.items()}

    def find(
        self, c: Candidate, qid: str, candidates: Iterable[SentenceRow], used: Set[SentenceRow]
    ) -> SentenceRow | None:
        """The sentence of a candidate that is none of `used`, made if need be; None where none may be made, or none
        can without a text."""
        for row in self._by_name[c.id]:
            if row not in used and (not c.text or tidy_spaces(row.text) == tidy_spaces(c.text)):
                return row
        if not c.text.strip():
            return None
        for row in candidates:
            if row not in used and tidy_spaces(row.text) == tidy_spaces(c.text):
                return row
        # an id of ours with another text now: the sentence was changed, so search by text
        for row in self._by_text[tidy_spaces(c.text)]:
            is_own = row.external_id == c.id or self._s.get_one(DocumentRow, row.document_id).source != SOURCE
            if is_own and row not in used:
                return row
        return self._make(c, qid) if self._add else None

    def _make(self, c: Candidate, qid: str) -> SentenceRow:
        match = _NUMBERED_ID.fullmatch(c.id)
        document = self._document(match[1] if match else qid, qid, c)
        is_foreign = document.source != SOURCE  # a document with a text of its own: the sentence is not in it now
        row = SentenceRow(
            corpus_id=self._corpus_id,
            document_id=document.id,
            external_id=c.id,
            position=int(match[2]) if match else document.sentences,
            paragraph=0,
            start=0,
            end=0,
            text=c.text,
            text_key=text_key(c.text),
            retired=is_foreign,
        )
        self._s.add(row)
        if not is_foreign:
            document.sentences += 1
            self.new_sentences += 1
            self._touched.setdefault(document.id, (document, []))[1].append(row)
        self._by_name[c.id].append(row)
        self._by_text[tidy_spaces(c.text)].append(row)
        return row

    def _document(self, name: str, qid: str, c: Candidate) -> DocumentRow:
        """The document of that name and the candidate's title, made if there is none. Where the name belongs to a
        document with another title, or one that has another sentence of this id, the question gets its own: one for
        each title."""
        row = self._ensure_document(name, c.title)
        if row.source != SOURCE and c.title in (row.title, ""):
            return row  # the sentence stood in an earlier version of it
        own = f"{qid}:{name}"
        documents = chain([row], self._own_documents[own, c.title], self._read_own(own, c.title))
        others = {x.document_id for x in self._by_name[c.id]}
        return next(d for d in documents if d.title == c.title and d.id not in others)

    def _read_own(self, name: str, title: str) -> Iterator[DocumentRow]:
        """The question's documents of that name and a number that were not read before; where there are no more, new
        ones with the title."""
        for number in self._own_numbers[name]:
            row = self._ensure_document(f"{name}:{number + 1}" if number else name, title)
            self._own_documents[name, row.title].append(row)
            yield row

    def _ensure_document(self, name: str, title: str) -> DocumentRow:
        if name not in self._documents:
            by_name = document_rows.find_documents_by_name(self._s, self._corpus_id, [name])
            ids = {external_id: row.id for external_id, row in by_name.items()}
            new = Document(name, title, "", SOURCE)
            if not ids:
                ids = document_rows.add_documents(self._s, self._corpus_id, [(new, "")], self._now)
                self.new_documents += 1
            self._documents[name] = self._s.get_one(DocumentRow, ids[name])
        return self._documents[name]

    def finish(self) -> None:
        """Write the text of the documents that got sentences, and mark them for the index."""
        by_document: defaultdict[int, list[SentenceRow]] = defaultdict(list)
        if self._touched:
            corpus_rows.note_search_change(self._s, self._corpus_id, self._now)
        for row in sentence_rows.list_sentences(self._s, list(self._touched)):
            by_document[row.document_id].append(row)
        for document, new in self._touched.values():
            at, texts = 0, []
            for row in sorted([*by_document[document.id], *new], key=lambda r: r.position):
                row.start, row.end = at, at + len(row.text)
                texts.append(row.text)
                at = row.end + 1
            document.text = "\n".join(texts)
            document.digest = hash_content(document.title, document.text)
            document.indexed = False
            document.updated = self._now


def find_by_text(s: Session, corpus_id: int, texts: Iterable[str]) -> defaultdict[str, list[SentenceRow]]:
    """The corpus's sentences by their texts, white space aside. The first sentence of a section is stored behind its
    heading (decision 90), and a file may have it without: a text that is nowhere is that of the only sentence of the
    documents that ends with it."""
    by_text: defaultdict[str, list[SentenceRow]] = defaultdict(list)
    for row in sentence_rows.find_sentences_by_text(s, corpus_id, sorted(texts)):
        by_text[tidy_spaces(row.text)].append(row)
    if missing := {tidy_spaces(text) for text in texts} - by_text.keys():
        ids_by_end: defaultdict[str, list[int]] = defaultdict(list)
        for row_id, text in sentence_rows.list_texts_of_documents(s, corpus_id, without=SOURCE):
            for end in missing.intersection(list_ends(tidy_spaces(text))):
                ids_by_end[end].append(row_id)
        ends_by_id = {ids[0]: end for end, ids in ids_by_end.items() if len(ids) == 1}
        for row in sentence_rows.load_sentences(s, list(ends_by_id)):
            by_text[ends_by_id[row.id]].append(row)
    return by_text


def tidy_spaces(text: str) -> str:
    """As texts are compared."""
    return " ".join(text.split())
