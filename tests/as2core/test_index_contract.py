"""One table for every index of passages: what `as2core.retrieval.index` promises of each."""

from __future__ import annotations

import os
import threading
import uuid
from functools import partial

import numpy as np
import pytest

from as2core.errors import BadSetting
from as2core.retrieval.milvus import MilvusIndexes
from as2core.retrieval.passages import split_passages
from as2core.retrieval.sqlite import SqliteIndex
from as2core.types import Hit

DOCS = {
    "danube": ["The Danube rises in the Black Forest.", "It flows into the Black Sea through a delta."],
    "rhine": ["The Rhine rises in the Alps.", "Cologne stands on the Rhine."],
    "haydn": ["Haydn wrote more than a hundred symphonies.", "He taught Beethoven for a while."],
}
WIDTH = 6  # of the vectors here
NASTY = [
    '"',
    "'; DROP TABLE passage; --",
    "a AND b OR NOT (c",
    "text:foo* ^bar",
    "NEAR(a b, 2)",
    "😀",
    "हिन्दी 日本語",
    "\x00",
    "\ud800",
    "",
    "   ",
]


class SqliteFiles:
    """Every index that it opens is of the same file."""

    def __init__(self, folder, **settings) -> None:
        self._file, self._settings = folder / "sub" / "index.db", settings

    def open(self):
        return SqliteIndex(self._file, **self._settings)


class MilvusPartitions:
    """A Milvus Lite in this folder, or the server that is named, with a collection of its own."""

    def __init__(self, folder) -> None:
        pytest.importorskip("pymilvus", reason="needs the extra `milvus`")
        url = os.environ.get("AS2_TEST_MILVUS_URL", "")
        if not url:
            pytest.importorskip("milvus_lite", reason="needs milvus-lite, or AS2_TEST_MILVUS_URL")
        self._settings = {"width": WIDTH, "collection": f"test_{uuid.uuid4().hex[:12]}"}
        self._url = url or str(folder / "lite.db")

    def open(self):
        return MilvusIndexes(self._url, **self._settings).open(7)


STORES = {
    "sqlite": SqliteFiles,
    "sqlite in clusters": partial(SqliteFiles, exact_limit=2),
    "milvus": MilvusPartitions,
}


@pytest.fixture(params=["sqlite", "sqlite in clusters", pytest.param("milvus", marks=pytest.mark.milvus)])
def users(request, tmp_path):
    """Two users of one index, as two processes have it."""
    store = STORES[request.param](tmp_path)
    both = store.open(), store.open()
    yield both
    for index in both:
        index.close()


@pytest.fixture
def index(users):
    users[0].upsert_docs([(name, split_passages(name, sentences)) for name, sentences in DOCS.items()])
    return users[0]


def list_documents(hits):
    return [hit.doc_id for hit in hits]


def unit(*places):
    """A row of zeros with ones at these places."""
    return np.isin(np.arange(WIDTH), places).astype(np.float32)


def rank_by_hand(vectors, query, k):
    """Exact arithmetic over small whole numbers, without equal ones."""
    return sorted(vectors, key=lambda pid: -sum(int(a) * int(b) for a, b in zip(vectors[pid], query, strict=True)))[:k]


def test_it_counts_its_passages_and_their_vectors(index):
    assert (index.count(), index.count_vectors()) == (3, 0)
    index.set_vectors({index.list_pending(1)[0].id: unit(0)})
    assert (index.count(), index.count_vectors()) == (3, 1)


def test_the_document_that_shares_the_most_telling_words_comes_first(index):
    hits = index.search_words("Where does the Danube flow into the sea?", 5)
    assert list_documents(hits)[0] == "danube"
    assert [h.rank for h in hits] == list(range(1, len(hits) + 1))


def test_words_are_found_in_capitals_and_in_small_letters(index):
    assert list_documents(index.search_words("COLOGNE", 5)) == ["rhine"]


def test_no_more_than_k_hits_come_back(index):
    assert len(index.search_words("rises in the", 1)) == 1
    assert index.search_words("rises", 0) == index.search_vectors(unit(0), 0) == []


@pytest.mark.parametrize("question", NASTY)
def test_search_syntax_is_out_of_a_users_reach_in_every_index(index, question):
    assert isinstance(index.search_words(question, 5), list)
    assert "rhine" in list_documents(index.search_words(question + " cologne", 5))


def test_an_empty_index_finds_nothing(users):
    assert users[0].search_words("danube", 5) == users[0].search_vectors(unit(0), 5) == users[0].list_pending(5) == []
    assert (users[0].count(), users[0].count_vectors(), users[0].find_damage()) == (0, 0, "")


def test_a_replaced_document_is_found_by_its_new_words_only(index):
    index.upsert_docs([("rhine", split_passages("rhine", ["Basel lies upstream."]))])
    assert list_documents(index.search_words("Basel", 5)) == ["rhine"]
    assert index.search_words("cologne", 5) == []
    assert index.count() == 3


def test_a_document_without_passages_is_gone(index):
    index.upsert_docs([("rhine", [])])
    assert index.search_words("cologne", 5) == []
    assert index.count() == 2


def test_with_its_passages_a_document_loses_its_vectors_and_an_unknown_one_is_no_error(index):
    index.set_vectors({p.id: unit(i) for i, p in enumerate(index.list_pending(9))})
    index.optimize()
    index.upsert_docs([("haydn", []), ("nobody", [])])
    assert index.search_words("symphonies", 5) == []
    assert "haydn" not in list_documents(index.search_vectors(unit(0, 1, 2), 9))
    assert (index.count(), index.count_vectors()) == (2, 2)


def test_passages_without_a_vector_wait_for_one_and_are_found_by_the_nearest_then(index):
    pending = sorted(index.list_pending(10), key=lambda p: p.doc_id)
    assert list_documents(pending) == ["danube", "haydn", "rhine"]
    assert [(p.first, p.last) for p in pending] == [(0, 1)] * 3
    assert pending[0].text == " ".join(DOCS["danube"])
    assert len(index.list_pending(2)) == 2
    index.set_vectors({p.id: unit(i) for i, p in enumerate(pending)})
    assert index.list_pending(10) == []
    hits = index.search_vectors(np.array([0.1, 0.9, 0.2, 0, 0, 0]), 2)
    assert hits == [Hit(pending[1].id, "haydn", 1), Hit(pending[2].id, "rhine", 2)]


def test_the_nearest_are_those_of_the_documents_that_are_named(index):
    index.set_vectors({p.id: unit(i) for i, p in enumerate(sorted(index.list_pending(9), key=lambda p: p.doc_id))})
    index.optimize()
    query = np.array([0.1, 0.5, 0.9, 0, 0, 0], dtype=np.float32)
    assert list_documents(index.search_vectors(query, 3)) == ["rhine", "haydn", "danube"]
    assert list_documents(index.search_vectors(query, 3, ["danube", "haydn"])) == ["haydn", "danube"]
    assert list_documents(index.search_vectors(query, 1, ["danube", "unknown"])) == ["danube"]
    assert index.search_vectors(query, 3, []) == []


def test_an_unchanged_passage_keeps_its_vector_and_a_changed_one_waits_again(index):
    index.set_vectors({p.id: unit(i) for i, p in enumerate(index.list_pending(9))})
    texts = {"rhine": DOCS["rhine"], "haydn": ["New text."]}
    index.upsert_docs([(name, split_passages(name, sentences)) for name, sentences in texts.items()])
    assert list_documents(index.list_pending(9)) == ["haydn"]
    assert "rhine" in list_documents(index.search_vectors(unit(0, 1, 2), 9))


def test_a_vector_of_a_text_that_is_gone_is_not_taken(index):
    old = next(p for p in index.list_pending(9) if p.doc_id == "haydn")
    index.upsert_docs([("haydn", split_passages("haydn", ["Another text altogether."]))])
    index.set_vectors({old.id: unit(0)})
    assert index.count_vectors() == 0


def test_a_question_s_vector_of_another_width_is_refused_with_the_remedy(index):
    index.set_vectors({p.id: unit(0) for p in index.list_pending(9)})
    with pytest.raises(BadSetting, match="same model"):
        index.search_vectors(np.ones(WIDTH - 1), 2)
    index.optimize()
    with pytest.raises(BadSetting, match="same model"):
        index.search_vectors(np.ones(WIDTH - 1), 2, ["rhine"])


@pytest.mark.parametrize("seed", range(2))
def test_search_by_vector_follows_every_change_of_two_users(users, seed):
    rng = np.random.default_rng(seed)
    expected: dict[str, np.ndarray] = {}
    for step in range(40):
        writer = users[rng.integers(2)]
        name = f"d{rng.integers(9)}"
        for pid in [pid for pid in expected if pid.startswith(f"{name}:")]:
            del expected[pid]
        passages = split_passages(name, [f"step {step} {i}" for i in range(rng.integers(1, 8))], 2, 0)
        if rng.random() < 0.35:
            writer.upsert_docs([(name, [])])
        else:
            writer.upsert_docs([(name, passages)])
            vectors = {p.id: rng.integers(-999, 999, WIDTH) for p in passages}
            writer.set_vectors(vectors)
            expected |= vectors
        query, k = rng.integers(-9, 9, WIDTH), int(rng.integers(1, 9))
        if not users[rng.integers(2)].is_optimized():
            users[rng.integers(2)].optimize()
        for user in users:
            assert [h.passage_id for h in user.search_vectors(query, k)] == rank_by_hand(expected, query, k)
            assert user.count_vectors() == len(expected)


def test_threads_write_to_an_index_and_search_it_at_once(index):
    errors = []

    def work(thread):
        try:
            for i in range(15):
                passages = split_passages(f"t{thread}-{i}", [f"word{thread} number{i}"])
                index.upsert_docs([(passages[0].doc_id, passages)])
                index.set_vectors({passages[0].id: unit(thread, i % WIDTH)})
                assert list_documents(index.search_words(f"number{i} word{thread}", 1)) == [f"t{thread}-{i}"]
                assert index.search_vectors(unit(1, 2), 3)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(t,)) for t in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert (index.count(), index.count_vectors()) == (3 + 90, 90)


def test_a_second_user_finds_at_once_what_the_first_wrote(index, users):
    index.set_vectors({p.id: unit(i) for i, p in enumerate(index.list_pending(9))})
    index.optimize()
    assert users[1].is_optimized()
    assert users[1].search_vectors(unit(0, 1, 2), 9) == index.search_vectors(unit(0, 1, 2), 9)
    assert list_documents(users[1].search_words("cologne", 5)) == ["rhine"]
    assert users[1].find_damage() == ""
