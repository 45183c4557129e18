import pytest
from hypothesis import given as for_any
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from as2core.questions.synonym_proposals import MAX_P, AnsweredQuestion, propose_synonyms
from as2core.questions.synonyms import Synonyms

PARTS = "belt pump fan valve drum seal board hose door panel frame motor".split()
TYPES = {"whale": "VX-90", "clerk": "VX-60", "toaster": "DR-12"}
DOCUMENTS = [f"The {part} of the {kind} is checked." for kind in TYPES.values() for part in PARTS]


def ask(word, part, kind):
    return AnsweredQuestion(f"which {part} does the {word} have?", (f"The {kind}", f"Its {part} is a new one."))


def answer(numbers=(4, 4, 4)):
    words = zip(TYPES.items(), numbers, strict=True)
    return [ask(word, part, kind) for (word, kind), n in words for part in PARTS[:n]]


def as_pairs(proposals):
    return {p.word: p.meaning for p in proposals}


def test_a_word_means_what_its_answers_have_and_others_lack():
    assert as_pairs(propose_synonyms(answer(), DOCUMENTS)) == TYPES


def test_p_is_that_of_fisher_s_exact_test():
    whale = next(p for p in propose_synonyms(answer(), DOCUMENTS) if p.word == "whale")
    assert (whale.questions, whale.answers) == (4, 4)
    assert whale.p == pytest.approx(fisher_exact([[4, 0], [0, 8]], alternative="greater").pvalue)
    assert whale.example == "which belt does the whale have?"


def test_a_few_labels_suggest_nothing():
    two = answer((2, 2, 2))  # two of two, by chance 1 in 15
    assert fisher_exact([[2, 0], [0, 4]], alternative="greater").pvalue > MAX_P
    assert propose_synonyms(two, DOCUMENTS) == []
    assert propose_synonyms([], []) == []


def test_a_word_with_a_meaning_is_left_out_in_any_form():
    synonyms = Synonyms((("Whales", "VX-90"),))
    assert "whale" not in as_pairs(propose_synonyms(answer(), DOCUMENTS, synonyms))
    longer = Synonyms((("old whale", "VX-90"), ("a clerk", "VX-60")))
    assert as_pairs(propose_synonyms(answer(), DOCUMENTS, longer)) == {"toaster": "DR-12"}


def test_a_word_of_the_documents_means_what_it_says():
    written = [*DOCUMENTS, *(f"The whale is beside the {part}." for part in PARTS)]  # as often as VX-90
    assert "whale" not in as_pairs(propose_synonyms(answer(), written))
    literal = [AnsweredQuestion(a.question, (*a.context, "a whale")) if "whale" in a.question else a for a in answer()]
    assert "whale" not in as_pairs(propose_synonyms(literal, DOCUMENTS))


def test_what_is_no_term_of_the_documents_is_no_meaning():
    assert propose_synonyms(answer(), DOCUMENTS[:2]) == []


def test_the_same_answer_in_other_words_counts_once():
    again = [AnsweredQuestion(f"{a.question} say", a.context) for a in answer() for _ in range(5)]
    assert propose_synonyms(again, DOCUMENTS) == propose_synonyms(again[::5], DOCUMENTS)


def test_words_that_always_stand_together_cannot_be_told_apart():
    two, three = (
        propose_synonyms([AnsweredQuestion(a.question.replace("whale", words), a.context) for a in answer()], DOCUMENTS)
        for words in ("whale, big", "whale, big, old")
    )
    assert as_pairs(two) == {**TYPES, "big": "VX-90"}
    assert as_pairs(three) == {word: kind for word, kind in TYPES.items() if word != "whale"}


def test_a_meaning_is_written_as_most_sentences_write_it():
    headings = [*DOCUMENTS, *(f"VX-90 {part}" for part in PARTS), "The vx-90.", "Vx-90!"]
    assert as_pairs(propose_synonyms(answer(), headings))["whale"] == "VX-90"
    answered = [AnsweredQuestion(f"the sock of {x}", (f"strainer {x}",)) for x in PARTS[:4]]
    answered += [AnsweredQuestion(f"which {x}", (f"a {x}",)) for x in PARTS]
    even = ["Strainer", "Strainer.", "the strainer", "a strainer"]
    assert (
        as_pairs(propose_synonyms(answered, even))
        == as_pairs(propose_synonyms(answered, even[::-1]))
        == {"sock": "strainer"}
    )


def test_endings_are_one_word_and_how_long_asks_for_no_length():
    questions = ["the grandma's belt", "grandmas and a pump", "how long is the grandma fan?", "how long a whale"]
    contexts = ["VX-30 belt", "VX-30 pump", "VX-30 fan", "VX-90 drum"]
    answered = [AnsweredQuestion(q, (c,)) for q, c in zip(questions, contexts, strict=True)]
    answered += [AnsweredQuestion(f"which {x}", (f"a {x}",)) for x in "abcdefghijklmnopqrstuvwxyz"]
    assert as_pairs(propose_synonyms(answered, ["The VX-30 leaks."] * 3 + ["The VX-90."] * 3)) == {"grandma": "VX-30"}


def test_a_longer_word_stands_for_its_parts():
    answered = [AnsweredQuestion(f"a friday part for {x}", ("reconditioned component", x)) for x in PARTS[:4]]
    answered += [AnsweredQuestion(f"which {x}", (f"a {x}",)) for x in PARTS]
    assert as_pairs(propose_synonyms(answered, ["A reconditioned component."] * 3)) == {
        "friday part": "reconditioned component"
    }


def test_a_proposal_is_one_line_of_a_file_of_synonyms():
    long = "x" * 60
    answered = [AnsweredQuestion(f"the friday\npart x1,300 {long} of {x}", (f"a spare\nwheel {x}",)) for x in PARTS[:4]]
    answered += [AnsweredQuestion(f"which {x}", (f"a {x}",)) for x in PARTS]
    proposals = as_pairs(propose_synonyms(answered, ["a spare\nwheel"] * 3))
    assert proposals == {"friday part": "spare wheel"}
    assert Synonyms.parse(str(Synonyms(tuple(proposals.items())))).words == ["friday part"]


@for_any(st.lists(st.tuples(st.text(max_size=40), st.lists(st.text(max_size=40), max_size=3)), max_size=8))
def test_any_text_gives_lines_that_can_be_parsed(pairs):
    answered = [AnsweredQuestion(question, tuple(context)) for question, context in pairs * 3]
    proposals = propose_synonyms(answered, [text for _, context in pairs * 3 for text in context])
    synonyms = Synonyms(tuple((p.word, p.meaning) for p in proposals))
    assert Synonyms.parse(str(synonyms)).meanings == synonyms.meanings or not proposals
