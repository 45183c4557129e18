import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord, block_scores
from as2core.cost import EncoderShape, head_flops, layer_flops
from as2core.errors import BadSetting
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.types import Candidate

TEXTS = [
    f"{a} {b} {i}" for i, a in enumerate(("the tower", "iron", "a bridge long")) for b in ("stands", "of steel", "x")
]
TEXTS += ["the tower was completed in 1889 .", "", "the bridge is 300 metres long .", "a river", "winter bread"]
CANDIDATES = [Candidate(str(i), t) for i, t in enumerate(TEXTS)]
QUESTION = "when was the tower built ?"


@pytest.fixture
def ranker(backbone):
    torch.manual_seed(1)
    made = CascadeRanker(backbone, drop_ratio=0.3, keep=1)
    for head in made.module.heads:
        torch.nn.init.normal_(head.net[-1].weight)  # as if trained: it starts at zero
    return made


def by_hand() -> CascadeTrace:
    """Two exits (layers 1 and 2), four candidates: 0 is best early, 3 best late."""
    lengths, shape = np.array([4, 4, 8, 8]), EncoderShape(hidden=2, inner=4, layers=2)
    everyone, nobody = np.arange(4), np.array([], dtype=int)
    flops = layer_flops(lengths, shape) + head_flops(4, shape)
    return CascadeTrace(
        lengths,
        (
            ExitRecord(1, everyone, np.array([4.0, 1.0, 2.0, 3.0], "f4"), nobody, 1.0, 24, flops),
            ExitRecord(2, everyone, np.array([0.1, 9.0, 0.3, 0.4], "f4"), nobody, 1.0, 24, flops),
        ),
        DropSchedule.constant(0.0, exits=2),
        shape,
    )


def test_a_replay_drops_the_worst_of_each_exit_and_ranks_them_below_the_survivors():
    replay = by_hand().replay(DropSchedule.constant(0.5, exits=2))
    assert replay.exits[0].dropped.tolist() == [1, 2]
    assert replay.exits[1].alive.tolist() == [0, 3]
    assert replay.ranking().tolist() == [3, 0, 2, 1]  # 1 is best at the end, but it never got there
    assert replay.dropped_at().tolist() == [-1, 0, 0, -1]


def test_layer_flops_are_the_textbook_s_for_one_token():
    # one token, width 2, inner 3: q, k, v, o are 4 * 2*2*2 = 32; feed-forward 2 * 2*2*3 = 24; attention 2 * 2*2 = 8
    assert layer_flops(np.array([1]), EncoderShape(hidden=2, inner=3, layers=1)) == 64


def test_layer_flops_agree_with_torch_s_flop_counter(backbone):
    from torch.utils.flop_counter import FlopCounterMode

    hidden, mask = torch.randn(3, 11, backbone.hidden), torch.ones(3, 11, dtype=torch.bool)
    backbone.config._attn_implementation = "eager"  # the counter does not see inside the CPU's fused attention
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        backbone.run(hidden, mask, 0, 2)
    assert counter.get_total_flops() == 2 * layer_flops(np.array([11, 11, 11]), backbone.shape)


def test_without_dropping_the_cascade_costs_the_monolithic_model_and_its_extra_heads(ranker):
    trace = ranker.trace(QUESTION, CANDIDATES, DropSchedule.constant(0.0, exits=5))
    extra = 4 * head_flops(len(CANDIDATES), trace.shape)
    assert trace.flops == trace.full_flops + extra


def test_equal_lengths_at_ratio_three_tenths_save_the_paper_s_37_percent():
    """128 candidates of one length through 12 layers, exits 4 to 12: -37 % (Table 3), heads aside."""
    alive = DropSchedule.constant(0.3, exits=5).survivors(128)
    depth = (4, 2, 2, 2, 2)
    saved = 1 - sum(d * a for d, a in zip(depth, alive, strict=True)) / (12 * 128)
    assert saved == pytest.approx(0.37, abs=0.005)


def test_replaying_a_complete_trace_gives_what_a_real_run_gives(ranker):
    complete = ranker.trace(QUESTION, CANDIDATES, DropSchedule.constant(0.0, exits=5))
    schedule = DropSchedule.constant(0.4, exits=5)
    real, replay = ranker.trace(QUESTION, CANDIDATES, schedule), complete.replay(schedule)
    assert [e.alive.tolist() for e in real.exits] == [e.alive.tolist() for e in replay.exits]
    assert [e.flops for e in real.exits] == [e.flops for e in replay.exits]
    assert real.ranking().tolist() == replay.ranking().tolist()
    np.testing.assert_allclose(real.exits[-1].scores, replay.exits[-1].scores, atol=1e-5)
    assert replay.replayed
    assert not real.replayed


def test_each_exit_s_logits_equal_a_plain_forward_pass_of_the_hugging_face_model(ranker, tiny):
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(tiny()).eval(), AutoTokenizer.from_pretrained(tiny())
    asked = tokenizer(QUESTION, add_special_tokens=False)["input_ids"]
    trace = ranker.trace(QUESTION, CANDIDATES[:5], DropSchedule.constant(0.0, exits=5))
    for i, c in enumerate(CANDIDATES[:5]):
        with torch.no_grad():
            ids = tokenizer(QUESTION, c.text, return_tensors="pt")
            states = model(**ids, output_hidden_states=True).hidden_states
            for exit_index, layer in enumerate(ranker.exits):
                h, head, n = states[layer][0], ranker.module.heads[exit_index], len(asked)
                q, a = (normalize(x.mean(0), dim=0) for x in (h[: n + 2], h[n + 2 :]))  # [CLS] q [SEP] | a [SEP]
                expected = (head.net(h.mean(0)) + (q * a * head.cosine).sum()).item()
                assert trace.exits[exit_index].scores[i] == pytest.approx(expected, abs=1e-5)


def test_a_trace_that_dropped_cannot_be_replayed(ranker):
    with pytest.raises(BadSetting, match="drop ratio 0"):
        ranker.trace(QUESTION, CANDIDATES).replay(DropSchedule.constant(0.1, exits=5))


def test_a_schedule_for_another_number_of_exits_is_refused():
    with pytest.raises(BadSetting, match="3 exits"):
        by_hand().replay(DropSchedule.constant(0.1, exits=3))


def test_dropped_candidates_score_below_every_survivor(ranker):
    trace = ranker.trace(QUESTION, CANDIDATES)
    scores, at = trace.scores(), trace.dropped_at()
    reached = np.where(at < 0, len(trace.exits), at)
    order = np.argsort(-scores, kind="stable")
    assert (np.diff(reached[order]) <= 0).all()


def block(layer, alive, scores, dropped):
    return ExitRecord(layer, np.array(alive), np.array(scores, "f4"), np.array(dropped, dtype=int), 0.0, 0, 0)


def test_dropped_candidates_keep_their_order_and_their_ties_however_close_their_scores():
    """1,300 scores a smallest step apart around 1, and one of them twice, moved below a last exit's -9,999."""
    close = np.float32(1) - np.arange(1300, dtype=np.float32) * np.float32(2**-24)
    close = np.append(close, close[7])  # 1,301 candidates, of whom the eighth and the last tie
    first = block(1, range(1303), [*close, 5, 6], range(1301))
    out = block_scores(1303, [first, block(2, [1301, 1302], [-9999, 0], [])])
    assert out.dtype == np.float32 and len(np.unique(out[:1301])) == len(np.unique(close)) == 1300
    assert (np.diff(out[:1300]) < 0).all() and out[7] == out[1300]
    assert out[:1301].max() == -10_000


def test_the_dropped_stand_below_the_others_also_where_one_less_is_no_less_in_float32():
    out = block_scores(2, [block(1, [0, 1], [5e7, 6e7], [0]), block(2, [1], [3e7], [])])
    assert out[0] < out[1]


def test_an_uncalibrated_cascade_gives_an_uncalibrated_cross_encoder(backbone):
    plain = CascadeRanker(backbone)
    told = CascadeRanker(backbone, calibration=[(2.0, i) for i in range(5)])
    assert not CrossEncoderRanker.from_cascade(plain).is_calibrated
    ranker = CrossEncoderRanker.from_cascade(told, depth=3)
    assert ranker.is_calibrated and ranker.calibration == ((2.0, 1),)
