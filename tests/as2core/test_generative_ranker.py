import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from as2core.errors import UnsupportedBackbone
from as2core.losses.generative import mle
from as2core.losses.pairwise import pairwise
from as2core.rankers.generative import GenerativeRanker, load_question_lm
from as2core.types import Candidate

QUESTION = "when was the tower built ?"
TEXTS = ["the tower was completed in 1889 .", "iron", "the bridge is 300 metres long ."]
CANDIDATES = [Candidate(str(i), t) for i, t in enumerate(TEXTS)]


def ranker_of(kind: str, tiny) -> GenerativeRanker:
    torch.manual_seed(3)
    return GenerativeRanker(load_question_lm(tiny(kind)))


@pytest.mark.parametrize("kind", ["bert", "roberta", "electra", "gpt2", "bart", "t5"])
def test_every_kind_of_language_model_gives_one_finite_log_probability_a_candidate(kind, tiny):
    scores = ranker_of(kind, tiny).score(QUESTION, CANDIDATES)
    assert scores.shape == (3,)
    assert (scores < 0).all()
    assert np.isfinite(scores).all()


def test_a_causal_model_s_score_is_the_sum_over_a_plain_forward_pass(tiny):
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(tiny("gpt2")).eval()
    tok = AutoTokenizer.from_pretrained(tiny("gpt2"))
    q = tok.encode(QUESTION, add_special_tokens=False)
    for candidate, score in zip(CANDIDATES, ranker_of("gpt2", tiny).score(QUESTION, CANDIDATES), strict=True):
        prefix = [*tok.encode(candidate.text, add_special_tokens=False), tok.sep_token_id]  # this tokenizer has no bos
        with torch.no_grad():
            log_p = model(torch.tensor([prefix + q])).logits[0].log_softmax(-1)
        total = sum(log_p[len(prefix) - 1 + i, token].item() for i, token in enumerate(q))
        assert score == pytest.approx(total / len(q), abs=1e-5)


def test_a_seq2seq_model_s_score_is_minus_the_loss_transformers_computes(tiny):
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    model = AutoModelForSeq2SeqLM.from_pretrained(tiny("bart")).eval()
    tok = AutoTokenizer.from_pretrained(tiny("bart"))
    labels = torch.tensor([tok.encode(QUESTION, add_special_tokens=False)])
    scores = ranker_of("bart", tiny).score(QUESTION, CANDIDATES)
    for text, score in zip(TEXTS, scores, strict=True):
        with torch.no_grad():
            loss = model(**tok(text, return_tensors="pt", return_token_type_ids=False), labels=labels).loss
        assert score == pytest.approx(-loss.item(), abs=1e-5)


def test_the_prefix_model_s_passage_side_never_sees_the_question(tiny):
    """Its states for the passage are what a pass over the passage alone gives, so they can be kept."""
    module = ranker_of("bert", tiny).module
    batch = module.encode([TEXTS[0]], [QUESTION])
    n = int(batch["prefix"][0])
    seen = {}
    handle = module.backbone.blocks[-1].register_forward_hook(lambda _m, _a, out: seen.update(h=out))
    with torch.no_grad():
        module(**batch)
        whole = seen["h"][0] if isinstance(seen["h"], tuple) else seen["h"]
        ids = batch["ids"][:, :n]
        alone = module.backbone.run(
            module.backbone.embed(ids, torch.zeros_like(ids)), torch.ones(1, n, dtype=torch.bool), 0, 6
        )
    handle.remove()
    torch.testing.assert_close(whole[:, :n], alone, atol=1e-5, rtol=0)


def test_a_later_question_word_does_not_change_the_probability_of_an_earlier_one(tiny):
    module = ranker_of("bert", tiny).module
    with torch.no_grad():
        short, _ = module(**module.encode([TEXTS[0]], ["when was the tower"]))
        long, _ = module(**module.encode([TEXTS[0]], ["when was the tower built in winter ?"]))
    words = short.shape[1] - 1  # then comes the end
    torch.testing.assert_close(short[0, :words], long[0, :words], atol=1e-5, rtol=0)


def test_the_prefix_model_s_probabilities_sum_to_one_over_the_vocabulary(tiny):
    module = ranker_of("bert", tiny).module
    words = module.tokenizer.convert_ids_to_tokens(range(module.backbone.config.vocab_size))
    total = 0.0
    for i in range(len(words)):
        batch = module.encode([TEXTS[1]], ["tower"])
        batch["ids"][0, -2] = i  # the last is the question's end
        with torch.no_grad():
            total += module(**batch)[0][0, 0].exp().item()
    assert total == pytest.approx(1.0, abs=1e-3)


def test_a_question_near_its_passage_may_end_sooner_than_one_far_from_it(tiny):
    ranker = ranker_of("bert", tiny)
    module = ranker.module
    with torch.no_grad():
        log_p, valid, asked, about = module.read(**module.encode(TEXTS, [QUESTION] * 3))
        end = log_p[torch.arange(3), valid.sum(1) - 1]
        odds = end - torch.log(-torch.expm1(end.double()))
        module.end_scale.zero_()
        plain, _ = module(**module.encode(TEXTS, [QUESTION] * 3))
        last = plain[torch.arange(3), valid.sum(1) - 1]
        without = last - torch.log(-torch.expm1(last.double()))
    expected = 10.0 * torch.cosine_similarity(asked, about)
    torch.testing.assert_close((odds - without).float(), expected, atol=1e-3, rtol=0)
    assert torch.equal(log_p[:, 0], plain[:, 0])  # the first word is said before any of the question is near anything


def test_explaining_gives_each_word_of_the_question_once_without_punctuation_and_the_end(tiny):
    question = "when was zeppelin's 300 metres, built?"
    explanation = ranker_of("bert", tiny).explain(question, TEXTS)
    words = [question[a:b] for a, b in explanation.spans]
    assert words == ["when", "was", "zeppelin's", "300", "metres", "built"]
    assert explanation.log_p.shape == (3, 6)


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2", "bart"])
def test_a_word_s_log_p_is_what_its_tokens_add_to_the_likelihood_of_the_question_s_beginning(kind, tiny):
    """By the module alone: the tokens before the end, of the question cut after the word and before it."""
    ranker, question = ranker_of(kind, tiny), "when was the zeppelin built?"
    tok, module = ranker.module.tokenizer, ranker.module

    def total(beginning: str, text: str) -> float:
        tokens = len(tok(beginning, add_special_tokens=False)["input_ids"])
        with torch.no_grad():
            log_p, _ = module(**module.encode([text], [beginning]))
        return float(log_p[0, :tokens].sum())

    explanation = ranker.explain(question, TEXTS)
    word = [question[a:b] for a, b in explanation.spans].index("zeppelin")
    for row, text in zip(explanation.log_p, TEXTS, strict=True):
        expected = total("when was the zeppelin", text) - total("when was the", text)
        assert row[word] == pytest.approx(expected, abs=1e-3)


def test_of_a_question_that_is_cut_the_words_that_are_read_are_explained(tiny):
    ranker, question = ranker_of("bert", tiny), "tower " * 100
    assert len(ranker.explain(question, TEXTS).spans) == 64
    assert ranker.explain("?", TEXTS).log_p.shape == (3, 0)
    assert ranker.explain("tower", []).log_p.shape == (0, 1)


def test_a_model_that_cannot_rank_by_generation_is_refused_by_name(tmp_path):
    from transformers import AutoConfig

    AutoConfig.for_model("vit").save_pretrained(tmp_path)
    with pytest.raises(UnsupportedBackbone, match="vit"):
        load_question_lm(str(tmp_path))


def test_mle_is_minus_the_mean_log_probability_of_real_tokens():
    log_p = torch.tensor([[-1.0, -2.0, -99.0], [-3.0, -4.0, -5.0]])
    valid = torch.tensor([[True, True, False], [True, True, True]])
    assert mle(log_p, valid).item() == pytest.approx(15 / 5)


def test_rll_holds_each_positive_against_the_hardest_negative_of_its_question():
    # question 1: positive -5 against hardest -6: max(0, 3 + 5 - 6) = 2; question 2: -1 against -9: 0
    total = torch.tensor([-5.0, -6.0, -8.0, -1.0, -9.0])
    labels = torch.tensor([1, 0, 0, 1, 0])
    assert pairwise(total, labels, [3, 2], margin=3.0).item() == pytest.approx(1.0)


def test_rll_of_a_question_without_a_negative_is_no_loss():
    assert pairwise(torch.tensor([-5.0]), torch.tensor([1]), [1], margin=3.0).item() == 0.0


@pytest.mark.parametrize("kind", ["gpt2", "bart"])
def test_a_checkpoint_in_half_precision_is_worked_with_in_float32(kind, tiny, tmp_path):
    load_question_lm(tiny(kind)).model.bfloat16().save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(tiny(kind)).save_pretrained(tmp_path)
    assert {p.dtype for p in load_question_lm(str(tmp_path)).parameters()} == {torch.float32}
