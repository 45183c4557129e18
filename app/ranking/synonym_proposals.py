"""Synonyms that the labels of a corpus suggest, for a person to take over."""

from collections.abc import Iterable
from functools import partial

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.corpora.corpora import lock_corpus
from app.corpora.synonyms import find_synonyms
from app.labels.consensus import load_summary, mark_outcomes_within
from app.ranking.synonyms import CHANGE
from app.workbench import audit, people
from app.workbench.workbench import Workbench
from as2core.questions.synonym_proposals import AnsweredQuestion, SynonymProposal, propose_synonyms
from as2core.questions.synonyms import Synonyms
from db.models import Corpus, Sentence
from db.repositories import documents as document_rows
from db.repositories import labels as label_rows
from db.repositories import sentences as sentence_rows

SENTENCES_BEFORE = 2  # of the correct one, which often names its subject by a pronoun
MAX_SENTENCES = 10_000  # read in the documents that have the answers


def propose_from_labels(wb: Workbench, corpus_id: int) -> list[SynonymProposal]:
    """From the sentences labelled correct, those of test questions aside. Words that have a meaning already or were
    dismissed are left out. Pages ask with every run, so they are made again only after a label, a document or a synonym
    has changed."""
    with wb.read() as s:
        synonyms, dismissed_words = find_synonyms(s, corpus_id), _list_dismissed(s, corpus_id)
        mark = mark_outcomes_within(wb, s, corpus_id)
    key = ("synonyms", corpus_id, str(synonyms))
    make = partial(_propose, wb, corpus_id, synonyms)
    proposals = load_summary(wb, mark, key, make)
    return [p for p in proposals if p.word.casefold() not in dismissed_words]


def _propose(wb: Workbench, corpus_id: int, synonyms: Synonyms) -> list[SynonymProposal]:
    with wb.read() as s:
        pairs = label_rows.list_correct_pairs(s, corpus_id, ["test"])
        places = {row.id: row for row in sentence_rows.load_placed_sentences(s, [pair.sentence_id for pair in pairs])}
        by_document = _load_documents(s, (place.document_id for place in places.values()))
    questions = [
        AnsweredQuestion(pair.question, _list_context(place, by_document[place.document_id]))
        for pair in pairs
        if (place := places.get(pair.sentence_id)) and place.document_id in by_document
    ]
    sentences = {x.text for of_document in by_document.values() for x in of_document}
    return propose_synonyms(questions, sentences, synonyms)


def dismiss_proposals(wb: Workbench, corpus_id: int, words: Iterable[str], *, by: int | None) -> None:
    """Do not propose a meaning for these words again. Raises NotAllowed for a viewer, UnknownCorpus."""
    with wb.write() as s:
        people.allow(s, by, CHANGE)
        lock_corpus(s, corpus_id)
        corpus, before = s.get_one(Corpus, corpus_id), _list_dismissed(s, corpus_id)
        all_words = dict.fromkeys([*before, *(word.casefold() for word in words)])
        corpus.dismissed_words = "\n".join(all_words)
        if changes := [word for word in all_words if word not in before]:
            audit.record(s, wb.clock(), by, CHANGE, corpus.name, f"dismissed the proposals for {', '.join(changes)}")


def _list_dismissed(s: Session, corpus_id: int) -> list[str]:
    corpus = s.get(Corpus, corpus_id)
    return corpus.dismissed_words.splitlines() if corpus else []


def _load_documents(s: Session, document_ids: Iterable[int]) -> dict[int, list[Sentence]]:
    """The sentences of these documents in their order, by document; of as many as have `MAX_SENTENCES` together."""
    ids: list[int] = []
    total = 0
    for document in document_rows.load_documents(s, list(dict.fromkeys(document_ids))):
        total += document.sentences
        if total <= MAX_SENTENCES:
            ids.append(document.id)
    by_document: dict[int, list[Sentence]] = {document_id: [] for document_id in ids}
    for sentence in sentence_rows.list_sentences(s, ids):
        by_document[sentence.document_id].append(sentence)
    return by_document


def _list_context(place: Row, sentences: list[Sentence]) -> tuple[str, ...]:
    first = place.position - SENTENCES_BEFORE
    return (place.title, *(x.text for x in sentences if first <= x.position <= place.position))
