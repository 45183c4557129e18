"""ASNQ: labels 1 to 4, questions together, negatives by label, and memory that does not grow."""

import tracemalloc
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from label_sets import PLAIN

from as2core.data import asnq, jsonl
from as2core.data.source import Report, read_all
from as2core.errors import BadSetting
from as2core.types import Candidate, Question

ROWS = """who built the tower\tThe tower is tall .\t1
who built the tower\tEiffel liked cheese .\t2
who built the tower\tIt was built in Paris .\t3
who built the tower\tIt was built by Eiffel .\t4
when was it built\tIn 1889 .\t4
when was it built\tNobody knows .\t1
"""


def test_only_label_four_is_correct_and_the_label_stays_as_the_grade():
    first, second = read_all(asnq.stream, ROWS.encode())[0]
    assert (first.text, [c.grade for c in first.candidates]) == ("who built the tower", [1, 2, 3, 4])
    assert [c.label for c in first.candidates] == [0, 0, 0, 1]
    assert [c.label for c in second.candidates] == [1, 0]
    assert len({first.qid, second.qid}) == 2 and len({c.id for q in (first, second) for c in q.candidates}) == 6


def test_the_grade_goes_through_our_jsonl():
    questions, _ = read_all(asnq.stream, ROWS.encode())
    assert jsonl.read(jsonl.dumps(questions).encode()) == (questions, [])


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("who\tme", "2 columns instead of 3"),
        ("who\tme\t0", "label '0' is not 1, 2, 3, 4"),
        ("who\tme\tfour", "label 'four' is not 1, 2, 3, 4"),
        ("\tme\t1", "the question is empty"),
        ("who built the tower\tMe .\t4", "question 'who built the tower' appears already further up"),
    ],
)
def test_a_bad_row_is_told_by_number(row, reason):
    questions, (problem,) = read_all(asnq.stream, (ROWS + row + "\n").encode())
    assert len(questions) == 2 and problem.line == 7 and problem.reason.startswith(reason)


TEXTS = PLAIN.filter(lambda text: not text.startswith("\ufeff"))


@st.composite
def draw_questions(draw):
    made = []
    for text in draw(st.lists(TEXTS.filter(bool), unique=True, max_size=4)):
        rows = draw(st.lists(st.tuples(TEXTS, st.integers(1, 4)), min_size=1, max_size=4))
        candidates = (Candidate(str(i), t, int(g == 4), grade=g) for i, (t, g) in enumerate(rows))
        made.append(Question(text, text, tuple(candidates)))
    return made


def rows_of(questions):
    return [(q.text, [(c.text, c.label, c.grade) for c in q.candidates]) for q in questions]


@settings(deadline=None)
@given(draw_questions())
def test_asnq_gives_back_texts_labels_and_grades(questions):
    read, problems = read_all(asnq.stream, "".join(asnq.to_lines(questions)).encode())
    assert problems == [] and rows_of(read) == rows_of(questions)
    assert read_all(asnq.stream, "".join(asnq.to_lines(read)).encode())[0] == read  # now the ids too


def test_a_set_without_asnqs_labels_is_written_as_one_and_four_and_the_unjudged_left_out():
    candidates = (Candidate("a", "Yes\tor\nno.", 1), Candidate("b", "No.", 0), Candidate("c", "Who?", None))
    assert "".join(asnq.to_lines([Question("q", "Is it?", candidates)])) == "Is it?\tYes or no.\t4\nIs it?\tNo.\t1\n"


def test_negatives_are_chosen_by_their_label_and_positives_stay():
    questions, _ = read_all(asnq.stream, ROWS.encode())
    chosen = asnq.apply_asnq_negatives(questions, keep={2, 3})
    assert [[c.grade for c in q.candidates] for q in chosen] == [[2, 3, 4], [4]]
    assert [[c.grade for c in q.candidates] for q in asnq.apply_asnq_negatives(questions, keep={1})] == [[1, 4], [4, 1]]


@pytest.mark.parametrize("keep", [{4}, {0, 1}, set()])
def test_only_negatives_labels_can_be_chosen(keep):
    with pytest.raises(BadSetting, match="labelled 1, 2 and 3"):
        asnq.apply_asnq_negatives([], keep=keep)


def test_a_set_without_asnqs_labels_cannot_be_chosen_from():
    with pytest.raises(BadSetting, match="question 'q' has no ASNQ labels"):
        asnq.apply_asnq_negatives([Question("q", "?", (Candidate("a", "A", 0),))])


def test_ten_times_the_file_takes_no_more_memory(tmp_path):
    def peak(questions):
        path = tmp_path / f"{questions}.tsv"
        with path.open("w") as file:
            for i in range(questions):
                file.writelines(f"question {i}\tsentence {j} of {i}\t{1 + j % 4}\n" for j in range(10))
        report = Report(path)
        tracemalloc.start()
        deque(report.count_questions(asnq.stream(path, report)), maxlen=0)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (report.questions, report.candidates) == (questions, 10 * questions)
        return found

    peak(10)  # what is loaded once
    small, large = peak(50), peak(500)
    assert large < small + 450 * 200 + 10_000  # a question's text and its place in the set, nothing for a row


@pytest.mark.parametrize(
    ("label", "grade", "written"),
    [(1, 2, 4), (1, 3, 4), (1, 9, 4), (0, 4, 1), (0, -1, 1), (1, 4, 4), (0, 3, 3), (0, None, 1)],
)
def test_a_grade_of_another_scale_or_an_older_one_never_turns_the_label(label, grade, written):
    row = "".join(asnq.to_lines([Question("q", "Is it?", (Candidate("a", "Yes.", label, grade=grade),))]))
    assert row == f"Is it?\tYes.\t{written}\n"
    assert read_all(asnq.stream, row.encode())[0][0].candidates[0].label == label
