"""Tiny, randomly initialised models that real loading code can read, so that no test needs the shipped weights."""

from __future__ import annotations

import string

import pytest

WORDS = (
    "the a of in was is are when where who why how many what tower bridge river iron steel built finished completed "
    "year city long high stands opened engineer people water winter bread music heart cell 1889 300 metres ? . ,"
).split()


def make_tiny(kind: str, folder, *, layers: int = 6, seed: int = 0):
    """A saved model of the architecture with a word-level vocabulary; returns the folder."""
    import torch
    from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoModelForSeq2SeqLM, BertTokenizerFast

    torch.manual_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    pieces = [*string.ascii_lowercase, *string.digits, *(f"##{c}" for c in string.ascii_lowercase + string.digits)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces, *WORDS]
    vocabulary = list(dict.fromkeys(vocabulary))
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    tokenizer = BertTokenizerFast(vocab=str(folder / "vocab.txt"))
    sizes = {
        "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256, "bos_token_id": 2, "eos_token_id": 3},
        "bart": {
            "d_model": 32,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 64,
            "decoder_ffn_dim": 64,
            "max_position_embeddings": 256,
            "decoder_start_token_id": 2,
            "pad_token_id": 0,
        },
        "t5": {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0},
    }.get(
        kind,
        {
            "hidden_size": 32,
            "num_hidden_layers": layers,
            "num_attention_heads": 4,
            "intermediate_size": 64,
            "max_position_embeddings": 256,
            "pad_token_id": 0,
        },
    )
    if kind == "electra":
        sizes["embedding_size"] = 16  # narrower than the hidden size, as ELECTRA small's
    if kind == "roberta":
        sizes["max_position_embeddings"] += 1  # the first is the padding's
    config = AutoConfig.for_model(kind, vocab_size=len(vocabulary), **sizes)
    auto = {"gpt2": AutoModelForCausalLM, "bart": AutoModelForSeq2SeqLM, "t5": AutoModelForSeq2SeqLM}.get(
        kind, AutoModel
    )
    auto.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """`tiny("roberta")` gives the folder of a tiny model of that architecture."""
    made = {}

    def get(kind: str = "bert", layers: int = 6):
        if (kind, layers) not in made:
            made[kind, layers] = make_tiny(kind, tmp_path_factory.mktemp(f"{kind}{layers}"), layers=layers)
        return str(made[kind, layers])

    return get


@pytest.fixture
def backbone(tiny):
    from as2core.nn.backbone import load_backbone

    return load_backbone(tiny())
