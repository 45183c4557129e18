"""log P(answer | question), divided by the answer's length (Generation paper, section 3.4)."""

import numpy as np
import pytest
import torch

from as2core.errors import BadSetting
from as2core.rankers.catalog import get, load_version
from as2core.rankers.generative import EMPTY_ANSWER_SCORE, GenerativeRanker, load_question_lm
from as2core.rankers.versions import save_version
from as2core.types import Candidate

QUESTION = "when was the tower built ?"
TEXTS = ["the tower was completed in 1889 .", "iron", "the bridge is 300 metres long " + "and long " * 60]
CANDIDATES = [Candidate(str(i), t) for i, t in enumerate(TEXTS)]


def test_a_causal_model_s_score_is_the_mean_over_the_answer_s_tokens_in_a_plain_pass(tiny):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(tiny("gpt2")).eval()
    tok = AutoTokenizer.from_pretrained(tiny("gpt2"))
    scores = get(f"generative:backbone={tiny('gpt2')},direction=answer").score(QUESTION, CANDIDATES)
    before = [*tok.encode(QUESTION, add_special_tokens=False), tok.sep_token_id]
    for text, score in zip(TEXTS, scores, strict=True):
        said = tok.encode(text, add_special_tokens=False)[:128]  # cut as a passage is, not as a question
        with torch.no_grad():
            log_p = model(torch.tensor([before + said])).logits[0].log_softmax(-1)
        assert score == pytest.approx(
            np.mean([log_p[len(before) - 1 + i, t].item() for i, t in enumerate(said)]), abs=1e-5
        )


def test_an_answer_that_says_nothing_goes_last(tiny):
    ranker = get(f"generative:backbone={tiny('gpt2')},direction=answer")
    assert ranker.score(QUESTION, [Candidate("0", ""), *CANDIDATES])[0] == EMPTY_ANSWER_SCORE


def test_a_version_keeps_its_direction_and_another_is_refused(tiny, tmp_path):
    ranker = GenerativeRanker(load_question_lm(tiny("bert")), direction="answer")
    save_version(ranker, tmp_path / "mine", {})
    loaded = load_version(tmp_path / "mine")
    assert loaded.direction == "answer"
    np.testing.assert_allclose(loaded.score(QUESTION, CANDIDATES), ranker.score(QUESTION, CANDIDATES), atol=1e-6)
    with pytest.raises(BadSetting, match="known: question, answer"):
        get(f"generative:backbone={tiny('bert')},direction=both")


def test_training_in_the_answer_s_direction_learns_to_prefer_the_right_answer(tiny, tmp_path):
    from as2core.training.fine_tune import fine_tune
    from as2core.training.settings import TrainSettings
    from as2core.types import Question

    torch.manual_seed(0)
    base = GenerativeRanker(load_question_lm(tiny("gpt2")), direction="answer")
    pair = (Candidate("0", "the tower was finished in 1889 .", 1), Candidate("1", "iron and bread", 0))
    settings = TrainSettings(epochs=25, learning_rate=5e-3, loss="rll", margin=2.0, batch_questions=1)
    trained = fine_tune(base, [Question("q", QUESTION, pair)], [], settings, workdir=tmp_path).ranker
    scores = trained.score(QUESTION, pair)
    assert scores[0] > scores[1] + 1.5
