"""A FastAPI route around a peer, which takes one request after another.

    python benchmarks/_loop_server.py cross-encoder FOLDER LENGTH PORT   sentence-transformers', of an exported model
    python benchmarks/_loop_server.py openvino FILE LENGTH PORT          OpenVINO's, of `_peers.compress`

OpenVINO's has torch in memory, too: its texts are tokenised by our code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import uvicorn
from fastapi import FastAPI

Rank = Callable[[str, list[str]], list[tuple[int, float]]]  # the place and score of each document, best first


def load_cross_encoder(path: str, length: int) -> Rank:
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(path, device="cpu", max_length=length, trust_remote_code=True)

    def rank(query: str, documents: list[str]) -> list[tuple[int, float]]:
        results = model.rank(query, documents, show_progress_bar=False)
        return [(int(r["corpus_id"]), float(r["score"])) for r in results]

    return rank


def load_openvino(path: str, length: int) -> Rank:
    import _peers

    from as2core.rankers.cascade import CascadeRanker
    from as2core.rankers.catalog import get
    from as2core.system.cores import count_cores

    cascade = get("cascade:engine=torch")
    assert isinstance(cascade, CascadeRanker) and cascade.max_length == length
    score = _peers.openvino(cascade, Path(path), streams=count_cores())

    def rank(query: str, documents: list[str]) -> list[tuple[int, float]]:
        scores = score([(query, text) for text in documents])
        return [(int(i), float(scores[i])) for i in (-scores).argsort()]

    return rank


def main() -> None:
    peer, path, length, port = sys.argv[1:]
    rank = {"cross-encoder": load_cross_encoder, "openvino": load_openvino}[peer](path, int(length))
    app = FastAPI()

    @app.get("/health")
    def health() -> dict:
        return {}

    @app.post("/rerank")
    async def rerank(body: dict) -> dict:
        results = rank(body["query"], body["documents"])
        return {"results": [{"index": i, "relevance_score": score} for i, score in results]}

    uvicorn.run(app, port=int(port), log_level="warning")


if __name__ == "__main__":
    main()
