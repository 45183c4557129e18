"""The page of results is written from the stored reports, and holds every row of every table."""

import json

import pytest

from as2core.errors import UnreadableFile
from as2core.experiments.base import Options, Report
from as2core.experiments.report.findings import Row
from as2core.experiments.report.page import Record, describe_command, read_records, render_page, write_page
from as2core.experiments.report.tables import TABLES


def record(command: str, target: str = "wikiqa", *, measured=None, verdict: str = "undecided") -> Record:
    row = Row("it | helps", ".1 < .2", "+.010 (-.010 to +.030)", "dev, not test", verdict, "the interval has 0 inside")
    report = Report((row,), (), measured or {}, ("2026-01-02 abc",), "WikiQA dev")
    return Record(command.split()[2], command, target, 90.0, report)


def test_every_row_of_the_papers_tables_stands_there_with_the_reason_if_it_is_not_run(tmp_path):
    page = tmp_path / "results.md"
    for name in TABLES:
        write_page(page, record(f"as2 reproduce {name}"))
    text = page.read_text()
    for tables in TABLES.values():
        for paper in tables:
            assert f"{paper.title}." in text and (not paper.missing or f"Not run: {paper.missing}." in text)
            for name, _, figures in paper.rows:
                shown = [f"{f:.3f}".lstrip("0") for f in figures if f is not None]
                row = next(x for x in text.splitlines() if x.startswith(f"| {name.replace('|', chr(92) + '|')} |"))
                assert all(x in text for x in shown) and row.count("not run") >= 1
    assert (
        text.count("| chance |")
        == text.count("| document order |") + text.count("| RR |")
        == sum(len(tables) for tables in TABLES.values())
    )


def test_the_findings_are_one_table_at_the_head_with_how_many_hold(tmp_path):
    page = tmp_path / "results.md"
    page.write_text("# Results\n\n<!-- findings -->\n<!-- /findings -->\n\nkept\n")
    write_page(page, record("as2 reproduce tanda --seeds 3", verdict="holds"))
    write_page(page, record("as2 reproduce tanda --set trecqa", "trecqa"))
    text = page.read_text()
    assert "holds: 1, undecided: 1, does not hold: 0, not run: 0." in text
    assert "| it \\| helps | .1 < .2 | +.010 (-.010 to +.030) | holds |" in text
    assert text.index("findings") < text.index("kept") < text.index("<!-- tanda -->")


def test_a_run_again_replaces_its_report_whatever_its_seeds_and_sets_are_added(tmp_path):
    page = tmp_path / "results.md"
    for command in ("as2 reproduce tanda", "as2 reproduce tanda --seeds 3"):
        write_page(page, record(command))
    write_page(page, record("as2 reproduce tanda --set trecqa", "trecqa", measured={"AP": {"fine-tuned": ".812"}}))
    assert [r.command for r in read_records(tmp_path / "results")] == [
        "as2 reproduce tanda --seeds 3",
        "as2 reproduce tanda --set trecqa",
    ]
    row = next(x for x in page.read_text().splitlines() if x.startswith("| BERT-B FT target |"))
    assert row == "| BERT-B FT target | .813 | not run | .828 | not run | .857 | .812 | .937 | not run |"


def test_two_encoders_on_one_set_stand_in_one_cell_with_their_commands(tmp_path):
    page = tmp_path / "results.md"
    write_page(page, record("as2 reproduce qnli", measured={"AP": {"QNLI alone": ".7"}}))
    write_page(page, record("as2 reproduce qnli --backbone bert", measured={"AP": {"QNLI alone": ".8"}}))
    assert ".7 (`as2 reproduce qnli`); .8 (`as2 reproduce qnli --backbone bert`)" in page.read_text()


def test_a_damaged_report_is_named(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "tanda.json").write_text("{}")
    with pytest.raises(UnreadableFile, match=r"tanda\.json is no report"):
        render_page(tmp_path / "results.md")


def test_the_command_names_what_differs_from_the_defaults(tmp_path):
    options = Options(tmp_path, full=True, seeds=3, backbone="roberta-base", target="asnq")
    assert describe_command("cascade", options) == (
        "as2 reproduce cascade --set asnq --backbone roberta-base --full --seeds 3"
    )


def test_what_is_stored_is_plain_json(tmp_path):
    write_page(tmp_path / "results.md", record("as2 reproduce qnli"))
    assert json.loads((tmp_path / "results" / "qnli.json").read_text())["report"]["rows"][0]["verdict"] == "undecided"
