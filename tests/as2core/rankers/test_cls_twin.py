"""The discriminative twin: a classifier on [CLS], trained with a ranking loss."""

import numpy as np
import pytest
import torch

from as2core.errors import BadSetting
from as2core.rankers.catalog import get, load_version
from as2core.rankers.versions import save_version
from as2core.training.fine_tune import fine_tune
from as2core.training.settings import TrainSettings
from as2core.types import Candidate, Question

QUESTION = "when was the tower built ?"
PAIR = (Candidate("0", "the tower was finished in 1889 .", 1), Candidate("1", "iron and bread", 0))


def test_its_score_is_a_linear_layer_over_the_first_token_of_a_plain_pass(tiny):
    from transformers import AutoModel, AutoTokenizer

    torch.manual_seed(2)
    ranker = get(f"cross-encoder:backbone={tiny()},pool=cls")
    model, tok = AutoModel.from_pretrained(tiny()).eval(), AutoTokenizer.from_pretrained(tiny())
    (w1, b1), (w2, b2) = ((m.weight, m.bias) for m in ranker.module.heads[0].net if hasattr(m, "weight"))
    for candidate, score in zip(PAIR, ranker.score(QUESTION, PAIR), strict=True):
        batch = tok(QUESTION, candidate.text, return_tensors="pt", return_token_type_ids=True)
        with torch.no_grad():
            first = model(**batch).last_hidden_state[0, 0]
            expected = w2 @ torch.tanh(w1 @ first + b1) + b2
        assert score == pytest.approx(expected.item(), abs=1e-5)


@pytest.mark.slow
def test_the_ranking_loss_sets_the_right_sentence_apart_and_a_version_keeps_it(tiny, tmp_path):
    torch.manual_seed(0)
    base = get(f"cross-encoder:backbone={tiny()},pool=cls")
    settings = TrainSettings(epochs=40, learning_rate=1e-2, loss="pairwise", margin=1.0, batch_questions=1)
    trained = fine_tune(base, [Question("q", QUESTION, PAIR)], [], settings, workdir=tmp_path / "work").ranker
    scores = trained.score(QUESTION, PAIR)
    assert scores[0] - scores[1] > 0.5
    save_version(trained, tmp_path / "twin", {})
    np.testing.assert_array_equal(load_version(tmp_path / "twin").score(QUESTION, PAIR), scores)


def test_another_pool_and_the_engine_that_cannot_are_refused(tiny):
    with pytest.raises(BadSetting, match="known: mean, cls"):
        get(f"cross-encoder:backbone={tiny()},pool=max")
    with pytest.raises(BadSetting, match="engine=torch"):
        get(f"cross-encoder:backbone={tiny()},pool=cls,engine=onnx")
