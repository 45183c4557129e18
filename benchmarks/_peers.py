"""Others' ways of doing the same: the shipped cascade's weights run as one whole cross-encoder; the same bi-encoder;
the same passages searched by words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from as2core.export import cross_encoder as exported
from as2core.nn.backbone import locate_weights
from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.rankers.cascade import CascadeRanker

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

Pair = tuple[str, str]  # question, sentence
Score = Callable[[list[Pair]], np.ndarray]
BATCH = 32  # what both libraries take if nobody says


class Logits(nn.Module):
    """A classifier of Hugging Face's, to be exported."""

    def __init__(self, classifier: nn.Module) -> None:
        super().__init__()
        self.classifier = classifier

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.classifier(input_ids=ids, attention_mask=mask).logits


class _Whole(nn.Module):
    """Encoder and last classifier as one module, to be exported."""

    def __init__(self, cascade: CascadeRanker) -> None:
        super().__init__()
        self.backbone, self.head = cascade.backbone, cascade.module.heads[-1]

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        hidden = self.backbone.run(self.backbone.embed(ids), mask, 0, self.backbone.layers)
        return self.head(hidden, mask, second)


def plain_loop(cascade: CascadeRanker) -> Score:
    """What one writes by hand: batches in the order given, padded to the longest."""
    whole = _Whole(cascade).eval()

    @torch.inference_mode()
    def score(pairs: list[Pair]) -> np.ndarray:
        parts = [pairs[i : i + BATCH] for i in range(0, len(pairs), BATCH)]
        return np.concatenate([whole(*_pad_pairs(cascade, part)).numpy() for part in parts])

    return score


def has(package: str) -> bool:
    return find_spec(package) is not None


def sentence_transformers(cascade: CascadeRanker, folder: Path) -> Score:
    """Its CrossEncoder as one uses it."""
    peer = cross_encoder(cascade, folder)
    return lambda pairs: peer.predict(pairs, batch_size=BATCH, show_progress_bar=False)


def cross_encoder(
    cascade: CascadeRanker, folder: Path, *, device: str = "cpu", dtype: torch.dtype = torch.float32
) -> CrossEncoder:
    """sentence-transformers' over the same weights, the classifier among them: what `as2 versions export` writes."""
    from sentence_transformers import CrossEncoder

    if not folder.exists():
        folder.mkdir(parents=True)
        exported.write(cascade, folder, {})
    return CrossEncoder(
        str(folder),
        device=device,
        max_length=cascade.max_length,
        trust_remote_code=True,
        model_kwargs={"dtype": dtype},
    )


def encode(embedder: BiEncoderRanker) -> Callable[[list[str]], np.ndarray]:
    """sentence-transformers' bi-encoder over the same weights: unit vectors."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    words = Transformer(locate_weights(embedder.backbone.name), max_seq_length=embedder.max_length)
    peer = SentenceTransformer(modules=[words, Pooling(embedder.backbone.hidden, "mean")], device="cpu")
    return lambda texts: peer.encode(texts, normalize_embeddings=True, show_progress_bar=False)


def bm25s(texts: list[str], k: int) -> Callable[[str], np.ndarray]:
    """bm25s with its own tokenizer and defaults: the places of the `k` best."""
    import bm25s as library

    index = library.BM25()
    index.index(library.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)

    def search(question: str) -> np.ndarray:
        tokens = library.tokenize(question, stopwords="en", show_progress=False)
        return index.retrieve(tokens, k=min(k, len(texts)), show_progress=False).documents

    return search


def export(cascade: CascadeRanker, folder: Path) -> tuple[Path, Path]:
    """The whole model by torch's exporter, and its int8 form by ONNX Runtime's dynamic quantisation: what
    sentence-transformers' and FlashRank's ONNX files hold."""
    real, small = folder / "whole.onnx", folder / "whole-int8.onnx"
    if small.exists():
        return real, small
    example = _pad_pairs(cascade, [("when was it built?", t) for t in ("It was completed in 1889.", "Nobody knows.")])
    inputs = dict(zip(("ids", "mask", "second"), example, strict=True))
    write_onnx(_Whole(cascade).eval(), inputs, real, cascade.max_length)
    quantise(real, small)
    return real, small


def write_onnx(module: nn.Module, inputs: Mapping[str, torch.Tensor], path: Path, longest: int) -> None:
    """The module's graph from inputs (batch, length), of any batch and up to so many tokens, to `logits`."""
    import onnx

    sizes = {0: torch.export.Dim("batch", max=1 << 16), 1: torch.export.Dim("length", min=4, max=longest)}
    torch.onnx.export(
        module,
        tuple(inputs.values()),
        str(path),
        dynamo=True,
        dynamic_shapes=[sizes] * len(inputs),
        input_names=list(inputs),
        output_names=["logits"],
        external_data=False,
        verbose=False,
    )
    model = onnx.load(path)
    del model.graph.value_info[:]  # the exporter notes shapes that the quantiser then finds to be others
    onnx.save(model, path)


def quantise(real: Path, small: Path) -> None:
    """By ONNX Runtime's dynamic quantisation with per-channel weights."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model = onnx.load(real)
    matrices = {i.name for i in model.graph.initializer if len(i.dims) == 2 and min(i.dims) > 1}
    others = [n.name for n in model.graph.node if n.op_type == "MatMul" and not matrices & set(n.input)]
    quantize_dynamic(
        real,
        small,
        per_channel=True,
        weight_type=QuantType.QInt8,
        nodes_to_exclude=others,
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )


def optimised(cascade: CascadeRanker, real: Path) -> Path:
    """The exported model after ONNX Runtime's own optimiser, with what optimum calls O3: its fusions for BERT and the
    quick GELU. Of the graph that torch's exporter writes it fuses GELU and layer norm, and no attention."""
    from onnxruntime.transformers.fusion_options import FusionOptions
    from onnxruntime.transformers.optimizer import optimize_model

    path = real.with_name("whole-o3.onnx")
    if not path.exists():
        options, of = FusionOptions("bert"), cascade.backbone.config
        options.enable_gelu_approximation = True
        sizes = {"num_heads": of.num_attention_heads, "hidden_size": of.hidden_size}
        optimize_model(
            str(real), model_type="bert", opt_level=2, optimization_options=options, **sizes
        ).save_model_to_file(str(path))
    return path


def onnx_runtime(cascade: CascadeRanker, path: Path, *, batch: int | None = BATCH, ordered: bool = True) -> Score:
    """A session with ONNX Runtime's own settings (its thread pool, every core). `batch` None: all at once, padded to
    the longest, as FlashRank does; `ordered`: sorted by length first, as sentence-transformers does."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    inputs = [i.name for i in session.get_inputs()]

    def score(pairs: list[Pair]) -> np.ndarray:
        out = np.empty(len(pairs), np.float32)
        for rows in _plan_batches(pairs, batch or len(pairs), ordered=ordered):
            inputs_batch = _pad_pairs(cascade, [pairs[r] for r in rows])
            out[rows] = session.run(None, dict(zip(inputs, (g.numpy() for g in inputs_batch), strict=True)))[0]
        return out

    return score


def compress(real: Path) -> Path:
    """The exported model with int8 weights, symmetric and per channel, by NNCF; activations stay as they are."""
    import nncf
    import openvino

    path = real.with_name("whole-weights-int8.xml")
    if not path.exists():
        model = openvino.Core().read_model(str(real))
        openvino.save_model(nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_SYM), path)
    return path


def openvino(cascade: CascadeRanker, path: Path, *, streams: int, batch: int = 8) -> Score:
    """OpenVINO for throughput: batches sorted by length, as many at a time as `streams`, activations quantised
    dynamically where the processor has the instructions and the weights are int8."""
    import openvino

    settings = {
        "PERFORMANCE_HINT": "THROUGHPUT",
        "NUM_STREAMS": streams,
        "INFERENCE_NUM_THREADS": streams,
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 32,
    }
    queue = openvino.AsyncInferQueue(openvino.Core().compile_model(str(path), "CPU", settings), streams)

    def score(pairs: list[Pair]) -> np.ndarray:
        out = np.empty(len(pairs), np.float32)

        def store(request: openvino.InferRequest, rows: np.ndarray) -> None:
            out[rows] = request.get_output_tensor(0).data

        queue.set_callback(store)
        size = min(batch, math.ceil(len(pairs) / streams))  # of few pairs each stream gets its share
        for rows in _plan_batches(pairs, size, ordered=True):
            inputs = _pad_pairs(cascade, [pairs[r] for r in rows])
            queue.start_async([g.numpy() for g in inputs], rows)
        queue.wait_all()
        return out

    return score


def _plan_batches(pairs: list[Pair], size: int, *, ordered: bool) -> list[np.ndarray]:
    """The places of each batch's pairs; `ordered`: the longest first."""
    longest_first = np.argsort([-len(q) - len(t) for q, t in pairs], kind="stable")
    places = longest_first if ordered else np.arange(len(pairs))
    return [places[i : i + size] for i in range(0, len(pairs), size)]


def _pad_pairs(cascade: CascadeRanker, pairs: list[Pair]) -> tuple[torch.Tensor, ...]:
    questions, texts = map(list, zip(*pairs, strict=True))
    packed = cascade.backbone.encode(questions, texts, max_length=cascade.max_length)
    return cascade.backbone.pad(packed, list(range(len(texts))))
