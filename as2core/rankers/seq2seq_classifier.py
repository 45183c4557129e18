"""Ranking by an encoder-decoder that judges instead of generating: the twin of `generative` with the same backbone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from as2core.errors import UnsupportedBackbone
from as2core.rankers.base import HasWeights, LoadRanker, VersionConfig
from as2core.system.pauses import pause
from as2core.types import Candidate

if TYPE_CHECKING:
    from torch import nn

    from as2core.nn.seq2seq_classifier import Seq2SeqClassifier


class Seq2SeqClassifierRanker(HasWeights):
    """Scores are logits. Until it is trained, its last line is drawn at random, and so is its order."""

    kind = "seq2seq-classifier"
    module: Seq2SeqClassifier

    def __init__(self, module: Seq2SeqClassifier, *, name: str = "cross-encoder") -> None:
        self.module, self.name, self.is_trained = module.eval(), name, False

    @property
    def encoder(self) -> nn.Module:
        return self.module.model

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        import torch

        from as2core.nn.micro_batches import split_by_length

        out = np.zeros(len(candidates), dtype=np.float32)
        with torch.inference_mode():
            for rows in split_by_length([len(c.titled_text) + 1 for c in candidates], max_tokens=8192):
                pause(len(rows))
                batch = self.module.encode([question] * len(rows), [candidates[r].titled_text for r in rows])
                out[rows] = self.module(**batch).float().cpu().numpy()
        return out

    def config(self) -> VersionConfig:
        return {"backbone": self.module.name, "settings": {"max_length": self.module.max_length}}

    @classmethod
    def restore(cls, config: VersionConfig, path: Path, load: LoadRanker) -> Seq2SeqClassifierRanker:
        return cls(load_seq2seq_classifier(config["backbone"], **config["settings"]))


def is_seq2seq(name: str) -> bool:
    """Whether a directory or hub name holds an encoder-decoder known here."""
    from transformers import AutoConfig

    from as2core.nn.hub import NO_CODE, find_source
    from as2core.nn.question_lm import SEQ2SEQ

    source, options = find_source(name)
    try:
        return AutoConfig.from_pretrained(source, **options, **NO_CODE).model_type in SEQ2SEQ
    except (OSError, ValueError):
        return False  # who loads it says what is wrong with it


def load_seq2seq_classifier(name: str, *, max_length: int = 128) -> Seq2SeqClassifier:
    """An untrained classifier over a pretrained encoder-decoder. Raises UnsupportedBackbone."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    from as2core.nn.backbone import hide_progress_bars
    from as2core.nn.hub import NO_CODE, PLAIN_TEXT, find_source
    from as2core.nn.question_lm import SEQ2SEQ
    from as2core.nn.seq2seq_classifier import Seq2SeqClassifier

    if not is_seq2seq(name):
        raise UnsupportedBackbone(f"{name} is no encoder-decoder known here; use one of: {', '.join(SEQ2SEQ)}")
    hide_progress_bars()
    source, options = find_source(name)
    model = AutoModel.from_pretrained(source, dtype=torch.float32, **options, **NO_CODE)
    tokenizer = AutoTokenizer.from_pretrained(source, **options, **PLAIN_TEXT, **NO_CODE)
    return Seq2SeqClassifier(model, tokenizer, name, max_length=max_length)
