"""The dtype of a cascade's and a cross-encoder's products."""

import numpy as np
import pytest
import torch

from as2core.errors import BadSetting
from as2core.nn import precision
from as2core.rankers.catalog import get
from as2core.rankers.versions import save_version
from as2core.types import Candidate

QUESTION = "when was the tower built ?"
TEXTS = ("the tower was built in 1889", "water is long", "iron")
CANDIDATES = [Candidate(str(i), text) for i, text in enumerate(TEXTS)]


@pytest.fixture
def has_bfloat16(monkeypatch):
    """A processor that has it; torch computes in it everywhere, if slowly."""
    monkeypatch.setattr(precision, "has_bfloat16", lambda device: True)


@pytest.fixture(params=["cascade", "cross-encoder"])
def ranker(request, tiny):
    torch.manual_seed(0)
    return get(f"{request.param}:backbone={tiny('bert', 2)}")


def test_bfloat16_scores_are_those_under_torch_s_autocast_and_float32_ones_are_not(ranker, has_bfloat16):
    plain = ranker.score(QUESTION, CANDIDATES)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        halved = ranker.score(QUESTION, CANDIDATES)
        ranker.adjust({"dtype": "float32"})
        np.testing.assert_array_equal(ranker.score(QUESTION, CANDIDATES), plain)
    ranker.adjust({"dtype": "bfloat16"})
    np.testing.assert_array_equal(ranker.score(QUESTION, CANDIDATES), halved)
    assert 0 < np.abs(halved - plain).max() < 0.1


def test_a_version_takes_a_dtype_and_is_then_run_by_torch(ranker, has_bfloat16, tmp_path):
    save_version(ranker, tmp_path / "mine", {})
    loaded = get(f"{tmp_path / 'mine'}:dtype=bfloat16")
    assert (loaded.dtype, loaded.engine.name) == ("bfloat16", "torch")
    assert get(str(tmp_path / "mine")).dtype == "auto"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("dtype=bfloat16", "this processor has no instructions for it .*: leave it out, or float32"),
        ("dtype=half", "no dtype 'half'; known: auto, bfloat16, float32"),
        ("dtype=float32,engine=onnx", "computes in int8: leave one of the two out"),
    ],
)
def test_what_a_device_or_an_engine_has_not_is_refused(settings, reason, tiny, monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for name in ("cascade", "cross-encoder"):
        with pytest.raises(BadSetting, match=reason):
            get(f"{name}:backbone={tiny('bert', 2)},{settings}")
