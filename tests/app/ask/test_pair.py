"""Two rankers on one answered question: the same candidates, what moved, and what is offered first."""

import numpy as np
import pytest
from fake_models import FakeCascade, write_version
from scipy.stats import kendalltau

from app.ask import asking, pair
from app.ask.pair import Move, compare_orders, rank_side, suggest_second
from app.ranking import retrieval
from app.versions import promotion
from as2core.errors import UnknownRanker
from db.repositories import versions as version_rows

QUESTION = "When was the Eiffel Tower finished?"


def put_version(wb, name, *, parent="cascade", **card):
    folder = write_version(wb.settings.versions_dir / name, parent=parent, **card)
    with wb.write() as s:
        version_rows.add_version(s, name, kind="cascade", path=str(folder), state="candidate", parent=parent,
                                 now=wb.clock())  # fmt: skip


@pytest.fixture
def view(wb, towers):
    return asking.ask(wb, towers.id, QUESTION)


def texts(side, ranking):
    return [side.view.candidates[i].text for i in ranking.tolist()]


def test_both_sides_have_the_same_candidates_retrieved_once(wb, view, monkeypatch):
    monkeypatch.setattr(retrieval, "retrieve", lambda *a, **k: pytest.fail("retrieved again"))
    sides = [rank_side(wb, view, name) for name in ("cascade", "generative", "bm25", "sequential:stages=bm25@5+bm25")]
    assert len({tuple(c.sentence_id for c in side.view.candidates) for side in sides}) == 1


def test_a_cascade_answers_as_it_does_on_ask_under_the_same_drops(wb, view):
    side = rank_side(wb, view, "cascade")
    run = side.replay([0.5])
    expected = view.trace.replay(run.schedule)
    assert run.ranking().tolist() == expected.ranking().tolist()
    assert side.view.probability.tolist() == view.probability.tolist()
    n = len(side.view.candidates)
    assert side.list_cuts(run)[0].survivors == n - n // 2


def test_only_the_candidates_that_the_first_stage_passed_on_are_ranked(wb, towers):
    limits = asking.RankLimits.from_settings(wb.settings, first_keep=4)
    view = asking.ask(wb, towers.id, QUESTION, limits=limits)
    side = rank_side(wb, view, "generative")
    assert len(side.view.candidates) == 4 < len(view.candidates)
    lengths = [len(t.split()) for t in texts(side, side.replay([0.3]).ranking())]
    assert lengths == sorted(lengths)  # it prefers short ones


def test_a_ranker_without_calibration_claims_no_probability_and_drops_nothing(wb, view):
    side = rank_side(wb, view, "bm25")
    run = side.replay([0.3])
    assert (side.view.is_calibrated, side.list_cuts(run)) == (False, [])
    assert not side.view.is_answered


def test_a_ranker_that_drops_by_itself_says_what_it_dropped(wb, view):
    side = rank_side(wb, view, "sequential:stages=wo@3+bm25")
    [cut] = side.list_cuts(side.replay([0.3]))
    assert (len(cut.alive), cut.survivors) == (len(side.view.candidates), 3)


def test_what_was_trained_on_the_question_says_so(wb, view):
    put_version(wb, "spring", trained_on=[QUESTION])
    assert "trained on this question" in rank_side(wb, view, "spring").notes[0]
    assert rank_side(wb, view, "cascade").notes == ()


def test_an_answer_says_so_too_where_its_model_was_trained_on_the_question(wb, towers):
    put_version(wb, "spring", trained_on=[QUESTION])
    assert asking.TRAINED_ON_NOTE in asking.ask(wb, towers.id, QUESTION, version="spring").notes
    assert asking.TRAINED_ON_NOTE not in asking.ask(wb, towers.id, "Who built it?", version="spring").notes


def test_an_unknown_name_is_refused(wb, view):
    with pytest.raises(UnknownRanker, match="no ranker 'nonsense'"):
        rank_side(wb, view, "nonsense")


def test_with_more_exits_than_shares_the_first_share_counts_at_each(wb, view, monkeypatch):
    monkeypatch.setattr(FakeCascade, "exits", (2, 4, 6))
    side = rank_side(wb, view, "cascade")
    assert side.replay([0.5, 0.1, 0.1, 0.1]).schedule.ratios == (0.5, 0.5)


def test_moves_by_hand():
    before, after = np.array([1, 2, 3, 4, 5]), np.array([2, 1, 5, 4, 3])
    moves = compare_orders(before, after)
    assert not moves.is_first_same
    assert (moves.shared, moves.depth) == (5, 5)
    assert (moves.rise, moves.fall) == (Move(4, 5, 3), Move(2, 3, 5))
    assert moves.tau == pytest.approx((6 - 4) / 10)  # of ten pairs, (1, 2), (3, 4), (3, 5) and (4, 5) are reversed


def test_the_first_ten_and_moves_among_the_first_twenty_are_counted():
    n = 60
    before = np.arange(1, n + 1)
    after = before.copy()
    after[[9, 10]] = [11, 10]  # over the edge of the ten
    after[[24, 59]] = [60, 25]  # far down, and the largest move of all
    after[[18, 22]] = [23, 19]
    moves = compare_orders(before, after)
    assert moves.is_first_same
    assert (moves.shared, moves.depth) == (9, 10)
    assert (moves.rise, moves.fall) == (Move(22, 23, 19), Move(18, 19, 23))
    assert moves.tau == pytest.approx(kendalltau(before, after).statistic)


def test_equal_orders_have_no_moves_and_one_candidate_no_agreement():
    moves = compare_orders(np.array([2, 1, 3]), np.array([2, 1, 3]))
    assert (moves.rise, moves.fall, moves.tau) == (None, None, 1.0)
    assert compare_orders(np.array([1]), np.array([1])).tau is None


def test_a_newer_version_is_offered_first_and_an_older_ones_parent_for_the_newest(wb, view):
    assert suggest_second(wb, "cascade") == "generative"  # nothing else is there
    put_version(wb, "first")
    put_version(wb, "second", parent="first")
    assert suggest_second(wb, "cascade") == "second"
    assert suggest_second(wb, "first") == "second"
    assert suggest_second(wb, "second") == "first"
    put_version(wb, "third", parent="cascade")
    assert suggest_second(wb, "third") == "cascade"


def test_a_rejected_or_damaged_version_is_not_offered(wb, view):
    put_version(wb, "first")
    put_version(wb, "second")
    promotion.reject(wb, "second")
    assert suggest_second(wb, "cascade") == "first"
    (wb.settings.versions_dir / "first" / "config.json").unlink()
    assert suggest_second(wb, "cascade") == "generative"
    (wb.settings.models_dir / "generative" / "config.json").unlink()
    assert suggest_second(wb, "cascade") == pair.WORDS_ONLY
