"""The cascade picture: what is drawn is what the trace says."""

import numpy as np
import pytest

from app.ui.charts.cascade import cascade_chart, describe_picture, make_picture
from app.ui.charts.cascade_marks import KINDS, render_legend
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.cost import EncoderShape

SHAPE = EncoderShape(384, 1536, 6)
EARLY = [0.9, 0.1, 0.8, 0.2, 0.7, 0.6]  # order 0 2 4 5 3 1
LATE = [0.5, 0.4, 0.9, 0.3, 0.1, 0.8]  # order 2 5 0 1 3 4


def a_trace(*exits, layers=(2, 6)):
    n = len(exits[0])
    records = tuple(
        ExitRecord(layer, np.arange(n), np.array(s, dtype=np.float32), np.array([], dtype=int), 0.1, 10 * n, 1000)
        for layer, s in zip(layers, exits, strict=True)
    )
    return CascadeTrace(np.full(n, 10), records, DropSchedule.constant(0.0, exits=len(exits)), SHAPE)


def drawn(*, correct=(), returned=2, ratio=0.5):
    run = a_trace(EARLY, LATE).replay(DropSchedule((ratio,)))
    texts = [f"Sentence {i}." for i in range(6)]
    return make_picture(run, texts=texts, retrieval_ranks=[6, 5, 4, 3, 2, 1], correct=correct, returned=returned)


def ranks(p, cand):
    return [s.rank for s in sorted(p.stops, key=lambda s: s.x) if s.cand == cand]


def column(p, data, name, **changes):
    return cascade_chart(p, **changes)["datasets"][data][name].to_pylist()


def test_a_candidate_has_its_rank_at_every_exit_it_reached_and_none_after():
    p = drawn()
    assert ranks(p, 0) == [6, 1, 2]  # retrieved last, first at layer 2; of 0, 2, 4 at layer 6 second
    assert ranks(p, 2) == [4, 2, 1]
    assert ranks(p, 5) == [1, 4]  # fourth of six at layer 2, where the better three stay


def test_the_feet_count_who_went_in_and_who_stayed():
    p = drawn()
    assert p.cuts == ((1, "layer 2", 6, 3, None), (2, "layer 6", 3, 3, 2))
    assert column(p, "feet", "name") == ["retrieved", "layer 2", "layer 6"]
    assert column(p, "feet", "flow") == ["", "6 → 3", "best 2 of 3"]
    assert column(p, "feet", "narrow") == ["", "6\n→ 3", "best 2\nof 3"]


def test_kinds_say_who_was_returned_and_which_correct_answers_were_lost():
    p = drawn(correct={2, 5})
    assert p.kinds == ("returned", "dropped", "correct, returned", "dropped", "dropped", "correct, dropped")
    assert p.lost == 1


def test_a_lost_answer_is_crossed_and_labelled_where_it_left():
    lost = cascade_chart(drawn(correct={5}))["datasets"]["lost"].to_pylist()
    assert [(r["cand"], r["x"], r["rank"], r["label"]) for r in lost] == [
        (5, 1, 4, "correct answer dropped here, rank 4")
    ]


def test_a_correct_answer_scored_to_the_end_but_not_returned_is_said_as_such():
    lost = cascade_chart(drawn(correct={4}))["datasets"]["lost"].to_pylist()
    assert [(r["x"], r["rank"], r["label"]) for r in lost] == [(2, 3, "correct, but rank 3")]


def test_returned_sentences_are_labelled_and_correct_ones_ticked():
    labels = cascade_chart(drawn(correct={2}))["datasets"]["labels"].to_pylist()
    assert {r["cand"]: r["label"] for r in labels} == {2: "✓ Sentence 2.", 0: "Sentence 0."}


def test_without_dropping_nothing_is_drawn_as_a_cut_and_all_stay_alive():
    p = drawn(ratio=0.0)
    assert [c.kept for c in p.cuts] == [6, 6]
    assert column(p, "cuts", "x") == []
    assert column(p, "edge", "rank") == [6, 6, 6]


def test_the_answers_shown_are_no_cut():
    p = drawn(ratio=0.5)
    assert list(zip(column(p, "cuts", "x"), column(p, "cuts", "rank"), strict=True)) == [(1, 3.5)]
    assert column(p, "edge", "rank") == [6, 3.5, 3.5]


def test_of_many_dropped_lines_three_hundred_are_drawn_but_every_end_is_ticked():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2, 1300))
    run = a_trace(*scores).replay(DropSchedule((0.4,)))
    p = make_picture(run, texts=["x"] * 1300, retrieval_ranks=range(1, 1301), correct={7})
    assert len(set(column(p, "grey", "cand"))) == 300
    assert len(column(p, "ends", "cand")) == p.kinds.count("dropped") > 1200
    assert len(set(column(p, "highlighted", "cand"))) == 6  # five returned and the correct one


def test_a_replay_changes_data_and_nothing_else():
    before, after = cascade_chart(drawn(ratio=0.0)), cascade_chart(drawn(ratio=0.5), chosen=3)
    assert {k: v for k, v in before.items() if k != "datasets"} == {k: v for k, v in after.items() if k != "datasets"}
    assert {name: t.schema for name, t in before["datasets"].items()} == {
        name: t.schema for name, t in after["datasets"].items()
    }
    assert before["datasets"]["chosen"].num_rows == 0
    assert set(after["datasets"]["chosen"]["cand"].to_pylist()) == {3}


def test_the_picture_is_told_in_words():
    told = describe_picture(drawn(correct={5}))
    assert "6 candidates" in told
    assert "layer 2: 6 to 3; layer 6: best 2 of 3" in told
    assert "1 correct answer" in told


def test_one_candidate_is_drawn():
    p = make_picture(a_trace([0.3], [0.1]), texts=["Alone."], retrieval_ranks=[1])
    assert p.kinds == ("returned",)
    assert column(p, "labels", "label") == ["Alone."]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_with_few_candidates_nothing_is_drawn_below_the_last_rank(n):
    run = a_trace([0.3] * n, [0.1] * n).replay(DropSchedule((0.3,)))
    p = make_picture(run, texts=["x"] * n, retrieval_ranks=range(1, n + 1))
    assert max(column(p, "edge", "rank") + column(p, "cuts", "rank")) <= n
    assert column(p, "feet", "flow")[-1] == f"{run.stages[-1].survivors} → {run.stages[-1].survivors}"


@pytest.mark.parametrize("name", KINDS)
def test_the_legend_names_every_kind(name):
    assert name in render_legend()


def test_a_sequential_reranker_is_drawn_with_its_stages_names():
    from as2core.rankers.catalog import get
    from as2core.types import Candidate

    texts = ["iron", "iron tower", "bread", "the iron tower"]
    trace = get("sequential:stages=jaccard@2+rr").trace(
        "iron tower", [Candidate(str(i), t) for i, t in enumerate(texts)]
    )
    p = make_picture(trace, texts=texts, retrieval_ranks=[1, 2, 3, 4], correct=[0], returned=1)
    assert column(p, "feet", "name") == ["retrieved", "jaccard", "rr"]
    assert p.fates == ("dropped after jaccard", "returned, rank 1", "dropped after jaccard", "rank 2 at the end")
    assert p.lost == 1
