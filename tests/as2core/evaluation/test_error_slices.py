"""Questions grouped by what they share."""

import pytest

from as2core.evaluation.error_slices import describe_length, describe_shared_words, find_kind, slice_questions
from as2core.types import Candidate, Question


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who built the tower?", "who"),
        ("By whom was it built?", "who"),
        ("In what year was it built?", "when"),
        ("when", "when"),
        ("Which river is the longest?", "what"),
        ("How many people live there?", "how many"),
        ("How much does it cost?", "how many"),
        ("How is bread made?", "how"),
        ("Is iron a metal?", "yes or no"),
        ("tower height", "other"),
        ("It is where?", "where"),
        ("", "other"),
    ],
)
def test_a_question_is_of_the_kind_of_its_first_question_word(question, kind):
    assert find_kind(question) == kind


def test_length_counts_words_and_overlap_the_topical_ones_of_the_nearest_correct_sentence():
    assert [describe_length("word " * n) for n in (0, 6, 7, 10, 11)] == [
        "up to 6 words", "up to 6 words", "7 to 10 words", "7 to 10 words", "over 10 words"]  # fmt: skip

    def overlap(*texts, title=""):
        candidates = (Candidate(str(i), t, 1, title=title) for i, t in enumerate(texts))
        return describe_shared_words(Question("q", "When was the iron tower finished?", tuple(candidates)))

    assert overlap("Nobody knows.") == "none"  # of iron, tower, finished
    assert overlap("An iron bridge.") == "less than half"
    assert overlap("no", "The tower was finished.") == "half or more"
    assert overlap("It was finished.", title="Iron tower") == "all"
    assert overlap() == ""
    assert describe_shared_words(Question("q", "What is it?", (Candidate("0", "It is.", 1),))) == ""


def test_each_question_is_in_one_slice_of_a_group_and_documents_need_several():
    questions = [
        Question(str(i), text, (Candidate("a", "It stands.", 1, title=title), Candidate("b", "No.", 0, title="Other")))
        for i, (text, title) in enumerate(
            [("Who built it?", "Tower"), ("Who paid?", "Tower"), ("When did it open?", "Bridge"), ("Why?", "")]
        )
    ]
    slices = {(s.group, s.name): s.qids for s in slice_questions(questions)}
    assert slices["kind", "who"] == ("0", "1")
    assert {k: v for k, v in slices.items() if k[0] == "document"} == {("document", "Tower"): ("0", "1")}
    for group in ("kind", "length"):
        assert sorted(q for (g, _), qids in slices.items() if g == group for q in qids) == ["0", "1", "2", "3"]
