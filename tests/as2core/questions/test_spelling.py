import unicodedata

import pytest

from as2core.questions.spelling import correct_spelling

TEXTS = ["The Eiffel Tower was finished in 1889.", "Microbes live there.", "Halley saw the comet."]
KNOWN = frozenset({"which", "bridge", "tower", "trial", "trail", "denise", "compete"})


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("When was the Eifel Tower finished?", "When was the Eiffel Tower finished?"),  # one missing
        ("when was the tower finihsed", "when was the tower finished?"),  # two exchanged, no mark
        ("WHEN WAS THE EIFFFEL TOWER FINISHED", "WHEN WAS THE EIFFEL TOWER FINISHED?"),  # one too many
        ("Who saw the cimet?", "Who saw the comet?"),  # one wrong, of the texts
        ("Who found the comek?", "Who found the comet?"),  # the last one wrong
        ("Which birdge?", "Which bridge?"),  # known, though in no text
        ("Which Birdge-Tower?", "Which Bridge-Tower?"),
    ],
)
def test_a_slip_is_mended(typed, read):
    assert correct_spelling(typed, TEXTS, KNOWN) == read


@pytest.mark.parametrize(
    "typed",
    [
        "Which trial was it?",  # known; so is "trail"
        "What does a microbe eat?",  # an ending is no slip
        "Who saw the comed?",  # nor may this be one
        "What does a toweb do?",  # "tower" has the ending of a doer
        "What did they devise?",  # a letter from a known word that no text has
        "Where is Xyzzyx?",
        "Wer war das?",
        "埃菲尔铁塔什么时候建成",
        "Name some microbes.",
        "",
        "?",
    ],
)
def test_what_may_be_meant_stays(typed):
    assert correct_spelling(typed, TEXTS, KNOWN) == typed


def test_of_several_words_that_it_may_be_the_one_that_is_written_more_often_is_taken():
    assert correct_spelling("What is a spoone?", ["A spoons.", "spooned spooned"]) == "What is a spoone?"  # endings
    assert correct_spelling("A traiin?", ["train", "traiin"]) == "A traiin?"  # somebody writes it so
    assert correct_spelling("Who saw the comte?", ["comet comet", "compte"]) == "Who saw the comet?"


def test_a_word_with_an_accent_written_apart_is_known():
    texts = ["The café of Zürich is old."]
    apart = unicodedata.normalize("NFD", "Where is the café of Zürich?")
    assert correct_spelling(apart, texts) == "Where is the café of Zürich?"


def test_a_word_with_a_dotted_capital_i_is_known():
    assert correct_spelling("Where is İzmir?", ["İzmir lies on the coast."]) == "Where is İzmir?"


def test_of_known_words_the_one_with_the_same_letters_comes_first():
    assert correct_spelling("Can I brnig my dog", [], {"brig", "bring"}) == "Can I bring my dog?"


def test_a_word_that_is_longer_than_words_are_is_no_typo():
    """Its edits would take memory that grows with the square of its length."""
    word = "pneumono" * 6
    assert correct_spelling(word[1:] + "x", [f"{word[1:]}yx is a word."]) == f"{word[1:]}yx?"
    assert correct_spelling(word + "xxx", [f"{word}yxxx is no word."]) == f"{word}xxx?"
    assert correct_spelling("x" * 20_000, TEXTS) == "x" * 20_000 + "?"
