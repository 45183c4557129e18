"""Cosinet, Rel-CNN and Compare-Aggregate as rankers, and how they learn."""

import dataclasses
import logging

import numpy as np
import pytest
import torch

from as2core.errors import BadSetting, DamagedModel
from as2core.losses.listwise import relevance
from as2core.nn.context import CONTEXTS
from as2core.rankers.catalog import get, load_version
from as2core.rankers.versions import save_version
from as2core.training.batches import Group, PlannedBatch
from as2core.training.fine_tune import fine_tune
from as2core.training.learners import learner_for, suggest_settings
from as2core.training.learners.structure import LISTWISE, POINTWISE
from as2core.types import Candidate, Question

NAMES = ("cosinet", "rel-cnn", "compare-aggregate")
QUESTION = "when was the tower built"
CANDIDATES = [Candidate(str(i), t) for i, t in enumerate(["the tower is high", "built in 1889", "a river", ""])]


def ranker(name: str, tiny, settings: str = ""):
    return get(f"{name}:backbone={tiny()},hidden=8,{settings}")


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_the_candidates_matters_to_a_recurrent_layer_and_to_nothing_else(name, context, tiny):
    made = ranker(name, tiny, f"context={context}")
    straight, back = made.score(QUESTION, CANDIDATES), made.score(QUESTION, CANDIDATES[::-1])[::-1]
    assert np.allclose(straight, back, atol=1e-6) == (context == "none")


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", NAMES)
def test_a_saved_one_scores_as_before(name, context, tiny, tmp_path):
    made = ranker(name, tiny, f"listwise,context={context},seed=7")
    save_version(made, tmp_path / "mine", {})
    loaded = load_version(tmp_path / "mine")
    np.testing.assert_array_equal(loaded.score(QUESTION, CANDIDATES), made.score(QUESTION, CANDIDATES))
    assert loaded.listwise and suggest_settings(loaded) is LISTWISE


def test_a_version_knows_its_file_of_vectors_and_refuses_another_size_or_none(tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("tower 1 2 3\nriver 0 1 0\n")
    made = get(f"cosinet:vectors={vectors},hidden=4")
    save_version(made, tmp_path / "mine", {})
    np.testing.assert_array_equal(
        load_version(tmp_path / "mine").score(QUESTION, CANDIDATES), made.score(QUESTION, CANDIDATES)
    )
    vectors.write_text("tower 1 2\n")
    with pytest.raises(DamagedModel, match="3 numbers"):
        load_version(tmp_path / "mine")
    vectors.unlink()
    with pytest.raises(DamagedModel, match=r"needs the word vectors.*No such file"):
        load_version(tmp_path / "mine")


def test_an_untrained_one_says_once_that_its_order_is_chance(tiny, caplog):
    made = ranker("cosinet", tiny)
    with caplog.at_level(logging.WARNING):
        made.score(QUESTION, CANDIDATES)
        made.score(QUESTION, CANDIDATES)
    assert [r.message for r in caplog.records] == [
        "cosinet has no trained weights: its order is chance until `as2 train` makes a version"
    ]


def test_the_seed_draws_the_first_weights_and_nothing_else(tiny):
    before = torch.random.get_rng_state()
    a, b, c = (ranker("cosinet", tiny, f"seed={s}").score(QUESTION, CANDIDATES) for s in (1, 1, 2))
    assert torch.random.get_rng_state().equal(before)
    np.testing.assert_array_equal(a, b)
    assert not np.allclose(a, c)


def test_labels_become_equal_shares_of_the_correct():
    got = relevance(torch.tensor([1, 0, 1, 0, 1]), [4, 1])
    assert got.tolist() == [0.5, 0, 0.5, 0, 1]


WORDS = "tower bridge river iron steel water bread music heart cell city winter".split()


def questions(n: int) -> list[Question]:
    """The sentence that shares the asked word is correct."""
    out = []
    for i in range(n):
        texts = [f"the {WORDS[(i + j) % len(WORDS)]} is long" for j in range(4)]
        at = i % 4
        texts[0], texts[at] = texts[at], texts[0]
        cands = tuple(Candidate(f"{i}-{j}", t, int(j == at)) for j, t in enumerate(texts))
        out.append(Question(f"q{i}", f"what is a {WORDS[i % len(WORDS)]}", cands))
    return out


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("settings", ["", "listwise,context=birnn"])
def test_it_learns_and_leaves_the_base_alone(name, settings, tmp_path):
    vectors = tmp_path / "vectors.txt"
    drawn = np.random.default_rng(0).normal(size=(len(WORDS), 12)).round(3)
    vectors.write_text("".join(f"{w} {' '.join(map(str, row))}\n" for w, row in zip(WORDS, drawn, strict=True)))
    base = get(f"{name}:vectors={vectors},hidden=16,{settings}")
    before = {k: v.clone() for k, v in base.module.state_dict().items()}
    told = dataclasses.replace(suggest_settings(base), epochs=12, learning_rate=1e-2, batch_questions=4)
    trained = fine_tune(base, questions(24), questions(12), told, workdir=tmp_path / "work")
    losses = [e["loss"] for e in trained.history if e["kind"] == "step"]
    assert np.mean(losses[-6:]) < 0.8 * np.mean(losses[:6])
    assert trained.best_dev_ap > 0.9
    assert all(v.equal(before[k]) for k, v in base.module.state_dict().items())
    assert trained.ranker.vectors is base.vectors


def test_the_paper_s_rates_go_with_the_losses():
    assert (POINTWISE.learning_rate, LISTWISE.learning_rate) == (2e-3, 2e-4)
    assert POINTWISE.epochs == LISTWISE.epochs == 3
    assert POINTWISE.schedule == LISTWISE.schedule == "slanted-triangular"


def test_all_candidates_go_through_the_recurrent_layer_and_only_the_labelled_count(tiny):
    base = ranker("cosinet", tiny, "listwise,context=birnn")
    labels = (0, None, 1, 0)
    cands = tuple(dataclasses.replace(c, label=y) for c, y in zip(CANDIDATES, labels, strict=True))
    q = Question("q", QUESTION, cands)
    learner = learner_for(base, LISTWISE)
    batch = learner.collate(PlannedBatch((Group(q, (0, 2)),), None))  # as if the plan had sampled two of the four
    with torch.no_grad():
        loss = learner(**batch)[0][0].item()
    scores = base.score(QUESTION, CANDIDATES).astype(float)[[0, 2, 3]]
    assert loss == pytest.approx(-np.log(np.exp(scores[1]) / np.exp(scores).sum()), abs=1e-5)


@pytest.mark.parametrize(("change", "says"), [({"loss": "mle"}, "pointwise, listwise"), ({"distill": 1.0}, "distill")])
def test_a_loss_or_teacher_it_cannot_take_is_refused(change, says, tiny):
    with pytest.raises(BadSetting, match=says):
        learner_for(ranker("cosinet", tiny), dataclasses.replace(POINTWISE, **change))
