"""Fine-tuned checkpoints of others: a Hugging Face directory with a sequence-classification head (TANDA's releases, and
what any script of transformers writes), or a CrossEncoder of sentence-transformers, by directory or hub name.

The model runs as it is, head, pooler and all. A base model without a head gets a new one, untrained, over its
pretrained pooler: that is TandA's own system before its transfer step.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from as2core.errors import BadSetting, DamagedModel, UnsupportedBackbone
from as2core.rankers.base import HasWeights, LoadRanker, TakesSettings, VersionConfig
from as2core.rankers.specs import Entry
from as2core.system.files import is_folder
from as2core.system.pauses import pause
from as2core.types import Candidate

if TYPE_CHECKING:
    from torch import nn

    from as2core.nn.pair_classifier import PairClassifier

WEIGHTS_FILES = ("*.safetensors", "*.bin")
MAX_BATCH_TOKENS = 4096  # padding counted
ACTIVATIONS = ("none", "sigmoid", "tanh")
OF_SENTENCE_TRANSFORMERS = {"Identity": "none", "Sigmoid": "sigmoid", "Tanh": "tanh"}  # by the name of torch's class


CLASSIFIER = "classifier"


class ClassifierRanker(HasWeights, TakesSettings):
    """Scores are `activation` of the logit; of a model with several labels they are log-odds, without it."""

    kind = CLASSIFIER
    adjustable = ("activation",)
    module: PairClassifier

    def __init__(
        self,
        module: PairClassifier,
        *,
        activation: str = "none",
        is_trained: bool = True,
        name: str = "classifier",
    ) -> None:
        self.module, self.activation, self.is_trained, self.name = module.eval(), activation, is_trained, name

    @property
    def encoder(self) -> nn.Module:
        return self.module.model

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        import torch

        from as2core.nn.micro_batches import split_by_length

        scores = np.zeros(len(candidates), dtype=np.float32)
        if not candidates:
            return scores
        pairs = self.module.encode([question] * len(candidates), [c.titled_text for c in candidates])
        with torch.inference_mode():
            for rows in split_by_length([len(ids) for ids, _ in pairs], max_tokens=MAX_BATCH_TOKENS):
                pause(len(rows))
                scores[rows] = self.module(**self.module.pad([pairs[r] for r in rows])).cpu().numpy()
        return activate(scores, self.activation)

    def adjust(self, settings: VersionConfig) -> None:
        name = settings.get("activation", "auto")
        if name != "auto":
            self.activation = check_activation(name)

    def config(self) -> VersionConfig:
        m = self.module
        settings = {"max_length": m.max_length, "positive": m.positive, "activation": self.activation}
        return {"backbone": m.name, "settings": settings}

    @classmethod
    def restore(cls, config: VersionConfig, path: Path, load: LoadRanker) -> ClassifierRanker:
        return load_classifier(config["backbone"], **config["settings"])


def activate(logits: np.ndarray, name: str) -> np.ndarray:
    """The scores, float32 (n,) as the logits; `name` as `check_activation` lets it pass."""
    if name == "none":
        return logits
    exact = logits.astype(np.float64)
    return (1 / (1 + np.exp(-exact)) if name == "sigmoid" else np.tanh(exact)).astype(np.float32)


def is_classifier(folder: Path) -> bool:
    """Whether a directory holds a model of transformers, and is no version and no export of ours."""
    try:
        config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    is_theirs = isinstance(config, dict) and ("model_type" in config or "architectures" in config)
    return is_theirs and "ranker" not in config and config.get("model_type") != "as2-cross-encoder"


def check_checkpoint(folder: Path) -> None:
    """Refuse, without loading it, a directory without weights, or with more labels than two, none of which is chosen
    where the directory alone is named. Raises DamagedModel, BadSetting."""
    if not any(any(Path(folder).glob(pattern)) for pattern in WEIGHTS_FILES):
        raise DamagedModel(f"{folder} holds no weights (model.safetensors or pytorch_model.bin): save the model again")
    names = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8")).get("id2label")
    if isinstance(names, dict):
        _check_labels(str(folder), names)


def _check_labels(name: str, labels: Mapping[Any, object]) -> None:
    """`labels`: by number. Raises BadSetting where there are more than two, one of which has to be chosen."""
    if len(labels) > 2:
        names = ", ".join(f"{i} {label}" for i, label in labels.items())
        raise BadSetting(
            f"{name} has {len(labels)} labels ({names}): say which one answers, as classifier:model={name},positive=1"
        )


def stamp_files(path: Path) -> bytes:
    """The size and time of a file, or of each in a directory: another checkpoint in the same place has others."""
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    return repr([(p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in files]).encode()


def load_classifier(
    name: str, *, max_length: int | None = None, positive: int | None = None, activation: str = "auto"
) -> ClassifierRanker:
    """By directory or hub name. Raises DamagedModel where it cannot be read, UnsupportedBackbone for a model that
    classifies no texts, BadSetting for settings that do not fit it."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from as2core.nn.backbone import hide_progress_bars
    from as2core.nn.hub import NO_CODE, find_source
    from as2core.nn.pair_classifier import PairClassifier

    hide_progress_bars()
    source, options = find_source(name)
    try:
        model, report = AutoModelForSequenceClassification.from_pretrained(
            source, dtype=torch.float32, output_loading_info=True, **options, **NO_CODE
        )
        tokenizer = AutoTokenizer.from_pretrained(source, **options, **NO_CODE)
    except (OSError, ValueError, KeyError, ImportError) as e:
        raise _explain(name, e) from e
    if not getattr(tokenizer, "is_fast", False):
        raise UnsupportedBackbone(
            f"{name} has a slow tokenizer only: save it once with transformers, as tokenizer.json"
        )
    positions = getattr(model.config, "max_position_embeddings", None)
    if not isinstance(positions, int):
        raise UnsupportedBackbone(f"{name} is a {model.config.model_type} model, which reads no pairs here")
    labels = model.config.num_labels
    if positive is None:
        _check_labels(name, model.config.id2label)
    if positive is not None and not 0 <= positive < labels:
        raise BadSetting(f"positive={positive}: {name} has the labels 0 to {labels - 1}")
    module = PairClassifier(
        model.eval(), tokenizer, name, positive=labels - 1 if positive is None else positive, max_length=max_length
    )
    function = _find_activation(name, model.config.to_dict(), labels) if activation == "auto" else activation
    return ClassifierRanker(module, activation=check_activation(function), is_trained=not report["missing_keys"])


def check_activation(name: str) -> str:
    """The name of an activation. Raises BadSetting for an unknown one."""
    if name not in ACTIVATIONS:
        raise BadSetting(f"no activation {name!r}; known: auto, {', '.join(ACTIVATIONS)}")
    return name


def _find_activation(name: str, config: dict, labels: int) -> str:
    """What a CrossEncoder's own settings say; sentence-transformers takes the sigmoid of one label where they say
    nothing. A plain directory has none. Raises BadSetting for one that is not known here."""
    if labels > 1:
        return "none"
    own = _read_own_settings(name)
    places = (own.get("activation_fn"), (config.get("sentence_transformers") or {}).get("activation_fn"))
    path = next(filter(None, (*places, config.get("sbert_ce_default_activation_function"))), None)
    if path is None:
        return "sigmoid" if own.get("model_type") == "CrossEncoder" else "none"
    function = str(path).rpartition(".")[2]
    if function not in OF_SENTENCE_TRANSFORMERS:
        raise BadSetting(f"{name} scores by {path}, which is not known here: set activation=none, sigmoid or tanh")
    return OF_SENTENCE_TRANSFORMERS[function]


def _read_own_settings(name: str) -> dict:
    """sentence-transformers' file beside the model; {} where there is none."""
    from huggingface_hub import try_to_load_from_cache

    file = "config_sentence_transformers.json"
    path = Path(name) / file if is_folder(name) else try_to_load_from_cache(name, file)
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8")) if isinstance(path, str | Path) else {}
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _explain(name: str, error: Exception) -> DamagedModel | UnsupportedBackbone:
    """The error in one line with what to do."""
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if "trust_remote_code" in str(error):
        return UnsupportedBackbone(f"{name} needs Python code of its own, and such code is never run here")
    if not is_folder(name):
        return DamagedModel(
            f"{name!r} is no directory here, and not in the hub's cache, and could not be fetched: where there is a "
            f"network run `hf download {name} --local-dir DIR`, then give DIR ({reason})"
        )
    if "Unrecognized configuration class" in reason or "Unrecognized model" in reason:
        return UnsupportedBackbone(
            f"{name} holds no model that classifies texts ({reason}): its config.json has to name its model_type, such "
            'as "model_type": "roberta"; files of 2019 leave it out'
        )
    return DamagedModel(
        f"{name} could not be loaded: a checkpoint has config.json, model.safetensors (or pytorch_model.bin) and a "
        f"tokenizer ({reason})"
    )


def build(
    *, model: str = "", max_length: int | None = None, positive: int | None = None, activation: str = "auto"
) -> ClassifierRanker:
    return load_classifier(model, max_length=max_length, positive=positive, activation=activation)


RANKER = Entry(
    "classifier",
    "a fine-tuned checkpoint of transformers or sentence-transformers",
    "Garg et al. 2020",
    build,
    saved=(ClassifierRanker,),
    required="model",
)
