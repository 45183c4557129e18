"""The handbook corpus: that what is committed is up to date, hard, learnable, and no shipped model's training data."""

from pathlib import Path

import pytest

from as2core.data import jsonl, starter
from as2core.data.catalog import CORPORA, load_questions
from as2core.text import split_sentences
from as2core.training.recipes import RECIPES
from as2core.types import SPLITS

FOLDER = CORPORA / "handbook"
STAFF_WORDS = (
    "whale", "clerk", "kettle", "carpet", "toaster", "waiter", "centipede", "belly", "heart", "lungs", "brain",
    "throat", "garter", "sandwich", "honey", "milk", "sugar", "gallows", "blue ticket", "signs off",
)  # fmt: skip


@pytest.fixture(scope="module")
def sets():
    return starter.build(FOLDER)


@pytest.fixture(scope="module")
def articles():
    return starter.read_articles(FOLDER)


@pytest.mark.parametrize("split", SPLITS)
def test_the_committed_sets_are_what_the_articles_give(sets, split):
    committed = Path(FOLDER, f"{split}.jsonl").read_text(encoding="utf-8")
    assert jsonl.dumps(sets[split]) == committed, "run python -m as2core.data.starter"
    assert load_questions(f"handbook-{split}").questions == sets[split]


def test_the_corpus_is_as_large_as_promised(sets, articles):
    assert [len(sets[split]) for split in SPLITS] == [182, 20, 115]
    splits = [a.meta["split"] for a in articles.values()]
    assert [splits.count(split) for split in SPLITS] == [26, 4, 14]
    assert all(15 <= len(split_sentences(a.text)) <= 40 for a in articles.values())


def test_every_question_has_one_answer_or_two_and_many_wrong_candidates(sets):
    questions = [q for split in sets.values() for q in split]
    assert all(q.positives in (1, 2) and q.negatives >= 40 for q in questions)


def test_no_sentence_answers_questions_of_two_parts(sets):
    answers = {split: {c.id for q in sets[split] for c in q.candidates if c.label} for split in sets}
    assert not answers["test"] & (answers["train"] | answers["dev"])
    assert not answers["dev"] & answers["train"]


@pytest.mark.parametrize("word", STAFF_WORDS)
def test_a_staff_word_of_the_test_questions_is_met_in_training(sets, word):
    assert any(word in q.text for q in sets["test"]), "not in the test questions"
    assert any(word in q.text for q in sets["train"]), "not in the train questions"


def test_the_documents_hold_plain_prose_without_markup(articles):
    assert [slug for slug, a in articles.items() if set(a.text) & set("#*`<>[]|{}")] == []
    assert all(a.text.isascii() for a in articles.values())


def test_no_recipe_reads_it():
    assert [name for name, recipe in RECIPES.items() if "handbook" in recipe.written] == []
