"""Which versions there are, their names, and what stands in for one that cannot be loaded."""

import json
import threading
from dataclasses import replace

import pytest
from fake_models import write_version

from app import bootstrap
from app.ask import asking
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.versions import directory, loading, management, promotion, registry
from app.versions.outcome import Change
from app.worker import RUNNERS
from as2core.errors import BadSetting, DamagedModel
from db.repositories import versions as rows


def make_version(wb, corpus_id):
    """As a retrain names and registers it; returns its name."""

    def retrain(job):
        with wb.write() as s:
            name = registry.find_next_name(s, corpus_id, "towers")
            registry.add_candidate(s, wb, name, write_version(wb.settings.versions_dir / f"job-{job.id}"))
        return {"version": name}

    job = queue.enqueue(wb, "retrain", {}, corpus_id=corpus_id)
    run_queued(wb, {**RUNNERS, "retrain": retrain})
    return queue.load_job(wb, job.id).result["version"]


def test_the_shipped_versions_are_there_from_the_start(wb):
    assert [v.name for v in registry.list_versions(wb)] == ["cascade"]
    assert [v.name for v in registry.list_versions(wb, kind="generative")] == ["generative"]
    assert registry.get_active(wb).state == "active"
    assert registry.get_active(wb).metrics == {"AP": 0.7}
    assert registry.get_active(wb).problem == ""


def test_versions_of_a_corpus_are_numbered_in_order_and_no_name_comes_twice(wb, towers):
    queue.enqueue(wb, "score", {}, corpus_id=towers.id)  # other jobs run before and between
    assert [make_version(wb, towers.id) for _ in range(2)] == ["towers-1", "towers-2"]
    management.delete(wb, "towers-2")
    assert make_version(wb, towers.id) == "towers-3"
    management.rename(wb, "towers-3", "spring")
    assert make_version(wb, towers.id) == "towers-4"
    with wb.write() as s:  # such as an imported one
        registry.add_candidate(s, wb, "towers-7", write_version(wb.settings.versions_dir / "other"))
    assert make_version(wb, towers.id) == "towers-8"


def test_a_version_is_unmeasured_while_nothing_is_known_of_it_and_it_was_never_in_use(wb, candidates):
    new = registry.get_version(wb, "towers-1")
    assert new.is_unmeasured
    assert replace(new, state="rejected").is_unmeasured
    assert not replace(new, change=Change(0.5, 0.6)).is_unmeasured
    assert not any(replace(new, state=state).is_unmeasured for state in ("active", "former", "shipped"))


def test_a_missing_directory_is_said_and_the_shipped_version_stands_in(wb, candidates):
    promotion.promote(wb, "towers-1")
    (wb.settings.versions_dir / "towers-1").rename(wb.settings.home / "elsewhere")
    assert "missing" in registry.get_active(wb).problem
    chosen = loading.load_version(wb)
    assert chosen.name == "cascade"
    assert "towers-1 cannot be used" in chosen.note


def test_a_damaged_shipped_version_is_an_error_with_its_remedy(wb):
    (wb.settings.models_dir / "cascade" / "model.safetensors").unlink()
    with pytest.raises(DamagedModel, match="restore"):
        loading.load_version(wb)


def test_without_any_model_the_missing_folder_is_named(settings, models, tmp_path):
    bare = settings.model_copy(update={"models_dir": tmp_path / "nothing"})
    wb = bootstrap.open(bare, models)
    with pytest.raises(DamagedModel, match="nothing"):
        registry.get_active(wb)
    wb.close()


def test_moved_models_are_followed(settings, models, wb, tmp_path):
    (tmp_path / "models").rename(tmp_path / "moved")
    again = bootstrap.open(settings.model_copy(update={"models_dir": tmp_path / "moved"}), models)
    assert registry.get_active(again).path == str(tmp_path / "moved" / "cascade")
    assert len(registry.list_versions(again)) == 1
    again.close()


def test_a_version_that_is_no_cascade_is_not_asked(wb, towers):
    with pytest.raises(BadSetting, match="generative is a generative version: choose a cascade"):
        asking.ask(wb, towers.id, "When was the tower finished?", version="generative")


def test_a_fusion_has_learnt_what_its_parts_have(wb):
    cascade = write_version(wb.settings.versions_dir / "towers-1", parent="cascade", trained_on=["When?"])
    fused = write_version(wb.settings.versions_dir / "both", "fusion", trained_on=["Who?"])
    inside = {"rankers": [str(cascade), "bm25"]}
    (fused / "config.json").write_text(json.dumps({"ranker": "fusion", "settings": inside}))
    for name, kind, path in (("towers-1", "cascade", cascade), ("both", "fusion", fused)):
        with wb.write() as s:
            rows.add_version(s, name, kind=kind, path=str(path), state="candidate", now=wb.clock())
    promotion.promote(wb, "towers-1")
    assert loading.find_base(wb, "active", "fusion").trained_on == ("When?",)
    assert loading.find_base(wb, "both", "fusion").trained_on == ("When?", "Who?")
    nested = "fusion:rankers=[fusion:rankers=towers-1+bm25]+wo"
    assert loading.find_base(wb, nested, "fusion").trained_on == ("When?",)


def test_the_card_is_read_from_the_directory(wb, candidates):
    assert registry.load_card(wb, "towers-1")["parent"] == "cascade"
    assert registry.load_card(wb, "active")["name"] == "cascade"


def test_nested_metrics_are_flattened():
    told = {"AP": 0.5, "per exit": {"2": 0.4, "note": "x"}, "ok": True}
    assert directory.flatten_metrics(told) == {"AP": 0.5, "per exit 2": 0.4}


def test_two_retrains_that_end_together_take_two_names(wb):
    names, folder = [], write_version(wb.settings.versions_dir / "job-1")

    def register(meanwhile):
        with wb.write() as s:
            names.append(registry.find_next_name(s, 1, "rivers"))
            registry.add_candidate(s, wb, names[-1], folder)
            meanwhile()

    other = threading.Thread(target=register, args=(lambda: None,))

    def start_other():
        other.start()
        other.join(0.2)  # it has to wait: its name is chosen when this transaction is over

    register(start_other)
    other.join()
    assert names == ["rivers-1", "rivers-2"]
    assert {"rivers-1", "rivers-2"} <= {v.name for v in registry.list_versions(wb)}
