"""Rankers inside LangChain and LlamaIndex, by the packages themselves."""

from __future__ import annotations

import numpy as np
import pytest

from as2core import reranker

pytestmark = pytest.mark.clients

QUERY = "when was the tower finished"
TEXTS = ["A bridge crosses the river.", "It was finished in 1889.", "It was finished in 1889.", "Nothing at all."]
TITLES = ["", "", "The tower", ""]
MISSING = "its package is missing: pip install -e '.[langchain,llama-index]'"


class CountsWords:
    """Scores a text, read after its title, by the words that it shares with the question."""

    name = "counts"

    def score(self, question, candidates):
        shared = [len(set(question.split()) & set(c.titled_text.lower().strip(".").split())) for c in candidates]
        return np.array(shared, np.float32)


@pytest.fixture(autouse=True)
def counts(monkeypatch):
    monkeypatch.setattr(reranker, "load_ranker", lambda spec: CountsWords())


def test_langchain_keeps_the_best_documents_with_their_scores():
    pytest.importorskip("langchain_core", reason=MISSING)
    from langchain_core.documents import Document

    from as2core.integrations.langchain import As2Rerank

    documents = [
        Document(t, metadata={"title": title}, id=str(i))
        for i, (t, title) in enumerate(zip(TEXTS, TITLES, strict=True))
    ]
    best, second = As2Rerank(model="counts", top_n=2).compress_documents(documents, QUERY)
    assert (best.id, second.id) == ("2", "1") and best.metadata["title"] == "The tower"
    assert 0 < second.metadata["relevance_score"] < best.metadata["relevance_score"] < 1
    assert "relevance_score" not in documents[2].metadata
    assert As2Rerank(model="counts").compress_documents([], QUERY) == []
    with pytest.raises(ValueError, match="topn"):
        As2Rerank(model="counts", topn=2)


def test_llama_index_keeps_the_best_nodes_with_their_scores():
    pytest.importorskip("llama_index.core", reason=MISSING)
    from llama_index.core.schema import NodeWithScore, TextNode

    from as2core.errors import BadSetting
    from as2core.integrations.llama_index import As2Rerank

    nodes = [
        NodeWithScore(node=TextNode(text=t, id_=str(i), metadata={"title": title}), score=0.5)
        for i, (t, title) in enumerate(zip(TEXTS, TITLES, strict=True))
    ]
    postprocessor = As2Rerank(model="counts", top_n=2)
    best, second = postprocessor.postprocess_nodes(nodes, query_str=QUERY)
    assert (best.node.node_id, second.node.node_id) == ("2", "1") and 0 < second.score < best.score < 1
    with pytest.raises(BadSetting, match="without a query"):
        postprocessor.postprocess_nodes(nodes)
    with pytest.raises(ValueError, match="topn"):
        As2Rerank(model="counts", topn=2)
    assert As2Rerank.from_dict(postprocessor.to_dict()).top_n == 2
