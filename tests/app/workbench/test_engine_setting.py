"""AS2_ENGINE holds wherever the workbench loads a ranker."""

import pytest
from tiny_models import tiny_models

from app.versions import evaluations
from app.workbench.models import LoadedModels


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return tiny_models(tmp_path_factory.mktemp("tiny"), ["the tower was built in 1889 ."])


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("AS2_HOME", str(tmp_path))
    return tmp_path


def test_a_ranker_of_the_catalog_runs_on_the_engine_set(tiny, home):
    models = LoadedModels(tiny, "torch")
    assert models.load_spec("cascade").engine.name == "torch"
    fused, _ = models.load_spec("fusion:rankers=cascade+wo").rankers
    assert fused.engine.name == "torch"
    assert not (home / "graphs").exists()  # nothing was built that nobody will use
    assert LoadedModels(tiny, "onnx").load_spec("cascade").engine.name == "onnx"


def test_a_spec_s_own_engine_and_an_untrained_ranker_s_torch_stay(tiny):
    assert LoadedModels(tiny, "torch").load_spec("cascade:engine=onnx").engine.name == "onnx"
    assert LoadedModels(tiny, "onnx").load_spec(f"cascade:backbone={tiny.parent / 'backbone'}").engine.name == "torch"


def test_what_a_retrain_measures_runs_on_the_engine_set(tiny, home):
    ranker = LoadedModels(tiny, "torch").load_spec("cascade")
    evaluations.use_engine(ranker, "torch", home / "graphs")
    assert ranker.engine.name == "torch"
    assert not (home / "graphs").exists()
    evaluations.use_engine(ranker, "onnx", home / "graphs")
    assert ranker.engine.name == "onnx"
