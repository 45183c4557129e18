"""Every ranker with a network moves whole: nothing that it makes stays on the CPU.

The second device is torch's "meta" under a fake tensor mode: shapes without numbers, and an error where two devices
meet. It stands for a GPU, which a test has not.
"""

import contextlib
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from as2core.rankers.base import HasNetwork, Ranker, move
from as2core.rankers.catalog import CATALOG, get
from as2core.rankers.first_stage import FirstStage
from as2core.types import Candidate

DEVICE = "meta"
CANDIDATES = [Candidate("a", "the tower was built in 1889"), Candidate("b", "bread is long and winter")]
SPECS = (
    "bi-encoder:backbone={bert}",
    "cascade:engine=torch,backbone={bert}",
    "cascade:engine=torch,as=paper,backbone={bert}",
    "cross-encoder:engine=torch,pool=cls,backbone={bert}",
    "cross-encoder:backbone={bart}",
    "classifier:model={bert}",
    "compare-aggregate:backbone={bert}",
    "sequential:stages=jaccard@1+classifier:model={bert}",
    "fusion:rankers=bm25+bi-encoder:backbone={bert}",
)
# their shapes depend on numbers, which the second device has not
BY_NUMBERS = (
    "generative:backbone={bert}",
    "generative:backbone={gpt2}",
    "generative:backbone={bart}",
    "generative:as=paper,backbone={gpt2}",
    "generative:direction=answer,backbone={gpt2}",
    "cosinet:listwise,context=birnn,backbone={bert}",
    "compare-aggregate:as=rerank,backbone={bert}",
    "rel-cnn:backbone={bert}",
)
torch_tensor = torch.tensor


def make_tensor(*values, device=None, **kinds):
    """`torch.tensor` makes one on the meta device that is not fake; moved there it is."""
    tensor = torch_tensor(*values, **kinds)
    return tensor if device is None else tensor.to(device)


def to_numpy(tensor, *_, **__):
    assert tensor.device.type == "cpu", "read as numbers on the device"
    kind = {torch.bool: np.bool_, torch.int64: np.int64}.get(tensor.dtype, np.float32)
    return np.zeros([int(n) for n in tensor.shape], dtype=kind)


@contextlib.contextmanager
def second_device():
    """A mode in which DEVICE is a device of its own; autocast does not know it."""
    mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv())
    torch.tensor, torch.Tensor.numpy = make_tensor, to_numpy
    torch.autocast, torch.is_autocast_enabled = (lambda *_, **__: contextlib.nullcontext()), (lambda *_: False)
    with mode:
        yield lambda module, device: module._apply(lambda t: mode.from_tensor(t.detach()).to(device))


def score_there(ranker: Ranker, part: str) -> None:
    """Score on DEVICE after moving the ranker, or only that part of its module."""
    with second_device() as to:
        torch.nn.Module.to = to
        move(ranker, DEVICE) if not part else ranker.module.get_submodule(part).to(DEVICE)
        assert ranker.score("when was the tower built ?", CANDIDATES).shape == (2,)


def run_alone(*arguments: str) -> subprocess.CompletedProcess:
    """In a process of its own: torch is not the same afterwards."""
    return subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_a_moved_ranker_computes_on_its_device_alone(tiny):
    run = run_alone(*(spec.format(bert=tiny("bert"), bart=tiny("bart")) for spec in SPECS))
    assert run.returncode == 0, run.stderr[-2000:]


@pytest.mark.slow
def test_what_stays_behind_is_noticed(tiny):
    run = run_alone("--part", "model.bert.encoder", f"classifier:model={tiny('bert')}")
    assert run.returncode != 0 and "same device" in run.stderr


@pytest.mark.parametrize("spec", BY_NUMBERS)
def test_the_others_move_all_weights_and_bring_what_they_read_to_them(spec, tiny, monkeypatch):
    ranker = get(spec.format(bert=tiny("bert"), gpt2=tiny("gpt2"), bart=tiny("bart")))
    targets = []
    original = torch.Tensor.to

    def to(tensor, *args, **kinds):
        targets.extend(a for a in args if isinstance(a, torch.device))
        return original(tensor, *args, **kinds)

    with monkeypatch.context() as m:
        m.setattr(torch.Tensor, "to", to)
        ranker.score("when was the tower built ?", CANDIDATES)
    assert targets and {d.type for d in targets} == {"cpu"}
    move(ranker, DEVICE)
    assert {t.device.type for t in ranker.module.state_dict().values()} == {DEVICE}


def test_every_ranker_of_the_catalog_with_a_network_is_in_a_table():
    named = {spec.partition(":")[0] for spec in (*SPECS, *BY_NUMBERS)}
    lexical = {"rr", "wo", "wo-rr", "jaccard", "bm25"}
    elsewhere = {"http", "onnx", "run"}  # compute without torch
    assert named | lexical | elsewhere == set(CATALOG)
    assert not any(isinstance(get(name), HasNetwork) for name in lexical)


def test_a_cascade_moves_its_first_stage(tiny):
    ranker = get(f"cascade:engine=torch,backbone={tiny('bert')}")
    ranker.first = FirstStage(get(f"bi-encoder:backbone={tiny('bert')}"))
    move(ranker, DEVICE)
    assert {p.device.type for p in ranker.first.ranker.backbone.parameters()} == {DEVICE}


if __name__ == "__main__":
    part = sys.argv[2] if sys.argv[1] == "--part" else ""
    for ranker in [get(spec) for spec in (sys.argv[3:] if part else sys.argv[1:])]:
        score_there(ranker, part)
