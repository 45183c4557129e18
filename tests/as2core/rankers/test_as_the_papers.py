"""The systems of the papers as they are in them, where ours differ by default: `as=paper`, `as=rerank`, and `wo`."""

import dataclasses

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

from as2core.errors import BadSetting
from as2core.export import export_ranker, import_ranker
from as2core.nn.heads import PaperHead
from as2core.rankers.catalog import get, load_version
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.rankers.versions import save_version
from as2core.training.fine_tune import fine_tune, override
from as2core.training.learners import learner_for, suggest_settings
from as2core.training.plan import plan_batches
from as2core.types import Candidate, Question

QUESTION = "when was the tower built ?"
TEXTS = ["the tower was completed in 1889 .", "iron", "the bridge is 300 metres long and the water is high in winter ."]
CANDIDATES = [Candidate(str(i), t, label=int(i == 0)) for i, t in enumerate(TEXTS)]
TITLED = [dataclasses.replace(c, title="the water of winter") for c in CANDIDATES]
QUESTIONS = [Question(f"q{i}", QUESTION, tuple(TITLED)) for i in range(3)]
SMALL = {"epochs": 1, "warmup_updates": 0, "learning_rate": 1e-3}


def by_hand(folder, head, layers):
    """p(right) of two classes over the mean of all states of a layer, by transformers' own pass over each pair."""
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    linears = [m for m in head.net if isinstance(m, torch.nn.Linear)]
    out = []
    for text in TEXTS:
        batch = tokenizer(QUESTION, text, return_tensors="pt", return_token_type_ids=True)
        with torch.inference_mode():
            y = model(**batch, output_hidden_states=True).hidden_states[layers][0].mean(0)
            for linear in linears[:-1]:
                y = torch.tanh(linear.weight @ y + linear.bias)
            out.append((linears[-1].weight @ y + linears[-1].bias).softmax(0)[1].item())
    return np.array(out)


def test_the_paper_s_cascade_has_at_every_exit_the_mean_state_three_layers_and_two_classes(tiny):
    torch.manual_seed(0)
    ranker = get(f"cascade:as=paper,backbone={tiny()},exits=1/3/6,drop_ratio=0")
    assert ranker.exits == (1, 3, 6) and ranker.backbone.segments and ranker.keep == 1
    trace = ranker.trace(QUESTION, TITLED)  # and no title
    for layer, head, record in zip(ranker.exits, ranker.module.heads, trace.exits, strict=True):
        assert isinstance(head, PaperHead)
        p = 1 / (1 + np.exp(-record.scores.astype(float)))
        np.testing.assert_allclose(p, by_hand(tiny(), head, layer), atol=1e-5)


def test_its_loss_is_the_cross_entropy_of_two_classes_of_one_exit_and_reaches_the_embeddings(tiny):
    torch.manual_seed(0)
    ranker = get(f"cascade:as=paper,backbone={tiny()},exits=1/3/6")
    settings = suggest_settings(ranker)
    learner = learner_for(ranker, settings)
    [batch, *_] = plan_batches(QUESTIONS[:1], override(settings, seed=4), exits=3, needs=learner.needs)
    loss = learner(**learner.collate(batch))[0][0]
    exit_index = batch.exit_index
    p = by_hand(tiny(), ranker.module.heads[exit_index], ranker.exits[exit_index])
    row = {t: i for i, t in enumerate(TEXTS)}
    expected = np.mean([-np.log(p[row[c.text]] if c.label else 1 - p[row[c.text]])
                        for g in batch.groups for c in g.candidates])  # fmt: skip
    assert loss.item() == pytest.approx(expected, abs=1e-5)
    loss.backward()
    assert ranker.backbone.embeddings.word_embeddings.weight.grad.abs().sum() > 0
    assert all(h.net[1].weight.grad is None for i, h in enumerate(ranker.module.heads) if i != exit_index)


def test_its_settings_are_the_paper_s(tiny):
    s = suggest_settings(get(f"cascade:as=paper,backbone={tiny()}"))
    assert (s.learning_rate, s.warmup_updates, s.max_tokens, s.schedule) == (1e-6, 4000, 2000, "triangular")
    assert (s.weight_decay, s.freeze_embeddings, s.exit_draw, s.stop_gradient) == (0.0, False, "uniform", False)


def test_its_batches_are_all_pairs_once_an_epoch_up_to_2000_tokens_each(tiny):
    ranker = get(f"cascade:as=paper,backbone={tiny()}")
    settings = override(suggest_settings(ranker), epochs=1)
    learner = learner_for(ranker, settings)
    texts = [" ".join(["tower"] * n) for n in range(1, 101)]
    many = [
        Question(f"q{i}", QUESTION, tuple(Candidate(f"{i}-{j}", t, int(j == 0)) for j, t in enumerate(texts)))
        for i in range(3)
    ]
    batches = plan_batches(many, settings, exits=5, needs=learner.needs, count_tokens=learner.count_tokens)
    pairs = [(g.question.qid, c.id) for b in batches for g in b.groups for c in g.candidates]
    assert sorted(pairs) == sorted((q.qid, c.id) for q in many for c in q.candidates)
    assert max(sum(map(learner.count_tokens, b.groups)) for b in batches) <= 2000
    assert len({b.exit_index for b in batches}) > 1


def test_the_scale_of_its_untrained_heads_is_left_alone(tiny, tmp_path):
    """Nothing is levelled: at a rate of nearly 0 the trained ranker scores as the untrained one."""
    base = get(f"cascade:as=paper,backbone={tiny()},drop_ratio=0")
    still = override(suggest_settings(base), epochs=1, learning_rate=1e-15)
    trained = fine_tune(base, QUESTIONS, [], still, workdir=tmp_path).ranker
    np.testing.assert_allclose(trained.score(QUESTION, TITLED), base.score(QUESTION, TITLED), atol=1e-5)


def test_a_version_of_it_comes_back_and_its_last_exit_leaves_as_a_cross_encoder(tiny, tmp_path):
    base = get(f"cascade:as=paper,backbone={tiny()},exits=2/6,drop_ratio=0")
    trained = fine_tune(base, QUESTIONS, [], override(suggest_settings(base), **SMALL), workdir=tmp_path / "w").ranker
    scores = trained.score(QUESTION, TITLED)
    save_version(trained, tmp_path / "mine", {})
    back = load_version(tmp_path / "mine")
    assert (back.style, back.exits, back.reads_titles) == ("paper", (2, 6), False)
    np.testing.assert_allclose(back.score(QUESTION, TITLED), scores, atol=1e-6)
    export_ranker(back, "hf", tmp_path / "hf", card={})
    np.testing.assert_allclose(import_ranker(tmp_path / "hf")[0].score(QUESTION, TITLED), scores, atol=1e-5)
    alone = CrossEncoderRanker.from_cascade(back)
    save_version(alone, tmp_path / "alone", {})
    np.testing.assert_allclose(load_version(tmp_path / "alone").score(QUESTION, TITLED), scores, atol=1e-5)


def test_the_int8_engine_runs_it(tiny, tmp_path):
    torch.manual_seed(0)
    ranker = get(f"cascade:as=paper,backbone={tiny()},drop_ratio=0")
    exact = ranker.score(QUESTION, CANDIDATES)
    ranker.use("onnx", folder=tmp_path)
    assert ranker.engine.name == "onnx"
    np.testing.assert_allclose(ranker.score(QUESTION, CANDIDATES), exact, atol=0.05)


@pytest.mark.parametrize("spec", ["cascade:as=papers", "generative:as=papers,backbone=x", "compare-aggregate:as=x"])
def test_an_unknown_style_is_refused_with_the_known_ones(spec):
    with pytest.raises(BadSetting, match="known: s"):
        get(spec)


def test_compare_aggregate_as_rerank_has_the_parameters_of_its_layers(tiny):
    """BiLSTM of 32 -> 300 both ways, attention of 600 x 600, convolutions of widths 1 to 5 with 300 filters, a line."""
    ranker = get(f"compare-aggregate:as=rerank,backbone={tiny()}")
    lstm = 2 * (4 * 300 * (32 + 300) + 2 * 4 * 300)
    convolutions = sum(600 * k * 300 + 300 for k in (1, 2, 3, 4, 5))
    assert ranker.parameters == lstm + (600 * 600 + 600) + convolutions + (5 * 300 + 1)


def test_compare_aggregate_as_rerank_is_its_equations(tiny):
    """One pair, word by word: BiLSTM states, softmax over the question's words, products, convolution and maximum."""
    from as2core.text import tokenize

    ranker = get(f"compare-aggregate:as=rerank,hidden=8,backbone={tiny()}")
    network, head = ranker.module.encoder, ranker.module.head
    words = [torch.tensor(ranker.vectors(tokenize(t)))[None] for t in (QUESTION, TEXTS[0])]
    with torch.inference_mode():
        q, c = (network.read(w)[0][0] for w in words)  # (words, 16)
        compared = []
        for state in c:
            weights = torch.softmax(torch.stack([network.attention(x) @ state for x in q]), 0)
            compared.append(state * (weights[:, None] * q).sum(0))
        t = torch.stack(compared)
        pooled = []
        for kernel, layer in zip(network.aggregate.kernels, network.aggregate.layers, strict=True):
            left, right = (kernel - 1) // 2, kernel // 2
            padded = torch.cat([torch.zeros(left, 16), t, torch.zeros(right, 16)])
            each = [
                (layer.weight * padded[i : i + kernel].T[None]).sum((1, 2)) + layer.bias for i in range(len(compared))
            ]
            pooled.append(torch.stack(each).amax(0).relu())
        expected = head(torch.cat(pooled)).item()
    assert ranker.score(QUESTION, CANDIDATES)[0] == pytest.approx(expected, abs=1e-5)


def test_compare_aggregate_as_rerank_learns_32_pairs_at_a_time_with_adam_at_1e_4(tiny, tmp_path):
    base = get(f"compare-aggregate:as=rerank,hidden=8,backbone={tiny()}")
    s = suggest_settings(base)
    assert (s.learning_rate, s.batch_questions, s.by_pairs, s.weight_decay, s.schedule) == (
        1e-4,
        32,
        True,
        0,
        "constant",
    )
    many = [dataclasses.replace(q, qid=f"{q.qid}-{i}") for i in range(9) for q in QUESTIONS]  # 81 pairs
    batches = plan_batches(many, override(s, epochs=1), exits=1, needs=learner_for(base, s).needs)
    assert sorted(len(b.groups) for b in batches) == [17, 32, 32]
    trained = fine_tune(base, many, [], override(s, epochs=1), workdir=tmp_path / "w").ranker
    save_version(trained, tmp_path / "mine", {})
    scores = load_version(tmp_path / "mine").score(QUESTION, CANDIDATES)
    np.testing.assert_allclose(scores, trained.score(QUESTION, CANDIDATES), atol=1e-6)
    with pytest.raises(BadSetting, match="leave by_pairs out"):
        learner_for(get(f"compare-aggregate:as=rerank,hidden=8,context=birnn,backbone={tiny()}"), s)


def test_wo_counts_words_and_draws_its_ties_once_for_all_whatever_the_order():
    texts = ["a tower", *(f"the tower {i}" for i in range(200))]
    candidates = [Candidate(str(i), t) for i, t in enumerate(texts)]
    scores = get("wo").score("tower", candidates)
    assert set(np.floor(scores)) == {1.0}
    np.testing.assert_array_equal(get("wo").score("tower", candidates[::-1]), scores[::-1])
    places = np.argsort(np.argsort(-scores))
    assert abs(np.corrcoef(places, np.arange(201))[0, 1]) < 0.2  # the original order says nothing
    assert np.abs(np.sort(scores - 1) - np.linspace(0, 0.5, 201)).max() < 0.06  # uniform up to a half


@pytest.mark.parametrize("direction", ["question", "answer"])
def test_a_causal_model_as_the_paper_reads_bos_passage_boq_question_eoq(direction, tiny, tmp_path):
    torch.manual_seed(0)
    folder = tiny("gpt2")
    ranker = get(f"generative:as=paper,backbone={folder},direction={direction}")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"bos_token": "<bos>", "additional_special_tokens": ["<boq>", "<eoq>"]})
    boq, eoq = (ranker.module.tokenizer.convert_tokens_to_ids(t) for t in ("<boq>", "<eoq>"))
    bos = ranker.module.tokenizer.bos_token_id
    assert len({bos, boq, eoq, ranker.module.tokenizer.unk_token_id}) == 4
    plain = AutoModelForCausalLM.from_pretrained(folder)
    plain.resize_token_embeddings(ranker.module.model.config.vocab_size)
    plain.load_state_dict(ranker.module.model.state_dict())
    plain.eval()
    expected = []
    for text in TEXTS:
        given, asked = (text, QUESTION) if direction == "question" else (QUESTION, text)
        p, q = (tokenizer(t, add_special_tokens=False)["input_ids"] for t in (given, asked))
        ids = [bos, *p, boq, *q, eoq]
        with torch.inference_mode():
            log_p = plain(torch.tensor([ids])).logits[0].log_softmax(-1)
        begin = len(p) + 2
        expected.append(np.mean([log_p[i - 1, ids[i]].item() for i in range(begin, len(ids))]))
    np.testing.assert_allclose(ranker.score(QUESTION, CANDIDATES), expected, atol=1e-4)
    save_version(ranker, tmp_path / "mine", {})
    back = load_version(tmp_path / "mine").score(QUESTION, CANDIDATES)
    np.testing.assert_allclose(back, ranker.score(QUESTION, CANDIDATES), atol=1e-5)


def test_bart_as_the_paper_reads_s_before_the_question_and_does_not_count_it(tiny, tmp_path):
    folder = tmp_path / "bart"
    AutoModelForSeq2SeqLM.from_pretrained(tiny("bart")).save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(tiny("bart"))
    tokenizer.add_special_tokens({"bos_token": "[CLS]", "eos_token": "[SEP]"})
    tokenizer.save_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    model.config.decoder_start_token_id = tokenizer.eos_token_id  # as BART's
    model.save_pretrained(folder)
    ranker = get(f"generative:as=paper,backbone={folder}")
    expected = []
    for text in TEXTS:
        q = [*tokenizer(QUESTION, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
        read = [tokenizer.eos_token_id, tokenizer.bos_token_id, *q[:-1]]
        batch = tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            log_p = model(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                decoder_input_ids=torch.tensor([read]),
            ).logits[0].log_softmax(-1)  # fmt: skip
        expected.append(np.mean([log_p[i + 1, token].item() for i, token in enumerate(q)]))
    np.testing.assert_allclose(ranker.score(QUESTION, CANDIDATES), expected, atol=1e-4)
    assert not np.allclose(get(f"generative:backbone={folder}").score(QUESTION, CANDIDATES), expected, atol=1e-3)


@pytest.mark.parametrize("kind", ["gpt2", "bart"])
def test_kept_passages_give_the_same_as_the_paper_s_models(kind, tiny, tmp_path):
    from as2core.rankers.passage_cache import PassageCache

    folder = tiny(kind)
    if kind == "bart":
        folder = str(tmp_path / "bart")
        AutoModelForSeq2SeqLM.from_pretrained(tiny(kind)).save_pretrained(folder)
        tokenizer = AutoTokenizer.from_pretrained(tiny(kind))
        tokenizer.add_special_tokens({"bos_token": "[CLS]", "eos_token": "[SEP]"})
        tokenizer.save_pretrained(folder)
    ranker = get(f"generative:as=paper,backbone={folder}")
    plain = ranker.score(QUESTION, CANDIDATES)
    ranker.cache = PassageCache(tmp_path / "passages.db")
    for _ in range(2):
        np.testing.assert_allclose(ranker.score(QUESTION, CANDIDATES), plain, atol=1e-3)


@pytest.mark.parametrize("loss", ["mle", "lul", "rll"])
def test_a_generative_ranker_as_the_paper_learns_from_sums(loss, tiny):
    """Eqs. 2, 4 and 5 over one batch, from the log-probabilities of the single tokens."""
    torch.manual_seed(0)
    ranker = get(f"generative:as=paper,backbone={tiny('gpt2')}")
    settings = override(suggest_settings(ranker), loss=loss)
    assert (settings.reduction, settings.negatives, settings.batch_questions, settings.epochs) == ("sum", 15, 8, 10)
    learner = learner_for(ranker, settings)
    [batch, *_] = plan_batches(QUESTIONS, settings, exits=1, needs=learner.needs)
    value = learner(**learner.collate(batch))[0][0].item()
    rows = ranker._token_log_p([QUESTION] * 3, TEXTS)
    right, wrong = rows[0].astype(float), [r.astype(float) for r in rows[1:]]
    per_question = {
        "mle": -right.sum(),
        "lul": -right.sum() - sum(np.log(1 - np.exp(r)).sum() for r in wrong),
        "rll": max(0.0, settings.margin - right.sum() + max(r.sum() for r in wrong)),
    }[loss]
    assert value == pytest.approx(3 * per_question, rel=1e-4)


def test_sums_are_refused_where_there_are_none(tiny):
    ranker = get(f"cascade:backbone={tiny()}")
    with pytest.raises(BadSetting, match="reduction=sum is for the losses of a generative ranker"):
        learner_for(ranker, override(suggest_settings(ranker), reduction="sum"))


@pytest.mark.parametrize("changes", [{"loss": "listwise"}, {"loss": "pairwise"}, {"contrast": 0.5}])
def test_pairs_one_by_one_are_refused_for_a_loss_that_compares(changes, tiny):
    ranker = get(f"cascade:as=paper,backbone={tiny()}")
    with pytest.raises(BadSetting, match="leave nothing to compare"):
        learner_for(ranker, override(suggest_settings(ranker), **changes))
