"""A small ONNX file with its tokenizer, whose scores a test can work out."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from transformers import AutoTokenizer


def make_onnx(folder, tiny, *, labels=1, inputs=("input_ids", "attention_mask"), at="model.onnx", length=64):
    """A bag of words: each token has a weight for each label, the score is their sum. Returns the weights."""
    tokenizer = AutoTokenizer.from_pretrained(tiny(), model_max_length=length)
    weights = np.random.default_rng(3).normal(size=(len(tokenizer), labels)).astype(np.float32)
    nodes = [
        helper.make_node("Gather", ["weights", "input_ids"], ["each"], axis=0),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["column"]),
        helper.make_node("Mul", ["each", "column"], ["real"]),
        helper.make_node("ReduceSum", ["real", "middle"], ["logits"], keepdims=0),
    ]
    constants = [numpy_helper.from_array(np.array([a], dtype=np.int64), n) for a, n in ((2, "last"), (1, "middle"))]
    shapes = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "length"]) for n in inputs]
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", labels])
    graph = helper.make_graph(nodes, "bag", shapes, [logits], [numpy_helper.from_array(weights, "weights"), *constants])
    file = folder / at
    file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)
    tokenizer.save_pretrained(folder)
    return weights
