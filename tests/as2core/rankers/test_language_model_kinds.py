"""Every architecture claimed for ranking by generation, tiny and randomly initialised, against a plain forward pass."""

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

from as2core.errors import UnsupportedBackbone
from as2core.nn.backbone import SUPPORTED
from as2core.nn.question_lm import CAUSAL, SEQ2SEQ
from as2core.rankers.generative import GenerativeRanker, load_question_lm
from as2core.rankers.passage_cache import PassageCache
from as2core.rankers.seq2seq_classifier import Seq2SeqClassifierRanker, load_seq2seq_classifier
from as2core.types import Candidate

QUESTION = "when was the tower built ?"
TEXTS = ["the tower was completed in 1889 .", "iron", "the bridge is 300 metres long and stands in water ."]
CANDIDATES = [Candidate(str(i), t) for i, t in enumerate(TEXTS)]
QUICK = {"gpt2", "llama", "bart", "t5"}

_LAYERS = {"num_hidden_layers": 2, "num_attention_heads": 4}
_COMMON = {"hidden_size": 32, "intermediate_size": 64, "max_position_embeddings": 256, **_LAYERS}
_GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256}
_GROUPED = {**_COMMON, "num_key_value_heads": 2}
_BART = {
    "d_model": 32,
    "max_position_embeddings": 256,
    **{f"{side}_{size}": n for side in ("encoder", "decoder") for size, n in
       {"layers": 2, "attention_heads": 4, "ffn_dim": 64}.items()},
    "decoder_start_token_id": 2,
}  # fmt: skip
_T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}
SIZES = {
    "gpt2": _GPT,
    "gpt_bigcode": _GPT,
    "gptj": {**_GPT, "rotary_dim": 8},
    "codegen": {**_GPT, "rotary_dim": 8},
    "gpt_neo": {
        "hidden_size": 32,
        "num_layers": 2,
        "num_heads": 4,
        "attention_types": [[["global", "local"], 1]],
        "max_position_embeddings": 256,
    },
    "opt": {**_COMMON, "ffn_dim": 64, "word_embed_proj_dim": 32},
    "bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4},
    "xglm": {"d_model": 32, "num_layers": 2, "attention_heads": 4, "ffn_dim": 64, "max_position_embeddings": 256},
    **dict.fromkeys(("gpt_neox", "biogpt", "falcon", "phi"), _COMMON),
    **{kind: {**_GROUPED, "head_dim": 8} for kind in ("gemma", "gemma2", "gemma3_text")},
    **dict.fromkeys(("t5", "mt5", "umt5", "longt5"), _T5),
    "led": {
        **_BART,
        "attention_window": 16,
        "max_encoder_position_embeddings": 256,
        "max_decoder_position_embeddings": 256,
    },
}


def kinds(names):
    return [pytest.param(k, marks=[] if k in QUICK else pytest.mark.slow) for k in names]


def make_model(kind: str, tiny, folder):
    """A model whose passages matter: random weights of a size that shows."""
    auto, default = (AutoModelForCausalLM, _GROUPED) if kind in CAUSAL else (AutoModelForSeq2SeqLM, _BART)
    tokenizer = AutoTokenizer.from_pretrained(tiny("bert"))
    torch.manual_seed(0)
    tokens = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    model = auto.from_config(
        AutoConfig.for_model(kind, vocab_size=len(tokenizer) + 8, **tokens, **SIZES.get(kind, default))
    )
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1:
                p.copy_(torch.randn_like(p) * 0.3)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return auto.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)  # Qwen's is always its own


def list_kinds(*tokens: int | None) -> list[int]:
    return [t for t in tokens if t is not None]


def check(folder, expected, tmp_path):
    assert max(expected) - min(expected) > 0.005
    ranker = GenerativeRanker(load_question_lm(str(folder)))
    np.testing.assert_allclose(ranker.score(QUESTION, CANDIDATES), expected, atol=1e-5, rtol=1e-5)
    kept = GenerativeRanker(ranker.module, cache=PassageCache(tmp_path / "kept.db"))
    np.testing.assert_allclose(kept.score(QUESTION, CANDIDATES), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", kinds(CAUSAL))
def test_a_causal_model_s_score_is_the_sum_over_a_plain_pass_kept_or_not(kind, tiny, tmp_path):
    model, tok = make_model(kind, tiny, tmp_path / "lm")
    q, expected = [*tok.encode(QUESTION, add_special_tokens=False), *list_kinds(tok.eos_token_id)], []
    between = list_kinds(tok.sep_token_id) or tok.encode("\n", add_special_tokens=False)
    for text in TEXTS:
        before = [*list_kinds(tok.bos_token_id), *tok.encode(text, add_special_tokens=False), *between]
        with torch.no_grad():
            log_p = model(torch.tensor([before + q])).logits[0].log_softmax(-1)
        expected.append(sum(log_p[len(before) - 1 + i, t].item() for i, t in enumerate(q)) / len(q))
    check(tmp_path / "lm", expected, tmp_path)


@pytest.mark.parametrize("kind", kinds(SEQ2SEQ))
def test_a_seq2seq_model_s_score_is_the_sum_over_a_plain_pass_kept_or_not(kind, tiny, tmp_path):
    model, tok = make_model(kind, tiny, tmp_path / "lm")
    q, expected = [*tok.encode(QUESTION, add_special_tokens=False), *list_kinds(tok.eos_token_id)], []
    said = torch.tensor([[model.config.decoder_start_token_id, *q[:-1]]])
    for text in TEXTS:
        with torch.no_grad():
            log_p = model(torch.tensor([tok.encode(text)]), decoder_input_ids=said).logits[0].log_softmax(-1)
        expected.append(sum(log_p[i, t].item() for i, t in enumerate(q)) / len(q))
    check(tmp_path / "lm", expected, tmp_path)


@pytest.mark.parametrize("kind", kinds(SEQ2SEQ))
def test_a_seq2seq_model_judges_by_the_last_state_of_a_plain_pass(kind, tiny, tmp_path):
    _, tok = make_model(kind, tiny, tmp_path / "lm")
    torch.manual_seed(1)
    ranker = Seq2SeqClassifierRanker(load_seq2seq_classifier(str(tmp_path / "lm")))
    model, line, expected = AutoModel.from_pretrained(tmp_path / "lm").eval(), ranker.module.line, []
    said = torch.tensor([[model.config.decoder_start_token_id, *tok.encode(QUESTION)]])
    for text in TEXTS:
        with torch.no_grad():
            states = model(torch.tensor([tok.encode(text)]), decoder_input_ids=said).last_hidden_state
            expected.append(line(states[0, -1]).item())
    np.testing.assert_allclose(ranker.score(QUESTION, CANDIDATES), expected, atol=1e-4)


@pytest.mark.parametrize("kind", [k if k in ("bert", "roberta") else pytest.param(k, marks=pytest.mark.slow)
                                  for k in SUPPORTED])  # fmt: skip
def test_every_encoder_ranks_as_cascade_bi_encoder_and_prefix_model(kind, tiny):
    from as2core.rankers.catalog import get

    for name in ("cascade", "bi-encoder", "cross-encoder", "generative"):
        scores = get(f"{name}:backbone={tiny(kind)}").score(QUESTION, CANDIDATES)
        assert np.isfinite(scores).all()
        assert len(set(scores.tolist())) == 3


def test_a_model_of_another_kind_is_refused_with_those_that_work(tmp_path):
    AutoConfig.for_model("mamba").save_pretrained(tmp_path)
    with pytest.raises(UnsupportedBackbone, match=r"mamba.*bert, roberta.*gpt2, gpt_neo.*bart, mbart"):
        load_question_lm(str(tmp_path))
