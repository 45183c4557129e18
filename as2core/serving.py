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
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import as2core
from as2core.errors import As2Error, BadSetting, DamagedModel, UnknownRanker
from as2core.lookup import cite, list_versions, load_ranker
from as2core.metrics import order
from as2core.rankers.base import CalibratesScores, Ranker
from as2core.terminal import print_note
from as2core.types import Candidate

ACTIVE = "active"  # the workbench's active version: another after a promotion
POLL_SECONDS = 5.0  # between two checks whether it is another
MAX_DOCUMENTS = 10_000  # in a request
MAX_TEXT_CHARS = 100_000
MAX_REQUEST_BYTES = 64 * 2**20

Text = Annotated[str, Field(max_length=MAX_TEXT_CHARS)]  # pydantic refuses invalid Unicode in strings with a limit


class Document(BaseModel):
    text: Text
    title: Text | None = None


class RerankRequest(BaseModel):
    """`model` is one of those served, the first if it is left out; a document is its text, or text and title, which is
    read before it."""

    model: str | None = None
    query: Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARS)]
    documents: Annotated[list[Text | Document], Field(min_length=1, max_length=MAX_DOCUMENTS)]
    top_n: Annotated[int | None, Field(ge=1)] = None
    return_documents: bool = True


class RerankResult(BaseModel):
    """`index` is the document's place in the request, from 0; `relevance_score` is what `to_relevance` gives."""

    index: int
    relevance_score: float
    document: Document | None = None


class RerankResponse(BaseModel):
    id: str
    model: str
    results: list[RerankResult]


class Model(BaseModel):
    """`version` and `weights`: the name on its card, and their SHA-256; of code without weights, its release."""

    id: str
    version: str | None
    weights: str | None


class Models(BaseModel):
    data: list[Model]


def to_relevance(ranker: Ranker, scores: np.ndarray) -> np.ndarray:
    """Scores `(n,)` as numbers from 0 to 1 in the same order: the probability that a sentence answers where the ranker
    is calibrated (of those a cascade did not drop), else a number that only gives the order."""
    if isinstance(ranker, CalibratesScores) and ranker.is_calibrated:
        return np.asarray(ranker.probability(scores))
    scores = np.asarray(scores, dtype=np.float64)  # the logistic function makes all large scores 1
    return 0.5 + scores / (2 * (1 + np.abs(scores)))


@dataclass
class ServedRankers:
    """The rankers that are served, by their specs: the first is the default. `follow` replaces the active version
    after a promotion; until the new one can be loaded, the one before answers."""

    specs: Sequence[str]
    load: Callable[[str], Ranker] = load_ranker
    versions: Callable[[], Mapping[str, Path]] = list_versions
    cite: Callable[[str], Mapping[str, str | None]] = cite
    _loaded: dict[str, tuple[Ranker, Model]] = field(default_factory=dict)
    _active: Path | None = None
    _last_error: str = ""
    _ranking: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._active = self._find_active()
        for spec in self.specs:
            try:
                self._load(spec)
            except (DamagedModel, UnknownRanker) as e:
                if spec.partition(":")[0] != ACTIVE:
                    raise
                self._load_shipped(spec, e)

    @property
    def models(self) -> list[Model]:
        """What answers now."""
        return [self._loaded[spec][1] for spec in self.specs]

    def rank(self, request: RerankRequest) -> tuple[str, list[tuple[int, float]]]:
        """The model's name, and (place, relevance) best first. Raises UnknownRanker, BadSetting, DamagedModel."""
        spec = request.model or self.specs[0]
        if spec not in self.specs:
            raise UnknownRanker(f"the model {spec!r} is not served here; known: {', '.join(self.specs)}")
        documents = [_to_document(d) for d in request.documents]
        candidates = [Candidate(str(i), d.text, title=d.title or "") for i, d in enumerate(documents)]
        ranker, _ = self._loaded[spec]
        with self._ranking:
            scores = ranker.score(request.query, candidates)
        relevance = to_relevance(ranker, scores)
        return spec, [(int(i), float(relevance[i])) for i in order(scores)[: request.top_n]]

    def follow(self) -> None:
        """Check once which version is active. Requests are answered meanwhile."""
        try:
            path = self._find_active()
            if path != self._active:
                for spec in self._active_specs:
                    self._load(spec)
                self._active = path
        except Exception as e:  # of any kind: requests go on; reported once, tried again at each check
            if str(e) != self._last_error:
                print_note(f"as2: the version before goes on: {e}")
                self._last_error = str(e)

    def follow_on(self) -> None:
        """`follow` every few seconds, in a thread that ends with the process."""

        def poll() -> None:
            while True:
                time.sleep(POLL_SECONDS)
                self.follow()

        if self._active_specs:
            threading.Thread(target=poll, name="follow", daemon=True).start()

    @property
    def _active_specs(self) -> list[str]:
        return [s for s in self.specs if s.partition(":")[0] == ACTIVE]

    def _find_active(self) -> Path | None:
        return self.versions().get(ACTIVE) if self._active_specs else None

    def _load_shipped(self, spec: str, error: As2Error) -> None:
        """The active version is lost: the shipped cascade answers under its name until it can be loaded."""
        print_note(f"as2: the active version cannot be used ({error}). The shipped cascade answers instead.")
        _, colon, settings = spec.partition(":")
        shipped = f"cascade{colon}{settings}"
        self._loaded[spec] = self.load(shipped), Model(id=spec, **self.cite(shipped))
        self._active = None  # `follow` tries again

    def _load(self, spec: str) -> None:
        self._loaded[spec] = self.load(spec), Model(id=spec, **self.cite(spec))


def build(rankers: ServedRankers) -> FastAPI:
    """The application; errors that a user can repair come as `{"detail": what was wrong and what to do}`."""
    app = FastAPI(title="AS2", version=as2core.__version__, docs_url=None, redoc_url=None)  # their pages need a CDN
    app.add_middleware(BodyLimit)

    @app.exception_handler(As2Error)
    def error_response(_request: Request, error: As2Error) -> JSONResponse:
        status = 404 if isinstance(error, UnknownRanker) else 400 if isinstance(error, BadSetting) else 503
        return JSONResponse({"detail": str(error)}, status)

    @app.exception_handler(RequestValidationError)
    def validation_response(_request: Request, error: RequestValidationError) -> JSONResponse:
        """Where and what, without the request, which may be large and hold numbers that JSON does not have."""
        return JSONResponse({"detail": [{"loc": e["loc"], "msg": e["msg"]} for e in error.errors()[:10]]}, 422)

    @app.post("/v1/rerank", response_model_exclude_none=True)
    def rerank(request: RerankRequest) -> RerankResponse:
        """Order documents by how well they answer the query."""
        model, ranking = rankers.rank(request)
        documents = [_to_document(d) if request.return_documents else None for d in request.documents]
        results = [RerankResult(index=i, relevance_score=score, document=documents[i]) for i, score in ranking]
        return RerankResponse(id=uuid.uuid4().hex, model=model, results=results)

    @app.get("/v1/models")
    async def models() -> Models:
        """What can be given as `model`."""
        return Models(data=rankers.models)

    return app


class BodyLimit:
    """Refuses a request as soon as it is larger than MAX_REQUEST_BYTES."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        size = 0

        async def receive_counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > MAX_REQUEST_BYTES:
                raise HTTPException(
                    413, f"a request holds at most {MAX_REQUEST_BYTES:,} bytes: send fewer documents at once"
                )
            return message

        await self._app(scope, receive_counted, send)


def _to_document(document: str | Document) -> Document:
    return document if isinstance(document, Document) else Document(text=document)
