"""`POST /v1/rerank`: rankers over HTTP, in the shape that clients of Cohere's and Jina's rerankers know.

`{model, query, documents, top_n, return_documents}` comes in, `{id, model, results: [{index, relevance_score,
document}]}` goes out, best first. The process keeps its rankers loaded, and ranks one request after another: a second
one at the same time would only make both slower on a CPU.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from scipy.special import expit

import as2core
from as2core.errors import As2Error, UnknownRanker
from as2core.named import cite, ranker_named, versions
from as2core.rankers.base import Ranker, order
from as2core.types import Candidate

ACTIVE = "active"  # the version that answers in the workbench: another after a promotion
LOOK = 5.0  # seconds between two looks whether it is another
MOST = 10_000  # documents in a request


class Document(BaseModel):
    text: str
    title: str | None = None


class Asked(BaseModel):
    """A request. `model` is one of those served, the first if it is left out; a document is its text, or text and
    title, which is read before it."""

    model: str | None = None
    query: Annotated[str, Field(min_length=1)]
    documents: Annotated[list[str | Document], Field(min_length=1, max_length=MOST)]
    top_n: Annotated[int | None, Field(ge=1)] = None
    return_documents: bool = True


class Result(BaseModel):
    """`index` is the document's place in the request, from 0; `relevance_score` is what `relevance` gives."""

    index: int
    relevance_score: float
    document: Document | None = None


class Answer(BaseModel):
    id: str
    model: str
    results: list[Result]


class Model(BaseModel):
    """`version` and `weights`: the name on its card, and their SHA-256; of code without weights, its release."""

    id: str
    version: str | None
    weights: str | None


class Models(BaseModel):
    data: list[Model]


def relevance(ranker: Ranker, scores: np.ndarray) -> np.ndarray:
    """Scores `(n,)` as numbers from 0 to 1 in the same order: the probability that a sentence answers where the ranker
    is calibrated, else the logistic function of its score, which tells the order alone."""
    return np.asarray(ranker.probability(scores) if getattr(ranker, "calibrated", False) else expit(scores))


@dataclass
class Rankers:
    """The rankers that are served, by what they were asked for as: the first is the default. `active` is loaded anew
    when another version answers in the workbench; until that can be loaded, the one before goes on."""

    specs: Sequence[str]
    load: Callable[[str], Ranker] = ranker_named
    versions: Callable[[], Mapping[str, Path]] = versions
    clock: Callable[[], float] = time.monotonic
    _loaded: dict[str, Ranker] = field(default_factory=dict)
    _active: Path | None = None
    _looked: float = -LOOK
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        for spec in self.specs:
            self._get(spec)

    def rank(self, asked: Asked) -> tuple[str, list[tuple[int, float]]]:
        """The model's name, and (place, relevance) best first. Raises UnknownRanker, BadSetting, DamagedModel."""
        spec = asked.model or self.specs[0]
        if spec not in self.specs:
            raise UnknownRanker(f"the model {spec!r} is not served here; known: {', '.join(self.specs)}")
        documents = [_document(d) for d in asked.documents]
        candidates = [Candidate(str(i), d.text, title=d.title or "") for i, d in enumerate(documents)]
        with self._lock:
            ranker = self._get(spec)
            scores = ranker.score(asked.query, candidates)
        relevant = relevance(ranker, scores)
        return spec, [(int(i), float(relevant[i])) for i in order(scores)[: asked.top_n]]

    def _get(self, spec: str) -> Ranker:
        now = self.clock()
        if spec == ACTIVE and now - self._looked >= LOOK:
            self._looked = now
            self._follow()
        if spec not in self._loaded:
            self._loaded[spec] = self.load(spec)
        return self._loaded[spec]

    def _follow(self) -> None:
        try:
            path = self.versions().get(ACTIVE)
            if path != self._active:
                self._loaded[ACTIVE] = self.load(ACTIVE)
                self._active = path
        except As2Error:
            if ACTIVE not in self._loaded:
                raise


def build(rankers: Rankers) -> FastAPI:
    """The application; errors that a user can mend come as `{"detail": what was wrong and what to do}`."""
    app = FastAPI(title="AS2", version=as2core.__version__, docs_url=None, redoc_url=None)  # their pages need a CDN

    @app.exception_handler(As2Error)
    def told(_request: Request, error: As2Error) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 404 if isinstance(error, UnknownRanker) else 400)

    @app.post("/v1/rerank", response_model_exclude_none=True)
    def rerank(asked: Asked) -> Answer:
        """Order documents by how well they answer the query."""
        model, ranked = rankers.rank(asked)
        back = asked.return_documents
        results = [
            Result(index=i, relevance_score=score, document=_document(asked.documents[i]) if back else None)
            for i, score in ranked
        ]
        return Answer(id=uuid.uuid4().hex, model=model, results=results)

    @app.get("/v1/models")
    def models() -> Models:
        """What can be asked for as `model`."""
        return Models(data=[Model(id=spec, **cite(spec)) for spec in rankers.specs])

    return app


def _document(given: str | Document) -> Document:
    return given if isinstance(given, Document) else Document(text=given)
