"""The blocks of docs/extending.md run, and a package's ranker is known by its name."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_models import tiny_models

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/extending.md").read_text(), re.M | re.S)
IN_PYTHON, BY_NAME, FIRST_STAGE, OWN_LOSS, DATA_SET, FILE_FORMAT, QUEUE = range(7)


def install(folder: Path, code: str, point: str, group: str = "as2.rankers", name: str = "length") -> dict[str, str]:
    """A package as pip leaves it in `folder`, and the environment that finds it."""
    (folder / "my_package.py").write_text(code)
    record = folder / "my_package-1.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1\n")
    (record / "entry_points.txt").write_text(f"[{group}]\n{name} = my_package:{point}\n")
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "AS2_HOME": str(folder / "home")}


def rank(environment: dict[str, str], folder: Path, spec: str) -> subprocess.CompletedProcess[str]:
    texts = folder / "texts.txt"
    texts.write_text("short\nthe longest of the three\nneither nor\n")
    command = [sys.executable, "-m", "as2core.cli", "rank", "why?", "--candidates", str(texts), "--ranker", spec]
    return subprocess.run(
        [*command, "--json"], env=environment, capture_output=True, text=True, cwd=folder, timeout=100
    )


def test_the_ranker_of_a_package_has_a_name_and_settings(tmp_path):
    lines = [line for line in BLOCKS[IN_PYTHON].splitlines() if not line.startswith(("questions =", "mine,", "print("))]
    environment = install(tmp_path, "\n".join(lines) + BLOCKS[BY_NAME], "RANKER")
    for spec, ordered in (("length", ["the longest", "neither", "short"]), ("length:power=-1", ["short", "neither"])):
        done = rank(environment, tmp_path, spec)
        assert done.returncode == 0, done.stderr
        places = [done.stdout.index(text) for text in ordered]
        assert places == sorted(places)


@pytest.mark.parametrize(
    ("code", "says"), [("RANKER = 3", "it is no Entry"), ("raise ValueError('of its own')", "of its own")]
)
def test_what_a_package_offers_in_vain_is_left_out_with_a_warning(code, says, tmp_path):
    done = rank(install(tmp_path, code, "RANKER"), tmp_path, "bm25")
    assert done.returncode == 0, done.stderr
    assert "left out" in done.stderr and says in done.stderr


def test_a_ranker_is_compared_and_a_loss_is_trained_as_the_page_says(tmp_path, monkeypatch, capsys):
    from as2core.rankers import catalog
    from as2core.training.learners.cascade import CascadeLearner

    models = tiny_models(tmp_path, ["when was it built"])
    get = catalog.get
    monkeypatch.setattr(catalog, "get", lambda spec: get(spec, models_dir=models))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(BLOCKS[IN_PYTHON], names)
    ap, p = map(float, capsys.readouterr().out.split())
    assert 0 < ap < 1 and 0 < p <= 1
    exec(BLOCKS[FIRST_STAGE], names)
    alive = len(names["questions"][0].candidates)
    assert capsys.readouterr().out.split() == [str(alive), "10"] and alive > 10
    asked: list[int] = []
    exec(BLOCKS[OWN_LOSS].partition("\nbase =")[0], names)
    own = names["FocalLearner"].discriminative_loss
    assert own is not CascadeLearner.discriminative_loss
    monkeypatch.setattr(names["FocalLearner"], "discriminative_loss", lambda *a: (asked.append(1), own(*a))[1])
    exec("base =" + BLOCKS[OWN_LOSS].partition("\nbase =")[2], names)
    assert asked and names["tuned"].is_trained


def test_a_data_set_of_a_package_has_a_name_in_the_commands(tmp_path, monkeypatch, capsys):
    from as2core.cli import main

    install(tmp_path, BLOCKS[DATA_SET], "read_tickets", "as2.data", "tickets")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_package", raising=False)
    assert main(["eval", "jaccard", "rr", "tickets:dev", "--json", "--per-question", str(tmp_path / "q.csv")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["data"], [r["AP"] for r in document["rankers"]]) == ("tickets:dev", [1.0, 1.0])
    assert "dev-1,Who resets a password?,2,1,jaccard" in (tmp_path / "q.csv").read_text()


def test_a_reader_of_a_file_format_reports_the_line_that_it_cannot_read(capsys):
    names: dict[str, object] = {}
    exec(BLOCKS[FILE_FORMAT], names)
    assert capsys.readouterr().out == "1 [\"line 3: 'maybe' is not yes or no\"]\n"
    assert [(c.text, c.label) for c in names["tickets"][0].candidates] == [("She did.", 1), ("It rains.", 0)]


def test_a_data_set_of_a_package_that_cannot_be_loaded_disturbs_no_other(tmp_path, monkeypatch, capsys):
    from as2core.lookup import read_questions

    install(tmp_path, "raise ValueError('of its own')", "read_tickets", "as2.data", "tickets")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_package", raising=False)
    assert read_questions("starter-dev")
    assert "my_package:read_tickets (as2.data) left out: of its own" in capsys.readouterr().err
