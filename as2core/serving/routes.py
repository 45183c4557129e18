"""The application: the paths under which clients of Cohere, Jina, vLLM and TEI look for a reranker, and its errors."""

from __future__ import annotations

import logging
import uuid
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException as AnyHTTPException

import as2core
from as2core.errors import As2Error, BadSetting, UnknownRanker
from as2core.serving.bodies import (
    MAX_DOCUMENTS,
    ApiVersion,
    EitherRequest,
    Info,
    Meta,
    Models,
    Problem,
    RerankRequest,
    RerankResponse,
    RerankResult,
    TextScore,
    TextsRequest,
    Tokens,
    Usage,
)
from as2core.serving.limits import BodyLimit
from as2core.serving.metrics import CountsRequests, Meter
from as2core.serving.rankers import Ranking, ServedRankers

log = logging.getLogger(__name__)
MAX_INPUT_TOKENS = 512  # told where the ranker has no limit of its own
MAX_PROBLEMS = 10  # of an invalid request, in the answer
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text}
    for status, text in {
        400: "a setting is not allowed",
        404: "no such model",
        413: "the request is too large",
        422: "the request is invalid",
        503: "the model's files are damaged",
    }.items()
}


def build(rankers: ServedRankers) -> FastAPI:
    """The application; errors that a user can repair come as `{"detail", "message"}`: what was wrong, what to do."""
    app = FastAPI(title="AS2", version=as2core.__version__, docs_url=None, redoc_url=None)  # their pages need a CDN
    meter = Meter()
    app.add_middleware(BodyLimit)
    app.add_middleware(CountsRequests, meter=meter)
    _add_errors(app)
    _add_ranking(app, rankers, meter)
    _add_descriptions(app, rankers, meter)
    return app


def _add_ranking(app: FastAPI, rankers: ServedRankers, meter: Meter) -> None:
    def rank(request: RerankRequest | TextsRequest) -> Ranking:
        candidates = request.list_candidates()
        ranking = rankers.rank(request.model, request.query, candidates)
        meter.count_documents(ranking.model, len(candidates))
        return ranking

    @app.post("/v1/rerank", response_model_exclude_none=True, responses=PROBLEMS)
    def rerank(request: RerankRequest) -> RerankResponse:
        """Order documents by how well they answer the query."""
        return answer(request, rank(request), "1")

    @app.post("/v2/rerank", response_model_exclude_none=True, responses=PROBLEMS)
    def rerank_2(request: RerankRequest) -> RerankResponse:
        """The same, where Cohere's newer clients look for it."""
        return answer(request, rank(request), "2")

    @app.post("/rerank", response_model_exclude_none=True, responses=PROBLEMS)
    def rerank_either(request: EitherRequest) -> RerankResponse | list[TextScore]:
        """The same, or with `texts` what Hugging Face's TEI answers."""
        ranking = rank(request)
        return answer_texts(request, ranking) if isinstance(request, TextsRequest) else answer(request, ranking, "1")


def _add_descriptions(app: FastAPI, rankers: ServedRankers, meter: Meter) -> None:
    @app.get("/v1/models")
    async def models() -> Models:
        """What can be given as `model`."""
        return Models(data=rankers.models)

    @app.get("/info")
    async def info() -> Info:
        """The default model and the limits, in TEI's words."""
        return describe(rankers)

    @app.get("/")
    @app.get("/health")
    @app.get("/ping")
    async def health() -> dict[str, str]:
        """Whether it answers: its rankers were loaded before it began to listen."""
        return {"status": "ok"}

    @app.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Counts for Prometheus."""
        return Response(meter.write(), media_type="text/plain; version=1.0.0; charset=utf-8")


def answer(request: RerankRequest, ranking: Ranking, version: str) -> RerankResponse:
    """The results in Cohere's, Jina's and vLLM's shape, best first."""
    documents = None if request.return_documents is False else request.list_documents()
    tokens = ranking.relevance.tokens
    return RerankResponse(
        id=uuid.uuid4().hex,
        model=ranking.model,
        results=[
            RerankResult(
                index=i,
                relevance_score=float(ranking.relevance.values[i]),
                document=None if documents is None else documents[i],
            )
            for i in ranking.places[: request.top_n].tolist()
        ],
        usage=Usage(total_tokens=tokens, prompt_tokens=tokens),
        meta=Meta(api_version=ApiVersion(version=version), tokens=Tokens(input_tokens=tokens)),
    )


def answer_texts(request: TextsRequest, ranking: Ranking) -> list[TextScore]:
    """The results in TEI's shape, best first."""
    scores = ranking.relevance.scores if request.raw_scores else ranking.relevance.values
    return [
        TextScore(index=i, score=float(scores[i]), text=request.texts[i] if request.return_text else None)
        for i in ranking.places[: request.top_n].tolist()
    ]


def describe(rankers: ServedRankers) -> Info:
    ranker, model = rankers.default
    longest = getattr(ranker, "max_length", MAX_INPUT_TOKENS)
    return Info(
        model_id=model.id,
        model_sha=model.weights,
        model_type={"reranker": {"id2label": {"0": "answers"}, "label2id": {"answers": 0}}},
        max_concurrent_requests=1,
        max_input_length=longest,
        max_batch_tokens=longest * MAX_DOCUMENTS,
        max_client_batch_size=MAX_DOCUMENTS,
        version=as2core.__version__,
    )


def _add_errors(app: FastAPI) -> None:
    def respond(status: int, message: str, detail: object = None, headers: Any = None) -> JSONResponse:
        return JSONResponse({"detail": message if detail is None else detail, "message": message}, status, headers)

    @app.exception_handler(As2Error)
    def error_response(_request: Request, error: As2Error) -> JSONResponse:
        status = 404 if isinstance(error, UnknownRanker) else 400 if isinstance(error, BadSetting) else 503
        return respond(status, str(error))

    @app.exception_handler(RequestValidationError)
    def validation_response(_request: Request, error: RequestValidationError) -> JSONResponse:
        """Where and what, without the request, which may be large and hold numbers that JSON does not have."""
        problems = [{"loc": e["loc"], "msg": e["msg"]} for e in error.errors()[:MAX_PROBLEMS]]
        message = "; ".join(f"{'.'.join(map(str, p['loc'][1:]))}: {p['msg']}" for p in problems)
        return respond(422, message, problems)

    @app.exception_handler(AnyHTTPException)
    def http_response(_request: Request, error: HTTPException) -> JSONResponse:
        return respond(error.status_code, str(error.detail), headers=error.headers)

    @app.exception_handler(Exception)
    def unexpected_response(_request: Request, error: Exception) -> JSONResponse:
        reference = uuid.uuid4().hex[:8]
        log.error("request %s failed", reference, exc_info=error)
        return respond(500, f"an unexpected error; the server's log has it under {reference}")
