"""An ONNX file of a cross-encoder with its tokenizer, as Optimum, sentence-transformers and `as2 versions export` write
them: `model.onnx` beside `tokenizer.json`, or in a folder `onnx` below it. Quantised files (int8) run as they are.

Pairs are tokenised as those libraries do, the longer text cut first. A file is run by ONNX Runtime on the CPU. Neither
torch nor transformers is imported: that takes seconds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from as2core.errors import BadSetting, DamagedModel
from as2core.nn.micro_batches import split_by_length
from as2core.rankers.base import HidesFlops
from as2core.rankers.specs import Entry
from as2core.system.files import is_file
from as2core.system.pauses import pause
from as2core.types import Candidate

if TYPE_CHECKING:
    import onnxruntime as ort

FILE, TOKENIZER, ENDING = "model.onnx", "tokenizer.json", ".onnx"
WEIGHTS_OF_TORCH = ("model.safetensors", "pytorch_model.bin", "model.safetensors.index.json")
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
MAX_TOKENS = 512  # of a pair, where the tokenizer allows more
MAX_BATCH_TOKENS = 4096  # padding counted


class OnnxRanker(HidesFlops):
    """`tokenizer` encodes a pair and cuts it. `positive` is the class that answers, of a model with several; its score
    is then the log-odds against all others, as that of a checkpoint is."""

    def __init__(
        self, session: ort.InferenceSession, tokenizer: Any, *, positive: int | None = None, name: str = "onnx"
    ) -> None:
        self.session, self.tokenizer, self.positive, self.name = session, tokenizer, positive, name
        self.inputs = tuple(i.name for i in session.get_inputs())
        names = [o.name for o in session.get_outputs()]
        self.output = "logits" if "logits" in names else names[0]
        if unknown := set(self.inputs) - set(INPUTS):
            raise DamagedModel(f"an ONNX file that reads {', '.join(sorted(unknown))} is no cross-encoder over texts")

    def __deepcopy__(self, _memo: dict) -> OnnxRanker:
        return self  # nothing in it changes, and a session cannot be copied

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        """Raises DamagedModel where the file cannot be run, BadSetting for a label it does not have."""
        scores = np.zeros(len(candidates), dtype=np.float32)
        if not candidates:
            return scores
        pairs = self.tokenizer.encode_batch([(question, c.titled_text) for c in candidates])
        for rows in split_by_length([len(p.ids) for p in pairs], max_tokens=MAX_BATCH_TOKENS):
            pause(len(rows))
            scores[rows] = self._run([pairs[r] for r in rows])
        return scores

    def _run(self, pairs: Sequence[Any]) -> np.ndarray:
        """float64 `(n,)`."""
        columns = {
            "input_ids": [p.ids for p in pairs],
            "attention_mask": [p.attention_mask for p in pairs],
            "token_type_ids": [p.type_ids for p in pairs],
        }
        try:
            [logits] = self.session.run([self.output], {name: _pad(columns[name]) for name in self.inputs})
        except Exception as e:  # ONNX Runtime has no base class of its errors
            raise DamagedModel(f"the ONNX file cannot be run on {len(pairs)} pairs ({_first_line(e)})") from e
        logits = np.asarray(logits, dtype=np.float64)
        if logits.shape == (len(pairs),):
            return logits
        if logits.ndim != 2 or len(logits) != len(pairs) or not logits.shape[1]:
            raise DamagedModel(f"the ONNX file gives {logits.shape} for {len(pairs)} pairs: it is no cross-encoder")
        return logits[:, 0] if logits.shape[1] == 1 else self._log_odds(logits)

    def _log_odds(self, logits: np.ndarray) -> np.ndarray:
        labels = logits.shape[1]
        at = 1 if self.positive is None and labels == 2 else self.positive
        if at is None or not 0 <= at < labels:
            raise BadSetting(f"the ONNX file has the labels 0 to {labels - 1}: say which one answers, as positive=1")
        return logits[:, at] - np.logaddexp.reduce(np.delete(logits, at, axis=1), axis=1)


def find_file(path: Path) -> Path | None:
    """The ONNX file that a path means: itself, or that of a directory; None where there is none."""
    if path.suffix == ENDING:
        return path if is_file(path) else None
    return next((p for p in (path / FILE, path / "onnx" / FILE) if is_file(p)), None)


def is_onnx(path: Path) -> bool:
    """Whether a path alone is taken as an ONNX model: a directory with weights of torch beside it is not."""
    return find_file(path) is not None and not any(is_file(path / name) for name in WEIGHTS_OF_TORCH)


def load_onnx(path: Path, *, max_length: int | None = None, positive: int | None = None) -> OnnxRanker:
    """By file or directory. Raises DamagedModel where it cannot be read, BadSetting."""
    file = find_file(path)
    if file is None:
        raise DamagedModel(f"{path} holds no {FILE}: give the file, or the directory that holds it and {TOKENIZER}")
    folder = next((f for f in (file.parent, file.parent.parent) if is_file(f / TOKENIZER)), None)
    if folder is None:
        raise DamagedModel(f"{file} has no {TOKENIZER} beside it: save the model's tokenizer there (transformers)")
    try:
        return OnnxRanker(_open_session(file), _load_tokenizer(folder, max_length), positive=positive)
    except (DamagedModel, BadSetting):
        raise
    except Exception as e:  # neither library has a base class of its errors
        raise DamagedModel(f"{file} cannot be loaded ({_first_line(e)}): export it again") from e


def _open_session(file: Path) -> ort.InferenceSession:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4  # errors come as exceptions
    return ort.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def _load_tokenizer(folder: Path, max_length: int | None) -> Any:
    """The fast tokenizer, which cuts and does not pad."""
    from tokenizers import Tokenizer

    config = _read_config(folder)
    if max_length is None:
        max_length = min(_read_max_length(config), MAX_TOKENS)
    if max_length < 8:
        raise BadSetting(f"max_length={max_length}: give 8 tokens or more, two texts have to fit")
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.encode_special_tokens = bool(config.get("split_special_tokens"))  # which the other file does not say
    tokenizer.enable_truncation(max_length, strategy="longest_first")
    tokenizer.no_padding()
    return tokenizer


def _read_config(folder: Path) -> dict:
    """What transformers stores beside a tokenizer; {} where it is missing or damaged."""
    try:
        config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return config if isinstance(config, dict) else {}


def _read_max_length(config: dict) -> int:
    try:
        return int(config["model_max_length"])
    except (ValueError, KeyError, TypeError, OverflowError):
        return MAX_TOKENS


def _pad(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """int64 `(n, longest)`, zeros behind; the attention mask has them, too."""
    out = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


def build(*, model: str = "", max_length: int | None = None, positive: int | None = None) -> OnnxRanker:
    return load_onnx(Path(model), max_length=max_length, positive=positive)


RANKER = Entry("onnx", "an ONNX file with its tokenizer", "Garg et al. 2020", build, required="model")
