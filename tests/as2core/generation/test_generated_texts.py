import numpy as np
import pytest
import torch

from as2core.errors import BadSetting
from as2core.generation.passages import generate_passages
from as2core.generation.questions import as_question, generate_questions, rule_writer, sampling_writer
from as2core.generation.round_trip import rank_of_source
from as2core.generation.sampling import Sampling, TextSample, draw_tokens, sample, tidy
from as2core.rankers.catalog import get

PASSAGES = ["the tower was completed in 1889 .", "iron is in the river .", "the bridge is 300 metres long ."]


def test_top_k_keeps_the_k_likeliest():
    logits = torch.tensor([[0.0, 3.0, 2.0, 1.0]]).expand(200, -1)
    tokens = draw_tokens(logits, torch.linspace(0, 0.999, 200), top_k=2, top_p=1.0)
    assert set(tokens.tolist()) == {1, 2}
    # of the two, e^3 / (e^3 + e^2) = .731 is the share of the first
    assert (tokens == 1).float().mean().item() == pytest.approx(0.731, abs=0.01)


def test_the_nucleus_is_the_fewest_tokens_that_reach_p():
    logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log().expand(1000, -1)
    noise = torch.linspace(0, 0.9999, 1000)
    assert set(draw_tokens(logits, noise, top_k=4, top_p=0.5).tolist()) == {0}
    three = draw_tokens(logits, noise, top_k=4, top_p=0.85)
    assert set(three.tolist()) == {0, 1, 2}  # .5 and .3 do not reach .85, with .15 they do
    assert (three == 2).float().mean().item() == pytest.approx(0.15 / 0.95, abs=0.01)


@pytest.mark.parametrize("kind", ["bert", "gpt2", "bart"])
def test_one_seed_gives_one_text_whatever_is_sampled_beside_it(kind, tiny):
    lm = get(f"generative:backbone={tiny(kind)}").module
    settings = Sampling(seed=7, max_tokens=8)
    together = sample(lm, PASSAGES, 3, settings)
    assert sample(lm, PASSAGES, 3, settings) == together
    alone = sample(lm, PASSAGES[1:2], 3, settings)[0]
    assert [s.text for s in alone] == [s.text for s in together[1]]
    other = sample(lm, PASSAGES, 3, Sampling(seed=8, max_tokens=8))
    assert [[s.text for s in row] for row in other] != [[s.text for s in row] for row in together]
    assert all(len(s.text.split()) <= 8 for row in together for s in row)


@pytest.mark.parametrize("kind", ["gpt2", "bart"])
def test_sampling_of_the_likeliest_alone_is_transformers_greedy_search(kind, tiny):
    ranker = get(f"generative:backbone={tiny(kind)}")
    model, tok = ranker.module.model, ranker.module.tokenizer
    text = sample(ranker.module, PASSAGES[:1], 1, Sampling(top_k=1, max_tokens=6))[0][0].text
    batch = ranker.module.encode(PASSAGES[:1], [""])
    never = tok.all_special_ids
    with torch.no_grad():
        if kind == "gpt2":
            ids = batch["ids"][:, : int(batch["prefix"][0])]
            out = model.generate(ids, do_sample=False, max_new_tokens=6, suppress_tokens=never, pad_token_id=0)
            out = out[:, ids.shape[1] :]
        else:
            out = model.generate(
                batch["ids"], attention_mask=batch["mask"], do_sample=False, num_beams=1, max_new_tokens=6,
                suppress_tokens=never, forced_eos_token_id=None,
            )[:, 1:]  # fmt: skip
    assert text == tidy(tok.decode(out[0], skip_special_tokens=True))


def test_the_log_probability_of_a_text_is_the_mean_over_its_tokens_in_a_whole_pass(tiny, monkeypatch):
    lm = get(f"generative:backbone={tiny('bert')}").module
    drawn, decode = [], lm.tokenizer.batch_decode
    monkeypatch.setattr(lm.tokenizer, "batch_decode", lambda ids, **how: drawn.extend(ids) or decode(ids, **how))
    samples = sample(lm, PASSAGES[:1], 6, Sampling(max_tokens=5, seed=1))[0]
    assert len(samples) == len(drawn)
    for ids, s in zip(drawn, samples, strict=True):
        batch = lm.encode(PASSAGES[:1], [""])
        whole = torch.tensor([[*batch["ids"][0, : int(batch["prefix"][0])].tolist(), *ids, lm.end]])
        with torch.no_grad():
            log_p = lm(whole, batch["prefix"], torch.tensor([whole.shape[1]]))[0][0]
        counted = log_p if len(ids) < 5 else log_p[:-1]  # one that was cut off has no end
        assert s.log_p == pytest.approx(counted.mean().item(), abs=1e-4)


class Overlap:
    """Scores a candidate by the words it shares with the question."""

    name = "overlap"

    def score(self, question, candidates):
        words = set(question.lower().replace("?", "").split())
        return np.array([len(words & set(c.text.split())) for c in candidates], dtype=np.float32)


def script_samples(monkeypatch, texts):
    def fake(_lm, prompts, n, _settings):
        return [[TextSample(t, -float(i)) for i, t in enumerate(texts[p])] for p in prompts]

    monkeypatch.setattr("as2core.generation.sampling.sample", fake)


def test_the_round_trip_drops_questions_that_lead_elsewhere_and_repeats(tiny, monkeypatch):
    script_samples(
        monkeypatch,
        {
            PASSAGES[0]: ["how long is the bridge ?", "When was the tower completed", "when WAS the tower completed?"],
            PASSAGES[1]: ["when was the tower completed ?", "iron", "what is in the river ? and more"],
            PASSAGES[2]: ["the bridge is 300 metres long .", "is the river 1889 metres long ?"],
        },
    )
    generator = sampling_writer(get(f"generative:backbone={tiny('gpt2')}"))
    found = generate_questions(generator, PASSAGES, ranker=Overlap(), each=2, existing=["What is iron?"])
    assert [(p.text, p.source, p.rank) for p in found] == [
        ("When was the tower completed?", 0, 1),
        ("what is in the river?", 1, 1),
        ("is the river 1889 metres long?", 2, 1),
    ]
    without = generate_questions(generator, PASSAGES[:1], each=1)
    assert [(p.text, p.rank) for p in without] == [("how long is the bridge?", None)]
    known = generate_questions(generator, PASSAGES[:1], existing=["How long is the bridge"])
    assert [p.text for p in known] == ["When was the tower completed?"]


def test_questions_by_rule_come_in_the_judge_s_order_or_their_own():
    passage = "The tower was finished by Gustave Eiffel in 1889."
    alone = rule_writer([passage])([passage], 1)[0]
    assert alone == [("When was the tower finished by Gustave Eiffel?", None), ("Who was the tower finished by?", None)]

    class Short:
        def score(self, question, candidates):
            return [-float(len(question))]

    assert rule_writer([passage], Short())([passage], 1)[0] == [(q, -float(len(q))) for q, _ in reversed(alone)]
    found = generate_questions(rule_writer(PASSAGES), [passage, "Nothing here to ask."], each=1)
    assert [(p.text, p.source, p.log_p) for p in found] == [(alone[0][0], 0, None)]


def test_a_copy_of_the_passage_found_instead_counts_as_found():
    passages = ["The tower.", "a river", "the tower"]
    assert (
        rank_of_source(Overlap(), "the tower", passages, 2) == 1 == rank_of_source(Overlap(), "the tower", passages, 0)
    )
    assert rank_of_source(Overlap(), "the tower", passages, 1) == 3


def test_passages_come_from_an_answer_model_without_repeats(tiny):
    generator = get(f"generative:backbone={tiny('bert')},direction=answer")
    written = generate_passages(generator, ["when was the tower built ?"], each=3, settings=Sampling(max_tokens=6))
    assert 1 <= len(written) <= 3
    assert len({w.text for w in written}) == len(written)
    assert [w.log_p for w in written] == sorted((w.log_p for w in written), reverse=True)


def test_a_model_of_the_other_direction_is_refused(tiny):
    questions, answers = (get(f"generative:backbone={tiny('gpt2')},direction={d}") for d in ("question", "answer"))
    with pytest.raises(BadSetting, match="direction=question"):
        sampling_writer(answers)
    with pytest.raises(BadSetting, match="direction=answer"):
        generate_passages(questions, ["why ?"])


def test_texts_are_set_as_a_person_would():
    assert tidy("who   built newton ' s bridge , and when ?") == "Who built newton's bridge, and when?"
    assert as_question("When was it built? In 1889") == "When was it built?"
    with pytest.raises(BadSetting):
        Sampling(top_p=0)
