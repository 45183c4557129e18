"""A comparison as files."""

import json
from codecs import BOM_UTF8
from dataclasses import replace
from html import escape
from io import StringIO

import pandas as pd
import pytest
from app_pages import texts
from comparisons import CLEAR, open_comparison

from app.compare import comparison, exports
from app.compare.comparison import ComparisonView, Figure, RankerResult
from app.compare.pairs import PairedResult
from app.ui.compare import downloads
from app.ui.text import format_time


def means_of(values, metric):
    return values.groupby("ranker")[metric].mean()


def test_a_comparison_is_one_file_to_pass_on_that_needs_nothing_else(wb, job):
    view = comparison.load_comparison(wb, job)
    page = exports.export_html(replace(view, warning="Few <b>labels</b>."))
    assert "Few &lt;b&gt;labels&lt;/b&gt;." in page and "http" not in page
    [first, *_] = view.list_distinct_pairs("AP")
    assert f"{abs(first.test.difference):.3f}" in page and page.count("<tr><td>bm25</td>") == 5  # 4 measures, its cost
    assert "corrected for 6 pairs" in page and "p corrected for 6 pairs (Holm)" in page
    assert f"{view.questions:,} of {view.data}" in page and view.finished.strftime("%Y-%m-%d") in page
    orders = {"": "the order in the data", "retrieval": "the order of retrieval", "words": "BM25's order"}
    for order, text in orders.items():
        page = exports.export_html(replace(view, unranked={"AP": 0.5}, unranked_order=order))
        assert f"<dt>no reranking</dt><dd>{escape(text)}</dd>" in page


def test_a_comparison_can_be_downloaded_with_full_names(wb, job):
    view = comparison.load_comparison(wb, job)
    table = pd.read_csv(StringIO(exports.export_table(view)))
    assert table["ranker"].tolist() == ["cascade", "starter-2", "bm25", "rr"]
    assert table.loc[0, ["data", "setting", "with_unlabelled"]].tolist() == ["labels:things", "clean", False]
    figure = view.results[0].figures["P@1"]
    assert table.loc[0, ["P@1", "P@1 low", "P@1 high", "P@1 most"]].tolist() == pytest.approx(
        [figure.value, figure.low, figure.high, figure.most]
    )
    assert table["seconds_per_question"].tolist() == [r.seconds for r in view.results]
    values = pd.read_csv(StringIO(exports.export_values(view)))
    assert len(values) == 4 * view.questions and means_of(values, "AP")["rr"] == pytest.approx(
        view.results[3].figures["AP"].value
    )
    document = json.loads(exports.export_json(view))
    assert [r["ranker"] for r in document["rankers"]] == ["cascade", "starter-2", "bm25", "rr"]
    assert document["rankers"][0]["intervals"]["P@1"] == pytest.approx([figure.low, figure.high])
    assert {r["questions"] for r in document["rankers"]} == {view.questions}
    assert f": means of {view.questions} questions. The highest" in exports.export_latex(view)
    assert document["unranked_order"] == view.unranked_order == "words"
    assert len(document["comparisons"]) == 6 and document["notes"] == list(view.notes)
    for pair in document["comparisons"]:
        for metric in ("AP", "P@1", "RR", "nDCG@10"):
            difference = means_of(values, metric)[pair["a"]] - means_of(values, metric)[pair["b"]]
            assert pair[metric]["difference"] == pytest.approx(difference)
    at = open_comparison(job)
    assert f" · {format_time(view.finished)}" in texts(at)  # a saved page and an old result say when they were made
    assert [b.proto.label for b in at.get("download_button")] == [
        "Questions and candidates with their ids", "Table as CSV", "Values by question as CSV", "Report as HTML",
        "Table for LaTeX", "All results as JSON"]  # fmt: skip


def test_the_csv_files_of_a_comparison_have_the_mark_of_utf_8(wb, job):
    view = comparison.load_comparison(wb, job)
    for _, export, _, mime, _ in downloads.FILES:
        content = downloads._make(export, view, mime)
        assert content.startswith(BOM_UTF8) is (mime == "text/csv")
        assert content.removeprefix(BOM_UTF8) == export(view).encode()


def test_a_cell_of_a_download_becomes_no_formula():
    values = pd.DataFrame({"qid": ["q"], "question": ["=1+1"], "ranker": ["bm25"], "AP": [0.5]})
    view = ComparisonView("things", "clean", 1, (), {}, values, {})
    assert "'=1+1" in exports.export_values(view)


def test_a_test_in_the_file_is_of_the_same_side_for_every_metric():
    ap = PairedResult("a", "b", "AP", CLEAR, 0.01, 0.4)
    p1 = PairedResult("b", "a", "P@1", CLEAR, 0.01, 0.4)
    figures = {m: Figure(0.5, 0.4, 0.6) for m in ("AP", "P@1")}
    rankers = tuple(RankerResult(name, figures, None) for name in "ab")
    view = ComparisonView("things", "clean", 122, rankers, {"AP": (ap,), "P@1": (p1,)}, pd.DataFrame(), {})
    [pair] = exports._list_comparisons(view, ["AP", "P@1"])
    assert (pair["a"], pair["AP"]["difference"], pair["P@1"]["difference"]) == ("a", 0.1, -0.1)
    assert (pair["P@1"]["low"], pair["P@1"]["high"], pair["P@1"]["wins"], pair["P@1"]["effect"]) == (-0.15, -0.05, 20,
                                                                                                   -0.4)  # fmt: skip
