"""The encoder-decoder that judges: passage to the encoder, question to the decoder, its last state to a line."""

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


@pytest.mark.parametrize("kind", ["bart", "t5"])
def test_its_score_is_a_line_over_the_last_state_of_a_plain_pass(kind, tiny):
    from transformers import AutoModel, AutoTokenizer

    torch.manual_seed(2)
    ranker = get(f"cross-encoder:backbone={tiny(kind)}")
    model, tok = AutoModel.from_pretrained(tiny(kind)).eval(), AutoTokenizer.from_pretrained(tiny(kind))
    line, asked = ranker.module.line, [model.config.decoder_start_token_id, *tok(QUESTION)["input_ids"]]
    candidates = [*PAIR, Candidate("2", "")]
    for candidate, score in zip(candidates, ranker.score(QUESTION, candidates), strict=True):
        ids = torch.tensor([tok(candidate.text)["input_ids"]])
        with torch.no_grad():
            last = model(input_ids=ids, decoder_input_ids=torch.tensor([asked])).last_hidden_state[0, -1]
        assert score == pytest.approx((line.weight[0] @ last + line.bias[0]).item(), abs=1e-4)
    assert ranker.score(QUESTION, []).shape == (0,)


@pytest.mark.slow
def test_the_ranking_loss_sets_the_right_sentence_apart_and_a_version_keeps_it(tiny, tmp_path):
    torch.manual_seed(0)
    base = get(f"cross-encoder:backbone={tiny('bart')}")
    settings = TrainSettings(epochs=30, learning_rate=1e-2, margin=1.0, batch_questions=1)
    trained = fine_tune(base, [Question("q", QUESTION, PAIR)], [], settings, workdir=tmp_path / "work").ranker
    scores = trained.score(QUESTION, PAIR)
    assert scores[0] - scores[1] > 0.5
    save_version(trained, tmp_path / "twin", {})
    np.testing.assert_allclose(load_version(tmp_path / "twin").score(QUESTION, PAIR), scores, atol=1e-6)


def test_what_an_encoder_decoder_lacks_is_refused(tiny, tmp_path):
    with pytest.raises(BadSetting, match="no depth"):
        get(f"cross-encoder:backbone={tiny('bart')},depth=2")
    with pytest.raises(BadSetting, match="pointwise, pairwise, listwise"):
        fine_tune(get(f"cross-encoder:backbone={tiny('bart')}"), [Question("q", QUESTION, PAIR)], [],
                  TrainSettings(loss="mle"), workdir=tmp_path)  # fmt: skip
