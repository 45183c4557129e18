"""The application: the paths under which clients of Cohere, Jina, vLLM and TEI look for a reranker, and its errors."""

from __future__ import annotations

import logging
import re
import uuid
from functools import partial
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.security import APIKeyHeader, HTTPBearer
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from as2core.errors import As2Error, BadSetting, Cancelled, UnknownRanker
from as2core.serving.answers import write_results
from as2core.serving.bodies import (
    MAX_DOCUMENTS,
    EitherRequest,
    Info,
    Models,
    Problem,
    RerankRequest,
    RerankResponse,
    TextScore,
    TextsRequest,
)
from as2core.serving.embeddings import EmbeddingsRequest, EmbeddingsResponse, ServedEmbedder, write_embeddings
from as2core.serving.fair_queue import FairQueue, Overloaded, TooManyRequests
from as2core.serving.keys import OPEN_PATHS, KeyGuard, KeyRing
from as2core.serving.limits import BodyLimit
from as2core.serving.metrics import CountsRequests, Meter
from as2core.serving.problems import describe_unreadable, list_problems
from as2core.serving.queued_work import QueuedWork, name_key
from as2core.serving.rankers import ServedRankers, Unavailable
from as2core.version import __version__

log = logging.getLogger(__name__)
KEY_SCHEMES = (HTTPBearer(auto_error=False), APIKeyHeader(name="X-API-Key", auto_error=False))
SLASHES = re.compile("/{2,}")
ORIGIN = re.compile("^https?://[^/]*", re.IGNORECASE)
MAX_PATH_CHARS = 100  # of a path, in an answer
POST_PATHS = "POST to /v1/rerank, /v2/rerank, /rerank or /v1/embeddings; /openapi.json describes all paths"
MAX_INPUT_TOKENS = 512  # told where the ranker has no limit of its own
STATUS = {UnknownRanker: 404, BadSetting: 400, TooManyRequests: 429, Cancelled: 499}  # of other errors: 503
MAX_PROBLEMS = 10  # of an invalid request, in the answer
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text}
    for status, text in {
        400: "a setting is not allowed, or the body cannot be read",
        401: "a key is needed",
        403: "the host name is not one of the server's",
        404: "no such model",
        408: "the request took too long to come",
        413: "the request is too large",
        422: "the request is invalid",
        429: "too many requests of this client at once",
        503: "the model's files are damaged, nothing computes at present, or too many requests are waiting",
    }.items()
}


class PlainPaths:
    """ASGI middleware that takes `//v1/rerank/` for `/v1/rerank`: a base address with a slash at its end makes it. And
    `http://HOST/v1/rerank`, which clients send that take the server for a proxy (RFC 9112, section 3.2.2)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "path": SLASHES.sub("/", ORIGIN.sub("", scope["path"])).rstrip("/") or "/"}
        await self._app(scope, receive, send)


def build(
    rankers: ServedRankers,
    *,
    embedder: ServedEmbedder | None = None,
    keys: KeyRing | None = None,
    queue: FairQueue | None = None,
) -> FastAPI:
    """The application; errors that a user can repair come as `{"detail", "message"}`: what was wrong, what to do.
    Without `keys` it answers everybody, without `embedder` it embeds nothing."""
    schemes = () if keys is None else KEY_SCHEMES  # for the description; KeyGuard refuses
    dependencies = [Security(scheme) for scheme in schemes]
    app = FastAPI(
        title="AS2",
        version=__version__,
        dependencies=dependencies,
        docs_url=None,  # the pages need a CDN
        redoc_url=None,
        redirect_slashes=False,  # some clients do not follow: PlainPaths
    )
    queue, meter = FairQueue() if queue is None else queue, Meter()
    meter.watch_queue(queue.__len__)
    app.add_middleware(BodyLimit)
    if keys is not None:
        app.add_middleware(KeyGuard, keys=keys)
    app.add_middleware(CountsRequests, meter=meter)
    app.add_middleware(PlainPaths)
    _add_errors(app)
    line = QueuedWork(queue, meter)
    _add_ranking(app, rankers, line)
    if embedder is not None:
        _add_embedding(app, embedder, line)
    _add_descriptions(app, rankers, embedder, line)
    return app


def _add_ranking(app: FastAPI, rankers: ServedRankers, line: QueuedWork) -> None:
    async def respond(http: Request, request: RerankRequest | TextsRequest, version: str = "1") -> Response:
        spec = rankers.choose(request.model)
        candidates = request.list_candidates()
        rank = partial(rankers.rank, spec, request.query, candidates)
        write = partial(write_results, request, version=version)
        response = await line.respond(http, len(candidates), request.priority, rank, write)
        line.meter.count_documents(spec, name_key(http), len(candidates))
        return response

    @app.post("/v1/rerank", response_model=RerankResponse, responses=PROBLEMS)
    async def rerank(http: Request, request: RerankRequest) -> Response:
        """Order documents by how well they answer the query."""
        return await respond(http, request)

    @app.post("/v2/rerank", response_model=RerankResponse, responses=PROBLEMS)
    async def rerank_2(http: Request, request: RerankRequest) -> Response:
        """The same, where Cohere's newer clients look for it."""
        return await respond(http, request, "2")

    @app.post("/rerank", response_model=RerankResponse | list[TextScore], responses=PROBLEMS)
    async def rerank_either(http: Request, request: EitherRequest) -> Response:
        """The same, or with `texts` what Hugging Face's TEI answers."""
        return await respond(http, request)


def _add_embedding(app: FastAPI, embedder: ServedEmbedder, line: QueuedWork) -> None:
    @app.post("/v1/embeddings", response_model=EmbeddingsResponse, responses=PROBLEMS)
    async def embeddings(http: Request, request: EmbeddingsRequest) -> Response:
        """Vectors of texts."""
        embedder.check(request.model)
        texts = request.list_texts()
        embed = partial(embedder.embed, texts, request.dimensions)
        write = partial(write_embeddings, request, embedder.spec)
        response = await line.respond(http, len(texts), request.priority, embed, write)
        line.meter.count_documents(embedder.spec, name_key(http), len(texts))
        return response


def _add_descriptions(app: FastAPI, rankers: ServedRankers, embedder: ServedEmbedder | None, line: QueuedWork) -> None:
    @app.get("/v1/models")
    async def models() -> Models:
        """What can be given as `model`, and for which task."""
        return Models(data=[*rankers.models, *([embedder.describe()] if embedder else [])])

    @app.get("/info")
    async def info() -> Info:
        """The default model and the limits, in TEI's words."""
        return describe(rankers, line.queue.max_requests)

    @app.get("/")
    @app.get("/health")
    @app.get("/ping")
    async def health() -> dict[str, str]:
        """Whether it answers: its rankers were loaded before it began to listen."""
        return {"status": "ok"}

    for path in OPEN_PATHS:  # as monitors and some load balancers ask
        app.head(path, include_in_schema=False)(health)

    @app.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Counts for Prometheus."""
        return Response(line.meter.write(), media_type="text/plain; version=1.0.0; charset=utf-8")


def describe(rankers: ServedRankers, max_requests: int) -> Info:
    ranker, model = rankers.default.ranker, rankers.default.model
    longest = getattr(ranker, "max_length", MAX_INPUT_TOKENS)
    return Info(
        model_id=model.id,
        model_sha=model.weights,
        model_type={"reranker": {"id2label": {"0": "answers"}, "label2id": {"answers": 0}}},
        max_concurrent_requests=max_requests,
        max_input_length=longest,
        max_batch_tokens=longest * MAX_DOCUMENTS,
        max_client_batch_size=MAX_DOCUMENTS,
        version=__version__,
    )


def _describe_refusal(request: Request, error: HTTPException) -> str:
    """What FastAPI says of a request that reached no function of ours, and what to do."""
    if error.status_code == 400:  # it could not read the body, and says no more
        return describe_unreadable(error.__cause__)
    if error.status_code == 404:
        return f"{error.detail}: {request.url.path[:MAX_PATH_CHARS]} is no path here. {POST_PATHS}"
    if error.status_code == 405 and error.headers:
        path, allowed = request.url.path, error.headers["Allow"]
        hint = f". {POST_PATHS}" if request.method == "POST" else ""  # a client that was given the address alone
        return f"{error.detail}: {request.method} is not for {path}, use {allowed}{hint}"
    return str(error.detail)


def _add_errors(app: FastAPI) -> None:
    def respond(status: int, message: str, detail: object = None, headers: Any = None) -> JSONResponse:
        return JSONResponse({"detail": message if detail is None else detail, "message": message}, status, headers)

    @app.exception_handler(As2Error)
    def error_response(_request: Request, error: As2Error) -> JSONResponse:
        status = next((status for kind, status in STATUS.items() if isinstance(error, kind)), 503)
        retry = {"Retry-After": "1"} if isinstance(error, (TooManyRequests, Overloaded, Unavailable)) else None
        return respond(status, str(error), headers=retry)

    @app.exception_handler(RequestValidationError)
    def validation_response(_request: Request, error: RequestValidationError) -> JSONResponse:
        """Where and what, without the request, which may be large and hold numbers that JSON does not have."""
        problems = list_problems(error.errors())[:MAX_PROBLEMS]
        detail = [{"loc": ("body", *p.place), "msg": p.text} for p in problems]
        return respond(422, "; ".join(map(str, problems)), detail)

    @app.exception_handler(AnyHTTPException)
    def http_response(request: Request, error: HTTPException) -> JSONResponse:
        return respond(error.status_code, _describe_refusal(request, error), headers=error.headers)

    @app.exception_handler(Exception)
    def unexpected_response(_request: Request, error: Exception) -> JSONResponse:
        reference = uuid.uuid4().hex[:8]
        log.error("request %s failed", reference, exc_info=error)
        return respond(500, f"an unexpected error; the server's log has it under {reference}")
