"""A stretch of encoder layers and an exit's classifier as one int8 ONNX graph, written node by node.

Weights are int8 with a scale a column. Activations get a scale a token (a row), not one for the whole batch as ONNX
Runtime's own dynamic quantisation has it: one outlying token then spoils no other's precision, and a candidate's score
does not depend on who shares its batch. A few channels of an encoder's states are many times larger than all others and
would take the scale for themselves, so channels are evened out first, and what they lose goes into the weights
(SmoothQuant: Xiao et al., 2023, equation 4 with alpha 0.5). Which channels those are is read off a run over random
tokens: it is the model's habit, not the text's.

What is not a matrix product stays in float32, and is written with the operators that ONNX Runtime's CPU kernels run
fastest: a layer norm from products and element-wise steps is quicker than the fused one, which adds up one number at a
time.

Inputs: `ids` (batch, length) for the first stretch, `hidden` (batch, length, width) after it; `lengths` (batch) tokens
each; `pool` (batch, 3, length), the weights that make the means over all tokens, the question's, the candidate's.
Outputs: `logits` (batch), and `states` (batch, length, width) where another stretch follows.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from torch import Tensor, nn

from as2core.errors import BadSetting
from as2core.nn.backbone import Backbone
from as2core.nn.heads import ExitHead

GRAPH_VERSION = 4  # counts up with every change of what is built here: cached graphs of another version are not used
ACTIVATIONS: dict[str, tuple[str, dict[str, str]]] = {
    "gelu": ("Gelu", {}),
    "gelu_new": ("Gelu", {"approximate": "tanh"}),
    "gelu_pytorch_tanh": ("Gelu", {"approximate": "tanh"}),
    "relu": ("Relu", {}),
}
GELU_MINIMUM = 0.17  # how far GELU falls below zero
EVEN, LOPSIDED = (128, 127), (32, 223)  # of 8 bits: where zero lies, and the steps above it
TINY = 1e-6
MS = "com.microsoft"

Peaks = dict[nn.Module, np.ndarray]
Attend = Callable[[str, str, str], str]  # queries, keys, values (batch, length, width) -> what each token sees of them


def channel_peaks(backbone: Backbone, *, sequences: int = 16, tokens: int = 48, seed: int = 0) -> Peaks:
    """The largest absolute value of each input channel of the layers' products, over random tokens: linear -> (in,)."""
    peaks: Peaks = {}

    def watch(module: nn.Module, inputs: tuple) -> None:
        here = inputs[0].detach().abs().flatten(0, -2).amax(0).float().cpu().numpy()
        peaks[module] = np.maximum(here, peaks.get(module, 0))

    linears = [m for block in backbone.blocks for m in block.modules() if isinstance(m, nn.Linear)]
    hooks = [m.register_forward_pre_hook(watch) for m in linears]
    try:
        device = next(backbone.parameters()).device
        ids = np.random.default_rng(seed).integers(len(backbone.tokenizer) // 2, size=(sequences, tokens))
        ids[:, 0], ids[:, -1] = backbone.tokenizer.cls_token_id, backbone.tokenizer.sep_token_id
        mask = torch.ones(ids.shape, dtype=torch.bool, device=device)
        with torch.no_grad():
            second = (torch.arange(tokens, device=device) >= tokens // 4).expand(ids.shape)
            backbone.run(backbone.embed(torch.from_numpy(ids).to(device), second), mask, 0, backbone.layers)
    finally:
        for hook in hooks:
            hook.remove()
    return peaks


def build_graph(
    backbone: Backbone, head: ExitHead, first: int, last: int, *, final: bool, bits: int = 8, peaks: Peaks | None = None
) -> bytes:
    """Layers first..last-1, their exit's head, and the embeddings if `first` is 0, as a serialised model.

    `peaks` are `channel_peaks` (worked out here if not given). `bits` of the weights: 7 where the processor would add
    two products into 16 bits (x86 without VNNI).
    Raises BadSetting for an activation that has no operator here.
    """
    check_activation(backbone)
    g = Graph(bits, channel_peaks(backbone) if peaks is None else peaks)
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
        x = layer(g, block, x, backbone)
    g.rename(_head(g, head, x), "logits")
    outputs = [helper.make_tensor_value_info("logits", real, ["batch"])]
    if not final:
        g.rename(x, "states")
        outputs.append(helper.make_tensor_value_info("states", real, ["batch", "length", backbone.hidden]))
    return g.serialise(inputs, outputs)


def check_activation(backbone: Backbone) -> None:
    """Raises BadSetting for an activation that has no operator here."""
    if backbone.config.hidden_act not in ACTIVATIONS:
        raise BadSetting(
            f"the onnx engine does not know the activation {backbone.config.hidden_act!r} of {backbone.name}: "
            "use engine=torch"
        )


class Graph:
    """Nodes and constants as they are added; a node's output is known by the name that `op` gives back."""

    def __init__(self, bits: int, peaks: Peaks) -> None:
        self.peaks = peaks
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.top = 2 ** (bits - 1) - 1
        self._scalars: dict[tuple[type, float], str] = {}

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: int | str) -> str:
        """Add a node with one output."""
        return self.split_op(kind, *inputs, outputs=1, domain=domain, **attributes)[0]

    def split_op(self, kind: str, *inputs: str, outputs: int, domain: str = "", **attributes: int | str) -> list[str]:
        """Add a node with several outputs."""
        at = len(self.nodes)
        names = [f"{kind}{at}.{i}" for i in range(outputs)]
        node = helper.make_node(kind, inputs, names, f"{kind}{at}", domain=domain)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
        self.nodes.append(node)
        return names

    def constant(self, value: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def scalar(self, value: float, kind: type[np.generic] = np.float32) -> str:
        """A number, stored once."""
        if (kind, value) not in self._scalars:
            self._scalars[kind, value] = self.constant(np.asarray(value, kind))
        return self._scalars[kind, value]

    def axis(self, value: int) -> str:
        if (tuple, value) not in self._scalars:
            self._scalars[tuple, value] = self.constant(np.array([value], np.int64))
        return self._scalars[tuple, value]

    def rename(self, name: str, new: str) -> None:
        self.nodes.append(helper.make_node("Identity", [name], [new], new))

    def serialise(self, inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]) -> bytes:
        graph = helper.make_graph(self.nodes, "stretch", inputs, outputs, self.constants)
        operators = [helper.make_opsetid("", 20), helper.make_opsetid(MS, 1)]
        return helper.make_model(graph, opset_imports=operators, ir_version=10).SerializeToString()


def _array(t: Tensor) -> np.ndarray:
    return t.detach().float().cpu().numpy()


def _embed(g: Graph, backbone: Backbone) -> str:
    """Token, position and type embeddings, summed and normed. `pool` says which tokens are the second text's."""
    e = backbone.embeddings
    types = _array(e.get_parameter("token_type_embeddings.weight"))
    places = _array(e.get_parameter("position_embeddings.weight"))[backbone.first_position :] + types[0]
    words = g.op("Gather", g.constant(_array(e.word_embeddings.weight)), "ids")
    length = g.op("Slice", g.op("Shape", "ids"), g.axis(1), g.axis(2), g.axis(0))
    here = g.op("Slice", g.constant(places), g.axis(0), length, g.axis(0))
    total = g.op("Add", words, here)
    if backbone.segments:
        weights = g.op("Squeeze", g.op("Gather", "pool", g.axis(2), axis=1), g.axis(1))  # 0 outside the second text
        second = g.op("Cast", g.op("Greater", weights, g.scalar(0.0)), to=TensorProto.FLOAT)  # (batch, length)
        total = g.op("Add", total, g.op("Mul", g.op("Unsqueeze", second, g.axis(2)), g.constant(types[1] - types[0])))
    return norm_embedding(g, backbone, total)


def norm_embedding(g: Graph, backbone: Backbone, x: str) -> str:
    """What the encoder's first layer reads, from the sum of a token's embeddings."""
    x = norm(g, x, backbone.embeddings.LayerNorm)
    if backbone.project is None:
        return x
    w = g.constant(_array(backbone.project.get_parameter("weight")).T)
    return g.op("Add", g.op("MatMul", x, w), g.constant(_array(backbone.project.get_parameter("bias"))))


def layer(g: Graph, block: nn.Module, x: str, backbone: Backbone, attend: Attend | None = None) -> str:
    """A block of the encoder over x (batch, length, width); `attend` by default lets every token see all of its text,
    whose tokens the input `lengths` tells."""
    width = backbone.hidden
    inside = [_linear(block, f"attention.self.{part}") for part in ("query", "key", "value")]
    attended = _linear(block, "attention.output.dense")
    weight = np.concatenate([_array(p.weight) for p in inside])
    out = _array(attended.weight)
    even = _evening(g.peaks[attended], out)  # what attention gives is linear in the values: evened out with them
    weight[2 * width :] /= even[:, None]
    own = _evening(g.peaks[inside[0]], weight)
    packed = product(g, weight * own, g.op("Mul", x, g.constant(1 / own)))
    parts = g.split_op("Split", packed, g.constant(np.full(3, width)), outputs=3, axis=-1)
    biases = np.concatenate([_array(p.bias) for p in inside])
    biases[2 * width :] /= even
    if attend is None:
        heads = backbone.config.num_attention_heads
        context = g.op("MultiHeadAttention", *parts, g.constant(biases), "lengths", domain=MS, num_heads=heads)
    else:
        context = attend(*(g.op("Add", p, g.constant(b)) for p, b in zip(parts, np.split(biases, 3), strict=True)))
    y = g.op("Add", product(g, out * even, context), g.constant(_array(attended.bias)))
    x = norm(g, g.op("Add", y, x), block.get_submodule("attention.output.LayerNorm"))
    kind, attributes = ACTIVATIONS[backbone.config.hidden_act]
    up, down = _linear(block, "intermediate.dense"), _linear(block, "output.dense")
    weight = _array(up.weight)
    even = _evening(g.peaks[up], weight)
    y = product(g, weight * even, g.op("Mul", x, g.constant(1 / even)))
    y = g.op(kind, g.op("Add", y, g.constant(_array(up.bias))), **attributes)
    y = g.op("Add", product(g, _array(down.weight), y, one_sided=True), g.constant(_array(down.bias)))
    return norm(g, g.op("Add", y, x), block.get_submodule("output.LayerNorm"))


def _linear(block: nn.Module, path: str) -> nn.Linear:
    part = block.get_submodule(path)
    assert isinstance(part, nn.Linear)
    return part


def _evening(peaks: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """What to divide each input channel by, and multiply its column of the weight (out, in) with: (in,)."""
    ratio = np.sqrt(np.maximum(peaks, TINY) / np.maximum(np.abs(weight).max(0), TINY))
    return np.clip(ratio / np.median(ratio), 1 / 64, 64).astype(np.float32)


def product(g: Graph, weight: np.ndarray, x: str, *, one_sided: bool = False) -> str:
    """x (batch, length, in) times weight (out, in) transposed, both as int8: each token and each column has its scale.

    `one_sided`: the values are an activation's. They are hardly below zero, so most of the 8 bits go to those above it,
    and the largest sets the scale; the floor under it gives `GELU_MINIMUM` its room.
    """
    zero, steps = LOPSIDED if one_sided else EVEN
    scale = np.maximum(np.abs(weight).max(1), TINY) / g.top
    quantised = g.constant(np.rint(weight / scale[:, None]).astype(np.int8).T)
    size = x if one_sided else g.op("Abs", x)
    floor = g.scalar(GELU_MINIMUM * steps / zero if one_sided else TINY)
    size = g.op("Max", g.op("ReduceMax", size, g.axis(-1), keepdims=1), floor)
    rows = g.op("Mul", size, g.scalar(1 / steps))  # (batch, length, 1)
    one, middle = g.scalar(1.0), g.scalar(zero, np.uint8)
    tokens = g.op("QuantizeLinear", g.op("Div", x, rows), one, middle)
    zeros = g.constant(np.zeros(len(scale), np.int8))
    columns = g.constant(scale.astype(np.float32))
    y = g.op("MatMulIntegerToFloat", tokens, quantised, one, columns, middle, zeros, domain=MS)
    return g.op("Mul", y, rows)


def norm(g: Graph, x: str, module: nn.Module) -> str:
    """Layer norm: the means are products with a column of 1/width."""
    assert isinstance(module, nn.LayerNorm)
    mean = g.constant(np.full((module.weight.shape[0], 1), 1 / module.weight.shape[0], np.float32))
    centred = g.op("Sub", x, g.op("MatMul", x, mean))
    variance = g.op("MatMul", g.op("Mul", centred, centred), mean)
    deviation = g.op("Sqrt", g.op("Add", variance, g.scalar(max(module.eps, 1e-12))))
    scaled = g.op("Mul", g.op("Div", centred, deviation), g.constant(_array(module.weight)))
    return g.op("Add", scaled, g.constant(_array(module.bias)))


def _head(g: Graph, head: ExitHead, x: str) -> str:
    """as2core.nn.heads.ExitHead over the pooled means, in float32: (batch, length, width) -> logits (batch)."""
    means = g.op("MatMul", "pool", x)  # (batch, 3, width)
    whole, question, candidate = (
        g.op("Squeeze", part, g.axis(1))
        for part in g.split_op("Split", means, g.constant(np.ones(3, np.int64)), outputs=3, axis=1)
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


def _unit(g: Graph, x: str) -> str:
    length = g.op("ReduceL2", x, g.axis(-1), keepdims=1)
    return g.op("Div", x, g.op("Max", length, g.scalar(1e-12)))
