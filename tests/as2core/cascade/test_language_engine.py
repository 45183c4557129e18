"""Questions' vectors and log P(question | sentence) in int8 against torch's, on tiny models."""

import copy

import numpy as np
import pytest
import torch

from as2core.cascade.language_engine import LanguageEngine
from as2core.nn.backbone import load_backbone
from as2core.nn.kept_passages import question_ids
from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.rankers.generative import MAX_ERROR_LOG_P, GenerativeRanker, load_question_lm
from as2core.rankers.passage_cache import PassageCache
from as2core.types import Candidate

QUESTION = "when was the tower built ?"
TEXTS = [
    "the tower was completed in 1889 .",
    "iron",
    "the bridge is 300 metres long and the water is high in winter .",
    "",
    "winter bread and music in the old city where people stand",
    "iron",
]
CANDIDATES = [Candidate(str(i), t) for i, t in enumerate(TEXTS)]


def make_generative(tiny, kind="bert", segments=None) -> GenerativeRanker:
    """With a bias and an end that say something: they start at zero."""
    folder = tiny(kind)
    torch.manual_seed(3)
    lm = load_question_lm(folder, segments=segments)
    torch.nn.init.normal_(lm.bias, std=1.0)
    torch.nn.init.constant_(lm.end_bias, 2.0)
    return GenerativeRanker(lm)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("graphs")


@pytest.mark.parametrize("kind", ["bert", "roberta", "electra"])
def test_int8_log_p_is_near_float32_s_whatever_the_question_s_length(kind, tiny, folder):
    ranker = make_generative(tiny, kind)
    engine = LanguageEngine(ranker.module, folder)
    for question in (QUESTION, "why", "\u200b", "where is the high bridge in the city of iron " * 9):
        expected = ranker.score(question, CANDIDATES)
        scores = engine.score(question_ids(ranker.module, question), engine.read_passages(TEXTS))
        np.testing.assert_allclose(scores, expected, atol=0.03)
        assert scores.dtype == np.float32


def test_the_sum_over_all_words_is_exact_where_the_products_are(tiny, folder):
    """Of a state with one number, which int8 holds exactly, and a table of ones: every logit is known by hand."""
    ranker = make_generative(tiny)
    lm = ranker.module
    with torch.no_grad():
        lm.backbone.embeddings.word_embeddings.weight.fill_(1.0)
    engine = LanguageEngine(lm, folder)
    width, words = lm.backbone.hidden, len(lm.bias)
    states = np.full((2, width), 0.5, np.float32)
    states[1] = -0.25
    least = np.array([[3.0], [-2.0]], np.float32)
    [sums] = engine.words.run(None, {"states": states, "least": least})
    bias = np.delete(lm.bias.detach().numpy(), lm.end).astype(np.float64)
    assert len(bias) == words - 1
    by_hand = [np.exp(state * width + bias - start).sum() for state, start in ((0.5, 3.0), (-0.25, -2.0))]
    assert sums == pytest.approx(by_hand, rel=1e-4)


def test_a_prepared_ranker_scores_on_the_engine_and_its_copy_on_torch(tiny, folder):
    ranker = make_generative(tiny, segments=False)  # so "iron" comes out as the best
    exact = ranker.score(QUESTION, CANDIDATES)
    ranker.prepare_engine(folder)
    engine = ranker.prepared.wait()
    assert engine is not None
    expected = engine.score(question_ids(ranker.module, QUESTION), engine.read_passages(TEXTS))
    scores, near = ranker.score(QUESTION, CANDIDATES), expected >= expected.max() - MAX_ERROR_LOG_P
    assert near.tolist() == [t == "iron" for t in TEXTS]  # the best one stands there twice
    assert scores[~near] == pytest.approx(expected[~near])
    assert scores[near] == pytest.approx(exact[near], abs=1e-5)  # again in float32: int8 may have them in a wrong order
    assert not np.allclose(scores[near], expected[near], atol=1e-5)
    assert ranker.score(QUESTION, []).shape == (0,)
    assert copy.deepcopy(ranker).score(QUESTION, CANDIDATES) == pytest.approx(exact, abs=1e-6)


def test_the_engine_reads_a_passage_once_and_torch_s_states_are_not_taken_for_its_own(tiny, folder, tmp_path):
    ranker = make_generative(tiny)
    ranker.cache = PassageCache(tmp_path / "passages.db")
    exact = ranker.score(QUESTION, CANDIDATES)
    ranker.prepare_engine(folder)
    engine = ranker.prepared.wait()
    read = []
    first = engine.read_passages
    engine.read_passages = lambda texts: read.extend(texts) or first(texts)
    scores = ranker.score(QUESTION, CANDIDATES)
    assert scores == pytest.approx(exact, abs=0.03)
    assert ranker.score(QUESTION, CANDIDATES) == pytest.approx(scores, abs=1e-3)
    assert ranker.score(QUESTION, [*CANDIDATES, Candidate("new", "a river")])[:-1] == pytest.approx(scores, abs=1e-3)
    assert sorted(read) == sorted([*set(TEXTS), "a river"])


def test_a_word_s_log_p_in_int8_is_near_float32_s(tiny, folder):
    ranker = make_generative(tiny)
    exact = ranker.explain(QUESTION, TEXTS)
    ranker.prepare_engine(folder)
    assert ranker.prepared.wait() is not None
    quick = ranker.explain(QUESTION, TEXTS)
    assert quick.spans == exact.spans
    np.testing.assert_allclose(quick.log_p, exact.log_p, atol=0.1)
    assert not np.array_equal(quick.log_p, exact.log_p)


def test_what_the_engine_cannot_run_stays_on_torch(tiny, folder):
    torch.manual_seed(3)
    ranker = GenerativeRanker(load_question_lm(tiny("gpt2")))
    ranker.prepare_engine(folder)
    assert ranker.prepared.wait() is None
    unknown = make_generative(tiny)
    unknown.module.backbone.config = copy.copy(unknown.module.backbone.config)
    unknown.module.backbone.config.hidden_act = "silu"
    unknown.prepare_engine(folder)
    assert unknown.prepared.wait() is None
    assert np.isfinite(unknown.score(QUESTION, CANDIDATES)).all()


@pytest.mark.parametrize("kind", ["bert", "roberta", "electra"])
def test_a_question_s_int8_vector_is_near_its_float32_one(kind, tiny, folder):
    ranker = BiEncoderRanker(load_backbone(tiny(kind)), max_length=12)
    for text in (
        QUESTION,
        "iron",
        "",
        "winter bread and music in the old city where people stand and the river is high",
    ):
        exact = ranker.embed([text])[0]
        assert ranker.embed_question(text) == pytest.approx(exact, abs=1e-6)
        ranker.prepare_questions(folder)
        assert ranker.question_engine.wait() is not None
        vector = ranker.embed_question(text)
        assert float(vector @ exact) > 0.99
        assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-5)
        ranker = BiEncoderRanker(ranker.backbone, max_length=12)
