"""A version is imported only if it can score; what it claims of itself stays a claim."""

import json
import os
import shutil

import pytest
from safetensors.torch import load_file, save_file
from tiny_models import tiny_models

from app import bootstrap
from app.versions import loading, management, registry
from app.workbench.models import LoadedModels
from app.workbench.settings import Settings
from as2core.errors import As2Error, BadSetting, DamagedModel
from as2core.rankers.catalog import load_version
from as2core.rankers.versions import save_version, sha256
from as2core.types import Candidate

TEXTS = ["When was the tower finished?", "The tower was finished in 1889."]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return tiny_models(tmp_path_factory.mktemp("tiny"), TEXTS)


@pytest.fixture(scope="module")
def exports(tmp_path_factory, tiny):
    """A folder by format."""
    from as2core.export import export_ranker

    folder = tmp_path_factory.mktemp("exports")
    for to in ("as2", "hf"):
        export_ranker(load_version(tiny / "cascade"), to, folder / to, card={"metrics": {"AP": 0.99}})
    return folder


@pytest.fixture
def wb(tmp_path, tiny, clock):
    settings = Settings(home=tmp_path / "home", models_dir=tiny, corpora_dir=tmp_path, worker="external")
    opened = bootstrap.open(settings, LoadedModels(tiny), clock)
    yield opened
    opened.close()


@pytest.fixture
def change(exports, tmp_path):
    """change(format, weights=..., config=...) gives a copy with what these functions make of its tensors and config,
    and a card that is true of them."""

    def act(to, weights=lambda t: t, config=lambda c: c):
        folder = shutil.copytree(exports / to, tmp_path / "changed", dirs_exist_ok=True)
        tensors = weights(load_file(folder / "model.safetensors"))
        save_file({k: t.contiguous() for k, t in tensors.items()}, folder / "model.safetensors")
        content = config(json.loads((folder / "config.json").read_text()))
        (folder / "config.json").write_text(json.dumps(content))
        if to == "as2":
            card = json.loads((folder / "card.json").read_text())
            hashes = {"sha256": "model.safetensors", "config_sha256": "config.json"}
            card |= {key: sha256(folder / name) for key, name in hashes.items()}
            (folder / "card.json").write_text(json.dumps(card))
        return folder

    return act


def list_made(wb):
    versions = [v.name for v in registry.list_versions(wb, None) if not management.is_shipped(wb, v)]
    folder = wb.settings.versions_dir / registry.IMPORTS_FOLDER
    return versions, sorted(p.name for p in folder.glob("*")) if folder.exists() else []


def first(tensors):
    return next(name for name in sorted(tensors) if not name.startswith(("backbone.", "encoder.")))


def without_first(tensors):
    return {k: t for k, t in tensors.items() if k != first(tensors)}


def with_first(make):
    return lambda tensors: {k: make(t) if k == first(tensors) else t for k, t in tensors.items()}


@pytest.mark.parametrize("to", ["as2", "hf"])
@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        (lambda tensors: {}, "lacks"),
        (without_first, "lacks 1 of the tensors"),
        (lambda tensors: tensors | {"zzz": next(iter(tensors.values())).clone()}, "does not know|does not export"),
        (with_first(lambda t: t.repeat(2, *[1] * (t.ndim - 1)) if t.ndim else t.repeat(2)), "has the shape"),
        (with_first(lambda t: t.int()), "has the type"),
        (with_first(lambda t: t * float("nan")), "no numbers"),
        (with_first(lambda t: t + float("inf")), "no numbers"),
    ],
)
def test_weights_that_are_not_exactly_the_models_are_refused_and_leave_nothing(wb, change, to, weights, reason):
    with pytest.raises(DamagedModel, match=reason):
        management.import_version(wb, change(to, weights), name="spring")
    assert list_made(wb) == ([], [])


@pytest.mark.parametrize("to", ["as2", "hf"])
@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("max_length", 10**12), ("max_length", "long"), ("max_length", None), ("max_length", -3), ("depth", 10**9),
        ("exits", []), ("exits", [2, 10**6]), ("exits", {}), ("threshold", 1e999), ("threshold", []),
        ("calibration", [[1]]), ("calibration", 3), ("drop_ratio", [2]), ("drop_ratio", "x"), ("keep", 10**30),
        ("segments", "yes"), ("evil", {"a": 1}),
    ],
)  # fmt: skip
def test_a_configuration_beyond_its_schema_is_refused_and_leaves_nothing(wb, change, to, setting, value):
    key = "as2" if to == "hf" else "settings"
    if to == "hf" and setting in ("exits", "drop_ratio", "keep"):
        pytest.skip("an export for others has one exit")
    if to == "as2" and setting == "depth":
        pytest.skip("a cascade has exits")
    folder = change(to, config=lambda c: {**c, key: {**c[key], setting: value}})
    with pytest.raises(As2Error):
        management.import_version(wb, folder, name="spring")
    assert list_made(wb) == ([], [])


def test_ten_bytes_of_weights_are_refused(wb, exports, tmp_path):
    folder = shutil.copytree(exports / "as2", tmp_path / "ten")
    (folder / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps(card | {"sha256": sha256(folder / "model.safetensors")}))
    with pytest.raises(DamagedModel, match="lacks"):
        management.import_version(wb, folder, name="spring")
    assert list_made(wb) == ([], [])


def test_a_file_that_is_no_safetensors_is_refused(wb, exports, tmp_path):
    for to in ("as2", "hf"):
        folder = shutil.copytree(exports / to, tmp_path / to)
        (folder / "model.safetensors").write_bytes(b"\xff" * 100)
        if to == "as2":
            card = json.loads((folder / "card.json").read_text())
            (folder / "card.json").write_text(json.dumps(card | {"sha256": sha256(folder / "model.safetensors")}))
        with pytest.raises(DamagedModel):
            management.import_version(wb, folder, name="spring")
    assert list_made(wb) == ([], [])


def test_a_card_of_any_content_is_taken_as_text_or_refused(wb, exports, tmp_path):
    for number, card in enumerate(('["a list"]', '{"metrics": 7, "note": ["x"], "parent": {}, "before": "y"}')):
        folder = shutil.copytree(exports / "hf", tmp_path / str(number))
        (folder / "as2_card.json").write_text(card)
        if number == 0:
            with pytest.raises(DamagedModel, match="no JSON object"):
                management.import_version(wb, folder, name="spring")
        else:
            view = management.import_version(wb, folder, name="spring")
            assert view.metrics == {} and view.parent is None


def test_an_import_that_fails_at_the_last_step_leaves_nothing(wb, exports, monkeypatch):
    def fail(*args, **kwargs):
        raise As2Error("the database is gone")

    with monkeypatch.context() as patch, pytest.raises(As2Error, match="gone"):
        patch.setattr(registry, "add_candidate", fail)
        management.import_version(wb, exports / "as2", name="spring")
    assert list_made(wb) == ([], [])


def test_of_two_imports_under_one_name_the_later_is_refused_and_leaves_the_other_whole(wb, exports, monkeypatch):
    save = management.save_version

    def import_another_first(*args, **kwargs):
        monkeypatch.setattr(management, "save_version", save)
        management.import_version(wb, exports / "as2", name="spring")
        save(*args, **kwargs)

    monkeypatch.setattr(management, "save_version", import_another_first)
    with pytest.raises(BadSetting, match="already"):
        management.import_version(wb, exports / "as2", name="spring")
    versions, folders = list_made(wb)
    assert versions == ["spring"] and len(folders) == 1
    assert loading.load_version(wb, "spring").ranker.score(TEXTS[0], [Candidate("a", TEXTS[1])]).shape == (1,)


def test_compact_weights_go_out_and_in_as_they_are(wb, tiny, tmp_path):
    """As the shipped ones do: a copy has their SHA-256, by which as2 serve names them."""
    save_version(load_version(tiny / "cascade"), tmp_path / "compact", {}, compact=True)
    management.import_version(wb, tmp_path / "compact", name="spring")
    management.export(wb, "spring", "as2", tmp_path / "out")
    digests = {sha256(folder / "model.safetensors") for folder in (tmp_path / "compact", tmp_path / "out")}
    assert digests == {registry.load_card(wb, "spring")["sha256"]}
    assert loading.load_version(wb, "spring").ranker.score(TEXTS[0], [Candidate("a", TEXTS[1])]).shape == (1,)


def test_the_figures_of_an_imported_version_are_a_claim(wb, exports):
    view = management.import_version(wb, exports / "as2", name="spring")
    assert view.is_imported and view.metrics == {"AP": 0.99}
    assert not registry.get_version(wb, "cascade").is_imported


def test_an_import_removes_what_a_killed_one_left(wb, exports, clock):
    old, new = (wb.settings.versions_dir / registry.IMPORTS_FOLDER / f".{name}.x1y2z3_4" for name in ("old", "new"))
    foreign = wb.settings.versions_dir / ".snapshot"
    for folder, age in ((old, 7200), (new, 0), (foreign, 7200)):
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"half")
        os.utime(folder, times=(clock().timestamp() - age,) * 2)
    management.import_version(wb, exports / "as2", name="spring")
    assert (old.exists(), new.exists(), foreign.exists()) == (False, True, True)
