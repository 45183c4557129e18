"""Versions leave the adapt page as files, and come back in. These weights are real, if few and random."""

import io
import shutil
import zipfile

import pytest
from app_pages import open_page, texts
from stored import SECOND
from tiny_models import tiny_models

from app.versions import registry
from app.workbench.models import LoadedModels


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return tiny_models(tmp_path_factory.mktemp("tiny"), ["When was the tower finished?", "It was finished in 1889."])


@pytest.fixture
def models(tiny):
    return LoadedModels(tiny)


@pytest.fixture
def wb(wb, tiny):
    shutil.copytree(tiny / "cascade", wb.settings.versions_dir / "starter-2", dirs_exist_ok=True)
    return wb


def export_version(to):
    at = open_page("adapt")
    at.session_state[f"adapt_export_{SECOND}"] = True  # open
    at = at.run()
    at.selectbox(key=f"adapt_export_to_{SECOND}").set_value(to)
    return at.button(key=f"adapt_export_make_{SECOND}").click().run()


def import_version(content):
    at = open_page("adapt")
    assert at.button(key="adapt_import_start").disabled
    assert not at.file_uploader(key="adapt_import_file_0").proto.type  # the page says what is wrong, not a MIME type
    at.file_uploader(key="adapt_import_file_0").set_value(("spring.zip", content, "application/zip"))
    at = at.text_input(key="adapt_import_name_0").input("spring").run()
    return at.button(key="adapt_import_start").click().run()


@pytest.mark.parametrize("to", ["as2", "hf"])
def test_a_version_is_made_a_file_on_a_click_downloaded_and_comes_in_as_a_candidate(wb, to):
    at = export_version(to)
    version, made, depth, content = at.session_state["_adapt_export"]
    assert (version, made, depth) == (SECOND, to, None)
    assert any(c.value.startswith(("A version's directory", "A Hugging Face directory")) for c in at.caption)
    assert "starter-2/config.json" in zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert [d.proto.label for d in at.get("download_button")] == [f"Download, {len(content) / 1e6:,.1f} MB"]
    assert "Create the file" not in [b.label for b in at.button]  # the download is in its place, in sight
    at = import_version(content)
    spring = registry.get_version(wb, "spring")
    assert spring.state == "candidate"
    assert registry.load_card(wb, "spring")["imported_from"] == "spring.zip"
    assert any("spring is imported. It answers once you promote it." in t.value for t in at.toast)
    assert ("**spring**" in texts(at)) == (spring.kind == "cascade")  # the list is of one kind


@pytest.mark.parametrize("file", ["spring.as2.zip", "spring.as2 (1).zip", "spring.zip"])
def test_a_file_is_imported_under_its_own_name_where_none_is_typed(wb, file):
    content = export_version("as2").session_state["_adapt_export"][-1]
    at = open_page("adapt")
    at.file_uploader(key="adapt_import_file_0").set_value((file, content, "application/zip"))
    at = at.run()
    assert at.text_input(key="adapt_import_name_0").placeholder == "spring"
    at.button(key="adapt_import_start").click().run()
    assert registry.get_version(wb, "spring").state == "candidate"


def test_an_earlier_exit_is_exported_in_formats_that_hold_one_and_has_fewer_layers(wb):
    at = export_version("as2")
    with pytest.raises(KeyError):
        at.selectbox(key=f"adapt_export_depth_{SECOND}")
    at = export_version("hf")
    whole = at.session_state["_adapt_export"][-1]
    layers = at.selectbox(key=f"adapt_export_depth_{SECOND}")
    assert layers.value == int(layers.options[-1])
    at = layers.set_value(int(layers.options[0])).run()
    assert not at.get("download_button")  # the file is of another exit
    at = at.button(key=f"adapt_export_make_{SECOND}").click().run()
    assert at.session_state["_adapt_export"][2] == int(layers.options[0])
    assert len(at.session_state["_adapt_export"][-1]) < len(whole) and at.get("download_button")


def test_an_export_that_cannot_be_made_says_so(wb):
    (wb.settings.versions_dir / "starter-2" / "model.safetensors").write_bytes(b"damaged")
    at = export_version("hf")
    assert "model.safetensors" in texts(at) and not at.get("download_button")


def test_a_file_that_holds_no_version_is_told(wb):
    assert "spring.zip: it is no zip" in texts(import_version(b"text"))
    assert [v.name for v in registry.list_versions(wb)] == ["starter-3", "starter-2", "cascade"]
