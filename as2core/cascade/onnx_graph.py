"""A stretch of encoder layers and an exit's classifier as one int8 ONNX graph, written node by node.

Weights are int8 with a scale a column. Activations get a scale a token (a row), not one for the whole batch as ONNX
Runtime's own dynamic quantisation has it: one outlying token then spoils no other's precision, and a candidate's score
does not depend on who shares its batch. What is not a matrix product stays in float32, and is written with the
operators that ONNX Runtime's CPU kernels run fastest: the layer norm from products and element-wise steps takes
half the time of the fused one, which adds up one number at a time.

Inputs: `ids` (batch, length) for the first stretch, `hidden` (batch, length, width) after it; `lengths` (batch) tokens
each; `pool` (batch, 3, length), the weights that make the means over all tokens, the question's, the candidate's.
Outputs: `logits` (batch), and `states` (batch, length, width) where another stretch follows.
"""

from __future__ import annotations

import numpy as np
from torch import nn

from as2core.errors import BadSetting
from as2core.nn.backbone import Backbone
from as2core.nn.heads import ExitHead

GRAPH_VERSION = 1  # counts up with every change of what is built here: cached graphs of another version are not used
ACTIVATIONS = {
    "gelu": ("Gelu", {}),
    "gelu_new": ("Gelu", {"approximate": "tanh"}),
    "gelu_pytorch_tanh": ("Gelu", {"approximate": "tanh"}),
    "relu": ("Relu", {}),
}
SMALLEST_ACTIVATION = 0.17  # GELU never falls below -0.17, so with this floor the largest value bounds the smallest too
TINY = 1e-6
MS = "com.microsoft"


def build_graph(backbone: Backbone, head: ExitHead, first: int, last: int, *, final: bool, bits: int = 8) -> bytes:
    """Layers first..last-1, their exit's head, and the embeddings if `first` is 0, as a serialised model.

    `bits` of the weights: 7 where the processor would add two products into 16 bits (x86 without VNNI).
    Raises BadSetting for an activation that has no operator here.
    """
    from onnx import TensorProto, helper

    if backbone.config.hidden_act not in ACTIVATIONS:
        raise BadSetting(
            f"the onnx engine does not know the activation {backbone.config.hidden_act!r} of {backbone.name}: "
            "use engine=torch"
        )
    g = _Graph(bits)
    real, whole = TensorProto.FLOAT, TensorProto.INT64
    inputs = [helper.make_tensor_value_info("lengths", TensorProto.INT32, ["batch"])]
    if first == 0:
        inputs.append(helper.make_tensor_value_info("ids", whole, ["batch", "length"]))
        x = _embed(g, backbone)
    else:
        inputs.append(helper.make_tensor_value_info("hidden", real, ["batch", "length", backbone.hidden]))
        x = "hidden"
    inputs.append(helper.make_tensor_value_info("pool", real, ["batch", 3, "length"]))
    for block in backbone.blocks[first:last]:
        x = _layer(g, block, x, backbone)
    g.rename(_head(g, head, x), "logits")
    outputs = [helper.make_tensor_value_info("logits", real, ["batch"])]
    if not final:
        g.rename(x, "states")
        outputs.append(helper.make_tensor_value_info("states", real, ["batch", "length", backbone.hidden]))
    graph = helper.make_graph(g.nodes, "stretch", inputs, outputs, g.constants)
    operators = [helper.make_opsetid("", 20), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=operators, ir_version=10).SerializeToString()


class _Graph:
    """Nodes and constants as they are added; a node's output is known by the name that `op` gives back."""

    def __init__(self, bits: int) -> None:
        self.nodes: list = []
        self.constants: list = []
        self.top = 2 ** (bits - 1) - 1
        self._known: dict[tuple, str] = {}

    def op(self, kind: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes):
        from onnx import helper

        at = len(self.nodes)
        names = [f"{kind}{at}.{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, f"{kind}{at}", domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value: np.ndarray) -> str:
        from onnx import numpy_helper

        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def scalar(self, value, kind=np.float32) -> str:
        """A number, kept once."""
        key = (kind, value)
        if key not in self._known:
            self._known[key] = self.constant(np.asarray(value, kind))
        return self._known[key]

    def axis(self, value: int) -> str:
        if ("axis", value) not in self._known:
            self._known["axis", value] = self.constant(np.array([value], np.int64))
        return self._known["axis", value]

    def rename(self, name: str, given: str) -> None:
        self.nodes.append(_identity(name, given))


def _identity(name: str, given: str):
    from onnx import helper

    return helper.make_node("Identity", [name], [given], given)


def _array(t) -> np.ndarray:
    return t.detach().float().cpu().numpy()


def _embed(g: _Graph, backbone: Backbone) -> str:
    """Token, position and (always the first) type embeddings, summed and normed."""
    e = backbone.embeddings
    places = _array(e.position_embeddings.weight)
    if backbone.config.model_type in ("roberta", "xlm-roberta", "camembert"):
        places = places[e.padding_idx + 1 :]  # RoBERTa counts positions from behind the padding's
    places = places + _array(e.token_type_embeddings.weight)[0]
    words = g.op("Gather", g.constant(_array(e.word_embeddings.weight)), "ids")
    length = g.op("Slice", g.op("Shape", "ids"), g.axis(1), g.axis(2), g.axis(0))
    here = g.op("Slice", g.constant(places), g.axis(0), length, g.axis(0))
    x = _norm(g, g.op("Add", words, here), e.LayerNorm)
    if backbone.project is None:
        return x
    w = g.constant(_array(backbone.project.weight).T)
    return g.op("Add", g.op("MatMul", x, w), g.constant(_array(backbone.project.bias)))


def _layer(g: _Graph, block: nn.Module, x: str, backbone: Backbone) -> str:
    a, width = block.attention, backbone.hidden
    inside = (a.self.query, a.self.key, a.self.value)
    weight = np.concatenate([_array(p.weight) for p in inside])
    packed = _product(g, weight, x)
    parts = g.op("Split", packed, g.constant(np.full(3, width)), outputs=3, axis=-1)
    bias = g.constant(np.concatenate([_array(p.bias) for p in inside]))
    heads = backbone.config.num_attention_heads
    seen = g.op("MultiHeadAttention", *parts, bias, "lengths", domain=MS, num_heads=heads)
    y = _dense(g, a.output.dense, seen)
    x = _norm(g, g.op("Add", y, x), a.output.LayerNorm)
    kind, attributes = ACTIVATIONS[backbone.config.hidden_act]
    y = g.op(kind, _dense(g, block.intermediate.dense, x), **attributes)
    y = _dense(g, block.output.dense, y, one_sided=True)
    return _norm(g, g.op("Add", y, x), block.output.LayerNorm)


def _dense(g: _Graph, linear: nn.Linear, x: str, *, one_sided: bool = False) -> str:
    y = _product(g, _array(linear.weight), x, one_sided=one_sided)
    return g.op("Add", y, g.constant(_array(linear.bias)))


def _product(g: _Graph, weight: np.ndarray, x: str, *, one_sided: bool = False) -> str:
    """x (batch, length, in) times weight (out, in) transposed, both as int8: each token and each column has its scale.

    `one_sided`: the values are an activation's, whose largest bounds the smallest.
    """
    scale = np.maximum(np.abs(weight).max(1), TINY) / g.top
    quantised = g.constant(np.rint(weight / scale[:, None]).astype(np.int8).T)
    size = x if one_sided else g.op("Abs", x)
    floor = g.scalar(SMALLEST_ACTIVATION if one_sided else TINY)
    size = g.op("Max", g.op("ReduceMax", size, g.axis(-1), keepdims=1), floor)
    rows = g.op("Mul", size, g.scalar(1 / 127))  # (batch, length, 1)
    one, middle = g.scalar(1.0), g.scalar(128, np.uint8)
    tokens = g.op("QuantizeLinear", g.op("Div", x, rows), one, middle)
    zeros = g.constant(np.zeros(len(scale), np.int8))
    columns = g.constant(scale.astype(np.float32))
    y = g.op("MatMulIntegerToFloat", tokens, quantised, one, columns, middle, zeros, domain=MS)
    return g.op("Mul", y, rows)


def _norm(g: _Graph, x: str, norm: nn.LayerNorm) -> str:
    """Layer norm: the means are products with a column of 1/width."""
    mean = g.constant(np.full((norm.weight.shape[0], 1), 1 / norm.weight.shape[0], np.float32))
    centred = g.op("Sub", x, g.op("MatMul", x, mean))
    variance = g.op("MatMul", g.op("Mul", centred, centred), mean)
    deviation = g.op("Sqrt", g.op("Add", variance, g.scalar(max(norm.eps, 1e-12))))
    scaled = g.op("Mul", g.op("Div", centred, deviation), g.constant(_array(norm.weight)))
    return g.op("Add", scaled, g.constant(_array(norm.bias)))


def _head(g: _Graph, head: ExitHead, x: str) -> str:
    """as2core.nn.heads.ExitHead over the pooled means, in float32: (batch, length, width) -> logits (batch)."""
    means = g.op("MatMul", "pool", x)  # (batch, 3, width)
    whole, question, candidate = (
        g.op("Squeeze", part, g.axis(1))
        for part in g.op("Split", means, g.constant(np.ones(3, np.int64)), outputs=3, axis=1)
    )
    y = whole
    linears = [m for m in head.net if isinstance(m, nn.Linear)]
    for number, linear in enumerate(linears):
        y = g.op("Gemm", y, g.constant(_array(linear.weight)), g.constant(_array(linear.bias)), transB=1)
        if number < len(linears) - 1:
            y = g.op("Tanh", y)
    both = g.op("Mul", _unit(g, question), _unit(g, candidate))
    cosine = g.op("MatMul", both, g.constant(_array(head.cosine)[:, None]))
    return g.op("Squeeze", g.op("Add", y, cosine), g.axis(1))


def _unit(g: _Graph, x: str) -> str:
    length = g.op("ReduceL2", x, g.axis(-1), keepdims=1)
    return g.op("Div", x, g.op("Max", length, g.scalar(1e-12)))
