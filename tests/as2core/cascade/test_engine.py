"""The onnx engine against torch, on tiny models: logits, rescoring, several questions in a run, cheap first, costs."""

import copy
import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import numpy as np
import pytest
import torch
from tiny_cascade import CANDIDATES, QUESTION, TEXTS, make_ranker

from as2core.cascade.engine import rescore_best, run_completely
from as2core.cascade.engine_onnx import OnnxEngine, exact_pool, pack, pooling
from as2core.cascade.onnx_graph import build_graph
from as2core.cascade.schedule import DropSchedule
from as2core.errors import BadSetting
from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.rankers.bm25 import BM25Ranker
from as2core.rankers.first_stage import FirstStage
from as2core.rankers.passage_cache import PassageCache
from as2core.types import Candidate

NOTHING = DropSchedule.constant(0.0, exits=5)


class HereAndNow(Executor):
    """A pool without threads."""

    def submit(self, call, /, *arguments, **settings):
        future = Future()
        future.set_result(call(*arguments, **settings))
        return future


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("graphs")


@pytest.fixture(scope="module")
def pair(tiny, folder):
    """The same ranker on torch and on onnx."""
    slow = make_ranker(tiny())
    quick = copy.copy(slow)
    quick.use("onnx", folder=folder)
    assert (slow.engine.name, quick.engine.name) == ("torch", "onnx")
    return slow, quick


@pytest.mark.parametrize("kind", ["bert", "roberta", "electra"])
def test_int8_logits_are_near_float32_s_at_every_exit(kind, tiny, folder):
    ranker = make_ranker(tiny(kind))
    exact = ranker.trace(QUESTION, CANDIDATES, NOTHING)
    ranker.use("onnx", folder=folder)
    small = ranker.trace(QUESTION, CANDIDATES, NOTHING)
    for a, b in zip(exact.exits, small.exits, strict=True):
        spread = float(a.scores.std())
        assert np.abs(a.scores - b.scores).max() < 0.15 * spread
        assert np.corrcoef(a.scores, b.scores)[0, 1] > 0.995
    assert small.lengths.tolist() == exact.lengths.tolist()
    assert [e.flops for e in small.exits[:-1]] == [e.flops for e in exact.exits[:-1]]  # the last one's: see below


def test_a_score_does_not_depend_on_who_shares_the_batch(pair):
    together = pair[1].trace(QUESTION, CANDIDATES, NOTHING)
    alone = [pair[1].trace(QUESTION, [c], NOTHING) for c in CANDIDATES[:6]]
    for i, e in enumerate(together.exits[:-1]):
        np.testing.assert_allclose(e.scores[:6], [t.exits[i].scores[0] for t in alone], atol=1e-4)
    last = together.exits[-1].scores
    settled = last[:6] >= last.max() - pair[1].engine.error  # these were looked at again
    assert not settled.all()
    by_itself = np.array([t.exits[-1].scores[0] for t in alone])
    np.testing.assert_allclose(last[:6][~settled], by_itself[~settled], atol=1e-4)


def test_those_who_may_be_the_best_get_float32_s_logits(pair):
    exact, small = (r.trace(QUESTION, CANDIDATES, NOTHING).exits[-1].scores for r in pair)
    best = small >= small.max() - pair[1].engine.error
    assert best.sum() >= 3  # every text is there three times
    np.testing.assert_allclose(small[best], exact[best], atol=1e-5)
    assert not np.allclose(small[~best], exact[~best], atol=1e-5)


def test_rescoring_runs_in_a_thread_a_core_however_many_ask(pair, monkeypatch):
    """torch and MKL keep memory for every thread that calls them."""
    everyone, callers, workers = np.arange(len(TEXTS)), [], []
    all_are_here = threading.Barrier(8)

    class Exact:
        def start(self, questions, texts):
            return self

        def advance(self, members, first, last):
            workers.append(threading.current_thread())
            return np.array([[len(TEXTS) * 1.0] * len(members)]), [0.0]

    def ask(_: int) -> list[float]:
        callers.append(threading.current_thread())
        all_are_here.wait(60)
        return pair[1].engine.start([QUESTION] * len(TEXTS), TEXTS).exact(everyone).tolist()

    monkeypatch.setattr(pair[1].engine, "exact", Exact())
    monkeypatch.setattr("as2core.cascade.engine_onnx.count_cores", lambda: 2)
    exact_pool.cache_clear()
    with ThreadPoolExecutor(8) as requests:
        assert [*requests.map(ask, range(8))] == [[len(TEXTS)] * len(TEXTS)] * 8
    exact_pool().shutdown()
    exact_pool.cache_clear()
    assert (len(set(callers)), len(workers)) == (8, 8)
    assert len(set(workers)) <= 2 and not set(workers) & set(callers)


def test_settling_asks_about_the_near_until_the_best_is_certain():
    # of the first question: 3.0 and 2.9 are near each other, then 2.75 is near what 3.0 came down to; the second
    # question's best stands alone
    exact = {0: 2.8, 1: 2.6, 2: 2.78, 3: 9.0, 4: 9.0, 5: 9.0}
    calls = []

    def again(at):
        calls.append(at.tolist())
        return np.array([exact[i] for i in at])

    given = np.array([3.0, 2.9, 2.75, 1.0, 5.0, 4.0])
    settled, known = rescore_best(given, [4], 0.2, again)
    assert calls == [[0, 1], [2]]
    assert settled.tolist() == [2.8, 2.6, 2.78, 1.0, 5.0, 4.0]
    assert known.tolist() == [True, True, True, False, False, False]
    assert given[0] == 3.0
    assert [a.tolist() for a in rescore_best(np.zeros(0), [0], 0.2, again)] == [[], []]


def test_settling_again_asks_only_about_those_not_exact_yet():
    calls = []

    def again(at):
        calls.append(at.tolist())
        return np.full(len(at), 1.9)

    settled, known = rescore_best(np.array([2.0, 1.9, 0.0]), [3], 0.2, again, np.array([True, False, False]))
    assert calls == [[1]]
    assert (settled.tolist(), known.tolist()) == ([2.0, 1.9, 0.0], [True, True, False])


@pytest.mark.parametrize("engine", [0, 1])
def test_dropping_leaves_the_survivors_scores_as_they_were(pair, engine):
    complete = pair[engine].trace(QUESTION, CANDIDATES, NOTHING)
    schedule = DropSchedule.constant(0.4, exits=5)
    real, replayed = pair[engine].trace(QUESTION, CANDIDATES, schedule), complete.replay(schedule)
    assert [_texts(e.alive) for e in real.exits] == [_texts(e.alive) for e in replayed.exits]
    scores = [np.sort(trace.exits[-1].scores) for trace in (real, replayed)]
    np.testing.assert_allclose(*scores, atol=1e-4)


def _texts(alive: np.ndarray) -> list[int]:
    """Which texts: each stands in the list three times, and rounding decides which of equal ones is dropped."""
    return sorted((alive % len(TEXTS)).tolist())


@pytest.mark.parametrize("engine", [0, 1])
def test_a_trace_completed_after_its_answer_equals_one_that_dropped_nothing(pair, engine):
    ranker, schedule, early = pair[engine], DropSchedule.constant(0.4, exits=5), []
    texts = [c.titled_text for c in CANDIDATES]
    trace = run_completely(ranker.engine, QUESTION, texts, schedule, early.append)
    complete, dropping = ranker.trace(QUESTION, CANDIDATES, NOTHING), ranker.trace(QUESTION, CANDIDATES, schedule)
    assert [e.alive.tolist() for e in early[0].exits] == [e.alive.tolist() for e in dropping.exits]
    assert trace.complete and not trace.replayed
    for a, b in zip(trace.exits, complete.exits, strict=True):
        assert (a.layer, a.alive.tolist(), a.dropped.tolist(), a.tokens) == (b.layer, b.alive.tolist(), [], b.tokens)
        np.testing.assert_allclose(a.scores, b.scores, atol=1e-4)
    assert (trace.flops, trace.lengths.tolist()) == (complete.flops, complete.lengths.tolist())
    assert early[0].ranking()[0] == trace.replay(schedule).ranking()[0]


@pytest.mark.parametrize("engine", [0, 1])
def test_a_question_without_candidates_has_an_empty_complete_trace(pair, engine):
    trace = run_completely(pair[engine].engine, QUESTION, [], DropSchedule.constant(0.4, exits=5), lambda run: None)
    assert (trace.candidates, len(trace.exits)) == (0, 5)


@pytest.mark.parametrize("engine", [0, 1])
def test_several_questions_in_a_run_score_as_each_alone(pair, engine):
    ranker = pair[engine]
    asked = [
        (QUESTION, CANDIDATES[:6]),
        ("how many metres ?", CANDIDATES[:4]),
        ("who ?", []),
        ("why ?", CANDIDATES[2:3]),
    ]
    for (question, candidates), scores in zip(asked, ranker.score_many(asked), strict=True):
        np.testing.assert_allclose(scores, ranker.score(question, candidates), atol=1e-4)
    assert ranker.score_many([]) == []


@pytest.mark.parametrize("engine", [0, 1])
def test_states_are_kept_only_of_those_that_a_stretch_will_read(pair, engine):
    run = pair[engine].engine.start([QUESTION] * 18, [c.text for c in CANDIDATES])

    def list_holders() -> dict[int, int]:
        """Who has something kept: position -> the bytes of the memory that it keeps from being freed."""
        if engine == 0:
            return {m: s.untyped_storage().nbytes() for m, s in run.states.items()}
        whole = {m: s if s.base is None else s.base for m, s in enumerate(run.inputs) if s is not None}
        return {m: s.nbytes for m, s in whole.items()}

    everyone, few = np.arange(18), np.array([1, 7, 13])  # the empty text, three times: a small batch of its own
    run.advance(everyone, 0, 1)
    assert sorted(list_holders()) == everyone.tolist()
    run.advance(few, 1, 2)
    assert sorted(list_holders()) == few.tolist()
    width = pair[engine].backbone.hidden
    assert max(list_holders().values()) <= len(few) * run.lengths[1] * width * 4  # of their own batch, no other
    run.advance(few, 2, 5)
    assert list_holders() == {}


def test_a_copy_is_on_torch_for_its_weights_are_about_to_move(pair):
    assert copy.deepcopy(pair[1]).engine.name == "torch"


def test_an_unknown_engine_is_refused_with_those_there_are(pair):
    with pytest.raises(BadSetting, match="auto, torch, onnx"):
        pair[0].use("cuda")


def test_the_module_is_on_the_gpu_for_torch_alone(tiny, monkeypatch):
    ranker, moved = make_ranker(tiny()), []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(ranker.module, "to", moved.append)
    monkeypatch.setattr(ranker, "_build_onnx", lambda *_: None)
    for engine in ("auto", "onnx", "torch"):
        ranker.use(engine)
    assert moved == ["cuda", "cpu", "cuda"]


@torch.inference_mode()
def test_half_precision_sets_no_two_candidates_to_one_score(tiny):
    """A head's bias of -28 left logits in steps of 0.125."""
    ranker = make_ranker(tiny())
    for head in ranker.module.heads:
        head.net[-1].bias.fill_(-28)
    exact = ranker.trace(QUESTION, CANDIDATES[:6], NOTHING)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = ranker.trace(QUESTION, CANDIDATES[:6], NOTHING)
    for a, b in zip(exact.exits, half.exits, strict=True):
        assert len(set(b.scores)) == 6
        np.testing.assert_allclose(b.scores, a.scores, atol=0.1)


def test_an_activation_without_an_operator_is_refused_by_name(pair):
    ranker = copy.deepcopy(pair[0])
    ranker.backbone.config.hidden_act = "swish"
    with pytest.raises(BadSetting, match="swish"):
        build_graph(ranker.backbone, ranker.module.heads[0], 0, 2, final=False)


def test_batches_hold_every_candidate_once_and_like_lengths_together(monkeypatch):
    monkeypatch.setattr("as2core.cascade.engine_onnx.count_cores", lambda: 2)
    lengths = np.random.default_rng(0).integers(5, 120, 400)
    parts = pack(lengths)
    assert sorted(np.concatenate(parts).tolist()) == list(range(400))
    padded = sum(len(p) * lengths[p].max() for p in parts)
    assert padded < 1.05 * lengths.sum()
    assert len(parts) % 2 == 0


def test_pooling_weights_make_the_three_means():
    weights = pooling(np.array([4, 2]), np.array([3, 1]))
    np.testing.assert_allclose(weights[0], [[0.25] * 4, [1 / 3, 1 / 3, 1 / 3, 0], [0, 0, 0, 1]])
    np.testing.assert_allclose(weights[1], [[0.5, 0.5, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]])


def test_a_cheap_first_stage_lets_its_best_in_and_stands_on_the_trace(pair):
    slow = copy.copy(pair[0])
    slow.first = FirstStage(BM25Ranker(), keep=4)
    trace = slow.trace(QUESTION, CANDIDATES)
    best = np.argsort(-BM25Ranker().score(QUESTION, CANDIDATES), kind="stable")[:4]
    assert sorted(trace.entered.tolist()) == sorted(best.tolist())
    assert [s.title for s in trace.stages][:2] == ["bm25", "layer 2"]
    assert trace.first.survivors == 4
    assert (trace.dropped_at() == 0).sum() == len(CANDIDATES) - 4
    scores = trace.scores()
    assert scores[best].min() > np.delete(scores, best).max()
    inside = pair[0].trace(QUESTION, [CANDIDATES[i] for i in sorted(best)], trace.schedule)
    np.testing.assert_allclose(trace.exits[-1].scores, inside.exits[-1].scores, atol=1e-5)
    assert trace.relative_cost < inside.relative_cost
    assert len(trace.lengths) == len(CANDIDATES)


def test_a_complete_run_behind_a_first_stage_replays(pair):
    slow = copy.copy(pair[0])
    slow.first = FirstStage(BM25Ranker(), keep=5)
    schedule = DropSchedule.constant(0.5, exits=5)
    apart = CANDIDATES[:6]  # no two alike, so no ties
    real = slow.trace(QUESTION, apart, schedule)
    replayed = slow.trace(QUESTION, apart, NOTHING).replay(schedule)
    assert real.ranking().tolist() == replayed.ranking().tolist()


def test_few_candidates_need_no_first_stage(pair):
    slow = copy.copy(pair[0])
    slow.first = FirstStage(BM25Ranker(), keep=len(CANDIDATES))
    assert slow.trace(QUESTION, CANDIDATES).first is None
    with pytest.raises(BadSetting, match="first_keep=0"):
        FirstStage(BM25Ranker(), keep=0)


def test_kept_vectors_give_the_bi_encoder_s_scores_without_reading_again(backbone, tmp_path, monkeypatch):
    exact = BiEncoderRanker(backbone).score(QUESTION, CANDIDATES)
    ranker = BiEncoderRanker(backbone, cache=PassageCache(tmp_path / "vectors.db"))
    np.testing.assert_allclose(ranker.score(QUESTION, CANDIDATES), exact, atol=2e-3)
    read = []
    embed = ranker.embed
    monkeypatch.setattr(ranker, "embed", lambda texts, *a: read.extend(texts) or embed(texts, *a))
    np.testing.assert_allclose(ranker.score(QUESTION, CANDIDATES), exact, atol=2e-3)
    assert read == [QUESTION]


def test_the_engine_counts_what_torch_s_flop_counter_counts(pair):
    from torch.utils.flop_counter import FlopCounterMode

    ranker = copy.deepcopy(pair[0])
    ranker.backbone.config._attn_implementation = "eager"  # the counter does not see inside the CPU's fused attention
    alike = [Candidate("0", "the tower is high ."), Candidate("1", "the bridge was long .")]  # no padding to count
    with FlopCounterMode(display=False) as counter:
        trace = ranker.trace(QUESTION, alike, NOTHING)
    cosine = 2 * len(alike) * ranker.backbone.hidden * len(ranker.exits)  # the term beside the classifier
    assert counter.get_total_flops() == pytest.approx(trace.flops + cosine, abs=cosine)


def test_rescoring_in_float32_is_counted_as_torch_s_flop_counter_counts_it(pair, monkeypatch):
    from torch.utils.flop_counter import FlopCounterMode

    monkeypatch.setattr(pair[1].backbone.config, "_attn_implementation", "eager")
    monkeypatch.setattr("as2core.cascade.engine_onnx.exact_pool", HereAndNow)  # the counter sees its own thread alone
    alike = [Candidate(str(i), "the tower is high .") for i in range(3)]  # all as good as the best: all scored again
    with FlopCounterMode(display=False) as counter:  # sees the rescoring alone: the rest is ONNX Runtime's
        trace = pair[1].trace(QUESTION, alike, NOTHING)
    once = pair[0].trace(QUESTION, alike, NOTHING)
    cosine = 2 * len(alike) * pair[1].backbone.hidden
    assert trace.exits[-1].again.tolist() == [0, 1, 2]
    assert trace.flops - once.flops == pytest.approx(counter.get_total_flops(), abs=cosine)
    assert trace.exits[-1].flops - once.exits[-1].flops == trace.flops - once.flops
    half = DropSchedule.constant(0.5, exits=5)  # 3, 2, 1, 1, 1 are left: the rescoring of one of them remains
    assert trace.replay(half).flops - once.replay(half).flops == (trace.flops - once.flops) / 3
    monkeypatch.setattr(pair[1], "first", FirstStage(BM25Ranker(), keep=2))
    assert pair[1].trace(QUESTION, [Candidate("x", "bread"), *alike[:2]]).exits[-1].again.tolist() == [1, 2]


def test_the_bi_encoder_s_cost_is_torch_s_count_of_what_it_had_not_read_before(backbone, tmp_path):
    from torch.utils.flop_counter import FlopCounterMode

    backbone = copy.deepcopy(backbone)
    backbone.config._attn_implementation = "eager"
    first = FirstStage(BiEncoderRanker(backbone, cache=PassageCache(tmp_path / "vectors.db")), keep=1)
    alike = [Candidate(str(i), f"the {word} is high .") for i, word in enumerate(["tower", "bridge", "river"])]
    spent = []
    for candidates in (alike[:2], alike[:2], alike):  # nothing is known; both are; one is new
        with FlopCounterMode(display=False) as counter:
            cut = first.cut(QUESTION, candidates)
        products = 2 * len(candidates) * backbone.hidden  # numpy's, which the counter does not see
        assert cut.flops == counter.get_total_flops() + products
        spent.append(cut.flops - products)
    assert spent[0] > spent[2] > spent[1] > 0
    assert BiEncoderRanker(backbone).score_and_cost(QUESTION, alike[:2])[1] == spent[0] + 4 * backbone.hidden


def test_the_onnx_engine_gives_its_sessions_a_thread_each(pair):
    assert isinstance(pair[1].engine, OnnxEngine)
    assert [s.get_session_options().intra_op_num_threads for s in pair[1].engine.sessions] == [1] * 5
