"""A question asked again has first what people labelled correct for it, and last what they labelled incorrect."""

import numpy as np
import pytest
from label_files import import_labels
from sql_statements import record_statements
from sqlalchemy import select

from app.ask import asking, pins, stored_questions
from app.ask.same_question import find_same_questions
from app.corpora import documents, ingestion
from app.labels import annotation
from as2core.data import jsonl
from as2core.types import Candidate, Question
from db.models import Document, Score, Sentence

QUESTION = "When was the Eiffel Tower finished?"
SAME = "when was eiffel tower finished"


@pytest.fixture
def label(wb, ann):
    """label(view, text, ...) gives the sentence that begins so a label."""

    def give(view, begin, value="correct", who=ann):
        with wb.read() as s:
            sentence_id = s.scalars(select(Sentence.id).where(Sentence.text.startswith(begin))).one()
        annotation.give_label(
            wb, question_id=view.question_id, sentence_id=sentence_id, annotator_id=who.id, label=value
        )
        return sentence_id

    return give


def arranged(wb, view, viewer=None):
    found = pins.find_pins(wb, view.corpus_id, view, None if viewer is None else viewer.id)
    return pins.arrange(wb, view, view.trace, found)


def first_text(arrangement, view):
    return arrangement.sentence(view).text


def ask(wb, corpus, question, **settings):
    return asking.ask(wb, corpus.id, question, as_typed=True, **settings)


def test_what_is_labelled_correct_comes_first_and_what_is_incorrect_last_each_in_the_models_order(wb, towers, label):
    view = ask(wb, towers, QUESTION)
    own = view.trace.ranking().tolist()
    texts = [view.candidates[i].text for i in own]
    for text in (texts[5], texts[3]):
        label(view, text)
    for text in (texts[0], texts[2]):
        label(view, text, "incorrect")
    order = arranged(wb, view).order
    assert order == (own[3], own[5], own[1], own[4], *own[6:], own[0], own[2])
    assert view.trace.ranking().tolist() == own


def test_the_same_words_in_other_dress_bring_the_label_back_and_name_the_question(wb, towers, label):
    label(ask(wb, towers, QUESTION), "Its lifts")
    view = ask(wb, towers, SAME)
    arrangement = arranged(wb, view)
    assert first_text(arrangement, view) == "Its lifts were replaced in 1897."
    [top] = arrangement.top
    assert (top.pin.question, top.pin.is_same_wording, top.pin.by) == (QUESTION, False, ("ann",))


def set_cosine(models, cosine):
    """Every question but the first has this cosine with it."""
    vectors = iter([np.array([1, 0], np.float32)])
    models.vectors.embed_question = lambda text: next(
        vectors, np.array([cosine, (1 - cosine**2) ** 0.5], dtype=np.float32)
    )


@pytest.mark.parametrize(("cosine", "is_found"), [(0.96, True), (0.94, False)])
def test_nearly_the_same_words_count_if_the_vectors_are_near_too(wb, towers, label, models, cosine, is_found):
    label(ask(wb, towers, QUESTION), "Its lifts")
    set_cosine(models, cosine)
    found = find_same_questions(wb, towers.id, "What year was the Eiffel Tower finished in?")
    assert [q.text for q in found] == []  # "year" is another word
    set_cosine(models, cosine)
    assert bool(find_same_questions(wb, towers.id, "Finished when, the Eiffel Tower?")) is is_found


def test_without_vectors_only_the_same_words_count(wb, towers, label, models):
    label(ask(wb, towers, QUESTION), "Its lifts")
    set_cosine(models, 1.0)
    assert find_same_questions(wb, towers.id, "Finished when, the Eiffel Tower?", by_meaning=False) == ()
    assert find_same_questions(wb, towers.id, SAME, by_meaning=False) != ()


def test_a_label_for_this_wording_counts_before_one_for_a_similar_one(wb, towers, label):
    label(ask(wb, towers, QUESTION), "Its lifts")
    view = ask(wb, towers, SAME)
    label(view, "Its lifts", "incorrect")
    arrangement = arranged(wb, view)
    assert arrangement.top == ()
    assert [x.sentence.text for x in arrangement.bottom] == ["Its lifts were replaced in 1897."]


def test_a_label_taken_back_pins_nothing(wb, towers, label, ann):
    view = ask(wb, towers, QUESTION)
    sentence = label(view, "Its lifts")
    assert arranged(wb, view).top
    annotation.withdraw(wb, question_id=view.question_id, sentence_id=sentence, annotator_id=ann.id)
    assert pins.find_pins(wb, towers.id, view) == {}
    annotation.undo_last(wb, ann.id, towers.id)
    assert arranged(wb, view).top


def test_an_even_disagreement_moves_nothing_and_is_reported(wb, towers, label, bob):
    view = ask(wb, towers, QUESTION)
    label(view, "Its lifts")
    label(view, "Its lifts", "incorrect", bob)
    arrangement = arranged(wb, view)
    assert arrangement.order == tuple(view.trace.ranking().tolist())
    assert (arrangement.top, arrangement.bottom) == ((), ())
    assert [x.sentence.text for x in arrangement.conflicts] == ["Its lifts were replaced in 1897."]


def test_unsure_moves_nothing(wb, towers, label):
    view = ask(wb, towers, QUESTION)
    label(view, "Its lifts", "unsure")
    assert pins.find_pins(wb, towers.id, view) == {}


def test_labels_that_came_with_a_label_set_move_nothing(wb, ann):
    content = jsonl.dumps([Question("q", QUESTION, (Candidate("a", "It was in 1889.", 1), Candidate("b", "No.", 0)))])
    import_labels(wb, None, "set.jsonl", content.encode())
    corpus_id = 1
    view = asking.ask(wb, corpus_id, QUESTION)
    assert pins.find_pins(wb, corpus_id, view) == {}


def test_a_sentence_of_a_deleted_document_is_not_shown_and_returns_with_it(wb, towers, label, ann):
    view = ask(wb, towers, QUESTION)
    label(view, "Trains cross")
    with wb.read() as s:
        bridge = s.scalars(select(Document).where(Document.text.contains("Forth Bridge"))).one()
        content = bridge.text.encode()
    documents.delete_document(wb, bridge.id)
    again = ask(wb, towers, QUESTION)
    assert arranged(wb, again).top == ()
    ingestion.ingest(wb, towers.id, [("bridge.txt", content)])
    again = ask(wb, towers, QUESTION)
    assert first_text(arranged(wb, again), again) == "Trains cross the bridge every day."


def test_a_sentence_that_was_not_retrieved_is_shown_with_its_neighbours(wb, towers, label):
    label(ask(wb, towers, QUESTION), "Trains cross")
    limits = asking.scoring.RankLimits(documents=1, candidates=100, first_keep=100)
    view = ask(wb, towers, QUESTION, limits=limits)
    [top] = arranged(wb, view).top
    assert top.position is None
    assert (top.sentence.text, top.sentence.after) == (
        "Trains cross the bridge every day.",
        "It was painted for the last time in 2011.",
    )


def test_where_all_that_reached_the_end_are_labelled_incorrect_there_is_no_answer(wb, towers, label):
    view = ask(wb, towers, QUESTION)
    for c in view.candidates[:-1]:
        label(view, c.text, "incorrect")
    last = len(view.candidates) - 1
    assert arranged(wb, view).answer == last
    label(view, view.candidates[last].text, "incorrect")
    assert arranged(wb, view).answer is None


def test_a_deleted_question_brings_no_label_back(wb, towers, label, ann):
    view = ask(wb, towers, QUESTION)
    label(view, "Its lifts")
    stored_questions.delete_question(wb, view.question_id, by=ann.id, labels=1)
    again = ask(wb, towers, SAME)
    assert pins.find_pins(wb, towers.id, again) == {}


def test_another_corpus_has_labels_of_its_own(wb, towers, label):
    from app.corpora import corpora

    label(ask(wb, towers, QUESTION), "Its lifts")
    other = corpora.create_corpus(wb, "others")
    assert find_same_questions(wb, other.id, QUESTION) == ()


def test_what_is_stored_of_a_run_is_the_models_with_and_without_labels(wb, towers, label):
    def scores():
        with wb.read() as s:
            return sorted((x.candidate_id, x.exit, x.value, x.rank) for x in s.scalars(select(Score)))

    view = ask(wb, towers, QUESTION)
    before = scores()
    label(view, "Its lifts")
    assert arranged(wb, ask(wb, towers, QUESTION)).top
    assert scores() == before


def test_a_question_that_nobody_labelled_costs_four_short_reads(wb, towers, label):
    label(ask(wb, towers, QUESTION), "Its lifts")
    view = ask(wb, towers, "How is bread baked?")
    pins.find_pins(wb, towers.id, view)
    with record_statements() as statements:
        assert pins.find_pins(wb, towers.id, view) == {}
    selects = [text for text in statements if text.lstrip().upper().startswith("SELECT")]
    assert len(selects) <= 4
