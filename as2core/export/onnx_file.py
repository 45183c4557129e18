"""One ONNX file, float32: `input_ids` and `attention_mask` (batch, length), int64, in; `logits` (batch) out.

It holds the last exit: every candidate passes all layers. The tokenizer stands beside it, and the file's metadata tell
what `read` needs to take the model back. (The workbench's own quick engine is another thing: a graph an exit, int8; see
as2core.cascade.graphs.)
"""

import copy
import hashlib
import json
import logging
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from as2core.errors import DamagedModel
from as2core.export import last_exit
from as2core.nn.cascade import CascadeModule
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.rankers.versions import Card

if TYPE_CHECKING:
    from onnx import ModelProto

FILE, KEY = "model.onnx", "as2"


class _Scorer(nn.Module):
    """The one exit of a module, over what other programs' tokenizers give."""

    def __init__(self, module: CascadeModule) -> None:
        super().__init__()
        self.backbone, self.heads, self.depth = module.backbone, module.heads, module.exits[-1]
        tokenizer = module.backbone.tokenizer
        self.separators = tokenizer.num_special_tokens_to_add(pair=True) - 2
        self.separator_id = tokenizer.sep_token_id

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        mask = attention_mask.bool()
        first = (input_ids == self.separator_id).int().argmax(1, keepdim=True)
        at = torch.arange(input_ids.shape[1])[None, :]
        second = mask & (at >= first + self.separators)
        hidden = self.backbone.run(self.backbone.embed(input_ids, second), mask, 0, self.depth)
        return self.heads[0](hidden, mask, second)


def write(ranker: CascadeRanker, folder: Path, card: Card) -> None:
    """The file, its tokenizer and its card, into an existing folder."""
    module = copy.deepcopy(CrossEncoderRanker.from_cascade(ranker).module)  # the ranker's may be on a GPU
    backbone, scorer = module.backbone, _Scorer(module).cpu().eval()
    packed = backbone.encode(["who is it", "what"], ["It is a river in the east.", "A word."], max_length=32)
    ids, mask, _ = backbone.pad(packed, [0, 1])
    batch, length = torch.export.Dim("batch"), torch.export.Dim("length", max=ranker.max_length)
    shape = {0: batch, 1: length}
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        torch.onnx.export(
            scorer,
            (ids, mask.long()),
            str(folder / FILE),
            input_names=["input_ids", "attention_mask"],
            output_names=["logits"],
            dynamic_shapes={"input_ids": shape, "attention_mask": shape},
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    _add_metadata(folder / FILE, ranker)
    last_exit.save_tokenizer(ranker, folder)
    last_exit.write_card(folder, card)


def read(folder: Path) -> tuple[CrossEncoderRanker, Card]:
    """What `write` wrote, as a cross-encoder, and its card. Raises DamagedModel, also for another program's file."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        graph = onnx.load(folder / FILE, load_external_data=False)  # ours has none
        metadata = read_metadata(graph)
        if "tensors" not in metadata:
            raise DamagedModel(f"{folder / FILE} has weights in int8, which cannot be trained: import another export")
        weights = {t.name: torch.tensor(onnx.numpy_helper.to_array(t)) for t in graph.graph.initializer}
        places = metadata["tensors"].items()
        tensors = {name: weights[at].T if transposed else weights[at] for name, (at, transposed) in places}
        tensors |= {name: torch.tensor(values) for name, values in metadata.get("left_out", {}).items()}
        return last_exit.restore(metadata["settings"], tensors), last_exit.read_card(folder)
    except (OSError, ValueError, KeyError, RuntimeError, DecodeError) as e:
        raise DamagedModel(f"{folder / FILE} is no file that as2 exported ({e}): export it again") from e


def read_backbone(file: Path) -> str:
    """The backbone of a file that `write` wrote, read without its weights. Raises as `read`."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        graph = onnx.load(file, load_external_data=False)
        return str(read_metadata(graph)["settings"]["backbone"])
    except (OSError, ValueError, KeyError, TypeError, DecodeError) as e:
        raise DamagedModel(f"{file} is no file that as2 exported ({e}): export it again") from e


def read_metadata(model: "ModelProto") -> dict:
    """What this module wrote into a file: `settings`, and `tensors` and `left_out` where the weights are as they were.
    Raises KeyError and ValueError for another program's file."""
    return json.loads({p.key: p.value for p in model.metadata_props}[KEY])


def _add_metadata(file: Path, ranker: CascadeRanker) -> None:
    """Write into the file what `read` needs: the settings, and where each weight is among the file's tensors. The
    exporter keeps equal tensors once, renames the matrices that it transposes, and leaves a bias of zeros out."""
    import onnx

    graph = onnx.load(file)
    names = {_hash_array(onnx.numpy_helper.to_array(t)): t.name for t in graph.graph.initializer}
    tensors, others = {}, {}
    for name, t in last_exit.list_tensors(ranker).items():
        a = t.cpu().numpy()
        transposed = _hash_array(a) not in names
        at = names.get(_hash_array(a.T if transposed else a))
        if at is None:
            others[name] = a.tolist()
        else:
            tensors[name] = (at, transposed)
    metadata = {"settings": last_exit.describe(ranker), "tensors": tensors, "left_out": others}
    onnx.helper.set_model_props(graph, {KEY: json.dumps(metadata)})
    onnx.save(graph, file)


def _hash_array(a: np.ndarray) -> tuple[tuple[int, ...], bytes]:
    return a.shape, hashlib.blake2b(a.tobytes()).digest()
