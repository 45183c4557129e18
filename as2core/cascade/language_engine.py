"""log P(question | passage) of a prefix language model on ONNX Runtime, in int8: `as2core.nn.question_lm.PrefixLM`.

Three graphs of the products of `as2core.cascade.onnx_graph`: a passage's keys and values of every layer, which do not
depend on the question and can be kept; a question's tokens behind them; and the sum of exp(logit) over the vocabulary.
That sum is computed for a block of words at a time, small enough for a core's cache. It is taken relative to the logit
of the word that follows, so that nothing overflows and no pass is needed to find the largest.
Micro-batches are spread over the same threads as the cascade's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np
import torch
from onnx import TensorProto, helper

from as2core.cascade.engine_onnx import pack, session, worker_pool
from as2core.cascade.graphs import name_folder, store_graphs, weight_bits
from as2core.cascade.onnx_graph import (
    EVEN,
    GRAPH_VERSION,
    MS,
    TINY,
    Graph,
    Peaks,
    channel_peaks,
    check_activation,
    layer,
    norm,
    norm_embedding,
)
from as2core.cascade.text_engine import EmbeddingTables, embedding_width, pad_ids
from as2core.nn.backbone import Backbone, token_ids
from as2core.nn.kept_passages import PassageState
from as2core.nn.question_lm import PrefixLM
from as2core.types import OnProgress

BLOCK_WORDS = 1024
MAX_EXPONENT = 80.0  # exp of more would leave float32
HIDDEN_SCORE = -1e9  # of a token that must not be seen
FLOAT, HALF, INT32 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT32


class LanguageEngine:
    """The graphs are read from `folder`, or built into it. Passage states are float16 (tokens, layers * 2 * hidden).
    Raises BadSetting for a backbone that has no operators here, OSError."""

    def __init__(self, lm: PrefixLM, folder: Path | None = None, *, on_progress: OnProgress | None = None) -> None:
        backbone, bits = lm.backbone, weight_bits()
        check_activation(backbone)
        self.name = name_folder(["language", GRAPH_VERSION, bits, backbone.config.to_json_string()], (lm,))
        peaks = cache(lambda: channel_peaks(backbone))
        builders = {
            "passage": lambda: build_passage_graph(backbone, peaks(), bits=bits),
            "question": lambda: build_question_graph(lm, peaks(), bits=bits),
            "words": lambda: build_words_graph(lm, bits=bits),
        }
        files = store_graphs(self.name, builders, folder, on_progress=on_progress)
        self.passage, self.question, self.words = map(session, files)
        self.tokenizer, self.max_length, self.end = lm.tokenizer, lm.max_length, lm.end
        self.tables, self.bias = EmbeddingTables(backbone), lm.bias.detach().float().numpy()
        self.end_scale, self.end_bias = lm.end_scale.item(), lm.end_bias.item()

    def read_passages(self, texts: Sequence[str]) -> list[PassageState]:
        """The states of each passage; `rest` as the torch model's."""
        if not texts:
            return []
        ids = token_ids(self.tokenizer, texts, self.max_length)
        lengths = np.array([len(i) for i in ids], dtype=np.int64)
        states: dict[int, PassageState] = {}
        for part in worker_pool().map(partial(self._read_batch, ids, lengths), pack(lengths)):
            states.update(part)
        return [states[i] for i in range(len(texts))]

    def _read_batch(self, ids: list[list[int]], lengths: np.ndarray, rows: np.ndarray) -> dict[int, PassageState]:
        vectors = self.tables.sum_up(pad_ids([ids[r] for r in rows]))
        memory, hidden = self.passage.run(None, {"embedded": vectors, "lengths": lengths[rows].astype(np.int32)})
        out = {}
        for row, states, h in zip(rows.tolist(), memory, hidden, strict=True):
            n = int(lengths[row])
            rest = {"first": torch.from_numpy(h[n - 1].copy()), "about": torch.from_numpy(h[:n].sum(0))}
            out[row] = PassageState(torch.from_numpy(states[:n].copy()), rest)
        return out

    def score(self, ids: Sequence[int], passages: Sequence[PassageState]) -> np.ndarray:
        """Mean log P of the question's tokens, its end the last of them, after each passage: float32 (n,)."""
        return self.log_p(ids, passages).mean(1)

    def log_p(self, ids: Sequence[int], passages: Sequence[PassageState]) -> np.ndarray:
        """Log P of each of the question's tokens, its end the last of them, after each passage: float32 (n, tokens)."""
        tokens = np.array(ids, dtype=np.int64)
        lengths = np.array([p.length // 4 + len(ids) for p in passages], dtype=np.int64)  # what a passage costs here
        out = np.zeros((len(passages), len(ids)), dtype=np.float32)
        batches = pack(lengths)
        parts = worker_pool().map(lambda rows: self._score_batch(tokens, [passages[r] for r in rows]), batches)
        for rows, part in zip(batches, parts, strict=True):
            out[rows] = part
        return out

    def _score_batch(self, ids: np.ndarray, passages: Sequence[PassageState]) -> np.ndarray:
        n, m = len(passages), len(ids) - 1
        width = max(1, m)  # of a question that is its end alone one token, for the graph takes no fewer
        lengths = np.array([p.length for p in passages])
        longest = int(lengths.max())
        memory = np.zeros((n, longest, passages[0].memory.shape[-1]), dtype=np.float16)
        for row, p in zip(memory, passages, strict=True):
            row[: p.length] = p.memory.numpy()
        first = np.stack([p.rest["first"].numpy() for p in passages])
        about = np.stack([p.rest["about"].numpy() for p in passages])
        visible = np.zeros((n, 1, width, longest + width), dtype=bool)
        visible[..., :longest] = (np.arange(longest)[None, :] < lengths[:, None])[:, None, None, :]
        visible[..., longest:] = np.tri(width, dtype=bool)
        feeds = {
            "embedded": self.tables.sum_up(np.broadcast_to(ids[:width], (n, width)), lengths),
            "memory": memory,
            "hide": np.where(visible, np.float32(0), np.float32(HIDDEN_SCORE)),
            "first": first[:, None],
        }
        states, hidden = self.question.run(None, feeds)
        states, hidden = states[:, : m + 1], hidden[:, :m]  # (n, m + 1, embedding width), (n, m, width)
        end_term = self.end_scale * _similarity(hidden, about) + self.end_bias
        word = states @ self.tables.words[ids].T  # (n, m + 1, m + 1)
        word = np.diagonal(word, axis1=1, axis2=2) + self.bias[ids]
        end = states @ self.tables.words[self.end] + self.bias[self.end] + end_term
        flat = {"states": states.reshape(n * (m + 1), -1), "least": word.reshape(-1, 1)}
        with np.errstate(divide="ignore"):  # where the end is all there is
            others = np.log(self.words.run(None, flat)[0].reshape(n, m + 1)) + word
        return np.where(ids == self.end, end, word) - np.logaddexp(others, end)


def _similarity(hidden: np.ndarray, about: np.ndarray) -> np.ndarray:
    """The cosine of the question's states so far and the passage's: (n, m, width), (n, width) -> (n, m + 1)."""
    so_far = np.concatenate([np.zeros_like(about)[:, None], hidden], 1).cumsum(1)
    sizes = np.linalg.norm(so_far, axis=2) * np.linalg.norm(about, axis=1)[:, None]
    return np.einsum("nmw,nw->nm", so_far, about) / np.maximum(sizes, 1e-8)


def build_passage_graph(backbone: Backbone, peaks: Peaks, *, bits: int) -> bytes:
    """Inputs `embedded` (batch, length, embedding width), `lengths` (batch); outputs `memory` float16 (batch, length,
    layers * 2 * width), keys and values of each layer, and `hidden` (batch, length, width)."""
    g, heads = Graph(bits, peaks), backbone.config.num_attention_heads
    parts: list[str] = []

    def attend(queries: str, keys: str, values: str) -> str:
        parts.extend((keys, values))
        return g.op("MultiHeadAttention", queries, keys, values, "", "lengths", domain=MS, num_heads=heads)

    x = norm_embedding(g, backbone, "embedded")
    for block in backbone.blocks:
        x = layer(g, block, x, backbone, attend)
    g.rename(g.op("Cast", g.op("Concat", *parts, axis=-1), to=HALF), "memory")
    g.rename(x, "hidden")
    inputs = [
        helper.make_tensor_value_info("embedded", FLOAT, ["batch", "length", embedding_width(backbone)]),
        helper.make_tensor_value_info("lengths", INT32, ["batch"]),
    ]
    outputs = [
        helper.make_tensor_value_info("memory", HALF, ["batch", "length", len(parts) * backbone.hidden]),
        helper.make_tensor_value_info("hidden", FLOAT, ["batch", "length", backbone.hidden]),
    ]
    return g.serialise(inputs, outputs)


def build_question_graph(lm: PrefixLM, peaks: Peaks, *, bits: int) -> bytes:
    """Inputs `embedded` (batch, m, embedding width), `memory` as the passage's graph gives it, `hide` (batch, 1, m,
    length + m), added to the attention's scores, `first` (batch, 1, width), the state that predicts the first token;
    outputs `states` (batch, m + 1, embedding width), whose product with a word's embedding is its logit, and `hidden`
    (batch, m, width)."""
    backbone = lm.backbone
    g, heads, width = Graph(bits, peaks), backbone.config.num_attention_heads, backbone.hidden
    parts = 2 * backbone.layers
    memory = g.op("Cast", "memory", to=FLOAT)
    memories = iter(g.split_op("Split", memory, g.constant(np.full(parts, width)), outputs=parts, axis=-1))

    def attend(queries: str, keys: str, values: str) -> str:
        keys, values = (g.op("Concat", next(memories), new, axis=1) for new in (keys, values))
        return g.op("MultiHeadAttention", queries, keys, values, "", "", "hide", domain=MS, num_heads=heads)

    x = norm_embedding(g, backbone, "embedded")
    for block in backbone.blocks:
        x = layer(g, block, x, backbone, attend)
    g.rename(x, "hidden")
    linear = lm.transform[0]
    assert isinstance(linear, torch.nn.Linear)
    y = g.op("MatMul", g.op("Concat", "first", x, axis=1), g.constant(linear.weight.detach().float().numpy().T))
    y = g.op("Gelu", g.op("Add", y, g.constant(linear.bias.detach().float().numpy())))
    g.rename(norm(g, y, lm.norm), "states")
    embedding = embedding_width(backbone)
    inputs = [
        helper.make_tensor_value_info("embedded", FLOAT, ["batch", "m", embedding]),
        helper.make_tensor_value_info("memory", HALF, ["batch", "length", parts * width]),
        helper.make_tensor_value_info("hide", FLOAT, ["batch", 1, "m", "all"]),
        helper.make_tensor_value_info("first", FLOAT, ["batch", 1, width]),
    ]
    outputs = [
        helper.make_tensor_value_info("states", FLOAT, ["batch", "predicted", embedding]),
        helper.make_tensor_value_info("hidden", FLOAT, ["batch", "m", width]),
    ]
    return g.serialise(inputs, outputs)


def build_words_graph(lm: PrefixLM, *, bits: int) -> bytes:
    """Inputs `states` (n, embedding width), `least` (n, 1); output `sums` (n): the sum of exp(logit - least) over all
    words but the end."""
    g = Graph(bits, {})
    table = lm.backbone.embeddings.word_embeddings.weight.detach().float().numpy()
    bias = lm.bias.detach().float().numpy()
    words, bias = np.delete(table, lm.end, axis=0), np.delete(bias, lm.end)
    zero, steps = EVEN
    size = g.op("Max", g.op("ReduceMax", g.op("Abs", "states"), g.axis(-1), keepdims=1), g.scalar(TINY))
    rows = g.op("Mul", size, g.scalar(1 / steps))
    one, middle = g.scalar(1.0), g.scalar(zero, np.uint8)
    tokens = g.op("QuantizeLinear", g.op("Div", "states", rows), one, middle)
    sums = []
    for start in range(0, len(words), BLOCK_WORDS):
        some = words[start : start + BLOCK_WORDS]
        scale = np.maximum(np.abs(some).max(1), TINY) / g.top
        quantised = g.constant(np.rint(some / scale[:, None]).astype(np.int8).T)
        zeros = g.constant(np.zeros(len(some), np.int8))
        columns = g.constant(scale.astype(np.float32))
        y = g.op("MatMulIntegerToFloat", tokens, quantised, one, columns, middle, zeros, domain=MS)
        y = g.op("Sub", g.op("Mul", y, rows), "least")
        y = g.op("Exp", g.op("Min", y, g.scalar(MAX_EXPONENT)))
        # exp(logit + bias) is exp(logit) * exp(bias): the sum over the block is a product with a column
        sums.append(g.op("MatMul", y, g.constant(np.exp(bias[start : start + BLOCK_WORDS])[:, None])))
    g.rename(g.op("Squeeze", g.op("Sum", *sums), g.axis(1)), "sums")
    inputs = [
        helper.make_tensor_value_info("states", FLOAT, ["n", words.shape[1]]),
        helper.make_tensor_value_info("least", FLOAT, ["n", 1]),
    ]
    return g.serialise(inputs, [helper.make_tensor_value_info("sums", FLOAT, ["n"])])
