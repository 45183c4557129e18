"""Which questions count as the same. Pairs are from TREC-QA, WikiQA and MedQuAD where they are real ones."""

import pytest

from as2core.questions.rewording import find_exact_form, find_loose_form, may_ask_alike


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("When was the Tower finished?", "when was tower finished"),
        ("What is an exit?", "What is the EXIT ?!"),
        ("Who designed Fowler's bridge?", "who designed fowler's bridge"),
    ],
)
def test_case_punctuation_and_articles_make_no_other_question(one, other):
    assert find_exact_form(one) == find_exact_form(other)


def test_the_order_of_the_words_makes_another_question():
    assert find_exact_form("Did Rome defeat Carthage?") != find_exact_form("Did Carthage defeat Rome?")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Where is Rider College located ?", "Where is Rider College ?"),
        ("What is the nickname for the state of Mississippi ?", "What is the state nickname of Mississippi ?"),
        ("What is the name of the Jewish alphabet ?", "The Jewish alphabet is called what ?"),
        ("Which king signed the Magna Carta ?", "Who was the king who signed the Magna Carta ?"),
        ("What is (are) Crohn's Disease ?", "What is (are) Crohn disease ?"),
        ("What are the fees?", "What is the fee?"),
    ],
)
def test_loose_forms_disregard_order_endings_and_words_without_a_topic(one, other):
    assert find_loose_form(one) == find_loose_form(other)
    assert may_ask_alike(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("how long is a day on neptune", "how long is a day on ceres"),
        ("What are the symptoms of asthma?", "What are the treatments for asthma?"),
        ("What is mucopolysaccharidosis type III ?", "What is Mucopolysaccharidosis type IIID ?"),
        ("How much is part 1043-A?", "How much is part 1044-A?"),
        ("May I drive with the lamp on?", "May I not drive with the lamp on?"),
        ("What happens before a retrain?", "What happens after a retrain?"),
    ],
)
def test_another_topic_number_or_negation_is_another_question(one, other):
    assert find_loose_form(one) != find_loose_form(other)


def test_a_place_is_not_a_time():
    assert not may_ask_alike("when was the kingdom of italy proclaimed", "where was the kingdom of italy proclaimed")
    assert not may_ask_alike("Who owns CNN?", "Why owns CNN?")
    assert may_ask_alike("In what city is Logan Airport?", "Where is Logan Airport?")


def test_a_question_of_stop_words_alone_has_no_loose_form():
    assert find_loose_form("What is it?") == ()
