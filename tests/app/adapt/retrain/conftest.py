"""A workbench whose shipped versions are tiny models of random weights."""

from dataclasses import replace

import numpy as np
import pytest
from city_questions import made_up
from label_files import import_labels
from tiny_models import tiny_models

from app import bootstrap
from app.adapt import cross_fitting, splitting
from app.workbench.models import LoadedModels
from app.workbench.settings import Settings
from as2core.data import jsonl


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    texts = [t for q in (*made_up(99), *made_up(99, seed=1)) for t in (q.text, *(c.text for c in q.candidates))]
    return tiny_models(tmp_path_factory.mktemp("tiny"), texts, layers=3)


class Apart:
    """Every text in a direction of its own: nothing is a rewording of anything."""

    def embed(self, texts, on_progress=None):
        out = np.stack([np.random.default_rng(list(t.encode())).normal(size=64) for t in texts]).astype(np.float32)
        return out / np.linalg.norm(out, axis=1, keepdims=True)

    def embed_question(self, question):
        return self.embed([question])[0]


class TinyModels(LoadedModels):
    def embedder(self):
        return Apart()


@pytest.fixture
def wb(tmp_path, tiny, clock, database_url):
    (tmp_path / "corpora" / "starter").mkdir(parents=True)
    jsonl.write(made_up(6, seed=5, prefix="frozen"), tmp_path / "corpora" / "starter" / "test.jsonl")
    settings = Settings(
        home=tmp_path / "home",
        database_url=database_url,
        models_dir=tiny,
        corpora_dir=tmp_path / "corpora",
        worker="external",
    )
    opened = bootstrap.open(settings, TinyModels(tiny), clock)
    yield opened
    opened.close()


@pytest.fixture
def validated(monkeypatch):
    """So few questions as there are here are kept for validation, too."""
    monkeypatch.setattr(splitting, "MIN_DEV", 1)


@pytest.fixture(autouse=True)
def _few_held_out_are_enough(request, monkeypatch):
    """A copy for each fold makes a retrain twice as long: only the tests that ask for `cross_fitted` have them."""
    if "cross_fitted" not in request.fixturenames:
        monkeypatch.setattr(cross_fitting, "MIN_HELD_OUT_QUESTIONS", 0)


@pytest.fixture
def cross_fitted():
    """Few questions are held out, so the training questions are judged, too."""


@pytest.fixture
def corpus_id(wb):
    """A corpus with 24 labelled questions."""
    content = jsonl.dumps(made_up(24)).encode()
    return import_labels(wb, None, "cities.jsonl", content, annotator="ann").corpus_id


@pytest.fixture
def on_onnx(wb):
    """The workbench on the engine that has a cache of logits."""
    return replace(wb, settings=wb.settings.model_copy(update={"engine": "onnx"}))
