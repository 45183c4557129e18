import pytest

from as2core.messages import MAX_NAMES, MINUS, count, format_p, format_signed, join, name_some, suggest_name


def test_one_is_counted_in_the_singular_and_thousands_are_parted():
    assert [count(n, "sentence") for n in (0, 1, 1300)] == ["0 sentences", "1 sentence", "1,300 sentences"]
    assert count(2, "query", "queries") == "2 queries"


@pytest.mark.parametrize(
    ("value", "text"), [(0.15, "+0.150"), (-0.02, "-0.020"), (0.0, "+0.000"), (-0.0004, "+0.000"), (-0.0006, "-0.001")]
)
def test_what_rounds_to_nothing_has_no_minus(value, text):
    assert format_signed(value) == text
    assert format_signed(value, minus=MINUS) == text.replace("-", "\u2212")


def test_no_p_is_written_as_nothing():
    assert [format_p(p) for p in (0.0132, 0.001, 0.0009, 0.0)] == ["0.013", "0.001", "<0.001", "<0.001"]


@pytest.mark.parametrize(("names", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), ("abc", "a, b and c")])
def test_names_are_joined_as_people_write_them(names, text):
    assert join(names) == text


def test_of_many_names_the_first_are_given_and_the_others_counted():
    names = [f"f{i}" for i in range(MAX_NAMES + 3)]
    assert name_some(names) == f"{', '.join(names[:MAX_NAMES])} and 3 more"
    assert name_some(names[:2]) == "f0, f1"


def test_a_name_like_the_one_given_is_suggested_and_no_other():
    assert suggest_name("starter-tets", ["handbook", "starter-test"]) == "; did you mean starter-test?"
    assert suggest_name("wikiqa", ["handbook", "starter-test"]) == ""
