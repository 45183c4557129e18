"""A passage read once: what a question needs of it is kept, so that a question costs its own tokens only.

In the three language models of `question_lm` the passage never sees the question. `keep` reads passages and gives, one
for each, the keys and values of every layer (a seq2seq model: the encoder's states); `resume` takes some of them as one
batch and goes on from there, token by token or a whole question at once. Both ways give the numbers of a pass over
passage and question together (to rounding).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Protocol

import torch
from torch.nn.functional import cosine_similarity

from as2core.nn.log_sum_exp import log_sum_exp, working_type
from as2core.nn.question_lm import Batch, CausalLM, PrefixLM, Seq2SeqLM


@dataclass(frozen=True, slots=True)
class Kept:
    """What is remembered of one passage. `memory` has the passage's tokens in its dimension -2: keys and values
    (layers, 2, heads, length, size), or states (length, hidden). `rest` is small, and another for each model."""

    memory: torch.Tensor
    rest: dict[str, torch.Tensor]

    @property
    def length(self) -> int:
        return self.memory.shape[-2]

    def to(self, device: torch.device) -> Kept:
        return Kept(self.memory.to(device), {k: v.to(device) for k, v in self.rest.items()})


class Reading(Protocol):
    """A batch of kept passages with as much of a question as was read so far."""

    def start(self) -> torch.Tensor:
        """What the model says before the question's first token: states (batch, 1, ...)."""

    def extend(self, ids: torch.Tensor) -> torch.Tensor:
        """Read tokens (batch, m): states (batch, m, ...), each saying what follows its token."""

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """(k, ...) -> (k, vocabulary), float32."""

    def log_p(self, states: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """(k, ...) and tokens (k,) -> log p (k,), float32."""


@singledispatch
def keep(lm, texts: Sequence[str]) -> list[Kept]:
    """Read passages; one Kept each, on the model's device."""
    raise TypeError(type(lm))


@singledispatch
def resume(lm, kept: Sequence[Kept]) -> Reading:
    """Go on from kept passages, as one batch."""
    raise TypeError(type(lm))


def question_ids(lm, question: str) -> list[int]:
    """A question's tokens as `lm.encode` takes them, the end among them."""
    batch = lm.encode([""], [question])
    if isinstance(lm, Seq2SeqLM):
        return batch["targets"][0].tolist()
    return batch["ids"][0, int(batch["prefix"][0]) :].tolist()


def _stack(lm, kept: Sequence[Kept]) -> tuple[torch.Tensor, torch.Tensor]:
    """Memories in the type the model works in, padded to the longest, the batch in front; and which tokens are real:
    (batch, longest)."""
    weight = next(lm.parameters())
    dtype = working_type(weight)
    *outer, _, size = kept[0].memory.shape
    longest = max(k.length for k in kept)
    memory = torch.zeros((len(kept), *outer, longest, size), dtype=dtype, device=weight.device)
    for row, k in zip(memory, kept, strict=True):
        row[..., : k.length, :] = k.memory
    lengths = torch.tensor([k.length for k in kept], device=memory.device)
    return memory, torch.arange(longest, device=memory.device)[None, :] < lengths[:, None]


class LayerMemory:
    """One layer's keys and values (batch, heads, length, size), in the form transformers' layers write to."""

    def __init__(self, keys: torch.Tensor | None = None, values: torch.Tensor | None = None) -> None:
        self.keys, self.values = keys, values

    def update(self, keys: torch.Tensor, values: torch.Tensor, *_: object) -> tuple[torch.Tensor, torch.Tensor]:
        if self.keys is not None and self.values is not None:
            keys, values = torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2)
        self.keys, self.values = keys, values
        return keys, values


# The prefix model: keys and values of every layer; the state that says the first token; the sum of the passage's states


@keep.register
def _(lm: PrefixLM, texts: Sequence[str]) -> list[Kept]:
    ids, real = _passages(lm, texts)
    layers = [LayerMemory() for _ in range(lm.backbone.layers)]
    hidden = lm.backbone.run(lm.backbone.embed(ids), real, 0, lm.backbone.layers, past=layers)
    memory = torch.stack([torch.stack([m.keys, m.values], 1) for m in layers], 1)  # (batch, layers, 2, heads, n, size)
    lengths = real.sum(1).tolist()
    about = (hidden * real[..., None]).float().sum(1)
    return [
        Kept(memory[i, ..., :n, :].clone(), {"first": hidden[i, n - 1].clone(), "about": about[i]})
        for i, n in enumerate(lengths)
    ]


class _PrefixReading:
    """States are the last layer's hidden states with, behind them, how near the question so far is to the passage."""

    def __init__(self, lm: PrefixLM, kept: Sequence[Kept]) -> None:
        self.lm = lm
        memory, self.real = _stack(lm, kept)
        self.layers = [LayerMemory(m[:, 0], m[:, 1]) for m in memory.unbind(1)]
        self.lengths = self.real.sum(1)
        self.first = torch.stack([k.rest["first"] for k in kept])
        self.about = torch.stack([k.rest["about"] for k in kept])
        self.so_far = torch.zeros_like(self.about)

    def start(self) -> torch.Tensor:
        return self._with_nearness(self.first[:, None], self.so_far[:, None])

    def extend(self, ids: torch.Tensor) -> torch.Tensor:
        batch, m = ids.shape
        read = self.real.shape[1]
        self.real = torch.cat([self.real, self.real.new_ones(batch, m)], 1)
        at = torch.arange(read + m, device=ids.device)
        mask = self.real[:, None, :] & (at[None, None, :] <= at[None, read:, None])  # (batch, m, all)
        embedded = self.lm.backbone.embed(ids, first=self.lengths)
        self.lengths = self.lengths + m
        hidden = self.lm.backbone.run(embedded, mask, 0, self.lm.backbone.layers, past=self.layers)
        so_far = self.so_far[:, None] + hidden.float().cumsum(1)
        self.so_far = so_far[:, -1]
        return self._with_nearness(hidden, so_far)

    def _with_nearness(self, hidden: torch.Tensor, so_far: torch.Tensor) -> torch.Tensor:
        near = cosine_similarity(so_far, self.about[:, None], dim=-1)
        return torch.cat([hidden.float(), near[..., None]], -1)

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        return self.lm.logits(states[:, :-1], states[:, -1]).float()

    def log_p(self, states: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        lm, near = self.lm, states[:, -1]
        state = lm.norm(lm.transform(states[:, :-1])).float()
        table, bias = lm.backbone.embeddings.word_embeddings.weight, lm.bias.float()
        said = (state * table[targets].float()).sum(1) + bias[targets]
        end = (state * table[lm.end].float()).sum(1) + bias[lm.end] + lm.end_term(near)
        # the end's logit is another for every state, so it stands apart from the sum over the other words
        others = bias.index_fill(0, torch.tensor([lm.end], device=bias.device), -torch.inf)
        total = torch.logaddexp(log_sum_exp(state, table, others), end)
        return torch.where(targets == lm.end, end, said) - total


# A causal model: keys and values of all but the last token before the question, and that token


@keep.register
def _(lm: CausalLM, texts: Sequence[str]) -> list[Kept]:
    batch = _on(lm, lm.encode(texts, [""] * len(texts)))
    lengths = batch["prefix"] - 1
    ids = batch["ids"][:, : max(1, int(lengths.max()))]
    real = torch.arange(ids.shape[1], device=ids.device)[None, :] < lengths[:, None]
    out = lm.model.base_model(input_ids=ids, attention_mask=real.long(), use_cache=True)  # without the output layer
    layers = out.past_key_values.layers
    memory = torch.stack([torch.stack([m.keys, m.values], 1) for m in layers], 1)
    return [Kept(memory[i, ..., :n, :].clone(), {"last": batch["ids"][i, n]}) for i, n in enumerate(lengths.tolist())]


class _CausalReading:
    """States are the logits themselves."""

    def __init__(self, lm: CausalLM, kept: Sequence[Kept]) -> None:
        from transformers import DynamicCache

        self.lm = lm
        memory, self.real = _stack(lm, kept)
        self.cache = DynamicCache([(m[:, 0], m[:, 1]) for m in memory.unbind(1)])
        self.lengths = self.real.sum(1)
        self.last = torch.stack([k.rest["last"] for k in kept])
        self.placed = "position_ids" in inspect.signature(lm.model.forward).parameters

    def start(self) -> torch.Tensor:
        return self.extend(self.last[:, None])

    def extend(self, ids: torch.Tensor) -> torch.Tensor:
        batch, m = ids.shape
        self.real = torch.cat([self.real, self.real.new_ones(batch, m)], 1)
        at = self.lengths[:, None] + torch.arange(m, device=ids.device)
        self.lengths = self.lengths + m
        places = {"position_ids": at} if self.placed else {}  # BLOOM counts them from the mask
        out = self.lm.model(
            input_ids=ids, attention_mask=self.real.long(), past_key_values=self.cache, use_cache=True, **places
        )
        return out.logits

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        return states.float()

    def log_p(self, states: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return states.float().log_softmax(-1).gather(1, targets[:, None])[:, 0]


# A seq2seq model: the encoder's states


@keep.register
def _(lm: Seq2SeqLM, texts: Sequence[str]) -> list[Kept]:
    batch = _on(lm, lm.encode(texts, [""] * len(texts)))
    states = lm.model.get_encoder()(input_ids=batch["ids"], attention_mask=batch["mask"]).last_hidden_state
    return [Kept(states[i, :n].clone(), {}) for i, n in enumerate(batch["mask"].sum(1).tolist())]


class _Seq2SeqReading(_CausalReading):
    """The decoder over kept encoder states; it begins with its own start token."""

    def __init__(self, lm: Seq2SeqLM, kept: Sequence[Kept]) -> None:
        self.lm = lm
        self.states, self.real = _stack(lm, kept)
        self.cache = None

    def start(self) -> torch.Tensor:
        begin = self.lm.model.config.decoder_start_token_id
        return self.extend(torch.full((len(self.states), 1), begin, device=self.states.device))

    def extend(self, ids: torch.Tensor) -> torch.Tensor:
        from transformers.modeling_outputs import BaseModelOutput

        out = self.lm.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=self.states),
            attention_mask=self.real.long(),
            decoder_input_ids=ids,
            past_key_values=self.cache,
            use_cache=True,
        )
        self.cache = out.past_key_values
        return out.logits


resume.register(PrefixLM, _PrefixReading)
resume.register(CausalLM, _CausalReading)
resume.register(Seq2SeqLM, _Seq2SeqReading)


def _on(lm, batch: Batch) -> Batch:
    device = next(lm.parameters()).device
    return {name: t.to(device) for name, t in batch.items()}


def _passages(lm: PrefixLM, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """The prefix model's passages alone: ids and which are real, (batch, longest)."""
    batch = _on(lm, lm.encode(texts, [""] * len(texts)))
    longest = int(batch["prefix"].max())
    at = torch.arange(longest, device=batch["ids"].device)[None, :]
    return batch["ids"][:, :longest], at < batch["prefix"][:, None]
