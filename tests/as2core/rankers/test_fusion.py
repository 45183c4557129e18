"""Fusion against hand arithmetic and scipy."""

import numpy as np
import pytest
from scipy import stats

from as2core.errors import BadSetting, DamagedModel
from as2core.rankers.catalog import get, load_version
from as2core.rankers.fusion import PAIR, FusionRanker, reciprocal, standardise, weigh_pair
from as2core.rankers.versions import read_card, save_version, update_directories
from as2core.types import Candidate

CANDIDATES = [Candidate(str(i), t) for i, t in enumerate(["iron tower", "a tower", "bread", "the iron tower stands"])]


class Given:
    def __init__(self, *scores):
        self.scores, self.name = np.array(scores, dtype=np.float32), "given"

    def score(self, question, candidates):
        return self.scores[: len(candidates)]


def test_reciprocal_rank_fusion_by_hand():
    fused = FusionRanker([Given(9, 1, 5, 5), Given(0.1, 0.4, 0.3, 0.2)])
    # ranks 1 4 2 3 (the tie to the earlier) and 4 1 2 3
    expected = [1 / 61 + 1 / 64, 1 / 64 + 1 / 61, 2 / 62, 2 / 63]
    np.testing.assert_allclose(fused.score("q", CANDIDATES), expected, rtol=1e-6)
    halved = FusionRanker([Given(9, 1, 5, 5), Given(0.1, 0.4, 0.3, 0.2)], k=0, weights=[1, 0.5])
    np.testing.assert_allclose(halved.score("q", CANDIDATES)[0], 1 + 0.5 / 4)


def test_standard_scores_are_scipy_s_and_equal_scores_say_nothing():
    scores = np.array([3.0, -1.0, 7.5, 2.0])
    np.testing.assert_allclose(standardise(scores), stats.zscore(scores))
    np.testing.assert_array_equal(standardise(np.full(3, 0.1, dtype=np.float32)), 0)
    np.testing.assert_array_equal(standardise(np.array([7.0])), 0)
    assert standardise(np.zeros(0)).shape == reciprocal(np.zeros(0)).shape == (0,)


def test_weighted_standard_scores_by_hand():
    # (1, 3): mean 2, deviation 1; (10, 30): the same after standardising
    fused = FusionRanker([Given(1, 3), Given(30, 10)], method="zscore", weights=[2, 0.5])
    np.testing.assert_allclose(fused.score("q", CANDIDATES[:2]), [-2 + 0.5, 2 - 0.5])


def test_a_scale_of_scores_does_not_matter():
    one = FusionRanker([Given(1, 3, 2, 0), Given(4, 0, 1, 2)], method="zscore")
    other = FusionRanker([Given(-90, 110, 10, -190), Given(0.4, 0, 0.1, 0.2)], method="zscore")
    np.testing.assert_allclose(one.score("q", CANDIDATES), other.score("q", CANDIDATES), atol=1e-5)


def test_a_spec_names_the_rankers():
    fused = get("fusion:method=zscore,k=7,rankers=bm25:k1=1.5,b=0.6+wo+[sequential:stages=wo@2+rr]")
    assert (fused.method, fused.k, [r.name for r in fused.rankers]) == ("zscore", 7, ["bm25", "wo", "sequential"])
    assert fused.specs == ("bm25:k1=1.5,b=0.6", "wo", "sequential:stages=wo@2+rr")
    np.testing.assert_array_equal(fused.weights, [1, 1, 1])


def test_a_spec_may_weight_the_rankers():
    fused = get(f"fusion:method=zscore,weights={PAIR[0]:g}/{PAIR[1]:g},rankers=wo+rr")
    np.testing.assert_array_equal(fused.weights, PAIR)
    wo, rr = fused.rankers
    both = weigh_pair(wo.score("iron tower", CANDIDATES), rr.score("iron tower", CANDIDATES))
    np.testing.assert_allclose(fused.score("iron tower", CANDIDATES), both, rtol=1e-6)
    with pytest.raises(BadSetting, match="2 weights for 3"):
        get("fusion:weights=5/3,rankers=wo+rr+bm25")


def test_a_fusion_is_kept_as_a_version_with_its_weights(tmp_path):
    fused = get("fusion:method=zscore,rankers=bm25:k1=1.5+wo+rr")
    fused = FusionRanker(fused.rankers, method="zscore", weights=[0.3, 1.7, -0.2], specs=fused.specs)
    save_version(fused, tmp_path / "fused", {"note": "by hand"})
    again = load_version(tmp_path / "fused")
    np.testing.assert_array_equal(again.weights, [0.3, 1.7, -0.2])
    np.testing.assert_array_equal(again.score("iron tower", CANDIDATES), fused.score("iron tower", CANDIDATES))
    assert not list((tmp_path / "fused").glob("*.pkl")) and again.name == "fused"


def test_a_fusion_of_directories_that_were_moved_is_loaded_from_where_they_are_now(tmp_path):
    save_version(get("fusion:rankers=wo+rr"), tmp_path / "old" / "part", {})
    fused = get(f"fusion:rankers=bm25+{tmp_path}/old/part")
    save_version(fused, tmp_path / "fused", {"note": "by hand"})
    (tmp_path / "old").rename(tmp_path / "new")
    moved = {f"{tmp_path}/old/part": f"{tmp_path}/new/part"}
    update_directories(tmp_path / "fused", moved)
    again = load_version(tmp_path / "fused")
    assert again.specs == ("bm25", f"{tmp_path}/new/part")
    np.testing.assert_array_equal(again.score("iron tower", CANDIDATES), fused.score("iron tower", CANDIDATES))
    assert read_card(tmp_path / "fused")["note"] == "by hand"


def test_a_damaged_configuration_is_not_made_good_by_pointing_anew(tmp_path):
    save_version(get("fusion:rankers=bm25+wo"), tmp_path / "fused", {})
    config = tmp_path / "fused" / "config.json"
    config.write_text(config.read_text().replace("bm25", "/old/part"))
    update_directories(tmp_path / "fused", {"/old/part": "/new/part"})
    with pytest.raises(DamagedModel, match="damaged"):
        load_version(tmp_path / "fused")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"method": "vote"}, "rrf, zscore"),
        ({"k": -1}, "k=-1"),
        ({"weights": [1, 2]}, "2 weights for 1"),
        ({"weights": [np.nan]}, "nan"),
    ],
)
def test_wrong_settings_say_what_would_be_right(settings, says):
    with pytest.raises(BadSetting, match=says):
        FusionRanker([Given(1)], **settings)


def test_a_fusion_of_nothing_and_one_that_keeps_few_are_refused():
    with pytest.raises(BadSetting, match="two or more"):
        FusionRanker([])
    with pytest.raises(BadSetting, match="keeps every candidate"):
        get("fusion:rankers=wo@3+rr")
