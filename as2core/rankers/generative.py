"""Ranking by generation (Nogueira dos Santos et al., 2020): how likely is the question, given the sentence?

score(a) = log P(q | a), here the mean over the question's tokens, which orders one question's candidates as the sum
does and compares across questions. The default model is the prefix language model over the shared backbone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from as2core.errors import UnsupportedBackbone
from as2core.nn.backbone import load_backbone, micro_batches, quiet
from as2core.nn.question_lm import CausalLM, PrefixLM, Seq2SeqLM
from as2core.types import Candidate


class GenerativeRanker:
    """`module` is any of nn.question_lm's models. Scores are mean log-probabilities (nats) per question token, <= 0."""

    def __init__(self, module: nn.Module, *, name: str = "generative") -> None:
        self.module, self.name = module.eval(), name

    @property
    def max_length(self) -> int:
        return self.module.max_length

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        log_p, valid = self._token_log_p(question, [c.text for c in candidates])
        return (log_p.sum(1) / np.maximum(1, valid.sum(1))).astype(np.float32)

    def explain(self, question: str, text: str) -> list[tuple[str, float]]:
        """Each word of the question with its log-probability (the sum over its pieces), given the sentence."""
        log_p, valid = self._token_log_p(question, [text])
        tok = self.module.tokenizer
        spans = tok(question, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        out: list[tuple[str, float]] = []
        end_before = -1
        for (start, end), value in zip(spans, log_p[0][valid[0]], strict=False):
            glued = start == end_before and out and question[start:end].isalnum() and out[-1][0][-1:].isalnum()
            if glued:
                out[-1] = (out[-1][0] + question[start:end], out[-1][1] + float(value))
            else:
                out.append((question[start:end].strip(), float(value)))
            end_before = end
        return out

    @torch.inference_mode()
    def _token_log_p(self, question: str, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        if not texts:
            return np.zeros((0, 0), dtype=np.float32), np.zeros((0, 0), dtype=bool)
        lengths = [len(t) for t in texts]  # characters stand in for tokens: only the packing depends on them
        device = next(self.module.parameters()).device
        out: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for rows in micro_batches([n + len(question) for n in lengths], max_tokens=8192):
            batch = self.module.encode([texts[r] for r in rows], [question] * len(rows))
            log_p, valid = self.module(**{k: v.to(device) for k, v in batch.items()})
            for j, r in enumerate(rows):
                out[r] = log_p[j].float().cpu().numpy(), valid[j].cpu().numpy()
        ordered = [out[i] for i in range(len(texts))]
        return np.stack([a for a, _ in ordered]), np.stack([b for _, b in ordered])


def load_question_lm(name: str | None = None, *, max_length: int = 128) -> nn.Module:
    """An untrained question model by name: an encoder becomes a PrefixLM, causal and seq2seq models are themselves.

    Raises UnsupportedBackbone for anything else.
    """
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    )

    from as2core.nn.backbone import DEFAULT_BACKBONE, SUPPORTED

    if name is None or name == DEFAULT_BACKBONE:
        return PrefixLM(load_backbone(), max_length=max_length)
    quiet()
    try:
        config = AutoConfig.from_pretrained(name)
    except (OSError, ValueError) as e:
        raise UnsupportedBackbone(
            f"no model {name!r}: give a directory or a hub name ({str(e).splitlines()[0]})"
        ) from e
    kind = config.model_type
    if kind in SUPPORTED:
        return PrefixLM(load_backbone(name), max_length=max_length)
    if kind in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES:
        model = AutoModelForSeq2SeqLM.from_pretrained(name)
        return Seq2SeqLM(model, AutoTokenizer.from_pretrained(name), max_length=max_length)
    if kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        model = AutoModelForCausalLM.from_pretrained(name)
        return CausalLM(model, AutoTokenizer.from_pretrained(name), max_length=max_length)
    raise UnsupportedBackbone(
        f"{name} is a {kind} model, which cannot give log P(question | passage): use an encoder "
        f"({', '.join(SUPPORTED)}), a causal model or an encoder-decoder"
    )
