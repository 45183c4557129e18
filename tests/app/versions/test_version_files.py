"""A version as a zip: there and back, and what is not let in."""

import io
import json
import stat
import tempfile
import zipfile
from pathlib import Path

import pytest
from tiny_models import tiny_models

from app import bootstrap
from app.versions import archive as version_files
from app.versions import loading, management, promotion, registry
from app.versions.promotion import NeedsReason
from app.workbench import people
from app.workbench.models import LoadedModels
from app.workbench.people import NotAllowed
from app.workbench.settings import Settings
from as2core.errors import BadSetting, DamagedModel, UnreadableFile
from as2core.types import Candidate

TEXTS = ["When was the tower finished?", "The tower was finished in 1889."]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return tiny_models(tmp_path_factory.mktemp("tiny"), TEXTS, layers=2)


@pytest.fixture
def wb(tmp_path, tiny, clock, database_url):
    settings = Settings(
        home=tmp_path / "home", database_url=database_url, models_dir=tiny, corpora_dir=tmp_path, worker="external"
    )
    opened = bootstrap.open(settings, LoadedModels(tiny), clock)
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    """Where temporary folders are made; nothing may be left in it."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert not list(folder.iterdir())


def make_zip(files, links=()):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            if name in links:
                info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    out.seek(0)
    return out


def import_zip(wb, file, name="spring", by=None):
    return version_files.import_zip(wb, file, filename="spring.zip", name=name, by=by)


def scores(wb, name):
    candidates = [Candidate(str(i), text) for i, text in enumerate(TEXTS)]
    return wb.models.version(Path(registry.get_version(wb, name).path)).score(TEXTS[0], candidates)


@pytest.mark.parametrize("to", ["as2", "hf", "cross-encoder", "onnx"])
def test_a_version_goes_out_as_a_zip_and_comes_back_with_the_same_scores(wb, to):
    if to == "onnx":
        head = loading.load_version(wb, "cascade").ranker.module.heads[-1]
        head.net[7].bias.data.fill_(0.3)  # as a trained one is: the exporter folds a bias of 0 away
    made = import_zip(wb, io.BytesIO(version_files.export_zip(wb, "cascade", to)))
    assert (made.name, made.state, made.problem) == ("spring", "candidate", "")
    assert scores(wb, "spring") == pytest.approx(scores(wb, "cascade"), abs=1e-5)
    assert registry.load_card(wb, "spring")["imported_from"] == "spring.zip"


def test_a_worse_version_that_went_out_and_came_in_is_promoted_with_words_only(wb, tmp_path):
    management.export(wb, "cascade", "as2", tmp_path / "out")
    card = json.loads((tmp_path / "out" / "card.json").read_text())
    paired = {"difference": -0.1, "low": -0.15, "high": -0.05, "p": 0.001, "wins": 1, "losses": 12, "ties": 9}
    worse = {"parent": "cascade", "metrics": {"AP": 0.6}, "before": {"AP": 0.7}, "paired": paired}
    (tmp_path / "out" / "card.json").write_text(json.dumps(card | worse))
    management.import_version(wb, tmp_path / "out", name="worse")
    again = import_zip(wb, io.BytesIO(version_files.export_zip(wb, "worse", "hf")))
    for name in ("worse", again.name):
        with pytest.raises(NeedsReason, match=r"worse on 22 questions \(AP 0\.700 → 0\.600\)"):
            promotion.promote(wb, name)
        assert promotion.promote(wb, name, "our field").promotions[0].words == "our field"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/etc/config.json", "absolute path"),
        ("C:/config.json", "absolute path"),
        ("a\\b.json", "absolute path"),
        ("a/../../config.json", "leads out of the folder"),
        ("a/model.bin", "may be a pickle"),
    ],
)
def test_names_that_lead_elsewhere_and_pickles_are_refused(wb, name, why):
    with pytest.raises(UnreadableFile, match=rf"^spring\.zip: .*{why}"):
        import_zip(wb, make_zip({"a/config.json": "{}", name: "{}"}))


def test_a_link_is_refused(wb):
    with pytest.raises(UnreadableFile, match="is a link, not a file"):
        import_zip(wb, make_zip({"a/config.json": "/etc/passwd"}, links=("a/config.json",)))


def test_what_unpacks_to_more_than_a_version_is_refused_before_it_is_unpacked(wb, monkeypatch):
    monkeypatch.setattr(version_files, "MAX_BYTES", 1_000_000)
    with pytest.raises(UnreadableFile, match="unpack to 2 MB in 1 files, more than a version has"):
        import_zip(wb, make_zip({"a/config.json": bytes(2_000_000)}))
    with pytest.raises(UnreadableFile, match="201 files, more than"):
        import_zip(wb, make_zip({f"a/{i}.json": "{}" for i in range(201)}))


@pytest.mark.parametrize("content", [b"", b"text", version_files.__doc__.encode()])
def test_what_is_no_zip_is_refused(wb, content):
    with pytest.raises(UnreadableFile, match=r"^spring\.zip: it is no zip that can be unpacked"):
        import_zip(wb, io.BytesIO(content))


def test_a_zip_cut_short_or_damaged_inside_is_refused(wb):
    whole = version_files.export_zip(wb, "cascade", "as2")
    with pytest.raises(UnreadableFile, match="no zip"):
        import_zip(wb, io.BytesIO(whole[:-100]))
    broken = whole.replace(b'"ranker": "cascade"', b'"ranker": "cascode"')
    with pytest.raises(UnreadableFile, match="no zip that can be unpacked"):
        import_zip(wb, io.BytesIO(broken))


def test_a_zip_without_a_version_or_with_two_is_refused(wb):
    with pytest.raises(BadSetting, match="holds no version"):
        import_zip(wb, make_zip({"a/readme.md": "hello", "__MACOSX/._config.json": "{}"}))
    with pytest.raises(BadSetting, match="holds several versions"):
        import_zip(wb, make_zip({"a/config.json": "{}", "b/config.json": "{}"}))


@pytest.mark.parametrize(
    "config",
    [
        {"ranker": "cascade", "backbone": "evil/model"},
        {"ranker": "cascade", "backbone": "evil/model", "as2": {"backbone": "sentence-transformers/all-MiniLM-L6-v2"}},
        {"model_type": "as2-cross-encoder", "as2": {"backbone": "evil/model"}},
        {"ranker": "fusion", "settings": {"rankers": ["/etc/model", "bm25"]}},
        {"ranker": "cosinet", "backbone": None, "vectors": "/etc/passwd"},
    ],
)
def test_a_version_that_stands_on_what_is_not_here_is_refused(wb, config):
    with pytest.raises(BadSetting, match="as2 versions import"):
        import_zip(wb, make_zip({"a/config.json": json.dumps(config)}))


def test_damaged_weights_are_told_without_the_temporary_folder(wb, tmp_path):
    management.export(wb, "cascade", "as2", tmp_path / "out")
    files = {f"out/{f.name}": f.read_bytes() for f in (tmp_path / "out").iterdir()}
    files["out/model.safetensors"] += b"x"
    with pytest.raises(DamagedModel, match=r"^spring\.zip: out/model\.safetensors is damaged"):
        import_zip(wb, make_zip(files))


def test_a_viewer_changes_no_version(wb):
    ann, cy = (people.sign_in(wb, name) for name in ("ann", "cy"))
    people.set_role(wb, cy.id, "viewer", by=ann.id)
    file = version_files.export_zip(wb, "cascade", "as2")
    import_zip(wb, io.BytesIO(file), by=ann.id)
    for act in (
        lambda: import_zip(wb, io.BytesIO(file), "summer", by=cy.id),
        lambda: promotion.promote(wb, "spring", "why", by=cy.id),
        lambda: promotion.reject(wb, "spring", by=cy.id),
        lambda: promotion.roll_back(wb, by=cy.id),
        lambda: management.rename(wb, "spring", "autumn", by=cy.id),
        lambda: management.set_note(wb, "spring", "x", by=cy.id),
        lambda: management.delete(wb, "spring", by=cy.id),
    ):
        with pytest.raises(NotAllowed, match="cy is a viewer, and this takes an annotator"):
            act()
    assert promotion.promote(wb, "spring", by=ann.id).state == "active"
