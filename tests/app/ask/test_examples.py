"""Example questions keep what they promise: the shipped ones with the shipped weights, the others by their corpus."""

from __future__ import annotations

import pytest

from app import bootstrap
from app.ask import asking
from app.ask.examples import LOSING_DROP_RATIO, list_examples
from app.corpora import corpora, ingestion
from app.corpora.corpora import HANDBOOK
from app.exchange.starter import ensure_handbook, ensure_starter, load_shipped_questions
from app.workbench.models import LoadedModels
from app.workbench.settings import Settings
from as2core.cascade.schedule import DropSchedule
from as2core.data.catalog import load_questions


@pytest.fixture(scope="module")
def shipped_models():
    """Loaded once for all homes."""
    return LoadedModels(Settings().models_dir)


@pytest.fixture(scope="module")
def fresh_home(tmp_path_factory, shipped_models):
    """A fresh home with the shipped models and corpus, as a stranger has it."""
    home = tmp_path_factory.mktemp("fresh")
    wb = bootstrap.open(Settings(home=home, worker="external"), shipped_models)
    yield wb, ensure_starter(wb)
    wb.close()


@pytest.fixture(scope="module")
def answers():
    """question -> the sentences labelled correct."""
    sets = [load_questions(f"starter-{split}").questions for split in ("train", "dev", "test")]
    return {q.text: {c.text for c in q.candidates if c.label == 1} for questions in sets for q in questions}


def replay(view, ratio):
    return view.trace.replay(DropSchedule.constant(ratio, exits=len(view.trace.exits)))


def best_text(view, ratio):
    return view.candidates[int(replay(view, ratio).ranking()[0])].text


def test_the_shipped_examples_are_answered_rightly_and_with_confidence(fresh_home, answers):
    wb, corpus = fresh_home
    examples = list_examples(wb, corpus.id).questions
    assert len(examples) == 6
    views = [asking.ask(wb, corpus.id, q) for q in examples]
    assert [v.question for v in views if v.spelling_before or best_text(v, 0.3) not in answers[v.question]] == []
    assert all(v.is_answered and v.probability[v.best] > 0.6 for v in views)


def test_the_shipped_question_without_an_answer_gets_none(fresh_home, answers):
    wb, corpus = fresh_home
    question = list_examples(wb, corpus.id).unanswerable
    assert answers[question] == set()
    assert not asking.ask(wb, corpus.id, question).is_answered


def test_the_shipped_lesson_is_answered_until_most_is_dropped_at_each_exit(fresh_home, answers):
    wb, corpus = fresh_home
    view = asking.ask(wb, corpus.id, list_examples(wb, corpus.id).dropped)
    right = answers[view.question]
    assert best_text(view, 0.0) in right and best_text(view, 0.3) in right
    assert best_text(view, LOSING_DROP_RATIO) not in right
    place = [c.text in right for c in view.candidates].index(True)
    strict = replay(view, LOSING_DROP_RATIO)
    assert strict.stages[strict.dropped_at()[place]].title.startswith("layer")


def test_the_handbooks_examples_are_test_questions_that_the_shipped_model_answers_wrongly(tmp_path, shipped_models):
    wb = bootstrap.open(Settings(home=tmp_path, worker="external"), shipped_models)
    try:
        corpus = ensure_handbook(wb)
        answers = {
            q.text: {c.text for c in q.candidates if c.label == 1} for q in load_shipped_questions(wb, HANDBOOK, "test")
        }
        examples = list_examples(wb, corpus.id).questions
        assert len(examples) == 6
        views = [asking.ask(wb, corpus.id, q) for q in examples]
        assert [v.question for v in views if best_text(v, 0.3) in answers[v.question]] == []
        assert all({c.text for c in v.candidates} & answers[v.question] for v in views)  # which no retrain changes
    finally:
        wb.close()


def test_a_corpus_without_labels_gets_questions_made_of_its_sentences(wb, towers):
    assert list_examples(wb, towers.id).questions == (
        "When was the Eiffel Tower finished?",
        "When was the Forth Bridge opened?",
        "What is Bread baked from?",
    )


def test_no_sentence_that_makes_a_question_means_no_example(wb):
    corpus = corpora.create_corpus(wb, "lists")
    ingestion.ingest(wb, corpus.id, [("list.txt", b"Apples, pears. Nothing else!")])
    assert list_examples(wb, corpus.id).questions == ()


@pytest.mark.parametrize(
    ("text", "examples"),
    [
        ("alpha steam heat beta pump is the valve gate of delta", ()),  # no mark: cut by its length
        ("Müller is a plumber from the north.", ()),
        ("Extinguishers are used with both hands.", ("What are extinguishers used with?",)),
        ("Extinguishers are replaced after ten years of use.", ()),  # "What are extinguishers replaced after?"
        ("The deposit is released as soon as the bicycle is back.", ()),
        ("Selling a permit is a reason to lose it.", ()),
        ("Café naïve 漢字 € 3.50 is the dish of the day.", ()),
        ("Trips of less than 400 km are made by train.", ()),
        ("The Vikings came. Vikings are known for Greenland. We met Vikings.", ("What are Vikings known for?",)),
    ],
)
def test_a_made_question_reads_as_one_that_somebody_would_ask_or_is_left_out(wb, text, examples):
    corpus = corpora.create_corpus(wb, "house")
    ingestion.ingest(wb, corpus.id, [("house.txt", text.encode())])
    assert list_examples(wb, corpus.id).questions == examples


def test_questions_that_people_answered_come_first(wb, towers, asked, give_signs, ann):
    give_signs(ann, "+")
    assert list_examples(wb, towers.id).questions == (asked.question,)
