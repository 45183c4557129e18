"""A passage is read once and its states are kept, so that a question costs its own tokens only.

In the three language models of `question_lm` the passage never sees the question. `read_passages` returns the keys and
values of every layer for each passage (for a seq2seq model the encoder's states). `resume_reading` continues from a
batch of them, token by token or with a whole question at once. Both ways give the numbers of a pass over passage and
question together (to rounding).
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from as2core.nn.backbone import name_cache
from as2core.nn.log_sum_exp import log_sum_exp, working_type
from as2core.nn.question_lm import Batch, CausalLM, PrefixLM, QuestionLM, Seq2SeqLM

if TYPE_CHECKING:
    from transformers import Cache, DynamicCache


@dataclass(frozen=True, slots=True)
class PassageState:
    """A model's states for one passage. `memory` has the passage's tokens in its dimension -2: keys and values
    (layers, 2, heads, length, size), or states (length, hidden). `rest` is small and depends on the model."""

    memory: Tensor
    rest: dict[str, Tensor]

    @property
    def length(self) -> int:
        return self.memory.shape[-2]

    def to(self, device: torch.device) -> PassageState:
        return PassageState(self.memory.to(device), {k: v.to(device) for k, v in self.rest.items()})


class Reading(ABC):
    """A batch of passage states with the part of a question that was read so far. The states that it gives are the
    logits themselves, if it does not say otherwise."""

    @abstractmethod
    def start(self) -> Tensor:
        """States (batch, 1, ...) that predict the question's first token."""

    @abstractmethod
    def extend(self, ids: Tensor) -> Tensor:
        """Read tokens (batch, m): states (batch, m, ...), each predicting what follows its token."""

    def logits(self, states: Tensor) -> Tensor:
        """(k, ...) -> (k, vocabulary), float32."""
        return states.float()

    def log_p(self, states: Tensor, targets: Tensor) -> Tensor:
        """(k, ...) and tokens (k,) -> log p (k,), float32."""
        return states.float().log_softmax(-1).gather(1, targets[:, None])[:, 0]


@singledispatch
def read_passages(lm: nn.Module, texts: Sequence[str]) -> list[PassageState]:
    """One PassageState for each passage, on the model's device."""
    raise TypeError(type(lm))


def resume_reading(lm: QuestionLM, passages: Sequence[PassageState]) -> Reading:
    """Continue from passage states, as one batch."""
    if isinstance(lm, PrefixLM):
        return _PrefixReading(lm, passages)
    return _CausalReading(lm, passages) if isinstance(lm, CausalLM) else _Seq2SeqReading(lm, passages)


def question_ids(lm: QuestionLM, question: str) -> list[int]:
    """A question's tokens as `lm.encode` gives them, including the end."""
    batch = lm.encode([""], [question])
    if isinstance(lm, Seq2SeqLM):
        return batch["targets"][0].tolist()
    return batch["ids"][0, int(batch["prefix"][0]) :].tolist()


def _pad_memories(lm: nn.Module, passages: Sequence[PassageState]) -> tuple[Tensor, Tensor]:
    """Memories in the model's working type, padded to the longest, batch first; and which tokens are real:
    (batch, longest)."""
    weight = next(lm.parameters())
    *outer, _, size = passages[0].memory.shape
    longest = max(p.length for p in passages)
    memory = torch.zeros((len(passages), *outer, longest, size), dtype=working_type(weight), device=weight.device)
    for row, p in zip(memory, passages, strict=True):
        row[..., : p.length, :] = p.memory
    lengths = torch.tensor([p.length for p in passages], device=memory.device)
    return memory, torch.arange(longest, device=memory.device)[None, :] < lengths[:, None]


def _split_passages(memory: Tensor, lengths: Tensor, **rest: Tensor) -> list[PassageState]:
    """The states of each passage of a batch, without its padding."""
    return [
        PassageState(memory[i, ..., :n, :].clone(), {name: t[i].clone() for name, t in rest.items()})
        for i, n in enumerate(lengths.tolist())
    ]


def _stack_layers(cache: DynamicCache) -> Tensor:
    """(batch, layers, 2, heads, length, size)."""
    return torch.stack([torch.stack([keys, values], 1) for keys, values, *_ in cache], 1)


class _CachedReading(Reading):
    """The part of a reading that the prefix model and causal models share: a cache of keys and values."""

    def __init__(self, lm: PrefixLM | CausalLM, passages: Sequence[PassageState]) -> None:
        from transformers import DynamicCache

        memory, self.real = _pad_memories(lm, passages)
        self.cache = DynamicCache([tuple(layer.unbind(1)) for layer in memory.unbind(1)])
        self.lengths = self.real.sum(1)
        self.rest = {name: torch.stack([p.rest[name] for p in passages]) for name in passages[0].rest}

    def _append(self, ids: Tensor) -> Tensor:
        """Count tokens (batch, m) as read; the position (batch,) of the first of them."""
        first = self.lengths
        self.real = torch.cat([self.real, self.real.new_ones(ids.shape)], 1)
        self.lengths = self.lengths + ids.shape[1]
        return first


# The prefix model: keys and values of every layer; the state that predicts the first token; the sum of the states


@read_passages.register
def _(lm: PrefixLM, texts: Sequence[str]) -> list[PassageState]:
    from transformers import DynamicCache

    batch, cache = _encode_passages(lm, texts), DynamicCache()
    lengths = batch["prefix"]
    ids = batch["ids"][:, : int(lengths.max())]
    real = torch.arange(ids.shape[1], device=ids.device)[None, :] < lengths[:, None]
    hidden = lm.backbone.run(lm.backbone.embed(ids), real, 0, lm.backbone.layers, past=cache)
    first = hidden[torch.arange(len(ids), device=ids.device), lengths - 1]
    about = (hidden * real[..., None]).float().sum(1)
    return _split_passages(_stack_layers(cache), lengths, first=first, about=about)


class _PrefixReading(_CachedReading):
    """States are the last layer's hidden states followed by the cosine of the question so far and the passage."""

    def __init__(self, lm: PrefixLM, passages: Sequence[PassageState]) -> None:
        super().__init__(lm, passages)
        self.lm, self.first, self.about = lm, self.rest["first"], self.rest["about"]
        self.so_far = torch.zeros_like(self.about)

    def start(self) -> Tensor:
        return self._append_similarity(self.first[:, None], self.so_far[:, None])

    def extend(self, ids: Tensor) -> Tensor:
        vectors = self.lm.backbone.embed(ids, torch.ones_like(ids), first=self._append(ids))
        at = torch.arange(self.real.shape[1], device=ids.device)
        mask = self.real[:, None, :] & (at[None, None, :] <= at[None, -ids.shape[1] :, None])  # (batch, m, all)
        hidden = self.lm.backbone.run(vectors, mask, 0, self.lm.backbone.layers, past=self.cache)
        so_far = self.so_far[:, None] + hidden.float().cumsum(1)
        self.so_far = so_far[:, -1]
        return self._append_similarity(hidden, so_far)

    def _append_similarity(self, hidden: Tensor, so_far: Tensor) -> Tensor:
        similarity = cosine_similarity(so_far, self.about[:, None], dim=-1)
        return torch.cat([hidden.float(), similarity[..., None]], -1)

    def logits(self, states: Tensor) -> Tensor:
        return self.lm.logits(states[:, :-1], states[:, -1]).float()

    def log_p(self, states: Tensor, targets: Tensor) -> Tensor:
        lm, similarity = self.lm, states[:, -1]
        state = lm.norm(lm.transform(states[:, :-1])).float()
        table, bias = lm.backbone.embeddings.word_embeddings.weight, lm.bias.float()
        word = (state * table[targets].float()).sum(1) + bias[targets]
        end = (state * table[lm.end].float()).sum(1) + bias[lm.end] + lm.end_term(similarity)
        # the end's logit differs for every state, so it is added to the sum over the other words
        others = bias.index_fill(0, torch.tensor([lm.end], device=bias.device), -torch.inf)
        total = torch.logaddexp(log_sum_exp(state, table, others), end)
        return torch.where(targets == lm.end, end, word) - total


# A causal model: keys and values of all but the last token before the question, and that token


@read_passages.register
def _(lm: CausalLM, texts: Sequence[str]) -> list[PassageState]:
    batch = _encode_passages(lm, texts)
    lengths = batch["prefix"] - 1
    ids = batch["ids"][:, : max(1, int(lengths.max()))]
    real = torch.arange(ids.shape[1], device=ids.device)[None, :] < lengths[:, None]
    out = lm.model.base_model(input_ids=ids, attention_mask=real.long(), use_cache=True)  # without the output layer
    last = batch["ids"].gather(1, lengths[:, None])[:, 0]
    return _split_passages(_stack_layers(out.past_key_values), lengths, last=last)


class _CausalReading(_CachedReading):
    def __init__(self, lm: CausalLM, passages: Sequence[PassageState]) -> None:
        super().__init__(lm, passages)
        self.lm = lm
        self.takes_positions = "position_ids" in inspect.signature(lm.model.forward).parameters

    def start(self) -> Tensor:
        return self.extend(self.rest["last"][:, None])

    def extend(self, ids: Tensor) -> Tensor:
        at = self._append(ids)[:, None] + torch.arange(ids.shape[1], device=ids.device)
        positions = {"position_ids": at} if self.takes_positions else {}  # BLOOM counts them from the mask
        memory = {name_cache(self.lm.model): self.cache}
        out = self.lm.model(input_ids=ids, attention_mask=self.real.long(), use_cache=True, **memory, **positions)
        return out.logits


# A seq2seq model: the encoder's states


@read_passages.register
def _(lm: Seq2SeqLM, texts: Sequence[str]) -> list[PassageState]:
    batch = _encode_passages(lm, texts)
    states = lm.model.get_encoder()(input_ids=batch["ids"], attention_mask=batch["mask"]).last_hidden_state
    return _split_passages(states, batch["mask"].sum(1))


class _Seq2SeqReading(Reading):
    """The decoder over kept encoder states; it begins with its own start tokens."""

    def __init__(self, lm: Seq2SeqLM, passages: Sequence[PassageState]) -> None:
        self.lm = lm
        self.states, self.real = _pad_memories(lm, passages)
        self.cache: Cache | None = None

    def start(self) -> Tensor:
        starts = torch.tensor(self.lm.starts, device=self.states.device).expand(len(self.states), -1)
        return self.extend(starts)[:, -1:]

    def extend(self, ids: Tensor) -> Tensor:
        from transformers.modeling_outputs import BaseModelOutput

        out = self.lm.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=self.states),
            attention_mask=self.real.long(),
            decoder_input_ids=ids,
            use_cache=True,
            **{name_cache(self.lm.model): self.cache},
        )
        self.cache = out.past_key_values
        return out.logits


def _encode_passages(lm: QuestionLM, texts: Sequence[str]) -> Batch:
    """The passages with empty questions, on the model's device."""
    device = next(lm.parameters()).device
    return {name: t.to(device) for name, t in lm.encode(texts, [""] * len(texts)).items()}
