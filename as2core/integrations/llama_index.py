"""A postprocessor of LlamaIndex: `index.as_query_engine(node_postprocessors=[As2Rerank(top_n=5)])`."""

from __future__ import annotations

from typing import Any

from as2core.errors import BadSetting
from as2core.reranker import Reranker
from as2core.types import Candidate

try:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
    from pydantic import ConfigDict, PrivateAttr
except ImportError as e:
    raise ImportError(f"this needs {e.name}: pip install -e '.[llama-index]' in the checkout", name=e.name) from e


class As2Rerank(BaseNodePostprocessor):
    """Keeps the `top_n` nodes that answer best, with their scores. `model` as `as2core.Reranker` takes it; a node's
    `title` in its metadata is read before its text."""

    model_config = ConfigDict(extra="forbid")  # a misspelt setting would be without effect

    model: str = "active"
    top_n: int | None = 3
    _reranker: Reranker = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._reranker = Reranker(self.model)

    @classmethod
    def class_name(cls) -> str:
        return "As2Rerank"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise BadSetting("nodes cannot be ranked without a query: give query_str or query_bundle")
        candidates = [
            Candidate(
                str(i),
                n.node.get_content(metadata_mode=MetadataMode.NONE),
                title=str(n.node.metadata.get("title") or ""),
            )
            for i, n in enumerate(nodes)
        ]
        return [
            NodeWithScore(node=nodes[r["corpus_id"]].node, score=r["score"])
            for r in self._reranker.rank(query_bundle.query_str, candidates, top_k=self.top_n)
        ]
