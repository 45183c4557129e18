"""The second text of a pair has its own segment embedding: in every engine what a plain Hugging Face pass gives."""

import json
import shutil

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer, RobertaConfig, RobertaModel

from as2core.cascade.language_engine import LanguageEngine
from as2core.errors import BadSetting
from as2core.nn.backbone import Backbone, load_backbone
from as2core.nn.kept_passages import question_ids, read_passages, resume_reading
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import MODELS_DIR, get, load_version
from as2core.rankers.generative import GenerativeRanker, load_question_lm
from as2core.rankers.versions import CARD, CONFIG, save_version
from as2core.types import Candidate

QUESTION = "when was the tower built ?"
TEXTS = ["the tower was completed in 1889 .", "iron", "the bridge is 300 metres long and the water is high in winter ."]
CANDIDATES = [Candidate(str(i), t) for i, t in enumerate(TEXTS)]
KINDS = ("bert", "electra")


@pytest.fixture(params=KINDS)
def folder(request, tiny, tmp_path):
    """An encoder whose two types are far apart, so that a wrong one shows."""
    shutil.copytree(tiny(request.param), tmp_path / "encoder")
    model = AutoModel.from_pretrained(tmp_path / "encoder")
    torch.manual_seed(1)
    torch.nn.init.normal_(model.embeddings.token_type_embeddings.weight, std=0.5)
    model.save_pretrained(tmp_path / "encoder")
    return str(tmp_path / "encoder")


def plain_states(folder, *, with_types=True):
    """Each pair alone through transformers' own model: its states (tokens, hidden), and where the candidate begins."""
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    out = []
    for text in TEXTS:
        batch = tokenizer(QUESTION, text, return_tensors="pt", return_token_type_ids=True)
        second = batch["token_type_ids"][0].argmax().item()
        if not with_types:
            batch["token_type_ids"] = torch.zeros_like(batch["token_type_ids"])
        with torch.inference_mode():
            out.append((model(**batch).last_hidden_state[0], second))
    return out


def shaken(ranker):
    torch.manual_seed(3)
    for head in ranker.module.heads:
        torch.nn.init.normal_(head.net[-1].weight, std=0.3)
    return ranker


def plain_logits(folder, ranker, **options):
    """The exit's three layers and its cosine by hand, over transformers' states."""
    head, logits = ranker.module.heads[-1], []
    for states, second in plain_states(folder, **options):
        mean, question, candidate = states.mean(0), states[:second].mean(0), states[second:].mean(0)
        y = mean
        for linear in (head.net[1], head.net[4]):
            y = torch.tanh(linear.weight @ y + linear.bias)
        y = head.net[7].weight[0] @ y + head.net[7].bias[0]
        cosine = (question / question.norm() * candidate / candidate.norm()) @ head.cosine
        logits.append((y + cosine).item())
    return np.array(logits)


def test_a_cascade_reads_a_pair_as_transformers_own_pass_does(folder):
    ranker = shaken(CascadeRanker(load_backbone(folder), drop_ratio=0.0))
    expected = plain_logits(folder, ranker)
    np.testing.assert_allclose(ranker.score(QUESTION, CANDIDATES), expected, atol=1e-4)
    assert np.abs(expected - plain_logits(folder, ranker, with_types=False)).max() > 0.01


def test_without_segments_every_token_has_type_0(folder):
    ranker = shaken(CascadeRanker(load_backbone(folder, segments=False), drop_ratio=0.0))
    np.testing.assert_allclose(
        ranker.score(QUESTION, CANDIDATES), plain_logits(folder, ranker, with_types=False), atol=1e-4
    )


def test_the_int8_graphs_read_the_same_segments(folder, tmp_path):
    ranker = shaken(CascadeRanker(load_backbone(folder), drop_ratio=0.0))
    expected = plain_logits(folder, ranker)
    ranker.use("onnx", folder=tmp_path / "graphs")
    assert ranker.engine.name == "onnx"
    logits = ranker.engine.start([QUESTION] * 3, TEXTS).advance(np.arange(3), 0, len(ranker.exits))[0][-1]
    without = plain_logits(folder, ranker, with_types=False)
    assert np.abs(logits - expected).max() < 0.25 * np.abs(without - expected).max()


def test_the_prefix_model_s_question_is_the_second_segment(folder):
    """Its states against transformers' own, which gets the same mask: a passage never sees the question."""
    lm, text = load_question_lm(folder), TEXTS[0]
    batch = lm.encode([text], [QUESTION])
    ids, prefix = batch["ids"], int(batch["prefix"])
    at = torch.arange(ids.shape[1])
    mask = (at[None, :] < prefix) | ((at[:, None] >= at[None, :]) & (at[:, None] >= prefix))
    bias = torch.zeros(mask.shape).masked_fill(~mask, torch.finfo(torch.float32).min)[None, None]
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.inference_mode():
        states = model(input_ids=ids, attention_mask=bias, token_type_ids=(at >= prefix).long()[None]).last_hidden_state
        _, _, question, passage = lm.read(**batch)
    torch.testing.assert_close(question[0], states[0, prefix:-1].mean(0), atol=1e-4, rtol=0)
    torch.testing.assert_close(passage[0], states[0, :prefix].mean(0), atol=1e-4, rtol=0)


def test_the_prefix_model_reads_segments_from_passages_read_before_and_in_int8(folder, tmp_path):
    lm = load_question_lm(folder)
    torch.nn.init.normal_(lm.bias, std=1.0)
    scores = GenerativeRanker(lm).score(QUESTION, CANDIDATES)
    ids = question_ids(lm, QUESTION)
    with torch.inference_mode():
        reading = resume_reading(lm, read_passages(lm, TEXTS))
        states = torch.cat([reading.start(), reading.extend(torch.tensor([ids[:-1]] * 3))], 1).flatten(0, 1)
        later = reading.log_p(states, torch.tensor(ids * 3)).view(3, -1).mean(1).numpy()
    np.testing.assert_allclose(later, scores, atol=1e-4)
    engine = LanguageEngine(lm, tmp_path)
    quick = engine.score(ids, engine.read_passages(TEXTS))
    np.testing.assert_allclose(quick, scores, atol=0.03)
    lm.backbone.segments = False
    assert np.abs(GenerativeRanker(lm).score(QUESTION, CANDIDATES) - scores).max() > 0.06


@pytest.mark.parametrize("segments", [True, False])
@pytest.mark.parametrize("name", ["cascade", "cross-encoder", "generative"])
def test_a_version_keeps_whether_it_was_trained_with_segments(name, segments, folder, tmp_path):
    ranker = get(f"{name}:backbone={folder},segments={str(segments).lower()}")
    save_version(ranker, tmp_path / "mine", {})
    assert load_version(tmp_path / "mine").encoder.segments is segments
    assert json.loads((tmp_path / "mine" / CONFIG).read_text())["settings"]["segments"] is segments


def test_an_encoder_without_segments_has_none_and_says_so_when_they_are_asked_for(tiny):
    tokenizer = AutoTokenizer.from_pretrained(tiny("roberta"))
    config = RobertaConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        type_vocab_size=1, pad_token_id=0,
    )  # fmt: skip
    model = RobertaModel(config)  # as the hub's RoBERTa: one type
    assert not Backbone(model, tokenizer, "roberta").segments
    with pytest.raises(BadSetting, match="has no segment embeddings: leave segments out"):
        Backbone(model, tokenizer, "roberta", segments=True)
    with pytest.raises(BadSetting, match="gpt2 model, which has no segment embeddings"):
        load_question_lm(tiny("gpt2"), segments=True)


# What the shipped weights gave when they were added, to the last digit printed then; they read no segments. In float32:
# scores in int8 differ from processor to processor.
SHIPPED = {
    "cascade:drop_ratio=0,engine=torch": [-1.192, -5.2607, -3.0251, -14.7887],
    "cross-encoder:depth=3,engine=torch": [-1.5516, -4.5596, -1.6124, -8.9749],
    "generative": [-4.4349, -4.9918, -4.938, -6.1965],
}
ASKED = "Who designed the tower that opened in Paris in 1889?"
SENTENCES = (
    "The structure was the work of the engineers Maurice Koechlin and Émile Nouguier.",
    "It is 330 metres tall.",
    "Paris hosted a world's fair in 1889.",
    "Sourdough is leavened by wild yeast.",
)
OF_SHIPPED = [Candidate(str(i), t, title="Eiffel Tower" if i < 2 else "") for i, t in enumerate(SENTENCES)]


@pytest.mark.parametrize("spec", SHIPPED)
def test_the_shipped_weights_score_as_ever(spec):
    np.testing.assert_allclose(get(spec).score(ASKED, OF_SHIPPED), SHIPPED[spec], atol=1e-4)


@pytest.mark.parametrize("name", ["cascade", "generative"])
def test_a_version_from_before_the_setting_scores_as_ever(name, tmp_path):
    shutil.copytree(MODELS_DIR / name, tmp_path / name)
    config = json.loads((tmp_path / name / CONFIG).read_text())
    assert config["settings"].pop("segments") is False
    (tmp_path / name / CONFIG).write_text(json.dumps(config))
    card = json.loads((tmp_path / name / CARD).read_text())
    del card["config_sha256"]
    (tmp_path / name / CARD).write_text(json.dumps(card))
    old, today = load_version(tmp_path / name), load_version(MODELS_DIR / name)
    np.testing.assert_array_equal(old.score(ASKED, OF_SHIPPED), today.score(ASKED, OF_SHIPPED))
