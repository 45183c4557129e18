"""Where results are written, and what every experiment is called with."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from as2core import cli
from as2core.errors import BadSetting, UnknownData
from as2core.experiments import catalog
from as2core.experiments.base import EXPERIMENTS, Options, Report, find_part, write_section
from as2core.experiments.report.findings import Row

ROW = Row("early exits are weaker", "60.1 < 89.9", ".69 < .72", "six layers", "undecided", "the interval | 0")


def test_a_section_is_replaced_between_its_markers_and_the_rest_of_the_page_stays(tmp_path):
    page = tmp_path / "results.md"
    page.write_text("# Results\n\n<!-- a -->\nold \\1\n<!-- /a -->\n\nkept\n")
    write_section(page, "a", "new \\2\n")
    assert page.read_text() == "# Results\n\n<!-- a -->\nnew \\2\n<!-- /a -->\n\nkept\n"
    write_section(page, "ab", "second")
    assert page.read_text().endswith("kept\n\n<!-- ab -->\nsecond\n<!-- /ab -->\n")
    assert [p.name for p in tmp_path.iterdir()] == ["results.md"]


def test_a_page_that_is_not_there_yet_is_begun(tmp_path):
    write_section(tmp_path / "results.md", "a", "text")
    assert (tmp_path / "results.md").read_text() == "# Results\n\n<!-- a -->\ntext\n<!-- /a -->\n"


def test_a_section_for_nobody_leaves_the_device_that_swallows_it(tmp_path):
    device = tmp_path / "null"
    os.mkfifo(device)
    reader = os.open(device, os.O_RDONLY | os.O_NONBLOCK)
    write_section(device, "a", "text")
    assert device.is_fifo()
    assert os.read(reader, 99) == b"# Results\n\n<!-- a -->\ntext\n<!-- /a -->\n"
    os.close(reader)


def test_sets_are_without_titles_unless_they_are_asked_for(tmp_path):
    assert not any(q.has_titles for q in Options(tmp_path).questions("starter-dev"))
    assert any(q.has_titles for q in Options(tmp_path, titles=True).questions("starter-dev"))


def test_data_that_is_not_at_hand_is_named_with_the_option_that_gives_it(tmp_path):
    with pytest.raises(BadSetting, match="--data DIR"):
        Options(tmp_path).questions("wikiqa-dev")
    with pytest.raises(UnknownData, match=r"WikiQA-dev\.tsv"):
        Options(tmp_path, data_dir=tmp_path).questions("wikiqa-dev")


def test_a_set_s_part_is_found_by_the_names_it_usually_has(tmp_path):
    (tmp_path / "insuranceqa").mkdir()
    for name in ("test.tsv", "test.jsonl"):
        (tmp_path / "insuranceqa" / name).write_text("")
    assert find_part(tmp_path, "insuranceqa-test").name == "test.jsonl"
    with pytest.raises(UnknownData, match=r"train\.jsonl is missing.*train\.jsonl\.gz"):
        find_part(tmp_path, "insuranceqa-train")


def test_it_is_measured_on_the_test_part_else_on_dev_unless_a_file_is_given(tmp_path):
    folder = tmp_path / "trecqa"
    folder.mkdir()
    text = Path("corpora/starter/dev.jsonl").read_text()
    (folder / "dev.jsonl").write_text(text)
    options = Options(tmp_path, data_dir=tmp_path, target="trecqa")
    assert options.measured_questions()[0] == "TREC-QA dev"
    (folder / "test.jsonl").write_text(text)
    assert options.measured_questions()[0] == "TREC-QA test"
    mine = tmp_path / "mine.jsonl"
    mine.write_text(text)
    assert replace(options, test=mine).measured_questions()[0] == "mine.jsonl"


def test_reproduce_writes_the_page_and_prints_the_table(monkeypatch, tmp_path, capsys):
    report = Report((ROW,), ("A note.",), {"AP": {"CA": ".700 (.600 to .800)"}}, ("2026-01-02 abc",))
    monkeypatch.setattr(catalog, "load_experiment", lambda name: lambda options, on_progress: report)
    monkeypatch.setattr(Options, "measured_questions", lambda self: ("WikiQA dev", []))
    page = tmp_path / "new" / "folder" / "results.md"
    call = ["reproduce", "structure", "--seeds", "2", "--out", str(page), "--store", str(tmp_path / "cells")]
    assert cli.main(call) == 0
    assert ROW.finding in capsys.readouterr().out
    text = page.read_text()
    assert "| `as2 reproduce structure --seeds 2` |" in text and "2026-01-02 abc" in text and "A note." in text
    assert "| CA | .720 | .700 (.600 to .800) |" in text  # Table 4


def test_layers_are_drawn_anew_only_where_an_experiment_starts_from_the_encoder(tmp_path, capsys):
    folders = ["--out", str(tmp_path / "page.md"), "--store", str(tmp_path)]
    call = ["reproduce", "generation", "--reset-layers", "3", *folders]
    assert cli.main(call) == 1
    assert "--reset-layers is for cascade, exit_draws, tanda, qnli, not for generation" in capsys.readouterr().err


def test_an_unknown_experiment_is_answered_with_those_there_are(capsys):
    assert cli.main(["reproduce", "alchemy"]) == 1
    assert ", ".join(EXPERIMENTS) in capsys.readouterr().err
