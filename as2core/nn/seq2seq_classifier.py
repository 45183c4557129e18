"""The discriminative twin of an encoder-decoder (Nogueira dos Santos et al., 2020, section 3.3): the passage goes to
the encoder, the question to the decoder, and a linear layer over the decoder's last state is the score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from as2core.nn.backbone import QUESTION_TOKENS, pad_rows, token_ids

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class Seq2SeqClassifier(nn.Module):
    """`model` is an encoder-decoder without an output layer (transformers' AutoModel of BART, T5 ...)."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str, *, max_length: int = 128
    ) -> None:
        super().__init__()
        self.model, self.tokenizer, self.name, self.max_length = model, tokenizer, name, max_length
        self.dropout = nn.Dropout(0.1)
        self.line = nn.Linear(model.config.hidden_size, 1)

    def encode(self, questions: Sequence[str], passages: Sequence[str]) -> dict[str, Tensor]:
        """Pairs as a batch on the model's device; the question ends as the tokenizer ends a text."""
        device, fill = self.line.weight.device, self.tokenizer.pad_token_id or 0
        p = token_ids(self.tokenizer, passages, self.max_length)
        q = token_ids(self.tokenizer, questions, QUESTION_TOKENS)
        start = self.model.config.decoder_start_token_id
        batch = {
            "ids": pad_rows([i or [fill] for i in p], fill),
            "mask": pad_rows([[1] * max(1, len(i)) for i in p], 0),
            "question": pad_rows([[start, *i] for i in q], fill),
            "length": torch.tensor([1 + len(i) for i in q]),
        }
        return {name: t.to(device) for name, t in batch.items()}

    def forward(self, ids: Tensor, mask: Tensor, question: Tensor, length: Tensor) -> Tensor:
        """Logits (batch,)."""
        states = self.model(
            input_ids=ids, attention_mask=mask, decoder_input_ids=question, use_cache=False
        ).last_hidden_state  # (batch, longest question, hidden); padding after the last token is never attended to
        last = states[torch.arange(len(ids), device=ids.device), length - 1]
        return self.line(self.dropout(last)).squeeze(-1)
