"""The pages' generative ranker keeps what it read in the home's file."""

import numpy as np
import pytest
import torch

from app.workbench.models import LoadedModels
from as2core.rankers.catalog import load_version
from as2core.rankers.versions import save_version
from as2core.types import Candidate


@pytest.fixture
def version_folder(tmp_path):
    from transformers import AutoConfig, AutoModel, BertTokenizerFast

    from as2core.nn.backbone import load_backbone
    from as2core.nn.question_lm import PrefixLM
    from as2core.rankers.generative import GenerativeRanker

    torch.manual_seed(0)
    (tmp_path / "bert").mkdir()
    (tmp_path / "vocab.txt").write_text(
        "\n".join("[PAD] [UNK] [CLS] [SEP] [MASK] when was the tower built ? .".split())
    )
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    AutoModel.from_config(AutoConfig.for_model("bert", vocab_size=12, **sizes)).save_pretrained(tmp_path / "bert")
    BertTokenizerFast(vocab=str(tmp_path / "vocab.txt")).save_pretrained(tmp_path / "bert")
    save_version(GenerativeRanker(PrefixLM(load_backbone(str(tmp_path / "bert")))), tmp_path / "lm", {})
    return tmp_path / "lm"


def test_sentences_are_kept_in_the_file_and_score_as_without_it(version_folder, tmp_path):
    models = LoadedModels(tmp_path, passages_file=tmp_path / "home" / "passages.db")
    candidates = [Candidate("0", "the tower ."), Candidate("1", "was built")]
    scores = models.version(version_folder).score("when was the tower built ?", candidates)
    expected = load_version(version_folder).score("when was the tower built ?", candidates)
    np.testing.assert_allclose(scores, expected, atol=0.03)  # bfloat16 where the machine has it
    assert models.version(version_folder).cache.size_bytes > 0
    assert LoadedModels(tmp_path).version(version_folder).cache is None
