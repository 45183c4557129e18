"""`POST /v1/embeddings`: vectors of texts, in OpenAI's shape, by a bi-encoder that is loaded when it is first asked."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field

from as2core.errors import BadSetting, UnknownRanker
from as2core.lookup import cite, load_ranker
from as2core.rankers.base import Ranker
from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.serving.bodies import MAX_DOCUMENTS, Model, ModelName, Priority, Text, Usage
from as2core.types import MAX_TEXT_CHARS


class EmbeddingsRequest(BaseModel):
    """`input` is a text, or several; token numbers, which some clients send, mean nothing to another tokenizer."""

    input: Text | Annotated[list[Text], Field(min_length=1, max_length=MAX_DOCUMENTS)]
    model: ModelName | None = None
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = None
    priority: Priority = None

    def list_texts(self) -> list[str]:
        return [text[:MAX_TEXT_CHARS] for text in ([self.input] if isinstance(self.input, str) else self.input)]


class Embedding(BaseModel):
    """`embedding`: numbers, or the base64 of float32, little end first."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class EmbeddingsResponse(BaseModel):
    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: Usage


@dataclass
class ServedEmbedder:
    """`spec` names a bi-encoder, as the catalog does. Threads may share it."""

    spec: str = "bi-encoder"
    load: Callable[[str], Ranker] = load_ranker
    cite: Callable[[str], Mapping[str, str | None]] = cite
    _ranker: BiEncoderRanker | None = field(default=None, init=False)
    _loading: threading.Lock = field(default_factory=threading.Lock, init=False)

    def describe(self) -> Model:
        card = self.cite(self.spec)
        return Model(id=self.spec, version=card["version"], weights=card["weights"], task="embeddings")

    def check(self, model: str | None) -> None:
        """Raises UnknownRanker for another model."""
        if model and model != self.spec:
            raise UnknownRanker(f"the model {model!r} does not embed here; known: {self.spec}")

    def embed(self, texts: Sequence[str], dimensions: int | None) -> np.ndarray:
        """Unit vectors, float32 `(n, hidden)`. Raises BadSetting if there are no `dimensions` of that number."""
        ranker = self.load_ranker()
        width = ranker.backbone.hidden
        if dimensions not in (None, width):
            raise BadSetting(f"dimensions={dimensions}: the vectors of {self.spec} have {width}")
        return ranker.embed(texts)

    def load_ranker(self) -> BiEncoderRanker:
        """Once, by whoever asks first. Raises BadSetting for one that is no bi-encoder, UnknownRanker, DamagedModel."""
        with self._loading:
            if self._ranker is None:
                ranker = self.load(self.spec)
                if not isinstance(ranker, BiEncoderRanker):
                    raise BadSetting(f"{self.spec} gives no vectors: start the server with --embedder bi-encoder")
                self._ranker = ranker
            return self._ranker


def write_embeddings(request: EmbeddingsRequest, model: str, vectors: np.ndarray) -> bytes:
    """The JSON of the answer. `vectors`: float32 (texts, d), in the order of the request's texts."""
    words = sum(len(t.split()) for t in request.list_texts())
    is_packed = request.encoding_format == "base64"
    data = [
        Embedding(index=i, embedding=base64.b64encode(v.astype("<f4").tobytes()).decode() if is_packed else v.tolist())
        for i, v in enumerate(vectors)
    ]
    usage = Usage(total_tokens=words, prompt_tokens=words)
    return EmbeddingsResponse(data=data, model=model, usage=usage).model_dump_json().encode()
