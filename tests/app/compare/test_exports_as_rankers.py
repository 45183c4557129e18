"""What `as2 versions export` wrote is compared by its directory, in each format, and scored anew once it is another."""

import shutil

import numpy as np
import pytest
from fake_models import write_version
from tiny_models import tiny_models

from app import bootstrap
from app.compare import comparison, comparison_job
from app.compare.rankers import check_ranker
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.versions import evaluations, loading
from app.workbench.models import LoadedModels
from app.workbench.settings import Settings
from app.worker import RUNNERS
from as2core.data import jsonl
from as2core.errors import BadSetting, DamagedModel
from as2core.export import FORMATS, export_ranker
from as2core.rankers.catalog import load_version
from as2core.types import Candidate, Question

TEXTS = ["When was the tower finished?", "The tower was finished in 1889.", "It rained in June."]
QUESTIONS = [
    Question(f"q{i}", text, (Candidate("a", TEXTS[1], 1), Candidate("b", TEXTS[2], 0), Candidate("c", text, 0)))
    for i, text in enumerate([TEXTS[0], "What was finished in 1889?", "Who built it in June?"])
]
CARD = {"trained_on": [QUESTIONS[0].text]}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return tiny_models(tmp_path_factory.mktemp("tiny"), TEXTS, layers=2)


@pytest.fixture(scope="module")
def exports(tmp_path_factory, tiny):
    """A folder by format, of the last exit."""
    pytest.importorskip("onnx")
    folder = tmp_path_factory.mktemp("exports")
    for to in FORMATS:
        export_ranker(load_version(tiny / "cascade"), to, folder / to, card=CARD)
    return folder


@pytest.fixture
def wb(tmp_path, tiny, clock):
    settings = Settings(home=tmp_path / "home", models_dir=tiny, corpora_dir=tmp_path / "corpora", worker="external")
    opened = bootstrap.open(settings, LoadedModels(tiny), clock)
    yield opened
    opened.close()


def test_every_format_is_compared_and_says_what_it_was_trained_on(wb, exports, tmp_path):
    jsonl.write(QUESTIONS, tmp_path / "three.jsonl")
    names = [str(exports / to) for to in FORMATS]
    job = comparison_job.start_compare(wb, [*names, "bm25"], str(tmp_path / "three.jsonl"))
    run_queued(wb, RUNNERS)
    assert queue.load_job(wb, job.id).state == "done"
    view = comparison.load_comparison(wb, job.id)
    assert [r.ranker for r in view.results] == [*names, "bm25"] and not [n for n in view.notes if "left out" in n]
    assert view.trained_on == dict.fromkeys(names, 1)
    hf, cross_encoder, onnx, _, _ = (
        view.per_question[view.per_question["ranker"] == name]["AP"].tolist() for name in names
    )
    assert hf == cross_encoder == onnx  # int8 may order a near tie otherwise, and as2 drops


@pytest.mark.parametrize("to", [to for to in FORMATS if to != "onnx"])  # int8 is read alike, and each takes seconds
def test_another_export_in_the_same_place_is_scored_and_loaded_anew_and_the_code_alone_changes_nothing(
    wb, exports, tmp_path, monkeypatch, to
):
    folder = shutil.copytree(exports / to, tmp_path / "mine")
    key = evaluations.hash_ranker(wb, str(folder))
    before = loading.load_ranker(wb, str(folder)).score(QUESTIONS[0].text, QUESTIONS[0].candidates)
    monkeypatch.setattr(evaluations, "digest_code", lambda: "another")
    assert evaluations.hash_ranker(wb, str(folder)) == key
    other = load_version(wb.settings.models_dir / "cascade")
    for parameter in other.module.state_dict().values():
        parameter.mul_(-0.5) if parameter.is_floating_point() else None
    shutil.rmtree(folder)
    export_ranker(other, to, folder, card={"another": True})
    assert evaluations.hash_ranker(wb, str(folder)) != key
    after = loading.load_ranker(wb, str(folder)).score(QUESTIONS[0].text, QUESTIONS[0].candidates)
    assert not np.allclose(before, after)


def test_what_a_directory_lacks_is_said_before_the_start_and_no_clone_is_blamed_for_it(wb, tmp_path):
    trained = write_version(tmp_path / "trained")
    check_ranker(wb, str(trained))
    (trained / "card.json").unlink()
    with pytest.raises(DamagedModel, match=r"card.json missing in .*trained") as e:
        check_ranker(wb, str(trained))
    assert "git" not in str(e.value)
    with pytest.raises(DamagedModel, match="restore trained from a backup") as e:
        load_version(trained)
    assert "git" not in str(e.value)


def test_a_checkpoint_s_missing_weights_and_unchosen_label_are_said_before_the_start(wb, tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir()
    config = folder / "config.json"
    config.write_text('{"model_type": "bert", "id2label": {"0": "no", "1": "maybe", "2": "yes"}}')
    with pytest.raises(DamagedModel, match="holds no weights"):
        check_ranker(wb, str(folder))
    (folder / "model.safetensors").write_bytes(b"weights")
    with pytest.raises(
        BadSetting, match=r"has 3 labels \(0 no, 1 maybe, 2 yes\): say which one answers, as classifier:model="
    ):
        check_ranker(wb, str(folder))
    check_ranker(wb, f"classifier:model={folder},positive=2")
    config.write_text('{"model_type": "bert", "id2label": {"0": "no", "1": "yes"}}')
    check_ranker(wb, str(folder))
