"""Mean vectors of texts by an encoder on ONNX Runtime, int8: for the one question that is searched for.

A text's states are averaged over its tokens, as in `as2core.rankers.bi_encoder`. The products are those of
`as2core.cascade.onnx_graph`. The sum of a token's embeddings is looked up here, so the graph holds no table of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

from as2core.cascade.engine_onnx import pooling, session
from as2core.cascade.graphs import name_folder, store_graphs, weight_bits
from as2core.cascade.onnx_graph import (
    GRAPH_VERSION,
    Graph,
    channel_peaks,
    check_activation,
    layer,
    norm_embedding,
)
from as2core.nn.backbone import Backbone
from as2core.types import OnProgress

FLOAT, INT32 = TensorProto.FLOAT, TensorProto.INT32


class EmbeddingTables:
    """What a token's and its position's embeddings add up to, before the encoder's first norm."""

    def __init__(self, backbone: Backbone) -> None:
        e = backbone.embeddings
        self.words = _read(e.word_embeddings.weight)
        types = _read(e.get_parameter("token_type_embeddings.weight"))
        self.second = types[1] - types[0] if backbone.segments else np.float32(0)  # what a second text's tokens add
        self.places = _read(e.get_parameter("position_embeddings.weight"))[backbone.first_position :] + types[0]

    def sum_up(self, ids: np.ndarray, first: np.ndarray | None = None) -> np.ndarray:
        """(batch, length) -> float32 (batch, length, width); `first` (batch,) are the positions of the first ones where
        the tokens are the second text of a pair."""
        at = np.arange(ids.shape[1])[None, :] + (0 if first is None else first[:, None])
        total = self.words[ids] + self.places[np.minimum(at, len(self.places) - 1)]  # beyond its end is padding
        return total if first is None else total + self.second


class TextEngine:
    """`embed` gives the unit vectors of texts. The graph is read from `folder`, or built into it. Raises BadSetting for
    a backbone that has no operators here, OSError."""

    def __init__(
        self, backbone: Backbone, max_length: int, folder: Path | None = None, *, on_progress: OnProgress | None = None
    ) -> None:
        check_activation(backbone)
        bits = weight_bits()
        name = name_folder(["text", GRAPH_VERSION, bits, backbone.config.to_json_string()], (backbone,))
        builders = {"text": lambda: build_text_graph(backbone, bits=bits)}
        [file] = store_graphs(name, builders, folder, on_progress=on_progress)
        self.max_length, self.encode, self.tables = max_length, backbone.encode, EmbeddingTables(backbone)
        self.session = session(file)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """float32 (n, hidden). One batch: meant for a few texts."""
        packed = self.encode(list(texts), max_length=self.max_length)
        lengths = np.array(packed.lengths, dtype=np.int64)
        feeds = {
            "embedded": self.tables.sum_up(pad_ids(packed.ids)),
            "lengths": lengths.astype(np.int32),
            "pool": pooling(lengths, lengths)[:, :1],
        }
        means = self.session.run(None, feeds)[0]
        return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)


def pad_ids(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """int64 (n, longest), 0 behind each row's end."""
    out = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    for row, ids in zip(out, rows, strict=True):
        row[: len(ids)] = ids
    return out


def build_text_graph(backbone: Backbone, *, bits: int) -> bytes:
    """Inputs `embedded` (batch, length, embedding width), `lengths` (batch), `pool` (batch, 1, length); output `means`
    (batch, width)."""
    g = Graph(bits, channel_peaks(backbone))
    inputs = [
        helper.make_tensor_value_info("embedded", FLOAT, ["batch", "length", embedding_width(backbone)]),
        helper.make_tensor_value_info("lengths", INT32, ["batch"]),
        helper.make_tensor_value_info("pool", FLOAT, ["batch", 1, "length"]),
    ]
    x = norm_embedding(g, backbone, "embedded")
    for block in backbone.blocks:
        x = layer(g, block, x, backbone)
    g.rename(g.op("Squeeze", g.op("MatMul", "pool", x), g.axis(1)), "means")
    return g.serialise(inputs, [helper.make_tensor_value_info("means", FLOAT, ["batch", backbone.hidden])])


def embedding_width(backbone: Backbone) -> int:
    """ELECTRA's is narrower than its hidden states."""
    return int(backbone.embeddings.word_embeddings.weight.shape[1])


def _read(weight: object) -> np.ndarray:
    from torch import Tensor

    assert isinstance(weight, Tensor)
    return weight.detach().float().cpu().numpy()
