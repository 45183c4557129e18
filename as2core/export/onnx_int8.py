"""The ONNX file with its weights in int8, less than a third as large: for browsers, phones and small machines.

ONNX Runtime's MatMulNBitsQuantizer quantises the matrices in blocks of 32 weights with a scale each, and its operator
also the activations, token by token. Its dynamic quantisation, with one scale for the activations of a whole batch, is
faster and moves the logits several times as far. The table of word embeddings gets a scale a row.

MatMulNBits is an operator of ONNX Runtime; with 8 bits it takes version 1.22. Other runtimes may not have it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from as2core.export import onnx_file

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

    from as2core.rankers.cascade import CascadeRanker
    from as2core.rankers.versions import Card

BITS, BLOCK = 8, 32  # of a matrix, and how many of its weights share a scale
INT8_PRODUCTS = 4  # ONNX Runtime's "accuracy level" at which the activations are int8, too
MIN_TABLE_ROWS = 1024  # a table with fewer, as that of the positions, stays as it is


def write(ranker: CascadeRanker, folder: Path, card: Card) -> None:
    """The file, its tokenizer and its card, into an existing folder."""
    onnx_file.write(ranker, folder, card)
    quantise(folder / onnx_file.FILE)


def quantise(file: Path) -> None:
    """Quantise the weights of a file that `onnx_file.write` wrote, in place."""
    import onnx

    model = onnx.load(file)
    settings = onnx_file.read_metadata(model)["settings"]
    model = _quantise_matrices(model)
    nodes = [new for node in model.graph.node for new in _quantise_table(model.graph, node)]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    del model.graph.value_info[:]  # shapes that no longer hold
    onnx.helper.set_model_props(model, {onnx_file.KEY: json.dumps({"settings": settings, "weights": "int8"})})
    onnx.save(model, file)


def _quantise_matrices(model: ModelProto) -> ModelProto:
    root = logging.getLogger()
    handlers, level = [*root.handlers], root.level
    from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer

    root.handlers[:] = handlers  # the import lets the root logger print all messages of all libraries
    root.setLevel(level)
    logging.getLogger("onnxruntime.quantization").setLevel(logging.ERROR)
    settings = DefaultWeightOnlyQuantConfig(BLOCK, is_symmetric=True, accuracy_level=INT8_PRODUCTS, bits=BITS)
    quantiser = MatMulNBitsQuantizer(model, algo_config=settings)
    quantiser.process()
    return quantiser.model.model


def _quantise_table(graph: GraphProto, node: NodeProto) -> Iterator[NodeProto]:
    """The nodes that do what this one does: of a lookup in a large table those of an int8 one with a scale a row."""
    from onnx import TensorProto, helper, numpy_helper

    tensor = next((t for t in graph.initializer if node.op_type == "Gather" and t.name == node.input[0]), None)
    if tensor is None or len(tensor.dims) != 2 or tensor.dims[0] < MIN_TABLE_ROWS:
        yield node
        return
    table, rows, ids = numpy_helper.to_array(tensor), node.input[0], node.input[1]
    scales = np.maximum(np.abs(table).max(axis=1, keepdims=True) / 127, np.finfo(np.float32).tiny)
    values = np.round(table / scales).astype(np.int8)
    graph.initializer.remove(tensor)
    graph.initializer.append(numpy_helper.from_array(values, rows))
    graph.initializer.append(numpy_helper.from_array(scales, f"{rows}.scales"))
    yield helper.make_node("Gather", [rows, ids], [f"{rows}.int8"], axis=0)
    yield helper.make_node("Cast", [f"{rows}.int8"], [f"{rows}.float"], to=TensorProto.FLOAT)
    yield helper.make_node("Gather", [f"{rows}.scales", ids], [f"{rows}.scale"], axis=0)
    yield helper.make_node("Mul", [f"{rows}.float", f"{rows}.scale"], [node.output[0]])
