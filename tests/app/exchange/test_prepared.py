"""The prepared labels of the handbook: accepted some at a time, and signed by nobody here."""

import pytest
from sqlalchemy import select

import db.models
from app.corpora import corpora
from app.exchange import exports
from app.exchange.prepared import PreparedLabels, accept_prepared, count_prepared
from app.exchange.starter import ensure_handbook
from app.labels import annotation
from app.labels.consensus import LabelRequest
from app.workbench import people
from app.workbench.people import NotAllowed
from as2core.data import jsonl
from as2core.types import Candidate, Question

ARTICLE = "---\ntitle: Tea\nsplit: train\n---\n\nTea is a drink. It is hot.\n"


@pytest.fixture
def handbook(wb):
    folder = wb.settings.corpora_dir / "handbook"
    (folder / "articles").mkdir(parents=True)
    (folder / "articles" / "tea.md").write_text(ARTICLE)
    pair = Candidate("tea-0", "Tea is a drink.", 1, "Tea"), Candidate("tea-1", "It is hot.", 0, "Tea")
    jsonl.write([Question(f"tea-q{i}", f"what is tea number {i}", pair) for i in range(5)], folder / "train.jsonl")
    return ensure_handbook(wb)


def test_the_train_questions_come_without_labels(wb, handbook):
    assert (handbook.questions, handbook.labels) == (5, 0)
    assert count_prepared(wb, handbook.id) == PreparedLabels(5, 5)


def test_accepted_labels_are_the_correct_sentences_alone_and_imported(wb, handbook):
    assert accept_prepared(wb, handbook.id, 2) == 2
    assert count_prepared(wb, handbook.id) == PreparedLabels(5, 3)
    labelled = [q for q in exports.load_labelled_questions(wb, handbook.id, LabelRequest(signed=True)) if q.positives]
    assert [[c.label for c in q.candidates] for q in labelled] == [[1, None]] * 2
    assert {c.annotations for q in labelled for c in q.candidates if c.label} == {(("starter", "correct"),)}


def test_accepting_more_than_there_are_accepts_the_rest(wb, handbook):
    accept_prepared(wb, handbook.id, 2)
    assert accept_prepared(wb, handbook.id, 99) == 3
    assert count_prepared(wb, handbook.id) == PreparedLabels(5, 0)
    assert accept_prepared(wb, handbook.id, 1) == 0


def test_a_sentence_that_a_person_labelled_keeps_that_label_and_is_not_counted(wb, handbook, ann):
    with wb.read() as s:
        question = s.scalars(select(db.models.Question.id)).first()
        sentence = s.scalars(select(db.models.Sentence.id).where(db.models.Sentence.text == "Tea is a drink.")).one()
    pair = {"question_id": question, "sentence_id": sentence, "annotator_id": ann.id}
    annotation.give_label(wb, **pair, label="unsure")
    assert count_prepared(wb, handbook.id) == PreparedLabels(5, 5)
    annotation.give_label(wb, **pair, label="incorrect")
    assert count_prepared(wb, handbook.id) == PreparedLabels(5, 4)
    assert accept_prepared(wb, handbook.id, 5) == 4
    assert count_prepared(wb, handbook.id) == PreparedLabels(5, 0)


def test_a_corpus_of_ones_own_has_none_whatever_its_name(wb):
    own = corpora.create_corpus(wb, "handbook")
    assert count_prepared(wb, own.id) is None
    assert accept_prepared(wb, own.id, 5) == 0


def test_a_viewer_accepts_none(wb, handbook, ann):
    viewer = people.sign_in(wb, "vera")
    people.set_role(wb, viewer.id, "viewer", by=ann.id)
    with pytest.raises(NotAllowed):
        accept_prepared(wb, handbook.id, 2, by=viewer.id)
    assert count_prepared(wb, handbook.id) == PreparedLabels(5, 5)
