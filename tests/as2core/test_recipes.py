from pathlib import Path

import pytest

from as2core.errors import BadSetting, UnreadableFile
from as2core.rankers.versions import load_version, read_card
from as2core.training.recipes import RECIPES, SentenceEncoder, run_recipe

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def test_an_unknown_recipe_names_the_known(tmp_path):
    with pytest.raises(BadSetting, match=", ".join(RECIPES)):
        run_recipe("best", tmp_path, tmp_path)


def test_missing_data_are_named(tmp_path):
    with pytest.raises(UnreadableFile, match=r"train-v1\.1\.json\.gz"):
        run_recipe("tiny", tmp_path, tmp_path)


def test_a_teacher_that_is_not_there_is_named_with_what_to_do():
    pytest.importorskip("sentence_transformers")
    with pytest.raises(UnreadableFile, match=r"nowhere.*--teacher"):
        SentenceEncoder("./nowhere")


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
