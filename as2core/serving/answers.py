"""A ranking written as the client expects it."""

from __future__ import annotations

import uuid

from pydantic import TypeAdapter

from as2core.serving.bodies import (
    ApiVersion,
    Meta,
    RerankRequest,
    RerankResponse,
    RerankResult,
    TextScore,
    TextsRequest,
    Tokens,
    Usage,
)
from as2core.serving.rankers import Ranking

TEXT_SCORES = TypeAdapter(list[TextScore])


def write_results(request: RerankRequest | TextsRequest, ranking: Ranking, *, version: str) -> bytes:
    """The answer's JSON. `version` is that of Cohere's API, which its clients read."""
    if isinstance(request, TextsRequest):
        return TEXT_SCORES.dump_json(list_text_scores(request, ranking), exclude_none=True)
    return describe_results(request, ranking, version).model_dump_json(exclude_none=True).encode()


def describe_results(request: RerankRequest, ranking: Ranking, version: str) -> RerankResponse:
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


def list_text_scores(request: TextsRequest, ranking: Ranking) -> list[TextScore]:
    """The results in TEI's shape, best first."""
    scores = ranking.relevance.scores if request.raw_scores else ranking.relevance.values
    return [
        TextScore(index=i, score=float(scores[i]), text=request.texts[i] if request.return_text else None)
        for i in ranking.places[: request.top_n].tolist()
    ]
