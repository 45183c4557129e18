"""`as2core.Reranker`: one line, with the results that users of sentence-transformers know."""

from __future__ import annotations

import multiprocessing
import pickle
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest

import as2core
from as2core import reranker
from as2core.errors import BadSetting
from as2core.rankers.catalog import get
from as2core.relevance import score_relevance
from as2core.types import MAX_TEXT_CHARS, Candidate

QUERY = "when was the tower finished"
TEXTS = ["A bridge crosses the river.", "The tower was finished in 1889.", "Nothing at all."]


@pytest.fixture
def cascade(tiny, monkeypatch):
    ranker = get(f"cascade:backbone={tiny()},drop_ratio=0.5,keep=1")
    ranker.calibration, ranker.is_calibrated = ((1.0, 0.0),) * 5, True
    monkeypatch.setattr(reranker, "load_ranker", lambda spec: ranker)
    return ranker


def test_documents_are_ranked_best_first():
    best, second = as2core.Reranker("bm25").rank(QUERY, TEXTS, top_k=2, return_documents=True)
    assert (best["corpus_id"], best["text"]) == (1, TEXTS[1]) and 0 < second["score"] < best["score"] < 1
    assert [sorted(r) for r in as2core.Reranker("bm25").rank(QUERY, TEXTS)] == [["corpus_id", "score"]] * 3
    assert len(as2core.Reranker("bm25").rank(QUERY, TEXTS, top_k=np.int64(2))) == 2


def test_active_is_the_workbenchs_version_or_else_the_shipped_cascade(monkeypatch):
    loaded, versions = [], {"active": "somewhere"}
    monkeypatch.setattr(reranker, "load_ranker", lambda spec: loaded.append(spec) or get("bm25"))
    monkeypatch.setattr(reranker, "list_versions", lambda: versions)
    as2core.Reranker()
    as2core.Reranker("active:drop_ratio=0")
    versions.clear()
    as2core.Reranker()
    as2core.Reranker("active:drop_ratio=0")
    assert loaded == ["active", "active:drop_ratio=0", "cascade", "cascade:drop_ratio=0"]


def test_a_directory_may_be_a_path(monkeypatch, tmp_path):
    loaded = []
    monkeypatch.setattr(reranker, "load_ranker", lambda spec: loaded.append(spec) or get("bm25"))
    assert as2core.Reranker(tmp_path).model == str(tmp_path) and loaded == [str(tmp_path)]


def test_pairs_are_scored_alone_and_in_their_order(cascade):
    pairs = [(QUERY, TEXTS[0]), ("who built the bridge", TEXTS[1]), (QUERY, TEXTS[2]), (QUERY, TEXTS[1])]
    scores = as2core.Reranker().predict(pairs)
    alone = [score_relevance(cascade, [(q, [Candidate("0", t)])])[0].values[0] for q, t in pairs]
    np.testing.assert_allclose(scores, alone, atol=1e-6)
    assert as2core.Reranker().predict(pairs[0]) == pytest.approx(scores[0], abs=1e-6)
    assert as2core.Reranker().predict([]).shape == (0,)


def test_several_questions_give_what_each_gives_in_whatever_batches(cascade, monkeypatch):
    queries = [(QUERY, TEXTS), ("who built the bridge", TEXTS[:2]), (QUERY, []), ("rain", TEXTS)]
    each = [as2core.Reranker().rank(*q) for q in queries]
    for pairs in (1, 3, 4096):
        monkeypatch.setattr(reranker, "BATCH_PAIRS", pairs)
        together = as2core.Reranker().rank_many(queries)
        assert [[r["corpus_id"] for r in ranking] for ranking in together] == [
            [r["corpus_id"] for r in ranking] for ranking in each
        ]


def test_a_trace_shows_who_was_dropped_where(cascade):
    trace = as2core.Reranker().trace(QUERY, TEXTS)
    assert sum(len(e.dropped) for e in trace.exits) == 2
    with pytest.raises(BadSetting, match="has no trace"):
        reranker.Reranker.trace(_with(get("bm25")), QUERY, TEXTS)


def test_a_device_is_for_those_that_compute_with_torch(cascade, monkeypatch):
    assert next(as2core.Reranker(device="cpu").ranker.module.parameters()).device.type == "cpu"
    monkeypatch.setattr(reranker, "load_ranker", get)
    with pytest.raises(BadSetting, match="bm25 computes without torch"):
        as2core.Reranker("bm25", device="cpu")


def test_a_device_that_is_not_there_is_named(cascade):
    with pytest.raises(BadSetting, match="device='nowhere'"):
        as2core.Reranker(device="nowhere")


def test_a_torch_without_cuda_is_told_with_what_to_install(monkeypatch):
    import torch

    move = torch.nn.Module.to

    def refuse(self, device, *args, **settings):
        if str(device).startswith("cuda"):
            raise AssertionError("Torch not compiled with CUDA enabled")
        return move(self, device, *args, **settings)

    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr(torch.nn.Module, "to", refuse)
    with pytest.raises(BadSetting, match=r"device='cuda:0': Torch not .*; install the CUDA build of torch"):
        as2core.Reranker(device="cuda:0")


def test_titles_are_read_and_unknown_names_of_the_package_are_errors(monkeypatch):
    class CountsWords:
        name = "counts"

        def score(self, question, candidates):
            return np.array([len(c.titled_text.split()) for c in candidates], np.float32)

    monkeypatch.setattr(reranker, "load_ranker", lambda spec: CountsWords())
    documents = ["It was finished in 1889.", Candidate("a", "It was finished in 1889.", title="The tower")]
    assert as2core.Reranker("counts").rank(QUERY, documents)[0]["corpus_id"] == 1
    with pytest.raises(AttributeError, match="no attribute 'Rerank'"):
        _ = as2core.Rerank


def _with(ranker):
    one = object.__new__(reranker.Reranker)
    one.ranker = ranker
    return one


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.rank("q", "one text"), "a list of texts"),
        (lambda r: r.rank("q", None), "documents is None: give a list of texts"),
        (lambda r: r.rank(None, ["a"]), "the query is None: give a text"),
        (lambda r: r.predict([5]), "pair 0 is 5: give"),
        (lambda r: r.rank("q", ["a", None]), "document 1 is None"),
        (lambda r: r.rank("q", [float("nan")]), "document 0 is nan"),
        (lambda r: r.rank("q", ["a", "b"], top_k=0), "top_k=0: give 1 or more"),
        (lambda r: r.rank("q", ["a", "b"], top_k=-1), "top_k=-1: give 1 or more"),
        (lambda r: r.rank("q", ["a", "b"], top_k=1.5), "top_k=1.5: give 1 or more"),
        (lambda r: r.rank("q", ["a", "b"], top_k=True), "top_k=True: give 1 or more"),
        (lambda r: r.rank("q", {"a", "b"}), "give a list of texts"),
        (lambda r: r.rank("q", {"a": 1}), "give a list of texts"),
        (lambda r: r.rank("q", [{"title": "a"}]), "document 0 is "),
        (lambda r: r.predict(["who", "b", "c"]), "pair 0 is 'who': give"),
        (lambda r: r.predict([(None, "a")]), "the query of pair 0 is None"),
        (lambda r: r.predict([("who", "a"), ("when", None)]), "document 1 is None: give"),
        (lambda r: r.rank_many([("who", ["a"]), (None, ["a"])]), "query 1 is None: give"),
        (lambda r: r.rank_many([("who", ["a"]), ("when", ["a", None])]), "document 1 of query 1 is None: give"),
        (lambda r: r.predict(None), "pairs is None"),
        (lambda r: r.predict([("who", "a", "b")]), "pair 0 is .*: give \\(query, document\\)"),
        (lambda r: r.predict(["who", 5]), "document 0 is 5: give"),
        (lambda r: r.rank_many(None), "queries is None: give a list of \\(query, documents\\)"),
        (lambda r: r.rank_many({"who": ["a", "b"]}), "queries is .*: give a list of"),
        (lambda r: r.rank_many(("who", ["a"])), "query 0 is 'who': give \\(query, documents\\)"),
        (lambda r: r.rank("q", [{"text": "a", "title": 5}]), "document 0 is "),
        (lambda r: reranker.Reranker(None), "the model is None"),
        (lambda r: reranker.Reranker(""), "the model is ''"),
    ],
)
def test_input_that_is_no_text_is_refused_with_its_place(call, message):
    with pytest.raises(BadSetting, match=message):
        call(as2core.Reranker("bm25"))


def test_documents_and_pairs_may_be_anything_that_can_be_walked_through_once():
    bm25 = as2core.Reranker("bm25")
    assert bm25.rank(QUERY, iter(TEXTS)) == bm25.rank(QUERY, TEXTS, batch_size=8, show_progress_bar=False)
    assert bm25.rank_many((q, iter(TEXTS)) for q in [QUERY])[0] == bm25.rank(QUERY, TEXTS)
    np.testing.assert_array_equal(bm25.predict((QUERY, t) for t in TEXTS), bm25.predict([(QUERY, t) for t in TEXTS]))
    assert bm25.predict([QUERY, TEXTS[1]]) == bm25.predict((QUERY, Candidate("a", TEXTS[1])))
    titled = [{"text": t, "title": "Towers"} for t in TEXTS]
    assert bm25.rank(QUERY, titled) == bm25.rank(QUERY, [Candidate("a", t, title="Towers") for t in TEXTS])


@dataclass
class Page:
    """As LangChain's."""

    page_content: str
    metadata: dict[str, object] = field(default_factory=dict)


@dataclass
class Content:
    """As Haystack's: without a text it holds something else, such as an image."""

    content: str | None
    meta: dict[str, object] = field(default_factory=dict)


@dataclass
class Passage:
    """As those of LlamaIndex and of rerankers."""

    text: str
    title: str | None = None


@pytest.mark.parametrize(
    "make",
    [
        lambda text, title: Page(text, {"title": title}),
        lambda text, title: Content(text, {"title": title}),
        lambda text, title: Passage(text, title),
        lambda text, title: {"id": 7, "text": text, "title": title, "meta": {"page": 3}},
        lambda text, title: {"text": text, "meta": {"title": title}},
        lambda text, title: {"page_content": text, "metadata": {"title": title}},
        lambda text, title: {"content": text, "title": title},
        lambda text, title: {"text": text, "title": title or float("nan")},  # a row of pandas
    ],
)
def test_documents_of_other_libraries_are_read_with_their_titles(make):
    bm25 = as2core.Reranker("bm25")
    for title in ("Towers", None):
        candidates = [Candidate("a", t, title=title or "") for t in TEXTS]
        documents = [make(t, title) for t in TEXTS]
        assert bm25.rank(QUERY, documents, return_documents=True) == bm25.rank(QUERY, candidates, return_documents=True)
        assert bm25.predict((QUERY, documents[1])) == bm25.predict((QUERY, candidates[1]))
        assert bm25.predict([(QUERY, documents[1])])[0] == bm25.predict((QUERY, candidates[1]))


def test_a_document_of_another_library_without_a_text_is_refused():
    with pytest.raises(BadSetting, match="document 1 is Content"):
        as2core.Reranker("bm25").rank(QUERY, [Content("a"), Content(None)])


def test_arrays_and_columns_are_lists_of_texts_and_of_pairs():
    bm25, pairs = as2core.Reranker("bm25"), [(QUERY, t) for t in TEXTS]
    frame = pd.DataFrame({"query": [QUERY] * 3, "text": TEXTS}, index=[7, 8, 9])
    for documents in (np.array(TEXTS), np.array(TEXTS, dtype=object), frame["text"], tuple(TEXTS)):
        assert bm25.rank(QUERY, documents) == bm25.rank(QUERY, TEXTS)
    for each in (np.array(pairs), frame.values, [list(p) for p in pairs], frame.itertuples(index=False)):
        np.testing.assert_array_equal(bm25.predict(each), bm25.predict(pairs))
    assert bm25.predict(np.array(pairs[1])) == bm25.predict(pairs[1])


def test_a_table_is_refused_since_to_walk_through_it_gives_the_names_of_its_columns():
    bm25, frame = as2core.Reranker("bm25"), pd.DataFrame({"query": [QUERY], "text": TEXTS[:1]})
    with pytest.raises(BadSetting, match=r'documents is a table: .* table\["text"\]'):
        bm25.rank(QUERY, frame)
    with pytest.raises(BadSetting, match=r"pairs is a table: .* table\[\[FIRST, SECOND\]\]\.values"):
        bm25.predict(frame)
    with pytest.raises(BadSetting, match="queries is a table"):
        bm25.rank_many(frame)


def test_half_a_character_and_a_text_without_end_are_read_as_far_as_they_go(cascade):
    [first] = as2core.Reranker().rank(f"{QUERY} \ud800", ["The tower \ud83d was finished."])
    assert 0 < first["score"] < 1
    long = as2core.Reranker("bm25").rank(QUERY, ["a " * MAX_TEXT_CHARS], return_documents=True)
    assert len(long[0]["text"]) == MAX_TEXT_CHARS


def test_a_copy_is_loaded_by_its_name_again(monkeypatch):
    specs = []
    monkeypatch.setattr(reranker, "load_ranker", lambda spec: specs.append(spec) or get(spec))
    copy = pickle.loads(pickle.dumps(as2core.Reranker("bm25:k1=1.5")))
    assert specs == ["bm25:k1=1.5"] * 2 and repr(copy) == "Reranker('bm25:k1=1.5')"
    assert copy.rank(QUERY, TEXTS) == as2core.Reranker("bm25:k1=1.5").rank(QUERY, TEXTS)


def _rank(ranker):
    return ranker.rank(QUERY, TEXTS)


def test_a_pool_of_forked_processes_answers_with_an_error(cascade, monkeypatch):
    monkeypatch.setattr(reranker, "_first_process", None)
    loaded = as2core.Reranker()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        answer = pool.map_async(_rank, [loaded])
        with pytest.raises(BadSetting, match='get_context\\("spawn"\\)'):
            answer.get(60)


def test_a_process_forked_after_a_network_was_loaded_loads_no_other(cascade, monkeypatch):
    monkeypatch.setattr(reranker, "_first_process", None)
    loaded = as2core.Reranker()
    monkeypatch.setattr(reranker.os, "getpid", lambda: -1)  # as in a child
    for call in (as2core.Reranker, lambda: loaded.rank(QUERY, TEXTS), lambda: loaded.trace(QUERY, TEXTS)):
        with pytest.raises(BadSetting, match="forked from one that had loaded a ranker"):
            call()


def test_a_process_forked_after_words_were_counted_alone_ranks(monkeypatch):
    monkeypatch.setattr(reranker, "_first_process", None)
    bm25 = as2core.Reranker("bm25")
    monkeypatch.setattr(reranker.os, "getpid", lambda: -1)  # as in a child
    assert bm25.rank(QUERY, TEXTS) == as2core.Reranker("bm25").rank(QUERY, TEXTS)


def test_a_process_forked_after_a_ranking_is_told_and_does_not_hang(monkeypatch):
    bm25 = as2core.Reranker("bm25")
    bm25.rank(QUERY, TEXTS)
    monkeypatch.setattr(reranker.os, "getpid", lambda: -1)  # as in a child
    for call in (lambda: bm25.rank(QUERY, TEXTS), lambda: as2core.Reranker("bm25").predict([(QUERY, "a")])):
        with pytest.raises(BadSetting, match='get_context\\("spawn"\\)'):
            call()


def test_a_run_ranks_no_question_of_others_and_is_refused(tmp_path):
    (tmp_path / "m.run").write_text("q Q0 a 1 1 x\n")
    with pytest.raises(BadSetting, match=r"m\.run ranks the questions of a run alone"):
        as2core.Reranker(str(tmp_path / "m.run"))
