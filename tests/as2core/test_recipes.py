from pathlib import Path

import pytest

from as2core.data.catalog import load_questions
from as2core.errors import BadSetting, UnreadableFile
from as2core.rankers.catalog import get
from as2core.rankers.versions import load_version, read_card, save_version
from as2core.training import recipes
from as2core.training.recipes import RECIPES, run_recipe

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def test_an_unknown_recipe_names_the_known(tmp_path):
    with pytest.raises(BadSetting, match=", ".join(RECIPES)):
        run_recipe("best", tmp_path, tmp_path)


def test_missing_data_are_named(tmp_path):
    with pytest.raises(UnreadableFile, match=r"train-v1\.1\.json\.gz"):
        run_recipe("tiny", tmp_path, tmp_path)


def test_a_recipe_does_not_go_on_from_anothers_versions(tiny, tmp_path):
    save_version(get(f"cascade:backbone={tiny()}"), tmp_path / "cascade", {"recipe": "default"})
    with pytest.raises(BadSetting, match="made by the recipe 'default': choose another folder"):
        run_recipe("tiny", SHARED, tmp_path)


def test_what_the_card_tells_is_measured_again_and_the_weights_stay(tiny, tmp_path, monkeypatch):
    few = [q for q in load_questions("starter-dev").questions if q.positives][:6]
    monkeypatch.setattr(recipes, "_starter", lambda part: few)
    save_version(get(f"cascade:backbone={tiny()}"), tmp_path / "cascade", {"seed": 3})
    weights = (tmp_path / "cascade" / "model.safetensors").read_bytes()
    assert recipes.measure_again(tmp_path) == [tmp_path / "cascade"]
    card = read_card(tmp_path / "cascade")
    assert (card["seed"], card["calibration"]["questions"], "typo" in card["robustness"]) == (3, 6, True)
    assert (tmp_path / "cascade" / "model.safetensors").read_bytes() == weights
    assert load_version(tmp_path / "cascade").calibrated


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.timeout(1200)
def test_the_tiny_recipe_makes_two_versions_with_cards(tmp_path):
    if not SHARED.is_dir():
        pytest.skip("the shared data sets are not here")
    made = run_recipe("tiny", SHARED, tmp_path)
    assert [p.name for p in made] == ["generative", "cascade"]
    assert load_version(made[1]).calibrated
    assert {s["name"] for s in read_card(made[0])["data"]} >= {"SelQA dev (Apache-2.0)"}
