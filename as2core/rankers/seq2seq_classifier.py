"""Ranking by an encoder-decoder that judges instead of generating: the twin of `generative` with the same backbone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from as2core.errors import UnsupportedBackbone
from as2core.nn.backbone import micro_batches, quiet
from as2core.nn.question_lm import SEQ2SEQ
from as2core.nn.seq2seq_classifier import Seq2SeqClassifier
from as2core.types import Candidate


class Seq2SeqClassifierRanker:
    """Scores are logits. Until it is `trained` its last line is drawn at random, and so is its order."""

    def __init__(self, module: Seq2SeqClassifier, *, name: str = "cross-encoder") -> None:
        self.module, self.name, self.trained = module.eval(), name, False

    @torch.inference_mode()
    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        out = np.zeros(len(candidates), dtype=np.float32)
        for rows in micro_batches([len(c.reading) + 1 for c in candidates], max_tokens=8192):
            batch = self.module.encode([question] * len(rows), [candidates[r].reading for r in rows])
            out[rows] = self.module(**batch).float().cpu().numpy()
        return out


def is_seq2seq(name: str) -> bool:
    """Whether a directory or hub name holds an encoder-decoder known here."""
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(name).model_type in SEQ2SEQ
    except (OSError, ValueError):
        return False  # who loads it says what is wrong with it


def load_seq2seq_classifier(name: str, *, max_length: int = 128) -> Seq2SeqClassifier:
    """An untrained classifier over a pretrained encoder-decoder. Raises UnsupportedBackbone."""
    from transformers import AutoModel, AutoTokenizer

    if not is_seq2seq(name):
        raise UnsupportedBackbone(f"{name} is no encoder-decoder known here; use one of: {', '.join(SEQ2SEQ)}")
    quiet()
    model = AutoModel.from_pretrained(name, dtype=torch.float32)
    return Seq2SeqClassifier(model, AutoTokenizer.from_pretrained(name), name, max_length=max_length)
