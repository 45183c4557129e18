import json
import shutil

import pytest
from fake_models import write_version
from sqlalchemy import select

from app import bootstrap
from app.versions import loading, management, promotion, registry
from app.versions.management import InUse
from app.versions.promotion import NeedsReason
from app.versions.registry import UnknownVersion
from as2core.errors import BadSetting
from db.models import AuditEvent, Job
from db.repositories import jobs as job_rows
from db.repositories import versions as rows


def add_version(wb, name, parent="cascade", kind="cascade", **metrics):
    path = write_version(wb.settings.versions_dir / name, kind, parent=parent)
    with wb.write() as s:
        rows.add_version(
            s, name, kind=kind, path=str(path), state="candidate", parent=parent, now=wb.clock(), metrics=metrics
        )
    return path


def list_parents(wb):
    return {v.name: v.parent for v in registry.list_versions(wb, kind=None)}


def test_a_renamed_version_keeps_its_place_in_the_tree_and_answers_by_its_new_name(wb):
    add_version(wb, "towers-1")
    add_version(wb, "towers-2", parent="towers-1")
    promotion.promote(wb, "towers-1")
    management.rename(wb, "towers-1", "  spring   labels ")
    assert list_parents(wb) == {
        "cascade": None,
        "generative": None,
        "spring labels": "cascade",
        "towers-2": "spring labels",
    }
    assert registry.get_active(wb).name == "spring labels"
    assert loading.load_version(wb).name == "spring labels"
    with pytest.raises(UnknownVersion):
        registry.get_version(wb, "towers-1")


def test_a_version_that_keeps_its_name_is_no_rename_in_the_audit_log(wb):
    add_version(wb, "towers-1")
    assert management.rename(wb, "towers-1", " towers-1 ").name == "towers-1"
    with wb.read() as s:
        assert "rename a version" not in s.scalars(select(AuditEvent.act)).all()


def paired(difference):
    return {"difference": difference, "low": difference - 0.03, "high": difference + 0.03, "p": 0.01, "wins": 9,
            "losses": 9, "ties": 9}  # fmt: skip


WORSE = {"AP": 0.6, "before AP": 0.7, "paired": paired(-0.1)}


@pytest.mark.parametrize("state", ["queued", "running", "failed", "cancelled", "lost"])
def test_a_retrain_that_may_still_run_finds_its_base_under_the_new_name(wb, state):
    add_version(wb, "towers-1")
    add_version(wb, "towers-2")
    with wb.write() as s:
        ids = [job_rows.add_job(s, "retrain", {"base": b}, wb.clock()).id for b in ("towers-1", "towers-2")]
        for i in ids:
            job_rows.lock_job(s, i).state = state
    management.rename(wb, "towers-1", "spring")
    with wb.read() as s:
        assert [s.get(Job, i).settings["base"] for i in ids] == ["spring", "towers-2"]


def test_a_finished_retrain_names_what_it_made_and_from_what_anew(wb):
    add_version(wb, "towers-1")
    add_version(wb, "towers-2", parent="towers-1")
    with wb.write() as s:
        results = (
            {"version": "towers-1", "base": "cascade", "seconds": 3},
            {"version": "towers-2", "base": "towers-1"},
        )
        ids = [job_rows.add_job(s, "retrain", {}, wb.clock()).id for _ in results]
        for i, result in zip(ids, results, strict=True):
            job = job_rows.lock_job(s, i)
            job.state, job.result = "done", result
    management.rename(wb, "towers-1", "spring")
    with wb.read() as s:
        assert [dict(s.get(Job, i).result) for i in ids] == [
            {"version": "spring", "base": "cascade", "seconds": 3},
            {"version": "towers-2", "base": "spring"},
        ]


@pytest.mark.parametrize("bad", ["", "towers-2", "active", "bm25", "a/b", "x" * 61])
def test_a_name_that_is_taken_or_none_is_refused(wb, bad):
    add_version(wb, "towers-1")
    add_version(wb, "towers-2")
    with pytest.raises(BadSetting, match="stands for the version in use" if bad == "active" else None):
        management.rename(wb, "towers-1", bad)


@pytest.mark.parametrize("bad", ["active", "bm25", "a/b", "x" * 61])
def test_a_version_comes_in_under_no_name_that_a_rename_would_refuse(wb, tmp_path, bad):
    with pytest.raises(BadSetting, match="name"):
        management.import_version(wb, tmp_path, name=bad)


def test_the_shipped_version_keeps_its_name(wb):
    with pytest.raises(BadSetting, match="shipped"):
        management.rename(wb, "cascade", "mine")


def test_a_note_is_kept(wb):
    add_version(wb, "towers-1")
    assert management.set_note(wb, "towers-1", " for the fair ").note == "for the fair"


def test_a_note_that_the_form_would_not_take_is_refused(wb):
    add_version(wb, "towers-1")
    management.set_note(wb, "towers-1", "x" * management.MAX_NOTE_CHARS)
    with pytest.raises(BadSetting, match="300 characters, not 301"):
        management.set_note(wb, "towers-1", "x" * (management.MAX_NOTE_CHARS + 1))


def test_a_version_nobody_needs_is_deleted_with_its_directory(wb):
    path = add_version(wb, "towers-1")
    management.delete(wb, "towers-1")
    assert "towers-1" not in list_parents(wb)
    assert not path.exists()


def test_what_is_in_use_shipped_a_parent_or_a_base_at_work_cannot_be_deleted(wb):
    add_version(wb, "towers-1")
    add_version(wb, "towers-2", parent="towers-1")
    add_version(wb, "towers-3")
    promotion.promote(wb, "towers-2")
    with wb.write() as s:
        job_rows.add_job(s, "retrain", {"base": "towers-3"}, wb.clock())
    for name, why in (
        ("towers-2", "it is in use"),
        ("towers-1", "towers-2 was made from it"),
        ("cascade", "shipped"),
        ("generative", "in use"),
        ("towers-3", "is retraining from it"),
    ):
        with pytest.raises(InUse, match=f"{name} cannot be deleted: .*{why}"):
            management.delete(wb, name)
    assert len(list_parents(wb)) == 5


def test_what_a_fusion_is_made_of_cannot_be_deleted(wb):
    path = add_version(wb, "towers-1")
    fused = add_version(wb, "both", kind="fusion")
    (fused / "config.json").write_text(json.dumps({"ranker": "fusion", "settings": {"rankers": [str(path), "bm25"]}}))
    with pytest.raises(InUse, match="the fusion both is made of it"):
        management.delete(wb, "towers-1")


def test_a_version_that_got_worse_answers_only_with_words_that_are_kept(wb):
    add_version(wb, "towers-1", **WORSE)
    with pytest.raises(NeedsReason, match=r"towers-1: worse on 27 questions \(AP 0\.700 → 0\.600\)\. Give"):
        promotion.promote(wb, "towers-1", "  ")
    assert registry.get_active(wb).name == "cascade"
    promotion.promote(wb, "towers-1", "it knows our words")
    with wb.read() as s:
        assert rows.find_newest_activation(s, "cascade").reason == "it knows our words"


@pytest.mark.parametrize("difference", [0.1, 0.02, -0.02])
def test_a_version_that_is_better_or_not_clearly_different_needs_no_reason(wb, difference):
    add_version(wb, "towers-1", **{"AP": 0.7 + difference, "before AP": 0.7, "paired": paired(difference)})
    promotion.promote(wb, "towers-1")
    assert registry.get_active(wb).name == "towers-1"


def test_a_card_of_an_older_program_has_the_paired_test_that_its_row_lacks(wb):
    path = add_version(wb, "towers-1", **{"AP": 0.6, "before AP": 0.7})
    card = json.loads((path / "card.json").read_text())
    (path / "card.json").write_text(json.dumps(card | {"paired": paired(-0.1)}))
    assert registry.get_version(wb, "towers-1").is_worse


def test_going_back_from_a_worse_version_to_its_parent_needs_no_reason_though_that_was_worse_than_its_own(wb):
    add_version(wb, "towers-1", **WORSE)
    add_version(wb, "towers-2", parent="towers-1", **WORSE)
    promotion.promote(wb, "towers-1", "a try")
    promotion.promote(wb, "towers-2", "another try")
    promotion.promote(wb, "towers-1")
    assert registry.get_active(wb).name == "towers-1"
    with pytest.raises(NeedsReason):
        promotion.promote(wb, "towers-2")


def test_the_words_for_a_worse_version_are_not_deleted_with_it(wb):
    add_version(wb, "towers-1", **WORSE)
    add_version(wb, "towers-2", **{"AP": 0.8, "before AP": 0.7, "paired": paired(0.1)})
    for name in ("towers-1", "towers-2"):
        promotion.promote(wb, name, f"{name} knows our words")
    promotion.promote(wb, "cascade")
    with pytest.raises(InUse, match="'towers-1 knows our words'"):
        management.delete(wb, "towers-1")
    management.delete(wb, "towers-2")
    assert set(list_parents(wb)) == {"cascade", "generative", "towers-1"}


def test_a_version_promoted_while_it_is_being_deleted_stays(wb, monkeypatch):
    path = add_version(wb, "towers-1")
    found = registry.get_version

    def then_promoted(wb, name, kind="cascade"):
        view = found(wb, name, kind)
        monkeypatch.setattr(registry, "get_version", found)
        promotion.promote(wb, name)
        return view

    monkeypatch.setattr(registry, "get_version", then_promoted)
    with pytest.raises(InUse, match="it is in use"):
        management.delete(wb, "towers-1")
    assert registry.get_active(wb).name == "towers-1"
    assert path.is_dir()


def test_each_kind_has_its_own_active_version(wb):
    add_version(wb, "said", parent="generative", kind="generative")
    add_version(wb, "towers-1")
    promotion.promote(wb, "said")
    assert registry.get_active(wb, "generative").name == "said"
    assert registry.get_active(wb, "cascade").name == "cascade"
    assert promotion.roll_back(wb, "generative").name == "generative"


# --- a home that was copied or moved -------------------------------------------------------------------------------


@pytest.fixture
def open_home(wb, settings, models):
    """Open a home at another place, or with models at another."""
    made = []

    def open_(**where):
        made.append(bootstrap.open(settings.model_copy(update=where), models, wb.clock))
        return made[-1]

    yield open_
    for there in made:
        there.close()


def add_fusion(wb, name, *rankers):
    path = add_version(wb, name, kind="fusion")
    settings = {"method": "rrf", "rankers": [str(r) for r in rankers]}
    (path / "config.json").write_text(json.dumps({"ranker": "fusion", "settings": settings}))


def rankers_of(view):
    return json.loads((management.Path(view.path) / "config.json").read_text())["settings"]["rankers"]


def test_a_copied_home_uses_its_own_weights_and_deletes_its_own_alone(wb, open_home, tmp_path):
    original = add_version(wb, "towers-1")
    shutil.copytree(wb.settings.home, tmp_path / "backup")
    there = open_home(home=tmp_path / "backup")
    assert registry.get_version(there, "towers-1").path == str(tmp_path / "backup" / "versions" / "towers-1")
    management.delete(there, "towers-1")
    assert not (tmp_path / "backup" / "versions" / "towers-1").exists()
    assert original.is_dir()


def test_a_moved_home_has_all_its_versions(wb, open_home, tmp_path):
    add_version(wb, "towers-1")
    add_version(wb, f"{registry.IMPORTS_FOLDER}/spring")
    management.rename(wb, "towers-1", "towers")
    wb.settings.home.rename(tmp_path / "versions")  # a name that is in the middle of a path, too
    again = open_home(home=tmp_path / "versions")
    wb.settings.home.mkdir()
    found = {v.path.removeprefix(f"{tmp_path}/"): v.problem for v in registry.list_versions(again)}
    assert found == {
        "versions/versions/@imported/spring": "",
        "versions/versions/towers-1": "",
        "models/cascade": "",
    }


def test_a_directory_outside_the_home_is_left_when_its_version_is_deleted(wb, open_home, tmp_path):
    original = add_version(wb, "towers-1")
    there = open_home(home=tmp_path / "without")
    assert registry.get_version(there, "towers-1").path == str(original)
    management.delete(there, "towers-1")
    assert "towers-1" not in list_parents(there)
    assert original.is_dir()


def test_a_fusion_names_its_rankers_where_they_were_moved(wb, open_home, tmp_path):
    part = add_version(wb, "towers-1")
    add_fusion(wb, "both", part, wb.settings.models_dir / "generative", f"[fusion:rankers={part}+wo]", "bm25")
    shutil.copytree(wb.settings.home, tmp_path / "backup")
    shutil.copytree(wb.settings.models_dir, tmp_path / "new")
    there = open_home(home=tmp_path / "backup", models_dir=tmp_path / "new")
    now = tmp_path / "backup" / "versions" / "towers-1"
    of_copy = rankers_of(registry.get_version(there, "both"))
    assert of_copy == [str(now), str(tmp_path / "new" / "generative"), f"[fusion:rankers={now}+wo]", "bm25"]
    with pytest.raises(InUse, match="the fusion both is made of it"):
        management.delete(there, "towers-1")
    kept = json.loads((wb.settings.versions_dir / "both" / "config.json").read_text())
    assert kept["settings"]["rankers"][0] == str(part)


def test_a_retrain_from_a_fusion_of_directories_finds_them_where_they_were_moved(wb, open_home, tmp_path):
    part = add_version(wb, "towers-1")
    with wb.write() as s:
        ids = [
            job_rows.add_job(s, "retrain", settings, wb.clock()).id
            for settings in ({"base": f"fusion:method=zscore,rankers={part}+bi-encoder"}, {"base": "towers-1"}, {})
        ]
    wb.settings.home.rename(tmp_path / "moved")
    there = open_home(home=tmp_path / "moved")
    now = tmp_path / "moved" / "versions" / "towers-1"
    with there.read() as s:
        told = [s.get(Job, i).settings for i in ids]
    assert told == [{"base": f"fusion:method=zscore,rankers={now}+bi-encoder"}, {"base": "towers-1"}, {}]
