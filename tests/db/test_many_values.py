"""Lists of any length: SQLite takes 32,766 parameters in a statement where it has its default limit."""

import sqlite3

import pytest
from sqlalchemy import event, update

from db.models import Annotator, Candidate
from db.repositories import candidates as candidate_rows
from db.repositories import labels, questions, statements
from db.repositories import sentences as sentence_rows
from db.repositories.candidates import NewCandidate

DEFAULT_LIMIT = 32_766
MANY = 40_000
SENTENCES = ["It flows north.", "It is long."]


@pytest.fixture
def default_limit(database):
    """SQLite as most builds of Python have it."""
    if database.sqlite:
        category = sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER
        event.listen(database._reader, "connect", lambda c, _: c.setlimit(category, DEFAULT_LIMIT))
        database._reader.dispose()


@pytest.fixture
def corpus_id(database, add_document, now):
    """Three questions, of whose two candidates ann labels the first."""
    corpus_id, document_id = add_document("rhine", SENTENCES)
    with database.write() as s:
        ann = Annotator(name="ann", created=now)
        s.add(ann)
        s.flush()
        sentences = sentence_rows.list_sentences(s, [document_id])
        for n in range(3):
            q = questions.add_question(s, corpus_id, f"why {n} ?", external_id=f"q{n}", origin="asked", now=now)
            rows = [NewCandidate(sentence.id, place) for place, sentence in enumerate(sentences)]
            candidate_rows.add_candidates(s, [(q.id, row) for row in rows])
            labels.add_event(s, q.id, sentences[0].id, ann.id, "correct", now)
        s.execute(update(Candidate).values(retrieval_rank=1))
    return corpus_id


def read_all(s, corpus_id, ids, texts):
    return (
        [(r.question_id, r.label) for r in labels.list_labels_of_questions(s, ids)],
        labels.find_labels_by(s, 1, ids),
        labels.find_verdicts(s, question_ids=ids),
        [(r.question, r.text) for r in candidate_rows.list_retrieval_ranks(s, corpus_id, texts)],
        [q.text for q in questions.find_questions_by_text(s, corpus_id, texts)],
    )


def test_a_list_longer_than_a_statement_takes_gives_what_its_parts_give(database, default_limit, corpus_id):
    ids, texts = list(range(MANY, 0, -1)), [f"why {n} ?" for n in range(MANY)]
    with database.read() as s:
        of_labels, own, verdicts, ranks, of_texts = read_all(s, corpus_id, ids, texts)
    assert sorted(of_labels) == [(i, "correct") for i in (1, 2, 3)] and len(own) == 3
    assert of_texts == texts[:3] and verdicts == {}
    assert sorted(ranks) == sorted((text, sentence) for text in of_texts for sentence in SENTENCES)


def test_a_value_that_comes_twice_gives_its_rows_once_and_none_gives_none(database, corpus_id, monkeypatch):
    monkeypatch.setattr(statements, "MAX_VALUES", 2)
    with database.read() as s:
        twice = read_all(s, corpus_id, [1, 2, 3, 1], ["why 0 ?", "why 1 ?", "why 2 ?", "why 0 ?"])
        assert twice == read_all(s, corpus_id, [1, 2, 3], ["why 0 ?", "why 1 ?", "why 2 ?"])
        assert read_all(s, corpus_id, [], []) == ([], {}, {}, [], [])
