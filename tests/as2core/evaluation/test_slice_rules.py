"""A user's own slices."""

import pytest

from as2core.errors import BadSetting, UnreadableFile
from as2core.evaluation.error_slices import OWN, measure_slices, slice_questions
from as2core.evaluation.slice_rules import read_slice_rules
from as2core.types import Candidate, Question


def ask(qid, text, title="", candidates=2):
    others = [Candidate(str(i), "No.", 0, title="Manual of nothing") for i in range(1, candidates)]
    return Question(qid, text, (Candidate("0", "Yes.", 1, title=title), *others))


QUESTIONS = [
    ask("a", "On which DATE did it open?", "Manual of towers"),
    ask("b", "In what year was it built, and by whom was it paid for?", "manual of bridges"),
    ask("c", "What does E204 mean?", "Codes", candidates=9),
    ask("d", "The years before what?"),
]


@pytest.fixture
def read(tmp_path):
    def read(*bodies):
        file = tmp_path / "slices.toml"
        file.write_text("".join(f"# comment\n[[slice]]\n{body}\n" for body in bodies))
        return read_slice_rules(file)

    return read


@pytest.mark.parametrize(
    ("conditions", "members"),
    [
        ('any = ["date", "what year"]', "ab"),
        ('any = ["year"]', "b"),  # a word, no part of one
        ("matches = '\\be\\d+'", "c"),
        ('document = "Manual of *"', "ab"),  # of the correct sentence
        ("max_words = 4", "cd"),
        ("min_words = 7", "b"),
        ("min_candidates = 3", "c"),
        ("max_candidates = 2\nmax_words = 4", "d"),
        ('any = ["what"]\nmatches = "years?"', "bd"),
    ],
)
def test_a_question_is_in_a_slice_if_it_meets_all_its_conditions(read, conditions, members):
    [rule] = read(f'name = "some"\n{conditions}')
    assert "".join(q.qid for q in QUESTIONS if rule.includes(q)) == members


def test_own_slices_stand_first_may_share_questions_and_have_no_line_where_they_are_empty(read):
    rules = read('name = "what"\nany = ["what"]', 'name = "codes"\nmatches = "E204"', 'name = "none"\nany = ["tea"]')
    slices = slice_questions(QUESTIONS, rules)
    assert [(s.name, s.qids) for s in slices if s.group == OWN] == [
        ("what", ("b", "c", "d")), ("codes", ("c",)), ("none", ())]  # fmt: skip
    results = measure_slices(slices, {"b": 1.0, "c": 0.0, "d": 1.0})
    assert [(r.name, r.questions, r.share, r.errors) for r in results if r.group == OWN] == [
        ("codes", 1, 0.0, ("c",)), ("what", 3, 2 / 3, ("c",))]  # fmt: skip
    assert [r.group for r in results][:2] == [OWN, OWN]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('name = "x"', r"slice 1 \(line 2\) \(x\) has no condition: give one or more of any, matches"),
        ('any = ["x"]', r"slice 1 \(line 2\): give it a name"),
        ('name = "x"\nwords = ["y"]', r"slice 1 \(line 2\) has words; known: name, any"),
        ('name = "x"\nany = "y"', r"\(x\): any is a list of words or phrases"),
        ('name = "x"\nany = ["y", "?!"]', r"'\?!' in any has no word; use matches"),
        ('name = "x"\nmatches = "("', r"\(x\): matches is no regular expression: .*single quotes"),
        ('name = "x"\ndocument = 3', r"\(x\): document is a text in quotes, not 3"),
        ('name = "x"\nmax_words = "9"', r"\(x\): max_words is a number from 0, not '9'"),
        ('name = "x"\nmin_words = true', r"\(x\): min_words is a number from 0, not True"),
        ('name = "x"\nmin_words = 9\nmax_words = 3', r"\(x\): min_words 9 is above max_words 3"),
        ('name = "x"\nany = ["a"]\n[[slice]]\nname = "x"\nany = ["b"]', r"slice 2 \(line 5\): another slice is named"),
        ('name = "x"\nany = ["a"]\n[other]\ny = 1', r"has other: only \[\[slice\]\] is known"),
    ],
)
def test_a_mistake_is_named_with_its_slice_and_line(read, body, message):
    with pytest.raises(BadSetting, match=message):
        read(body)


def test_a_file_that_is_no_toml_or_has_no_slice_says_so(read, tmp_path):
    with pytest.raises(UnreadableFile, match=r"slices.toml: not TOML .*line 3"):
        read("name = ")
    with pytest.raises(BadSetting, match=r"slices.toml has no slice: write \[\[slice\]\]"):
        read()
    with pytest.raises(UnreadableFile):
        read_slice_rules(tmp_path / "nowhere.toml")
    (tmp_path / "rows.toml").write_text("slice = [1]")
    with pytest.raises(BadSetting, match=r"slice 1 is no table"):
        read_slice_rules(tmp_path / "rows.toml")
