"""Checkpoints of others score as in the libraries they are from."""

import copy
import json

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from as2core.errors import BadSetting, DamagedModel, UnknownRanker, UnsupportedBackbone
from as2core.rankers.catalog import check, get, load_version
from as2core.rankers.versions import save_version
from as2core.training.fine_tune import fine_tune, override
from as2core.training.learners import suggest_settings
from as2core.types import Candidate, Question

QUESTION = "when was the tower built ?"
TEXTS = ["the tower was completed in 1889 .", "iron", "", "the bridge is 300 metres long and the water is high . " * 12]
CANDIDATES = [Candidate(str(i), t, label=int(i == 0)) for i, t in enumerate(TEXTS)]
QUESTIONS = [Question(f"q{i}", QUESTION, tuple(CANDIDATES)) for i in range(4)]
KINDS = ("bert", "roberta", "xlm-roberta", "electra", "deberta", "deberta-v2", "modernbert", "distilbert")


def make_checkpoint(kind, labels, folder, tiny, *, names=()):
    """A tiny classifier whose head says something."""
    torch.manual_seed(5)
    names_read = ["input_ids", "attention_mask"]
    if kind not in ("roberta", "xlm-roberta", "distilbert"):
        names_read.append("token_type_ids")
    tokenizer = AutoTokenizer.from_pretrained(tiny(), model_max_length=64, model_input_names=names_read)
    sizes = {
        "vocab_size": len(tokenizer), "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 64, "max_position_embeddings": 130, "pad_token_id": 0, "num_labels": labels,
        "cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3,
    }  # fmt: skip
    if kind == "distilbert":
        sizes |= {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}
    if kind in ("roberta", "xlm-roberta"):
        sizes["type_vocab_size"] = 1
    config = AutoConfig.for_model(kind, **sizes)
    if names:
        config.id2label, config.label2id = dict(enumerate(names)), {n: i for i, n in enumerate(names)}
    model = AutoModelForSequenceClassification.from_config(config).eval()
    for name, p in model.named_parameters():
        if name.startswith(("classifier", "pooler", "score", "head")) or "pooler" in name:
            torch.nn.init.normal_(p, std=0.5)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def plain_logits(folder):
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    batch = tokenizer([QUESTION] * 4, TEXTS, padding=True, truncation=True, return_tensors="pt")
    with torch.inference_mode():
        return model(**batch).logits.double()


@pytest.mark.parametrize("labels", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_a_directory_scores_with_its_own_head_as_transformers_does(kind, labels, tiny, tmp_path):
    folder = make_checkpoint(kind, labels, tmp_path / "theirs", tiny)
    ranker, logits = get(folder), plain_logits(folder)
    expected = logits[:, 0] if labels == 1 else torch.log(logits.softmax(1)[:, 1] / logits.softmax(1)[:, 0])
    np.testing.assert_allclose(ranker.score(QUESTION, CANDIDATES), expected.numpy(), atol=1e-4)
    assert ranker.is_trained and ranker.module.max_length == 64


@pytest.mark.parametrize("is_plain", [False, True])
def test_a_special_token_in_a_text_is_what_the_checkpoint_s_tokenizer_says_also_in_a_copy(is_plain, tiny, tmp_path):
    folder = make_checkpoint("bert", 1, tmp_path / "theirs", tiny)
    tokenizer = AutoTokenizer.from_pretrained(folder, split_special_tokens=is_plain)
    tokenizer.save_pretrained(folder)
    ids = tokenizer("where [SEP] was it", "the [MASK] tower")["input_ids"]
    assert ids.count(tokenizer.sep_token_id) == (2 if is_plain else 3)
    assert (tokenizer.mask_token_id in ids) != is_plain
    module = get(folder).module
    for reader in (module, copy.deepcopy(module)):
        assert reader.encode(["where [SEP] was it"], ["the [MASK] tower"])[0][0] == ids


def test_the_answer_s_label_can_be_said_and_has_to_be_where_there_are_more_than_two(tiny, tmp_path):
    folder = make_checkpoint("bert", 3, tmp_path / "theirs", tiny, names=("entailment", "neutral", "contradiction"))
    with pytest.raises(BadSetting, match=r"3 labels \(0 entailment, 1 neutral, 2 contradiction\): say which one"):
        get(folder)
    p = plain_logits(folder).softmax(1)[:, 0]
    scores = get(f"classifier:model={folder},positive=0").score(QUESTION, CANDIDATES)
    np.testing.assert_allclose(scores, torch.log(p / (1 - p)).numpy(), atol=1e-4)
    with pytest.raises(BadSetting, match="has the labels 0 to 2"):
        get(f"classifier:model={folder},positive=3")


@pytest.mark.parametrize("activation", [None, torch.nn.Identity(), torch.nn.Sigmoid(), torch.nn.Tanh()])
def test_a_cross_encoder_of_sentence_transformers_scores_as_its_predict(activation, tiny, tmp_path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    folder = make_checkpoint("bert", 1, tmp_path / "base", tiny)
    options = {"activation_fn": activation} if activation else {}
    sentence_transformers.CrossEncoder(str(folder), device="cpu", max_length=24, **options).save_pretrained(
        str(tmp_path / "theirs")
    )
    theirs = sentence_transformers.CrossEncoder(str(tmp_path / "theirs"), device="cpu")
    ranker = get(tmp_path / "theirs")
    expected = theirs.predict([(QUESTION, t) for t in TEXTS])
    np.testing.assert_allclose(ranker.score(QUESTION, CANDIDATES), expected, atol=1e-5)
    logits = get(f"{tmp_path / 'theirs'}:activation=none").score(QUESTION, CANDIDATES)
    if activation is None:
        np.testing.assert_allclose(1 / (1 + np.exp(-logits)), expected, atol=1e-5)


@pytest.mark.parametrize(
    "config",
    [
        {"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}},
        {"sbert_ce_default_activation_function": "torch.nn.modules.activation.Sigmoid"},
    ],
)
def test_the_activation_of_older_cross_encoders_stands_in_their_config(config, tiny, tmp_path):
    folder = make_checkpoint("bert", 1, tmp_path / "theirs", tiny)
    expected = torch.sigmoid(plain_logits(folder)[:, 0]).numpy()
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | config))
    np.testing.assert_allclose(get(folder).score(QUESTION, CANDIDATES), expected, atol=1e-5)
    file.write_text(json.dumps(json.loads(file.read_text()) | {name: "my.own.Swish" if isinstance(value, str) else
                                                              {"activation_fn": "my.own.Swish"}
                                                              for name, value in config.items()}))  # fmt: skip
    with pytest.raises(BadSetting, match=r"my\.own\.Swish, which is not known here: set activation=none"):
        get(folder)


def test_it_is_a_first_stage_a_part_of_a_fusion_and_what_compare_checks(tiny, tmp_path):
    folder = make_checkpoint("bert", 2, tmp_path / "theirs", tiny)
    check(str(folder))
    check(f"classifier:model={folder}")
    with pytest.raises(BadSetting, match="has no setting 'k1=2'"):
        check(f"{folder}:k1=2")
    alone = get(folder).score(QUESTION, CANDIDATES)
    trace = get(f"sequential:stages={folder}@2+wo-rr").trace(QUESTION, CANDIDATES)
    assert set(trace.stages[0].dropped.tolist()) == set(np.argsort(-alone)[2:].tolist())
    assert len(get(f"fusion:rankers={folder}+bm25").score(QUESTION, CANDIDATES)) == 4


def test_it_learns_further_by_tanda_s_settings_and_is_saved_as_a_version(tiny, tmp_path):
    base = get(make_checkpoint("roberta", 2, tmp_path / "theirs", tiny))
    settings = suggest_settings(base)
    assert (settings.learning_rate, settings.epochs, settings.weight_decay) == (1e-6, 3, 0.0)
    before = base.score(QUESTION, CANDIDATES)
    fast = override(settings, epochs=8, learning_rate=1e-2)
    trained = fine_tune(base, QUESTIONS, [], fast, workdir=tmp_path / "w").ranker
    scores = trained.score(QUESTION, CANDIDATES)
    assert scores[0] - scores[1:].max() > before[0] - before[1:].max()
    np.testing.assert_array_equal(base.score(QUESTION, CANDIDATES), before)
    save_version(trained, tmp_path / "mine", {})
    np.testing.assert_allclose(load_version(tmp_path / "mine").score(QUESTION, CANDIDATES), scores, atol=1e-6)


def test_a_base_model_gets_a_new_head_counts_as_untrained_and_is_transferred(tiny):
    base = get(f"classifier:model={tiny()}")
    assert not base.is_trained
    assert (suggest_settings(base).learning_rate, suggest_settings(base).epochs) == (2e-5, 9)


def test_it_teaches_a_cascade(tiny, tmp_path, capsys):
    from as2core import cli

    folder = make_checkpoint("bert", 1, tmp_path / "theirs", tiny)
    data = tmp_path / "questions.jsonl"
    from as2core.data import jsonl

    data.write_text(jsonl.dumps(QUESTIONS))
    spec = f"cascade:backbone={tiny('bert', 2)}"
    command = ["train", spec, str(data), "--out", str(tmp_path / "mine"), "--epochs", "1"]
    assert cli.main([*command, "--teacher", str(folder)]) == 1
    assert "--with distill=1" in capsys.readouterr().err
    assert cli.main([*command, "--teacher", str(folder), "--with", "distill=1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["card"]["teacher"] == str(folder)
    code = cli.main(["train", "cosinet", str(data), "--out", str(tmp_path / "no"), "--teacher", str(folder)])
    assert code == 1 and "learns from no teacher" in capsys.readouterr().err


def test_what_is_not_there_says_what_to_do(tiny, tmp_path):
    with pytest.raises(DamagedModel, match="run `hf download no/such-model --local-dir DIR`, then give DIR"):
        get("classifier:model=no/such-model")
    with pytest.raises(UnknownRanker, match="a model of the hub, write classifier:model=no/such-model"):
        get("no/such-model")
    with pytest.raises(BadSetting, match="classifier:model=DIR"):
        get("classifier")
    with pytest.raises(UnsupportedBackbone, match=r"classifies texts|reads no pairs"):
        get(f"classifier:model={tiny('t5')}")
    folder = make_checkpoint("bert", 2, tmp_path / "theirs", tiny)
    (folder / "model.safetensors").unlink()
    with pytest.raises(DamagedModel, match=r"a checkpoint has config\.json, model\.safetensors"):
        get(folder)
    config = json.loads((folder / "config.json").read_text())
    del config["model_type"]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UnsupportedBackbone, match='"model_type": "roberta"'):
        get(folder)


@pytest.mark.parametrize("spec", ["classifier:model={}", "cascade:backbone={}", "generative:backbone={}"])
def test_python_that_a_checkpoint_brings_is_neither_run_nor_asked_about(tmp_path, monkeypatch, spec):
    classes = dict.fromkeys(("AutoConfig", "AutoModel", "AutoModelForSequenceClassification"), "own.Own")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "own-as2", "auto_map": classes}))
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Own: pass\n")
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises((UnsupportedBackbone, DamagedModel)):
        get(spec.format(tmp_path))
    assert not (tmp_path / "ran").exists()
