"""An evaluation as a table for LaTeX: what is bold, which letters stand beside a mean, and what is escaped."""

import re
from dataclasses import asdict, replace
from itertools import combinations

import pytest

from as2core.evaluation.html_report import COMMAND, ReportContents
from as2core.evaluation.latex_table import escape_latex, write_latex
from as2core.metrics import PairedTest

NOTHING = PairedTest(0.0, -0.05, 0.05, 0.9, 12, 12, 9)


def make_contents(values, better=(), unranked=None, pairs=None, holm=0.003):
    """`values`: of each ranker, its AP; `better`: pairs of which the first is clearly better than the second."""
    tests = {}
    for a, b in pairs or combinations(values, 2):
        test = PairedTest(0.2, 0.05, 0.3, 0.001, 20, 3, 10) if (a, b) in better else NOTHING
        if (b, a) in better:
            test = PairedTest(-0.2, -0.3, -0.05, 0.001, 3, 20, 10)
        tests[a, b] = {"AP": {**asdict(test), "holm": holm}}
    rankers = [{"ranker": name, "AP": ap} for name, ap in values.items()]
    facts = [("questions", "33 of x_y"), (COMMAND, "as2 eval a b x_y")]
    return ReportContents("rankers on x_y", facts, rankers, tests, unranked or {}, 0.02, ["one\nnote"])


def read_rows(latex):
    return [row.split(" & ") for row in re.findall(r"^(.*?) \\\\$", latex, re.MULTILINE)]


def test_the_best_mean_is_bold_and_letters_say_what_a_ranker_is_clearly_better_than():
    contents = make_contents({"first": 0.7, "second": 0.5, "third": 0.4}, [("first", "third"), ("second", "third")])
    assert read_rows(write_latex(contents)) == [
        ["", "ranker", "AP"],
        ["a", "first", r"\textbf{0.700}$^{c}$"],
        ["b", "second", "0.500$^{c}$"],
        ["c", "third", "0.400"],
    ]


def test_a_pair_tested_the_other_way_round_gives_its_letter_to_the_better_one():
    rows = read_rows(write_latex(make_contents({"x": 0.4, "y": 0.7, "z": 0.1}, [("y", "x"), ("y", "z")])))
    assert [row[2] for row in rows[1:]] == ["0.400", r"\textbf{0.700}$^{a,c}$", "0.100"]


def test_a_p_that_the_other_pairs_take_away_gives_no_letter():
    contents = make_contents({"x": 0.7, "y": 0.4}, [("x", "y")], holm=0.2)
    assert "$^" not in write_latex(contents)


def test_means_that_print_alike_are_bold_alike():
    assert write_latex(make_contents({"x": 0.50001, "y": 0.49999, "z": 0.3})).count(r"\textbf{0.500}") == 2


def test_the_order_without_reranking_is_the_last_row_and_never_bold():
    rows = read_rows(write_latex(make_contents({"x": 0.2, "y": 0.1}, unranked={"AP": 0.3})))
    assert rows[-1] == ["", "no reranking", "0.300"] and rows[1][2] == r"\textbf{0.200}"


def test_the_caption_names_the_pairs_that_were_tested_unless_all_were():
    names = {"x": 0.7, "y": 0.4, "z": 0.3}
    assert "Tested is" not in write_latex(make_contents(names))
    assert "Tested is x against each other ranker." in write_latex(make_contents(names, pairs=[("x", "y"), ("x", "z")]))
    assert "Not all pairs were tested." in write_latex(make_contents(names, pairs=[("x", "y"), ("y", "z")]))
    assert "Letters" not in write_latex(make_contents({"x": 0.7}))


def test_the_caption_says_which_order_is_the_one_without_reranking():
    contents = make_contents({"x": 0.2, "y": 0.1}, unranked={"AP": 0.3})
    assert " in bold. Without reranking: the order in the data. Letters:" in write_latex(contents)
    contents = replace(contents, facts=[*contents.facts, ("no reranking", "BM25's order")])
    assert " in bold. Without reranking: BM25's order. Letters:" in write_latex(contents)
    assert "Without reranking" not in write_latex(make_contents({"x": 0.2, "y": 0.1}))


def test_the_caption_says_of_how_many_questions_the_means_are():
    contents = make_contents({"x": 0.7, "y": 0.4})
    rankers = [{**r, "questions": 1234} for r in contents.rankers]
    assert r"\caption{rankers on x\_y: means of 1,234 questions. The" in write_latex(replace(contents, rankers=rankers))
    labelled = [{**r, "questions_with_labels": 7} for r in rankers]
    assert "means of 7 questions." in write_latex(replace(contents, rankers=labelled))
    assert r"\caption{rankers on x\_y. The" in write_latex(contents)


def test_facts_and_notes_are_comments_of_one_line_each():
    comments = [line for line in write_latex(make_contents({"x": 0.7, "y": 0.4})).splitlines() if line.startswith("%")]
    assert comments[1:4] == ["% questions: 33 of x_y", "% command: as2 eval a b x_y", "% one note"]


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b&c%d#e", r"a\_b\&c\%d\#e"),
        ("{x}$1", r"\{x\}\$1"),
        ("C:\\run~1^2", r"C:\textbackslash{}run\textasciitilde{}1\textasciicircum{}2"),
        ("a<b|c>d", r"a\textless{}b\textbar{}c\textgreater{}d"),
    ],
)
def test_what_latex_would_take_for_a_command_is_printed(text, escaped):
    assert escape_latex(text) == escaped
    row = read_rows(write_latex(make_contents({text: 0.5})))[1]
    assert row[:2] == ["a", escaped]


def test_more_rankers_than_letters_have_two():
    rows = read_rows(write_latex(make_contents({f"r{i}": 0.5 for i in range(28)})))
    assert [row[0] for row in rows[26:]] == ["z", "aa", "ab"]
