"""A compressor of LangChain: `ContextualCompressionRetriever(base_compressor=As2Rerank(top_n=5), ...)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from as2core.reranker import Reranker
from as2core.types import Candidate

try:
    from langchain_core.documents import BaseDocumentCompressor, Document
    from pydantic import ConfigDict, PrivateAttr
except ImportError as e:
    raise ImportError(f"this needs {e.name}: pip install -e '.[langchain]' in the checkout", name=e.name) from e


class As2Rerank(BaseDocumentCompressor):
    """Keeps the `top_n` documents that answer best, with their `relevance_score` in the metadata. `model` as
    `as2core.Reranker` takes it; a document's `title` in its metadata is read before its text."""

    model_config = ConfigDict(extra="forbid")  # a misspelt setting would be without effect

    model: str = "active"
    top_n: int | None = 3
    _reranker: Reranker = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._reranker = Reranker(self.model)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        candidates = [
            Candidate(str(i), d.page_content, title=str(d.metadata.get("title") or "")) for i, d in enumerate(documents)
        ]
        return [
            documents[r["corpus_id"]].model_copy(
                update={"metadata": {**documents[r["corpus_id"]].metadata, "relevance_score": r["score"]}}
            )
            for r in self._reranker.rank(query, candidates, top_k=self.top_n)
        ]
