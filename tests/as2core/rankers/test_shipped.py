"""The shipped models are found in a clone, and where a wheel put them."""

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from as2core.rankers import shipped
from as2core.rankers.shipped import locate_models

REPO = Path(__file__).parents[3]
RANK = "import as2core as a; print(a.Reranker().rank('Who built it?', ['It is tall.', 'Eiffel built it.']), a.__file__)"


class Recorded:
    """As importlib.metadata gives a file of a package."""

    def __init__(self, path):
        self.path, self.parts = path, path.parts

    def locate(self):
        return self.path


def test_a_clone_s_models_stand_beside_the_package(tmp_path):
    (tmp_path / "models" / "cascade").mkdir(parents=True)
    assert locate_models(tmp_path) == tmp_path / "models"


def test_a_wheel_s_models_are_found_by_its_record_and_not_by_a_folder_of_that_name(tmp_path, monkeypatch):
    (tmp_path / "site" / "models").mkdir(parents=True)  # of another package
    path = tmp_path / "share" / "models" / "cascade" / "config.json"
    monkeypatch.setattr(shipped.importlib.metadata, "files", lambda name: [Recorded(tmp_path / "x.py"), Recorded(path)])
    assert locate_models(tmp_path / "site") == tmp_path / "share" / "models"


@pytest.mark.parametrize("files", [PackageNotFoundError, None, []])
def test_without_any_they_are_expected_where_a_clone_has_them(tmp_path, monkeypatch, files):
    def list_files(name):
        if files is PackageNotFoundError:
            raise files
        return files

    monkeypatch.setattr(shipped.importlib.metadata, "files", list_files)
    assert locate_models(tmp_path) == tmp_path / "models"


@pytest.mark.slow
def test_a_wheel_ranks_with_the_shipped_cascade_in_an_empty_folder(tmp_path):
    pip = [sys.executable, "-m", "pip", "-q"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path / "wheels", REPO], check=True)
    (wheel,) = (tmp_path / "wheels").iterdir()
    subprocess.run([*pip, "install", "--no-deps", "--target", tmp_path / "site", wheel], check=True)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "AS2_HOME": str(tmp_path / "home")}
    run = subprocess.run([sys.executable, "-c", RANK], cwd=tmp_path, env=environment, text=True, capture_output=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("[{'corpus_id': 1") and str(tmp_path / "site") in run.stdout
