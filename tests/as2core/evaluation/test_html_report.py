"""The report of an evaluation: which pairs it tells of in words, what p is corrected for, and its notes."""

import re
from dataclasses import asdict
from itertools import combinations

from as2core.evaluation.html_report import ReportContents, write_report
from as2core.evaluation.training_record import describe_overlap, merge_overlaps
from as2core.metrics import PairedTest


def make_report(names=("a", "b", "b:ratio=0.3"), **changes):
    ranker = {"AP": 0.5, "intervals": {"AP": (0.4, 0.6)}, "relative_cost": None, "cuts": ()}
    test = asdict(PairedTest(0.1, 0.05, 0.15, 0.001, 20, 3, 10))
    other = {"holm": 0.003, "effect": 0.4, "detectable": 0.04, "sample_size": 90}
    tests = {pair: {"AP": {**test, **other}} for pair in combinations(names, 2)}
    rankers = [{"ranker": name, **ranker} for name in names]
    return ReportContents("three rankers", [("date", "today & now")], rankers, tests, {}, 0.02, **changes)


def test_the_outcome_tells_of_the_pairs_asked_for_and_the_table_of_all():
    page = write_report(make_report(outcomes=[("a", "b")]))
    report, others = page.split("<h2>Other pairs</h2>")
    assert page.count("<li>") == 1 and report.count(" minus ") == 2  # a heading and a row
    assert others.count(" minus ") == 3 and "The other" not in page
    assert write_report(make_report()).count("<li>") == 3
    assert "today &amp; now" in page


def test_of_many_rankers_the_pairs_of_the_best_come_first_and_alone_in_words():
    contents = make_report("abcde")
    contents.rankers[2]["AP"] = 0.7
    page = write_report(contents)
    assert page.count("<li>") == 4 and "The other 6 pairs of rankers: in the tables." in page
    rows = re.findall("<td>(.) minus (.)</td>", page)
    assert len(rows) == 10 and all("c" in row for row in rows[:4]) and not any("c" in row for row in rows[4:])
    assert "Other pairs" not in page


def test_on_paper_no_column_is_cut_off_and_no_colour_is_that_of_a_dark_screen():
    page = write_report(make_report())
    assert re.search("@media print{.*[.]table{overflow:visible", page, re.DOTALL)
    assert "@media screen and (prefers-color-scheme:dark)" in page and page.count("prefers-color-scheme") == 1
    assert page.count("<thead>") == page.count("<table>") == 3  # which repeats the head on each page


def test_p_is_said_to_be_corrected_for_the_pairs_of_the_report_or_of_its_family():
    assert "corrected for 3 pairs" in write_report(make_report())
    contents = make_report()
    contents.tests["a", "b"]["AP"]["family_size"] = 1
    page = write_report(contents)
    assert "a is better than b: AP is 0.100 higher (95 %: +0.050 to +0.150; p\u00a0=\u00a00.003)." in page
    assert "p corrected for the pairs of its family (Holm)" in page


def test_what_a_ranker_s_record_lacks_has_no_column():
    page = write_report(make_report())
    assert "SHA-256" not in page and "seconds" not in page and "compute, of the whole model" in page


def test_whose_mean_is_higher_is_said_where_no_ranker_is_called_better():
    contents = make_report(headline="a & b lead.")
    for test in contents.tests.values():
        test["AP"] |= {"p": 0.5, "holm": 0.7}
    page = write_report(contents)
    assert "No clear difference between a and b: AP of a is 0.100 higher (95 %: +0.050 to +0.150)" in page
    assert "<h2>Outcome</h2><p><strong>a &amp; b lead.</strong></p><ul>" in page


def test_a_number_below_zero_has_a_minus_sign_and_no_hyphen():
    contents = make_report()
    for test in contents.tests.values():
        test["AP"] |= {"difference": -0.1, "low": -0.15, "high": -0.05, "effect": -0.4}
    page = write_report(contents)
    assert "(95 %: −0.150 to −0.050" in page and "−0.100" in page and "−0.40 (" in page
    assert not any(text in page for text in ("-0.150", "-0.100", "-0.40"))


def test_several_rankers_trained_on_the_questions_share_a_note():
    questions = [str(n) for n in range(1200)]
    trained_on = {"a": questions, "b": questions[:7], "c": questions, "bm25": []}
    one = [note for name, texts in trained_on.items() for note in describe_overlap(name, texts, questions)]
    two = [note for name in "ab" for note in describe_overlap(name, [], questions, validated_on=questions[:3])]
    notes = merge_overlaps(["first", *one, *two, "last"])
    assert notes == ["first", *notes[1:3], "last"]
    assert notes[1].startswith(
        "a and c were trained on 1,200 of these 1,200 questions, b on 7 of them, so their figures"
    )
    assert notes[2].startswith("a and b were validated on 3 of these 1,200 questions: these questions chose")
    assert merge_overlaps([one[1], two[0]]) == [one[1], two[0]]  # one ranker each: as they are
    assert write_report(make_report(notes=one)).count('class="missed"') == 1
