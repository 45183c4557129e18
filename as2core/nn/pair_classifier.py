"""A sequence classifier of transformers with its own head, read as a ranker: one logit, or the log-odds of one class.

Pairs are tokenised as that library and sentence-transformers do: (question, text), the longer of the two cut first.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from as2core.nn.backbone import pad_rows

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MAX_TOKENS = 512  # of a pair, where the model could read more


class PairClassifier(nn.Module):
    """`positive` is the class that answers; of a model with one label it has no meaning. `max_length` None: what the
    tokenizer and the positions allow, MAX_TOKENS at most."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        name: str,
        *,
        positive: int,
        max_length: int | None = None,
    ) -> None:
        super().__init__()
        self.model, self.name, self.positive = model, name, positive
        limits = (tokenizer.model_max_length, count_positions(model), MAX_TOKENS)
        self.max_length = min(limits) if max_length is None else max_length
        self.fill: int = tokenizer.pad_token_id or 0
        has_several = getattr(model.config, "type_vocab_size", 2) != 1
        self.has_types = "token_type_ids" in tokenizer.model_input_names and has_several
        self.tokenizer = _copy_tokenizer(tokenizer, self.max_length)
        self._set_plain(tokenizer.split_special_tokens)

    def _set_plain(self, is_plain: bool) -> None:
        """Whether "[SEP]" in a text is the text's, which no copy of a tokenizer keeps."""
        self.is_plain = self.tokenizer.encode_special_tokens = is_plain

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._set_plain(self.is_plain)

    def encode(self, questions: Sequence[str], texts: Sequence[str]) -> list[tuple[list[int], list[int]]]:
        """The token ids and types of each pair."""
        pairs = self.tokenizer.encode_batch(list(zip(questions, texts, strict=True)))
        return [(p.ids, p.type_ids) for p in pairs]

    def pad(self, pairs: Sequence[tuple[list[int], list[int]]]) -> dict[str, Tensor]:
        """Encoded pairs as a batch for `forward`, on the model's device."""
        device = next(self.parameters()).device
        ids = pad_rows([i for i, _ in pairs], self.fill)
        mask = pad_rows([[1] * len(i) for i, _ in pairs], 0)
        types = {"types": pad_rows([t for _, t in pairs], 0).to(device)} if self.has_types else {}
        return {"ids": ids.to(device), "mask": mask.to(device), **types}

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor | None = None) -> Tensor:
        """(batch, length) -> float32 (batch,): the logit, or that of the class against all others."""
        segments = {} if types is None else {"token_type_ids": types}
        logits = self.model(input_ids=ids, attention_mask=mask, **segments).logits.float()
        if logits.shape[1] == 1:
            return logits[:, 0]
        others = [i for i in range(logits.shape[1]) if i != self.positive]
        return logits[:, self.positive] - logits[:, others].logsumexp(1)


def count_positions(model: PreTrainedModel) -> int:
    """How many tokens a text may have; RoBERTa's positions begin behind that of the padding."""
    embeddings = getattr(model.base_model, "embeddings", None)
    return int(model.config.max_position_embeddings) - (getattr(embeddings, "padding_idx", -1) + 1)


def _copy_tokenizer(tokenizer: PreTrainedTokenizerBase, max_length: int) -> Any:
    """The fast tokenizer inside it, a copy that always cuts: threads that share one would change its settings for each
    other."""
    inner = copy.deepcopy(tokenizer.backend_tokenizer)
    inner.enable_truncation(max_length, strategy="longest_first")
    inner.no_padding()
    return inner
