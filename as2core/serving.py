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
from as2core.errors import As2Error, BadSetting, UnknownRanker
from as2core.named import cite, ranker_named, versions
from as2core.rankers.base import Ranker, order
from as2core.terminal import note
from as2core.types import Candidate

ACTIVE = "active"  # the version that answers in the workbench: another after a promotion
LOOK = 5.0  # seconds between two looks whether it is another
MOST = 10_000  # documents in a request
LONGEST = 100_000  # characters of a text
LARGEST = 64 * 2**20  # bytes of a request

Text = Annotated[str, Field(max_length=LONGEST)]  # pydantic refuses what is no Unicode in strings with a limit


class Document(BaseModel):
    text: Text
    title: Text | None = None


class Asked(BaseModel):
    """A request. `model` is one of those served, the first if it is left out; a document is its text, or text and
    title, which is read before it."""

    model: str | None = None
    query: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    documents: Annotated[list[Text | Document], Field(min_length=1, max_length=MOST)]
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
    is calibrated (of those a cascade did not drop), else a number that tells the order alone."""
    if getattr(ranker, "calibrated", False):
        return np.asarray(ranker.probability(scores))
    scores = np.asarray(scores, dtype=np.float64)  # the logistic function makes all large scores 1
    return 0.5 + scores / (2 * (1 + np.abs(scores)))


@dataclass
class Rankers:
    """The rankers that are served, by what they were asked for as: the first is the default. `follow` takes another
    version where another answers in the workbench; until that can be loaded, the one before goes on."""

    specs: Sequence[str]
    load: Callable[[str], Ranker] = ranker_named
    versions: Callable[[], Mapping[str, Path]] = versions
    cited: Callable[[str], Mapping[str, str | None]] = cite
    _loaded: dict[str, tuple[Ranker, Model]] = field(default_factory=dict)
    _active: Path | None = None
    _said: str = ""
    _ranking: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._active = self._answering()
        for spec in self.specs:
            self._take(spec)

    @property
    def models(self) -> list[Model]:
        """What answers now."""
        return [self._loaded[spec][1] for spec in self.specs]

    def rank(self, asked: Asked) -> tuple[str, list[tuple[int, float]]]:
        """The model's name, and (place, relevance) best first. Raises UnknownRanker, BadSetting, DamagedModel."""
        spec = asked.model or self.specs[0]
        if spec not in self.specs:
            raise UnknownRanker(f"the model {spec!r} is not served here; known: {', '.join(self.specs)}")
        documents = [_document(d) for d in asked.documents]
        candidates = [Candidate(str(i), d.text, title=d.title or "") for i, d in enumerate(documents)]
        ranker, _ = self._loaded[spec]
        with self._ranking:
            scores = ranker.score(asked.query, candidates)
        relevant = relevance(ranker, scores)
        return spec, [(int(i), float(relevant[i])) for i in order(scores)[: asked.top_n]]

    def follow(self) -> None:
        """Look once which version answers. Requests are answered all the while."""
        try:
            path = self._answering()
            if path != self._active:
                for spec in self._following:
                    self._take(spec)
                self._active = path
        except Exception as e:  # of any kind: the requests go on; said once, tried again at each look
            if str(e) != self._said:
                note(f"as2: the version before goes on: {e}")
                self._said = str(e)

    def follow_on(self) -> None:
        """`follow` every few seconds, in a thread that ends with the process."""

        def look() -> None:
            while True:
                time.sleep(LOOK)
                self.follow()

        if self._following:
            threading.Thread(target=look, name="follow", daemon=True).start()

    @property
    def _following(self) -> list[str]:
        return [s for s in self.specs if s.partition(":")[0] == ACTIVE]

    def _answering(self) -> Path | None:
        return self.versions().get(ACTIVE) if self._following else None

    def _take(self, spec: str) -> None:
        self._loaded[spec] = self.load(spec), Model(id=spec, **self.cited(spec))


def build(rankers: Rankers) -> FastAPI:
    """The application; errors that a user can mend come as `{"detail": what was wrong and what to do}`."""
    app = FastAPI(title="AS2", version=as2core.__version__, docs_url=None, redoc_url=None)  # their pages need a CDN
    app.add_middleware(_Bounded)

    @app.exception_handler(As2Error)
    def told(_request: Request, error: As2Error) -> JSONResponse:
        status = 404 if isinstance(error, UnknownRanker) else 400 if isinstance(error, BadSetting) else 503
        return JSONResponse({"detail": str(error)}, status)

    @app.exception_handler(RequestValidationError)
    def misshapen(_request: Request, error: RequestValidationError) -> JSONResponse:
        """Where and what, without the request, which may be large and have numbers that JSON has not."""
        wrong = [{"loc": e["loc"], "msg": e["msg"]} for e in error.errors()[:10]]
        return JSONResponse({"detail": wrong}, 422)

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
    async def models() -> Models:
        """What can be asked for as `model`."""
        return Models(data=rankers.models)

    return app


class _Bounded:
    """Refuses a request as soon as more has come of it than one may hold."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        come = 0

        async def counted() -> Message:
            nonlocal come
            message = await receive()
            come += len(message.get("body", b""))
            if come > LARGEST:
                raise HTTPException(413, f"a request holds at most {LARGEST:,} bytes: send fewer documents at once")
            return message

        await self._app(scope, counted, send)


def _document(given: str | Document) -> Document:
    return given if isinstance(given, Document) else Document(text=given)
