"""Where results are written, and what every experiment is called with."""

import os

import pytest

from as2core import cli
from as2core.errors import BadSetting, UnknownData
from as2core.experiments import catalog
from as2core.experiments.base import Options, Report, Row, write_section
from as2core.experiments.catalog import EXPERIMENTS, markdown, reproduce

ROW = Row("early exits are weaker", "60.1 < 89.9", ".69 < .72", "six layers | one seed", True)


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


def test_a_report_becomes_a_table_with_its_notes_below():
    text = markdown("cascade", Report((ROW,), ("A note.",)), "as2 reproduce cascade", 90)
    assert "| early exits are weaker | 60.1 < 89.9 | .69 < .72 | yes | six layers \\| one seed |" in text
    assert "`as2 reproduce cascade`, in 1.5 minutes" in text and text.endswith("\nA note.\n")


def test_an_experiment_runs_in_a_folder_of_its_own_that_is_gone_afterwards(monkeypatch, tmp_path):
    seen = []

    def run(options, on_progress):
        (options.workdir / "model").write_text("x")
        seen.append(options)
        return Report((ROW,))

    monkeypatch.setattr(catalog, "load_experiment", lambda name: run)
    report, seconds = reproduce("exit_draws", Options(tmp_path, seeds=2))
    assert report.rows == (ROW,) and seconds >= 0
    assert seen[0].seeds == 2 and seen[0].workdir.parent == tmp_path and not list(tmp_path.iterdir())


def test_sets_are_without_titles_unless_they_are_asked_for(tmp_path):
    assert not any(q.has_titles for q in Options(tmp_path).questions("starter-dev"))
    assert any(q.has_titles for q in Options(tmp_path, titles=True).questions("starter-dev"))


@pytest.mark.parametrize("name", ["cascade", "structure", "generation", "tanda", "rerank"])
def test_a_paper_s_rows_that_are_not_run_are_listed_with_the_reason(name, monkeypatch, tmp_path):
    monkeypatch.setattr(catalog, "load_experiment", lambda name: lambda options, on_progress: Report((ROW,)))
    first, *missing = reproduce(name, Options(tmp_path))[0].rows
    assert first == ROW and missing
    assert all(r.ours == "not run" and r.holds is None and r.paper and len(r.differs) > 20 for r in missing)


def test_data_that_is_not_at_hand_is_named_with_the_option_that_gives_it(tmp_path):
    with pytest.raises(BadSetting, match="--data-dir"):
        Options(tmp_path).questions("wikiqa-dev")
    with pytest.raises(UnknownData, match=r"WikiQA-dev\.tsv"):
        Options(tmp_path, data_dir=tmp_path).questions("wikiqa-dev")


def test_reproduce_writes_its_section_and_prints_the_table(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(catalog, "load_experiment", lambda name: lambda options, on_progress: Report((ROW,)))
    page = tmp_path / "new" / "folder" / "results.md"
    assert cli.main(["reproduce", "cascade", "--seeds", "2", "--out", str(page)]) == 0
    assert ROW.finding in capsys.readouterr().out
    assert "`as2 reproduce cascade --seeds 2`" in page.read_text()


def test_an_unknown_experiment_is_answered_with_those_there_are(capsys):
    assert cli.main(["reproduce", "alchemy"]) == 1
    assert ", ".join(EXPERIMENTS) in capsys.readouterr().err
