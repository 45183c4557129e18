"""A ranker's files, taken to a machine that has none of them."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from tiny_models import tiny_models

from as2core.bulk.packing import MAX_AGE_SECONDS, Packer, is_bound_here, make_root, restore_paths, unpack
from as2core.errors import BadSetting, DamagedModel
from as2core.rankers.catalog import get
from as2core.types import Candidate

TEXTS = ["the tower stands in paris", "rain and bread", "a tower of bread", "paris"]
CANDIDATES = [Candidate(str(i), text) for i, text in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return tiny_models(tmp_path_factory.mktemp("home"), TEXTS)


@pytest.fixture
def carry(models, tmp_path):
    """The spec as another machine reads it, after the directories of this one are gone."""

    def run(spec: str, versions=None) -> str:
        packer = Packer(versions or {})
        packed = packer.pack(spec)
        away = models.parent.with_name(f"{models.parent.name}-away")
        models.parent.rename(away)
        root = tmp_path / "node"
        root.mkdir(exist_ok=True)
        try:
            moved = unpack(packed, packer.folders.__getitem__, root)
            get(moved)  # loads there
        finally:
            away.rename(models.parent)
        return moved

    return run


def rate(spec: str) -> np.ndarray:
    return get(spec).score("where is the tower", CANDIDATES)


def test_a_version_takes_its_backbone_along_and_scores_the_same(models, carry):
    moved = carry(f"{models / 'cascade'}:drop_ratio=0.5")
    assert moved.endswith("/cascade:drop_ratio=0.5") and str(models) not in moved
    assert np.allclose(rate(moved), rate(f"{models / 'cascade'}:drop_ratio=0.5"), atol=1e-5)


def test_a_name_is_packed_as_its_directory_also_within_another_spec(models, carry):
    versions = {"spring": models / "cascade", "autumn": models / "generative"}
    moved = carry("fusion:rankers=spring+wo+[sequential:stages=bm25@3+autumn]", versions)
    here = f"fusion:rankers={models / 'cascade'}+wo+[sequential:stages=bm25@3+{models / 'generative'}]"
    assert np.allclose(rate(moved), rate(here), atol=1e-5)


def test_a_first_stage_and_a_backbone_are_packed(models, carry):
    moved = carry(f"{models / 'cascade'}:first=[bi-encoder:backbone={models.parent / 'backbone'}],first_keep=3")
    assert moved.count("/node/") == 2


def test_a_saved_fusion_takes_its_parts_along(models, carry):
    from as2core.rankers.versions import save_version

    path = models / "both"
    save_version(get(f"fusion:rankers={models / 'cascade'}+wo"), path, {})
    expected = rate(str(path))
    moved = carry(str(path))
    shutil.rmtree(path)
    assert np.allclose(rate(moved), expected, atol=1e-5)


def test_what_the_node_has_itself_stays_as_it_is_written():
    packer = Packer({})
    assert packer.pack("cascade:drop_ratio=0.5") == "cascade:drop_ratio=0.5" and packer.folders == {}


def test_the_same_content_has_the_same_digest_and_another_name_another(models, tmp_path):
    for name in ("a/model", "b/model", "c/other"):
        shutil.copytree(models / "cascade", tmp_path / name)
    a, b, c = (Packer({}).pack(str(tmp_path / name)) for name in ("a/model", "b/model", "c/other"))
    assert a == b != c


def test_a_damaged_configuration_stays_damaged_on_the_way(models, tmp_path):
    path = tmp_path / "cascade"
    shutil.copytree(models / "cascade", path)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, "note": "x"}))
    packer, root = Packer({}), make_root(tmp_path / "node")
    moved = unpack(packer.pack(str(path)), packer.folders.__getitem__, root)
    with pytest.raises(DamagedModel) as failure:
        get(moved)
    assert restore_paths(str(failure.value), packer.paths, root).startswith(f"{path / 'config.json'} is damaged")


@pytest.mark.parametrize(
    "spec",
    ["http:url=http://127.0.0.1:9/rerank", "run:file=x.run", "fusion:rankers=wo+[fusion:rankers=bm25+run:file=x.run]"],
)
def test_runs_and_addresses_stay_on_this_machine(spec):
    assert is_bound_here(spec, {})
    with pytest.raises(BadSetting, match="this machine alone"):
        Packer({}).pack(spec)


def test_a_ranker_of_the_catalog_goes_anywhere():
    assert not is_bound_here("cascade:first=bm25", {})


def test_a_folder_that_nobody_used_for_a_week_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = make_root(None) / ("0" * 64)
    folder.mkdir()
    used = folder.stat().st_mtime
    assert folder in make_root(None, now=used + MAX_AGE_SECONDS - 1).iterdir()
    assert [*make_root(None, now=used + MAX_AGE_SECONDS + 1).iterdir()] == []


def test_a_folder_that_others_may_write_to_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    make_root(None).chmod(0o777)
    with pytest.raises(BadSetting, match="not this user's alone"):
        make_root(None)
