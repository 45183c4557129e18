"""The last exit of a cascade as a Hugging Face model. This file is copied into what is exported and needs nothing but
torch and transformers; there it is loaded with `trust_remote_code=True`.

The classifier is not one that transformers has: three feed-forward layers over the mean of all token states, and a
weighted cosine of the question's and the candidate's mean states.
"""

from typing import Any

import torch
from torch import nn
from torch.nn.functional import normalize
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


class As2Config(PretrainedConfig):
    """`encoder`: the encoder's own configuration. `separators`: separator tokens between question and candidate.
    `segments`: the candidate's tokens have type 1. `as2`: what the workbench needs to take the model back."""

    model_type = "as2-cross-encoder"

    def __init__(
        self,
        encoder: dict | None = None,
        separators: int = 1,
        separator_id: int = 102,
        segments: bool = False,
        as2: dict | None = None,
        **more: Any,
    ) -> None:
        self.encoder, self.separators, self.separator_id = encoder or {}, separators, separator_id
        self.segments, self.as2 = segments, as2 or {}
        more.setdefault("num_labels", 1)
        super().__init__(**more)


class As2CrossEncoder(PreTrainedModel):
    """Pairs tokenised as (question, candidate) -> one logit each, `(batch, 1)`."""

    config_class = As2Config

    def __init__(self, config: As2Config) -> None:
        super().__init__(config)
        settings = {k: v for k, v in config.encoder.items() if k != "model_type"}
        inner = AutoConfig.for_model(config.encoder["model_type"], **settings)
        plain = {} if inner.model_type == "electra" else {"add_pooling_layer": False}
        self.encoder = AutoModel.from_config(inner, **plain)
        width = inner.hidden_size
        self.net = nn.Sequential(
            nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )
        self.cosine = nn.Parameter(torch.zeros(width))
        self.post_init()

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        **_: object,
    ) -> SequenceClassifierOutput:
        """`token_type_ids` are not read: where the encoder was trained with them they follow from the separators."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        mask = mask.bool()
        first = (input_ids == self.config.separator_id).int().argmax(1, keepdim=True)
        at = torch.arange(input_ids.shape[1], device=input_ids.device)[None, :]
        second = mask & (at >= first + self.config.separators)
        types = {"token_type_ids": second.long()} if self.config.segments else {}
        hidden = self.encoder(input_ids=input_ids, attention_mask=mask.long(), **types).last_hidden_state
        question = normalize(_mean(hidden, mask & ~second), dim=1)
        candidate = normalize(_mean(hidden, second), dim=1)
        logits = self.net(_mean(hidden, mask)) + ((question * candidate) @ self.cosine)[:, None]
        return SequenceClassifierOutput(logits=logits)


def _mean(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    weight = mask[:, :, None].to(hidden.dtype)
    return (hidden * weight).sum(1) / weight.sum(1).clamp(min=1)
