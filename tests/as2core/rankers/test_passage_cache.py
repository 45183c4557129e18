import multiprocessing
import sqlite3

import numpy as np
import pytest
import torch

from as2core.nn import kept_passages
from as2core.nn.kept_passages import PassageState
from as2core.rankers.catalog import get
from as2core.rankers.generative import GenerativeRanker, load_question_lm
from as2core.rankers.passage_cache import PassageCache, fingerprint
from as2core.types import Candidate

TEXTS = ["the tower was completed in 1889 .", "iron", "the bridge is 300 metres long .", "", "iron"]
CANDIDATES = [Candidate(str(i), t) for i, t in enumerate(TEXTS)]


def entry(value: float, length: int = 10) -> PassageState:
    return PassageState(torch.full((2, 2, 1, length, 4), value), {"about": torch.tensor([value, 1e6])})


@pytest.fixture
def cache(tmp_path):
    return PassageCache(tmp_path / "kept" / "passages.db")


def ranker_of(kind, tiny, cache=None) -> GenerativeRanker:
    backbone = tiny(kind)  # made at the first call, with random numbers of its own
    torch.manual_seed(3)
    return GenerativeRanker(load_question_lm(backbone), cache=cache)


@pytest.mark.parametrize("kind", ["bert", "gpt2", "bart"])
def test_a_score_from_the_cache_is_the_score_without(kind, tiny, cache):
    plain, kept = ranker_of(kind, tiny), ranker_of(kind, tiny, cache)
    for question in ("when was the tower built ?", "how long is the bridge ?"):
        expected = plain.score(question, CANDIDATES)
        np.testing.assert_allclose(kept.score(question, CANDIDATES), expected, atol=1e-3)  # stored as float16
    assert kept.score("why ?", []).shape == (0,)


def test_a_vector_that_is_made_and_stored_gives_the_score_that_it_gives_from_the_cache(tiny, cache):
    ranker = get(f"bi-encoder:backbone={tiny()}")
    ranker.cache = cache
    first, second = (ranker.score("when was the tower built ?", CANDIDATES) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_passage_is_read_once_also_by_the_next_process(tiny, cache, monkeypatch):
    read = []

    def counting(module, texts):
        read.extend(texts)
        return read_passages(module, texts)

    read_passages = kept_passages.read_passages
    monkeypatch.setattr(kept_passages, "read_passages", counting)
    ranker_of("bert", tiny, cache).score("when ?", CANDIDATES)
    again = ranker_of("bert", tiny, PassageCache(cache.path))
    again.score("who ?", [*CANDIDATES, Candidate("9", "a river")])
    assert sorted(read) == sorted([*set(TEXTS), "a river"])


def test_a_model_whose_weights_changed_finds_nothing_of_its_former_self(tiny, cache):
    ranker = ranker_of("bert", tiny, cache)
    before = ranker.score("when ?", CANDIDATES)
    with torch.no_grad():
        ranker.module.backbone.blocks[0].output.dense.bias += torch.randn(32)
    uncached = GenerativeRanker(ranker.module).score("when ?", CANDIDATES)
    np.testing.assert_allclose(ranker.score("when ?", CANDIDATES), uncached, atol=1e-3)
    assert np.abs(before - uncached).max() > 0.01


def test_the_fingerprint_tells_weights_and_cut_apart(tiny):
    a, b = load_question_lm(tiny("gpt2")), load_question_lm(tiny("gpt2"))
    assert fingerprint(a) == fingerprint(b)
    assert fingerprint(a) != fingerprint(load_question_lm(tiny("gpt2"), max_length=64))
    with torch.no_grad():
        b.model.transformer.wpe.weight[3, 3] += 1e-4
    assert fingerprint(a) != fingerprint(b)


def test_tensors_come_back_and_large_sums_keep_their_range(cache):
    cache.put("m", {"a": entry(0.5)})
    found = cache.get("m", ["a", "b"])
    assert list(found) == ["a"]
    assert found["a"].memory.dtype == torch.float16
    assert found["a"].memory.float().equal(entry(0.5).memory)
    assert found["a"].rest["about"].tolist() == [0.5, 1e6]
    assert cache.get("another model", ["a"]) == {}


def test_the_bound_holds_and_the_longest_unused_goes_first(tmp_path):
    cache = PassageCache(tmp_path / "c.db")
    cache.put("m", {"a": entry(1)})
    one = cache.size_bytes
    cache.max_bytes = 3 * one
    for name in "bc":
        cache.put("m", {name: entry(1)})
    cache.get("m", ["a"])
    cache.put("m", {"d": entry(1)})
    assert set(cache.get("m", "abcd")) == {"a", "c", "d"}
    for i in range(20):
        cache.put("m", {f"{i}-{j}": entry(1) for j in range(5)})
        assert cache.size_bytes <= cache.max_bytes
    cache.close()
    assert (tmp_path / "c.db").stat().st_size < 40 * one + 200_000


def test_a_damaged_file_is_begun_anew(cache, caplog):
    cache.put("m", {"a": entry(1)})
    cache.close()
    cache.path.write_bytes(b"not a database at all" * 1000)
    again = PassageCache(cache.path)
    assert again.get("m", ["a"]) == {}
    again.put("m", {"a": entry(2)})
    assert again.get("m", ["a"])["a"].memory.max() == 2
    assert "replaced by an empty one" in caplog.text


def test_a_file_that_cannot_be_used_costs_no_score(tiny, tmp_path, caplog):
    (tmp_path / "taken").write_text("a file where a folder should be")
    ranker = ranker_of("bert", tiny, PassageCache(tmp_path / "taken" / "c.db"))
    expected = ranker_of("bert", tiny).score("when ?", CANDIDATES)
    np.testing.assert_allclose(ranker.score("when ?", CANDIDATES), expected, atol=1e-5)
    assert "without cached passages" in caplog.text


def _fill(path, name):
    cache = PassageCache(path, max_bytes=40_000)
    for i in range(30):
        cache.put("m", {f"{name}{i % 7}": entry(i), "both": entry(i)})
        cache.get("m", ["both"])
    cache.close()


def test_two_processes_write_to_one_file(tmp_path):
    path = tmp_path / "c.db"
    workers = [multiprocessing.get_context("fork").Process(target=_fill, args=(path, n)) for n in "xy"]
    for w in workers:
        w.start()
    for w in workers:
        w.join(60)
    assert [w.exitcode for w in workers] == [0, 0]
    with sqlite3.connect(path) as c:
        assert c.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        entries, states = (c.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in ("entry", "state"))
    assert entries == states > 0
    assert PassageCache(path).size_bytes <= 40_000
