"""The Sequential Reranker against the same loop written out, and against the papers' numbers."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from as2core.cost import head_flops, layer_flops, sequential_cost
from as2core.errors import BadSetting
from as2core.evaluation.rankers import evaluate
from as2core.metrics import order
from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.rankers.catalog import get
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.rankers.sequential import SequentialRanker, Stage
from as2core.types import Candidate, Question


class Given:
    """Scores by candidate id, and what it was asked."""

    def __init__(self, scores, name="given"):
        self.scores, self.name, self.asked = scores, name, []

    def score(self, question, candidates):
        self.asked.append([c.id for c in candidates])
        return np.array([self.scores[c.id] for c in candidates], dtype=np.float32)


def candidates(n):
    return [Candidate(str(i), f"text {i}") for i in range(n)]


def constant(n, value=0.0, name="given"):
    return Given({str(i): value for i in range(n)}, name)


def test_three_stages_by_hand():
    first = Given(dict(zip("abcdef", (5, 1, 4, 4, 9, 0), strict=True)))
    second = Given({"a": 1, "c": 8, "d": 2, "e": 3})
    third = Given({"c": 0.1, "e": 0.2})
    ranker = SequentialRanker([Stage(first, 4), Stage(second, 0.5), Stage(third)])
    given = [Candidate(i, i) for i in "abcdef"]
    trace = ranker.trace("q", given)
    assert second.asked == [["a", "c", "d", "e"]] and third.asked == [["c", "e"]]  # in their original order
    assert [e.dropped.tolist() for e in trace.exits] == [[1, 5], [0, 3], []]
    assert trace.dropped_at().tolist() == [1, 0, -1, 1, -1, 0]
    assert [given[i].id for i in trace.ranking()] == ["e", "c", "d", "a", "b", "f"]
    assert [e.title for e in trace.exits] == ["given"] * 3


def test_a_stage_whose_scores_differ_beyond_32_bits_passes_its_best_on():
    times = SimpleNamespace(name="times", score=lambda question, given: [1.7e9 + int(c.id) for c in given])
    trace = SequentialRanker([Stage(times, 2), Stage(constant(5))]).trace("q", candidates(5))
    assert trace.dropped_at().tolist() == [0, 0, 0, -1, -1]
    assert order(SequentialRanker([Stage(times)]).score("q", candidates(5))).tolist() == [4, 3, 2, 1, 0]


@given(some.data())
def test_it_is_the_loop_written_out(data):
    n = data.draw(some.integers(0, 12))
    stages = data.draw(some.lists(some.sampled_from([None, 1, 2, 5, 0.3, 0.5, 1.0]), min_size=1, max_size=4))
    tables = [
        {str(i): float(data.draw(some.integers(-3, 3))) for i in range(n)} for _ in stages
    ]  # small integers: many ties
    ranker = SequentialRanker([Stage(Given(t), k) for t, k in zip(tables, stages, strict=True)])
    alive, below = list(range(n)), []
    for table, keep in zip(tables, stages, strict=True):
        best = sorted(alive, key=lambda i: (-table[str(i)], i))
        k = len(best) if keep is None else min(keep, len(best))
        if isinstance(keep, float):
            k = len(best) - int((1 - keep) * len(best) + 1e-9)
        below = best[k:] + below
        alive = sorted(best[:k])
        last = best[:k]
    found = ranker.score("q", candidates(n))
    assert np.argsort(-found, kind="stable").tolist() == last + below
    assert found.dtype == np.float32 and np.isfinite(found).all()


def test_five_stages_that_keep_seven_tenths_score_128_90_63_45_and_32():
    ranker = SequentialRanker([Stage(constant(128), 0.7)] * 4 + [Stage(constant(128))])
    assert [len(e.alive) for e in ranker.trace("q", candidates(128)).exits] == [128, 90, 63, 45, 32]


def test_of_equal_scores_the_earlier_candidates_stay():
    trace = SequentialRanker([Stage(constant(5), 2), Stage(constant(5))]).trace("q", candidates(5))
    assert trace.exits[1].alive.tolist() == [0, 1] and trace.ranking().tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("n", [0, 1])
def test_nobody_and_one_alone_pass_every_stage(n):
    trace = SequentialRanker([Stage(constant(n), 0.1), Stage(constant(n), 3)]).trace("q", candidates(n))
    assert trace.scores().shape == (n,) and [len(e.alive) for e in trace.exits] == [n, n]


def test_depths_in_a_row_cost_each_its_own_layers(backbone):
    depths = (2, 4, 6)
    stages = [Stage(CrossEncoderRanker(backbone, depth=d), 0.5) for d in depths]
    texts = [Candidate(str(i), "the tower stands") for i in range(8)]
    trace = SequentialRanker(stages).trace("where is the tower ?", texts)
    length = len(backbone.encode(["where is the tower ?"], ["the tower stands"]).ids[0])
    a_layer, a_head = layer_flops(np.array([length]), backbone.shape), head_flops(1, backbone.shape)
    assert [e.flops for e in trace.exits] == [
        n * (d * a_layer + a_head) for d, n in zip(depths, (8, 4, 2), strict=True)
    ]
    assert trace.full_flops == 8 * (6 * a_layer + a_head)
    heads = (8 + 4 + 2) * a_head
    assert (trace.flops - heads) / (8 * 6 * a_layer) == pytest.approx(sequential_cost(depths, (8, 4, 2)))
    assert trace.uncounted == ()


def test_the_account_names_who_keeps_none(backbone):
    ranker = SequentialRanker([Stage(constant(4, name="jaccard"), 2), Stage(CrossEncoderRanker(backbone))])
    trace = ranker.trace("q", candidates(4))
    assert trace.uncounted == ("jaccard",) and trace.exits[0].flops == 0
    assert trace.relative_cost == pytest.approx(0.5, abs=0.02)
    assert np.isnan(SequentialRanker([Stage(constant(4))]).trace("q", candidates(4)).relative_cost)


def test_an_evaluation_tells_its_cost(backbone):
    labelled = tuple(dataclasses.replace(c, label=int(c.id == "2")) for c in candidates(6))
    ranker = SequentialRanker([Stage(constant(6), 3), Stage(CrossEncoderRanker(backbone))])
    found = evaluate(ranker, [Question("1", "q", labelled)])
    assert found.relative_cost == pytest.approx(0.5, abs=0.02)


def test_a_bi_encoder_s_work_is_counted(backbone):
    bi, cross = BiEncoderRanker(backbone), CrossEncoderRanker(backbone)
    trace = SequentialRanker([Stage(bi, 2), Stage(cross)]).trace("where is the tower ?", candidates(4))
    read = backbone.encode(["where is the tower ?", *(c.text for c in candidates(4))], max_length=bi.max_length).lengths
    assert trace.exits[0].flops == 6 * layer_flops(np.array(read), backbone.shape) + 2 * 4 * backbone.hidden
    assert trace.uncounted == ()
    np.testing.assert_array_equal(trace.exits[0].scores, bi.score("where is the tower ?", candidates(4)))


def test_a_bi_encoder_at_the_end_is_held_against_itself_over_all(backbone):
    bi = BiEncoderRanker(backbone)
    trace = SequentialRanker([Stage(constant(4), 2), Stage(bi)]).trace("where is the tower ?", candidates(4))
    spent, alone = (bi.score_and_cost("where is the tower ?", candidates(n))[1] for n in (2, 4))
    assert trace.relative_cost == spent / alone < 1
    assert SequentialRanker([Stage(bi)]).trace("q", candidates(4)).relative_cost == 1.0


@pytest.mark.parametrize("stage", ["generative", "fusion:rankers=wo+bi-encoder", "sequential:stages=wo+generative"])
def test_a_cost_that_leaves_an_encoder_out_is_not_told(stage, tiny):
    ranker = get(f"sequential:stages=[{stage}:backbone={tiny()}]@3+cross-encoder:backbone={tiny()}")
    labelled = tuple(dataclasses.replace(c, label=int(c.id == "2")) for c in candidates(6))
    assert evaluate(ranker, [Question("1", "q", labelled)]).relative_cost is None
    assert np.isnan(ranker.trace("q", labelled).relative_cost)


def test_a_spec_names_the_stages(tiny):
    spec = (
        f"sequential:stages=bm25:k1=1.5,b=0.6@3+[sequential:stages=wo@0.5+rr]@2+cross-encoder:backbone={tiny()},depth=2"
    )
    ranker = get(spec)
    assert [s.keep for s in ranker.stages] == [3, 2, None]
    assert (ranker.stages[0].ranker.k1, ranker.stages[0].ranker.b) == (1.5, 0.6)
    assert [s.keep for s in ranker.stages[1].ranker.stages] == [0.5, None]
    assert ranker.stages[2].ranker.depth == 2
    assert np.isfinite(ranker.score("tower", candidates(7))).all()


def test_a_stage_may_be_a_version_by_its_name(tmp_path, backbone):
    from as2core.rankers.versions import save_version

    save_version(CrossEncoderRanker(backbone, depth=3), tmp_path / "mine", {})
    ranker = get("sequential:stages=wo@2+mine", versions=lambda: {"mine": tmp_path / "mine"})
    assert ranker.stages[1].ranker.depth == 3


@pytest.mark.parametrize("keep", [0, -1, 0.0, 1.5])
def test_a_stage_that_keeps_nobody_or_more_than_all_is_refused(keep):
    with pytest.raises(BadSetting, match=str(keep)):
        Stage(constant(1), keep)


def test_a_sequence_of_nothing_is_refused():
    with pytest.raises(BadSetting, match="one or more"):
        SequentialRanker([])


def test_no_ranking_waits_for_what_the_last_ranker_alone_would_cost(backbone, monkeypatch):
    worked_out = []
    monkeypatch.setattr(CrossEncoderRanker, "full_flops", lambda *_: worked_out.append("now") or 100)
    trace = SequentialRanker([Stage(constant(6), 3), Stage(CrossEncoderRanker(backbone))]).trace("q", candidates(6))
    trace.scores()
    assert worked_out == [] and trace.full_flops == 100 and worked_out == ["now"]
