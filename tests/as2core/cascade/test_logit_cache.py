"""Complete runs over the cache give what they give without it, and read only what is new."""

import numpy as np
import pytest

from as2core.cascade.engine import run_cascade
from as2core.cascade.logit_cache import LogitCache, with_cache
from as2core.cascade.schedule import DropSchedule
from as2core.cost import EncoderShape
from as2core.nn.backbone import load_backbone
from as2core.rankers.cascade import CascadeRanker
from as2core.types import Candidate

COMPLETE = DropSchedule.constant(0.0, exits=3)
QUERIES = [("when ?", ["in 1889", "iron", "a river", "iron"]), ("who ?", ["iron", "people"])]


class CountingEngine:
    """Three exits; a pair's logits are drawn from its texts, and float32's differ by up to .1."""

    name, error, exits, shape = "counting", 2.0, (2, 4, 6), EncoderShape(32, 64, 6)

    def __init__(self, identity: str = "some weights") -> None:
        self.identity = identity
        self.read: list[str] = []
        self.read_again: list[str] = []

    def start(self, questions, texts, *, keeps_states=False):
        return CountingRun(self, [f"{q} {t}" for q, t in zip(questions, texts, strict=True)])


class CountingRun:
    def __init__(self, engine, texts):
        self.engine, self.texts = engine, texts
        self.lengths = np.zeros(len(texts), np.int64)

    def draw(self, member):
        return np.random.default_rng([*self.texts[member].encode(), *self.engine.identity.encode()])

    def advance(self, members, first, last):
        self.engine.read += [self.texts[m] for m in members] if first == 0 else []
        self.lengths = np.array([len(t) for t in self.texts])
        scores = np.array([self.draw(m).normal(size=3) for m in members], np.float32).T
        return scores[first:last], [1.0] * (last - first)

    def exact(self, members):
        self.engine.read_again += [self.texts[m] for m in members]
        return np.array([self.draw(m).normal(size=4)[2] + self.draw(m).uniform() / 10 for m in members], np.float32)


@pytest.fixture
def cache(tmp_path):
    return LogitCache(tmp_path / "home" / "logits.db")


def assert_same(traces, expected):
    for a, b in zip(traces, expected, strict=True):
        assert a.lengths.tolist() == b.lengths.tolist()
        for x, y in zip(a.exits, b.exits, strict=True):
            assert (x.scores.tolist(), x.flops) == (y.scores.tolist(), y.flops)


def test_the_second_run_reads_nothing_and_gives_the_same_to_the_digit(cache):
    plain, engine = CountingEngine(), CountingEngine()
    expected = run_cascade(plain, QUERIES, COMPLETE)
    assert plain.read_again
    for _ in range(2):
        assert_same(run_cascade(with_cache(engine, cache), QUERIES, COMPLETE), expected)
        cache = LogitCache(cache.path)  # another process
        assert sorted(engine.read) == sorted(set(plain.read))
        assert sorted(engine.read_again) == sorted(set(plain.read_again))


def test_beside_known_pairs_only_new_ones_are_read_and_the_best_of_the_longer_list_is_settled_anew(cache):
    engine = CountingEngine()
    run_cascade(with_cache(engine, cache), QUERIES, COMPLETE)
    engine.read.clear()
    longer = [("when ?", ["people", *QUERIES[0][1], "in winter"]), QUERIES[1], ("why ?", ["iron"])]
    traces = run_cascade(with_cache(engine, cache), longer, COMPLETE)
    assert sorted(engine.read) == ["when ? in winter", "when ? people", "why ? iron"]
    assert_same(traces, run_cascade(CountingEngine(), longer, COMPLETE))


def test_other_weights_find_nothing(cache):
    run_cascade(with_cache(CountingEngine(), cache), QUERIES, COMPLETE)
    other = CountingEngine("other weights")
    assert_same(
        run_cascade(with_cache(other, cache), QUERIES, COMPLETE),
        run_cascade(CountingEngine("other weights"), QUERIES, COMPLETE),
    )
    assert len(other.read) == 5


def test_a_run_that_drops_candidates_goes_its_own_way(cache):
    dropping, engine = DropSchedule.constant(0.5, exits=3, keep=1), CountingEngine()
    run_cascade(with_cache(engine, cache), QUERIES, COMPLETE)
    engine.read.clear()
    assert_same(
        run_cascade(with_cache(engine, cache), QUERIES, dropping), run_cascade(CountingEngine(), QUERIES, dropping)
    )
    assert len(engine.read) == 6
    stored = cache.size_bytes
    run_cascade(with_cache(engine, cache), [("where ?", ["in 1889", "a river", "iron"])], dropping)
    assert cache.size_bytes == stored


def test_an_engine_whose_weights_may_change_has_no_cache(cache):
    engine = CountingEngine(identity="")
    assert with_cache(engine, cache) is engine
    assert with_cache(CountingEngine(), None).name == "counting"


def test_how_many_pairs_are_there_is_counted_each_as_often_as_it_comes(cache):
    run_cascade(with_cache(CountingEngine(), cache), QUERIES[:1], COMPLETE)
    pairs = [(q, t) for q, texts in QUERIES for t in texts]
    assert (cache.count("some weights", pairs), cache.count("other weights", pairs)) == (4, 0)


def test_a_damaged_file_costs_nothing_but_time(cache, caplog):
    run_cascade(with_cache(CountingEngine(), cache), QUERIES, COMPLETE)
    cache.close()
    cache.path.write_bytes(b"not a database at all" * 1000)
    again, engine = LogitCache(cache.path), CountingEngine()
    for _ in range(2):
        assert_same(
            run_cascade(with_cache(engine, again), QUERIES, COMPLETE), run_cascade(CountingEngine(), QUERIES, COMPLETE)
        )
    assert len(engine.read) == 5  # once
    assert "replaced by an empty one" in caplog.text


def test_a_cascade_in_int8_gives_the_same_with_and_without(tiny, tmp_path, cache):
    ranker = CascadeRanker(load_backbone(tiny()))
    ranker.use("onnx", folder=tmp_path / "graphs")
    queries = [(q, [Candidate(str(i), t) for i, t in enumerate(texts)]) for q, texts in QUERIES]
    complete = DropSchedule.constant(0.0, exits=len(ranker.exits))
    expected = ranker.trace_many(queries, complete)
    for _ in range(2):
        ranker.logits = cache
        for a, b in zip(ranker.trace_many(queries, complete), expected, strict=True):
            for x, y in zip(a.exits, b.exits, strict=True):
                np.testing.assert_allclose(x.scores, y.scores, atol=1e-5)
    assert cache.count(ranker.engine.identity, [("who ?", "people")]) == 1
    ranker.use("torch")
    assert ranker.engine.identity == ""
