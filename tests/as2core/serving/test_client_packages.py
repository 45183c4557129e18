"""The client packages themselves against a running server (docs/decisions/0048)."""

from __future__ import annotations

import numpy as np
import pytest

from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.serving.embeddings import ServedEmbedder
from as2core.serving.rankers import ServedRankers
from as2core.serving.routes import build

pytestmark = pytest.mark.clients

QUERY = "when was the tower finished"
TEXTS = ["A bridge crosses the river.", "The tower was finished in 1889.", "Nothing at all."]
MISSING = "its package is missing: pip install -e '.[clients]' (LiteLLM: pip install litellm)"


@pytest.fixture(scope="module")
def url(serve):
    """Of a server with the ranker "bm25"."""
    return f"http://127.0.0.1:{serve(build(ServedRankers(['bm25'])))}"


@pytest.fixture(autouse=True)
def nothing_leaves(monkeypatch):
    """The packages' own telemetry is off, and LiteLLM does not fetch its list of prices."""
    for name, value in {
        "HAYSTACK_TELEMETRY_ENABLED": "False",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LANGSMITH_TRACING": "false",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("client", ["Client", "ClientV2"])
def test_the_cohere_sdk(url, client):
    cohere = pytest.importorskip("cohere", reason=MISSING)
    sdk = getattr(cohere, client)(api_key="any", base_url=url)
    answer = sdk.rerank(model="bm25", query=QUERY, documents=TEXTS, top_n=2)
    assert answer.results[0].index == 1 and len(answer.results) == 2
    assert 0 < answer.results[1].relevance_score < answer.results[0].relevance_score < 1
    assert answer.meta.billed_units.search_units == 1


def test_the_cohere_sdk_returns_the_documents(url):
    cohere = pytest.importorskip("cohere", reason=MISSING)
    sdk = cohere.Client(api_key="any", base_url=url)
    answer = sdk.rerank(model="bm25", query=QUERY, documents=[{"text": t} for t in TEXTS], return_documents=True)
    assert answer.results[0].document.text == TEXTS[1]


def test_the_cohere_sdk_shows_what_was_wrong(url):
    cohere = pytest.importorskip("cohere", reason=MISSING)
    sdk = cohere.ClientV2(api_key="any", base_url=url)
    with pytest.raises(cohere.NotFoundError) as error:
        sdk.rerank(model="rerank-v3.5", query=QUERY, documents=TEXTS)
    assert "known: bm25" in error.value.body["message"]


def test_langchain_compresses_documents(url):
    langchain_cohere = pytest.importorskip("langchain_cohere", reason=MISSING)
    from langchain_core.documents import Document

    compressor = langchain_cohere.CohereRerank(model="bm25", cohere_api_key="any", base_url=url, top_n=2)
    best, _ = compressor.compress_documents([Document(t, metadata={"place": i}) for i, t in enumerate(TEXTS)], QUERY)
    assert best.metadata["place"] == 1 and 0 < best.metadata["relevance_score"] < 1


def test_llama_index_reranks_nodes(url):
    cohere_rerank = pytest.importorskip("llama_index.postprocessor.cohere_rerank", reason=MISSING)
    from llama_index.core.schema import NodeWithScore, TextNode

    reranker = cohere_rerank.CohereRerank(model="bm25", api_key="any", base_url=url, top_n=2)
    nodes = [NodeWithScore(node=TextNode(text=t), score=0.5) for t in TEXTS]
    best, second = reranker.postprocess_nodes(nodes, query_str=QUERY)
    assert best.node.text == TEXTS[1] and 0 < second.score < best.score < 1


def test_haystack_ranks_by_cohere(url):
    cohere = pytest.importorskip("haystack_integrations.components.rankers.cohere", reason=MISSING)
    from haystack import Document
    from haystack.utils import Secret

    ranker = cohere.CohereRanker(model="bm25", api_base_url=url, api_key=Secret.from_token("any"), top_k=2)
    best, _ = ranker.run(query=QUERY, documents=[Document(content=t) for t in TEXTS])["documents"]
    assert best.content == TEXTS[1] and 0 < best.score < 1
    assert ranker.run(query=QUERY, documents=[]) == {"documents": []}  # it sends them, unlike the other packages


def test_haystack_ranks_by_jina(url):
    jina = pytest.importorskip("haystack_integrations.components.rankers.jina", reason=MISSING)
    from haystack import Document
    from haystack.utils import Secret

    ranker = jina.JinaRanker(model="bm25", base_url=f"{url}/v1/rerank", api_key=Secret.from_token("any"), top_k=2)
    answer = ranker.run(query=QUERY, documents=[Document(content=t) for t in TEXTS])
    assert answer["documents"][0].content == TEXTS[1] and answer["meta"]["model"] == "bm25"
    assert answer["meta"]["usage"]["total_tokens"] > 0
    wrong = jina.JinaRanker(model="grand", base_url=f"{url}/v1/rerank", api_key=Secret.from_token("any"))
    with pytest.raises(RuntimeError, match="known: bm25"):
        wrong.run(query=QUERY, documents=[Document(content=t) for t in TEXTS])


@pytest.mark.parametrize("provider", ["cohere", "infinity", "jina_ai", "hosted_vllm"])
def test_litellm_reranks(url, provider):
    litellm = pytest.importorskip("litellm", reason=MISSING)
    has_documents = provider != "infinity"  # whose documents are plain texts, in a request that looks like the others'
    answer = litellm.rerank(
        model=f"{provider}/bm25",
        query=QUERY,
        documents=TEXTS,
        top_n=2,
        return_documents=has_documents,
        api_base=url,
        api_key="any",
    )
    best, second = answer.results
    assert best["index"] == 1 and 0 < second["relevance_score"] < best["relevance_score"] < 1
    assert not has_documents or best["document"]["text"] == TEXTS[1]


def test_the_openai_sdk_embeds(serve, backbone):
    openai = pytest.importorskip("openai", reason=MISSING)
    ranker = BiEncoderRanker(backbone)
    port = serve(build(ServedRankers(["bm25"]), embedder=ServedEmbedder(load=lambda spec: ranker)))
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="any")
    answer = client.embeddings.create(model="bi-encoder", input=TEXTS)
    np.testing.assert_allclose([d.embedding for d in answer.data], ranker.embed(TEXTS), atol=1e-6)
