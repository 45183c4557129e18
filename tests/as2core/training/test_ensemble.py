"""The settings are those of a recipe; the teachers, the questions and the cascade are tiny."""

from dataclasses import replace

import numpy as np
import pytest

from as2core.rankers.catalog import get
from as2core.training import ensemble
from as2core.training.ensemble import distill_ensemble, sample_for_ensemble
from as2core.training.mining import VectorCache
from as2core.training.recipe_data import Material
from as2core.training.recipes import RECIPES, EnsembleStage
from as2core.types import Candidate, Question

TREES = ("oak", "ash", "elm", "fir", "yew", "box")
STAGE = EnsembleStage(
    replace(RECIPES["default"].cascade, contrast=0.5, negatives=6),
    squad_questions=4,
    other_questions=4,
    own_questions=20,
    far=1,
)


def make_questions(kind: str, n: int) -> list[Question]:
    return [
        Question(
            f"{kind}{i}",
            f"Which {kind} tree is number {i}?",
            tuple(Candidate(f"{kind}{i}{t}", f"{t} {kind} {i}", int(t == "oak"), f"{kind} {i % 3}") for t in TREES),
        )
        for i in range(n)
    ]


class Lengths:
    """Embeds a text by counting letters."""

    def embed(self, texts, on_progress=None):
        vectors = np.array([[t.count(letter) + 0.1 for letter in "aeiou"] for t in texts])
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def material(tmp_path) -> Material:
    parts = [make_questions(kind, 8) for kind in ("tall", "old")] + [
        make_questions(kind, 20) for kind in ("own", "new")
    ]
    vectors = VectorCache(Lengths, tmp_path, "w")
    vectors.embed([t for part in parts for q in part for t in (q.text, *(c.text for c in q.candidates))])
    return Material(*parts, [], vectors)


def test_the_sample_is_of_all_sources_and_of_the_shares_that_the_stage_names(material):
    stage = replace(STAGE, unanswerable=0.3, careless=0.5)
    sample = sample_for_ensemble(stage, material, seed=0)
    kinds = [q.qid.rstrip("0123456789") for q in sample.questions]
    assert [kinds.count(kind) for kind in ("tall", "old", "own", "new")] == [4, 4, 2, 18]
    assert sample.own == sample.questions[8:]
    assert all(len(q.candidates) == len(TREES) + 1 for q in sample.questions[:8] if q.positives)  # one from elsewhere
    assert 2 < sum(not q.positives for q in sample.questions) < 18
    assert 5 < sum(q.text in sample.originals for q in sample.questions) < 22
    assert 5 < sum(q.has_titles for q in sample.questions) < 22
    assert sample_for_ensemble(stage, material, seed=0) == sample
    assert sample_for_ensemble(stage, material, seed=1) != sample


def test_a_copy_of_the_cascade_is_taught_by_itself_and_the_generative_ranker_which_read_no_careless_question(
    tiny, material, tmp_path, monkeypatch
):
    start = get(f"cascade:backbone={tiny()}")
    start.is_trained = True
    before = {name: p.clone() for name, p in start.module.state_dict().items()}
    taught = []

    def teach_by_letters(ranker):
        def teach(question, texts):
            taught.append((ranker, question, texts))
            return np.array([float(len(t)) for t in texts])

        return teach

    monkeypatch.setattr(ensemble, "ranker_teacher", teach_by_letters)
    generative = object()
    result, sample = distill_ensemble(
        start, generative, material, STAGE, learning_rate=3e-5, seed=0, workdir=tmp_path / "work"
    )
    assert {ranker for ranker, *_ in taught} == {start, generative}
    originals = set(sample.originals)
    assert originals and not originals & {question for _, question, _ in taught}
    after = result.ranker.module.state_dict()
    assert any(not (after[name] == p).all() for name, p in before.items())
    assert all((start.module.state_dict()[name] == p).all() for name, p in before.items())
