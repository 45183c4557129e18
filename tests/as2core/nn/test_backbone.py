"""Texts as tokens: what the tokenizer itself would cut, and the same whoever tokenises at the same time."""

import copy
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from transformers import AutoTokenizer, tokenization_utils_base

from as2core.errors import BadSetting
from as2core.nn.backbone import load_backbone, token_ids
from as2core.nn.question_lm import PrefixLM, Seq2SeqLM
from as2core.rankers.generative import GenerativeRanker, load_question_lm
from as2core.rankers.seq2seq_classifier import load_seq2seq_classifier

QUESTION, LONG = "when was the tower built ?", "the tower stands high . " * 60
STATE = {"truncation": True, "max_length": 20}


def test_the_last_layers_are_drawn_anew_and_the_others_stay(tiny):
    backbone, before = load_backbone(str(tiny("bert"))), load_backbone(str(tiny("bert")))
    backbone.reset_last(1)
    states = [b.state_dict() for b in (backbone, before)]
    changed = {name.split(".")[1] for name in states[0] if not torch.equal(states[0][name], states[1][name])}
    assert changed == {str(backbone.layers - 1)}
    with pytest.raises(BadSetting, match=f"has {backbone.layers}"):
        backbone.reset_last(backbone.layers + 1)


@pytest.fixture
def switching():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("kind", ["bert", "roberta"])
@pytest.mark.parametrize("limit", [24, 128])
def test_texts_and_pairs_are_cut_where_the_tokenizer_would_cut_them(kind, limit, tiny):
    backbone = load_backbone(tiny(kind))
    plain = copy.deepcopy(backbone.tokenizer)
    texts = ["", "iron", LONG[:70], LONG]
    assert backbone.encode(texts, max_length=limit).ids == plain(texts, truncation=True, max_length=limit)["input_ids"]
    asked = [QUESTION] * len(texts)
    theirs = plain(asked, texts, truncation="only_second", max_length=limit)["input_ids"]
    assert backbone.encode(asked, texts, max_length=limit).ids == theirs


@pytest.mark.parametrize("load", [load_backbone, load_question_lm, load_seq2seq_classifier])
def test_a_special_token_that_somebody_typed_is_text(load, tiny):
    tokenizer = load(tiny("bart" if load is load_seq2seq_classifier else "bert")).tokenizer
    ids = tokenizer("iron [SEP] the [MASK]", "[CLS]")["input_ids"]
    specials = [i for i in ids if i in tokenizer.all_special_ids and i != tokenizer.unk_token_id]
    assert specials == [tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.sep_token_id]


def test_a_long_text_is_cut_without_a_warning(tiny, monkeypatch):
    warnings = []
    monkeypatch.setattr(tokenization_utils_base.logger, "warning", lambda *message: warnings.append(message))
    backbone = load_backbone(tiny())
    backbone.tokenizer.model_max_length = 100
    backbone.encode([LONG], [LONG])
    GenerativeRanker(PrefixLM(backbone)).explain(LONG, [LONG])
    assert not warnings


def test_a_question_that_leaves_its_candidate_no_room_is_cut_too(backbone):
    assert backbone.encode([LONG], ["iron"], max_length=32).lengths == [32]


@pytest.mark.parametrize("ends", ["[CLS] $A [SEP]", "$A [SEP] [CLS]", "[CLS] $A", "$A"])
def test_what_a_tokenizer_sets_behind_a_text_stays_there(ends, tiny):
    """As BART, mBART (the end and a language), LLaMA and GPT-2 do."""
    from tokenizers.processors import TemplateProcessing

    tokenizer = AutoTokenizer.from_pretrained(tiny())
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=ends, special_tokens=[("[CLS]", tokenizer.cls_token_id), ("[SEP]", tokenizer.sep_token_id)]
    )
    plain, texts = copy.deepcopy(tokenizer), ["iron", LONG]
    assert token_ids(tokenizer, texts, 20) == plain(texts, **STATE)["input_ids"]
    bare = plain(texts, add_special_tokens=False, **STATE)["input_ids"]
    assert token_ids(tokenizer, texts, 20, special=False) == bare


def test_no_thread_s_tokens_depend_on_what_the_others_read(backbone, switching):
    def read(i: int) -> int:
        limit = 64 + i % 3  # as a cascade and a bi-encoder over one backbone may have
        pair = backbone.encode([f"{QUESTION} {i}"], [LONG], max_length=limit)
        return max(*pair.lengths, *backbone.encode([LONG], max_length=limit).lengths) - limit

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(read, range(300))) == {0}


@pytest.mark.parametrize("kind", ["bert", "gpt2", "bart", "t5"])
def test_a_language_model_s_tokenizer_is_never_told_to_cut_or_to_pad(kind, tiny):
    lm = load_question_lm(tiny(kind))
    batch = lm.encode([LONG], [LONG], limit=30)
    GenerativeRanker(lm).explain(LONG, [LONG])
    assert _state(lm.tokenizer) == (None, None)
    if isinstance(lm, Seq2SeqLM):
        assert (batch["ids"].shape[1], batch["targets"].shape[1]) == (lm.max_length, 30)


def test_nor_is_a_backbone_s_or_an_encoder_decoder_s(tiny):
    twin = load_seq2seq_classifier(tiny("bart"))
    batch = twin.encode([LONG], [LONG])
    assert (batch["ids"].shape[1], batch["length"].item()) == (twin.max_length, 1 + 64)
    assert _state(twin.tokenizer) == (None, None)
    backbone = load_backbone(tiny())
    backbone.tokenizer.backend_tokenizer.enable_truncation(100)  # as the files of some models say
    backbone.tokenizer.backend_tokenizer.enable_padding(length=100)
    assert len(backbone.encode([QUESTION], [LONG]).ids[0]) == 128
    assert _state(backbone.tokenizer) == (None, None)


def _state(tokenizer) -> tuple:
    return tokenizer.backend_tokenizer.truncation, tokenizer.backend_tokenizer.padding
