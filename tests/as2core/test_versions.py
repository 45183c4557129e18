import json
from pathlib import Path

import numpy as np
import pytest
import torch

from as2core.errors import BadSetting, DamagedModel
from as2core.rankers.catalog import get, load_version
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.rankers.versions import read_card, save_version, sha256, update_description
from as2core.types import Candidate

CANDIDATES = [Candidate(str(i), t) for i, t in enumerate(["the tower was completed in 1889 .", "iron", "a river"])]
QUESTION = "when was the tower built ?"


def make_ranker(name: str, tiny):
    torch.manual_seed(5)
    ranker = get(f"{name}:backbone={tiny()}")
    with torch.no_grad():
        ranker.module.backbone.blocks[3].output.dense.bias += 0.1  # as training would, somewhere above the bottom
    return ranker


@pytest.mark.parametrize("name", ["cascade", "cross-encoder", "generative"])
def test_a_loaded_version_scores_as_the_one_saved(name, tiny, tmp_path):
    ranker = make_ranker(name, tiny)
    save_version(ranker, tmp_path / "mine", {"seed": 5})
    loaded = load_version(tmp_path / "mine")
    np.testing.assert_array_equal(loaded.score(QUESTION, CANDIDATES), ranker.score(QUESTION, CANDIDATES))
    assert loaded.name == "mine"
    assert read_card(tmp_path / "mine")["seed"] == 5


@pytest.mark.parametrize("kind", ["gpt2", "bart"])
def test_a_generative_model_without_our_backbone_round_trips_too(kind, tiny, tmp_path):
    ranker = get(f"generative:backbone={tiny(kind)}")
    save_version(ranker, tmp_path / "lm", {})
    np.testing.assert_allclose(
        load_version(tmp_path / "lm").score(QUESTION, CANDIDATES), ranker.score(QUESTION, CANDIDATES), atol=1e-6
    )


def test_calibration_threshold_and_schedule_come_back(tiny, tmp_path):
    ranker = make_ranker("cascade", tiny)
    ranker.calibration, ranker.is_calibrated, ranker.threshold = ((2.0, -1.0),) * 5, True, 0.31
    ranker.drop_ratio = (0.1, 0.2, 0.3, 0.4)
    save_version(ranker, tmp_path / "mine", {})
    loaded = load_version(tmp_path / "mine")
    assert (loaded.calibration, loaded.threshold) == (((2.0, -1.0),) * 5, 0.31)
    assert loaded.schedule.ratios == (0.1, 0.2, 0.3, 0.4)
    assert loaded.probability(np.array([0.5]))[0] == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["cascade", "cross-encoder"])
def test_what_calibrating_sets_comes_back(name, tiny, tmp_path):
    ranker = make_ranker(name, tiny)
    ranker.calibration, ranker.is_calibrated = ((2.0, -1.0),) * len(ranker.exits), True
    ranker.answer_calibration = (1.5, 0.7)
    save_version(ranker, tmp_path / "mine", {})
    loaded = load_version(tmp_path / "mine")
    assert (loaded.calibration, loaded.answer_calibration) == (ranker.calibration, (1.5, 0.7))


def test_a_cross_encoder_s_setting_of_the_past_is_read_over(tiny, tmp_path):
    save_version(make_ranker("cross-encoder", tiny), tmp_path / "mine", {})
    without_sum(tmp_path / "mine")
    config = tmp_path / "mine" / "config.json"
    record = json.loads(config.read_text())
    record["settings"]["answer"] = [2.0, 0.7]
    config.write_text(json.dumps(record))
    assert load_version(tmp_path / "mine").answer_calibration is None


@pytest.mark.parametrize(("depth", "expected"), [(None, (1.5, 0.7)), (2, None)])
def test_the_shares_of_answers_go_with_the_exit_they_were_fitted_to(depth, expected, tiny):
    cascade = get(f"cascade:backbone={tiny()},exits=2/4/6")
    cascade.answer_calibration = (1.5, 0.7)
    assert CrossEncoderRanker.from_cascade(cascade, depth=depth).answer_calibration == expected


def test_only_what_differs_from_the_backbone_is_stored(tiny, tmp_path):
    from safetensors import safe_open

    save_version(make_ranker("cascade", tiny), tmp_path / "mine", {})
    with safe_open(tmp_path / "mine" / "model.safetensors", "pt") as f:
        of_backbone = [k for k in f.keys() if k.startswith("backbone.")]  # noqa: SIM118
    assert of_backbone == ["backbone.blocks.3.output.dense.bias"]


@pytest.mark.parametrize("damage", ["model.safetensors", "config.json", "card.json"])
def test_a_missing_file_is_named_with_the_remedy(damage, tiny, tmp_path):
    save_version(make_ranker("cascade", tiny), tmp_path / "mine", {})
    (tmp_path / "mine" / damage).unlink()
    with pytest.raises(DamagedModel, match=rf"{damage} is missing.*restore"):
        load_version(tmp_path / "mine")


def test_a_changed_byte_in_the_weights_is_noticed(tiny, tmp_path):
    save_version(make_ranker("cascade", tiny), tmp_path / "mine", {})
    weights = tmp_path / "mine" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(DamagedModel, match="SHA-256"):
        load_version(tmp_path / "mine")


def test_a_format_of_the_future_is_refused(tiny, tmp_path):
    save_version(make_ranker("cascade", tiny), tmp_path / "mine", {})
    config = tmp_path / "mine" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "format": 99}))
    with pytest.raises(DamagedModel, match="99"):
        load_version(tmp_path / "mine")


def test_a_version_is_never_overwritten_and_a_failed_save_leaves_nothing(tiny, tmp_path):
    ranker = make_ranker("cascade", tiny)
    save_version(ranker, tmp_path / "mine", {})
    with pytest.raises(BadSetting, match="exists"):
        save_version(ranker, tmp_path / "mine", {})
    with pytest.raises(TypeError):
        save_version(ranker, tmp_path / "other", {"not json": object()})
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("name", ["cascade", "generative"])
def test_a_compact_version_takes_a_third_and_scores_alike(name, tiny, tmp_path):
    ranker = make_ranker(name, tiny)
    with torch.no_grad():
        for p in ranker.module.backbone.blocks.parameters():
            p += 0.01 * torch.randn_like(p)
    save_version(ranker, tmp_path / "whole", {})
    save_version(ranker, tmp_path / "compact", {}, compact=True)
    whole, compact = ((tmp_path / n / "model.safetensors").stat().st_size for n in ("whole", "compact"))
    assert compact < 0.4 * whole
    loaded = load_version(tmp_path / "compact")
    assert all(p.dtype == torch.float32 for p in loaded.module.parameters())
    np.testing.assert_allclose(loaded.score(QUESTION, CANDIDATES), ranker.score(QUESTION, CANDIDATES), atol=5e-3)


def test_a_compact_version_names_a_matrix_it_does_not_know(tiny, tmp_path):
    from safetensors.torch import load_file, save_file

    ranker = make_ranker("cascade", tiny)
    with torch.no_grad():
        ranker.module.backbone.blocks[3].output.dense.weight += 0.1
    save_version(ranker, tmp_path / "mine", {}, compact=True)
    weights, card = tmp_path / "mine" / "model.safetensors", tmp_path / "mine" / "card.json"
    save_file({k.replace("blocks.3", "blocks.77"): v for k, v in load_file(weights).items()}, weights)
    card.write_text(json.dumps({**json.loads(card.read_text()), "sha256": sha256(weights)}))
    with pytest.raises(DamagedModel, match=r"blocks\.77"):
        load_version(tmp_path / "mine")


def without_sum(version) -> None:
    """As versions were saved before the card had the configuration's sum."""
    card = read_card(version)
    del card["config_sha256"]
    (version / "card.json").write_text(json.dumps(card))


def test_a_changed_configuration_is_noticed(tiny, tmp_path):
    save_version(make_ranker("cascade", tiny), tmp_path / "mine", {})
    config = tmp_path / "mine" / "config.json"
    assert read_card(tmp_path / "mine")["config_sha256"] == sha256(config)
    config.write_text(config.read_text().replace('"threshold": 0.5', '"threshold": 0.9'))
    with pytest.raises(DamagedModel, match=r"config\.json is damaged.*SHA-256.*restore mine"):
        load_version(tmp_path / "mine")
    without_sum(tmp_path / "mine")
    assert load_version(tmp_path / "mine").threshold == 0.9


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"format": 1, "ranker": "cascade"}', "it has no 'settings'"),
        (b'{"format": 1, "ranker": "cascade", "settings": {}}', "it has no 'backbone'"),
        (b'{"format": 1, "ranker": "generative", "backbone": "b", "settings": {}}', "it has no 'max_length'"),
        (b'{"format": 1, "ranker": "cascade", "backbone": "%s", "settings": {"colour": 1}}', "colour"),
        (b'{"format": 1, "ranker": "cascade", "backbone": "%s", "settings": {"exits": ["two"]}}', "a list of layers"),
        (b'{"format": 1, "ranker": "cascade", "backbone": "%s", "settings": {"exits": [9]}}', "between 1 and 6"),
        (b'{"format": 1, "ranker": "cascade", "backbone": 7, "settings": {}}', "backbone is 7"),
        (b'{"format": 1, "ranker": "cascade", "backbone": "%s", "settings": [1]}', "settings is"),
        (b'{"format": 1, "ranker": "cascade", "backbone": "%s", "settings": {"max_length": 1e9}}', "max_length is"),
        (b'{"format": 1, "ranker": "cascade", "backbone": "%s", "settings": {"threshold": NaN}}', "threshold is nan"),
        (b"[1]", "is not a JSON object"),
        (b"{", "is not JSON"),
        (b"\xff\xfe{}", "is not JSON"),
    ],
)
def test_a_damaged_configuration_is_told_in_a_line_with_the_remedy(content, told, tiny, tmp_path):
    save_version(make_ranker("cascade", tiny), tmp_path / "mine", {})
    without_sum(tmp_path / "mine")
    (tmp_path / "mine" / "config.json").write_bytes(content.replace(b"%s", str(tiny()).encode()))
    with pytest.raises(DamagedModel, match=rf"config\.json.*{told}.*restore mine"):
        load_version(tmp_path / "mine")


def test_a_version_described_anew_can_be_loaded_whenever_a_kill_comes(tiny, tmp_path, monkeypatch):
    ranker = make_ranker("cascade", tiny)
    save_version(ranker, tmp_path / "mine", {"seed": 5})
    ranker.threshold = 0.9
    rename, renames = Path.replace, []

    def kill_at(number):
        def replace(self, target):
            renames.append(target)
            if len(renames) == number:
                raise KeyboardInterrupt
            return rename(self, target)

        return replace

    for number in (1, 2, 3):
        renames.clear()
        with monkeypatch.context() as patched:
            patched.setattr(Path, "replace", kill_at(number))
            with pytest.raises(KeyboardInterrupt):
                update_description(ranker, tmp_path / "mine", {"seed": 6})
        assert load_version(tmp_path / "mine").threshold == (0.9 if number == 3 else 0.5)
        assert read_card(tmp_path / "mine")["seed"] == 5
    update_description(ranker, tmp_path / "mine", {"seed": 6})
    card = read_card(tmp_path / "mine")
    assert (card["seed"], card["config_sha256"]) == (6, sha256(tmp_path / "mine" / "config.json"))
    assert load_version(tmp_path / "mine").threshold == 0.9
