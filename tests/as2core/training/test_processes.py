import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import year_questions
from safetensors.torch import load_file

from as2core.data import jsonl

ROOT = Path(__file__).resolve().parents[3]


def start(what: str, backbone: str, workdir: Path, settings: dict, **environment: str) -> subprocess.Popen:
    workdir.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(
        [sys.executable, year_questions.__file__, what, backbone, str(workdir), json.dumps(settings)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stderr=subprocess.PIPE,
        text=True,
    )


def together(backbone: str, workdir: Path, settings: dict, processes: int) -> tuple[list[float], list[float], dict]:
    """Losses by step, dev AP by evaluation, and weights of a run in so many processes, as torchrun would start them."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(processes)}
    run = [
        start("weigh", backbone, workdir, settings, RANK=str(i), LOCAL_RANK=str(i), **place) for i in range(processes)
    ]
    for process in run:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    return (*read_history(json.loads((workdir / "history.json").read_text())), load_file(workdir / "last.safetensors"))


def read_history(history: list[dict]) -> tuple[list[float], list[float]]:
    losses = [e["loss"] for e in history if e["kind"] == "step"]
    return losses, [ap for e in history if e["kind"] == "eval" for ap in e["dev_ap"].values()]


def assert_as_alone(settings: dict, backbone: str, tmp_path: Path, processes: int = 2) -> None:
    """In batches of three questions no two processes have equal parts, and the last batch has but one question."""
    settings = {"bf16": False, "batch_questions": 3, **settings}
    alone = year_questions.train(backbone, tmp_path / "alone", settings, dropout=False)
    losses, aps, weights = together(backbone, tmp_path / "together", settings, processes)
    assert losses == pytest.approx(read_history(alone.history)[0], abs=1e-5)
    assert aps == pytest.approx(read_history(alone.history)[1])
    shift_free = settings.get("loss") in ("pairwise", "listwise")
    for name, value in alone.ranker.module.state_dict().items():
        if not (shift_free and name.endswith("net.7.bias")):  # they do not feel it: Adam would scale up pure rounding
            torch.testing.assert_close(weights[name], value.cpu(), atol=1e-5, rtol=0)


@pytest.mark.slow
def test_two_processes_get_the_loss_and_the_weights_of_one(tiny, tmp_path):
    assert_as_alone({"epochs": 1}, tiny("bert", 2), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "pairwise", "exit_draw": "all"},
        {"loss": "listwise"},
        {"loss": "mle"},
        {"loss": "rll"},
        {"contrast": 0.5, "one_label_each": True},  # no question has both labels, so a term of the loss counts nothing
    ],
)
def test_so_they_do_with_every_loss(settings, tiny, tmp_path):
    assert_as_alone(settings, tiny("bert", 2), tmp_path, processes=3)


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_weights_of_an_undisturbed_one(tiny, tmp_path):
    whole = year_questions.train(tiny("bert", 2), tmp_path / "whole", {}).ranker.module.state_dict()
    killed = start("kill", tiny("bert", 2), tmp_path / "cut", {})
    assert killed.wait(timeout=120) == -signal.SIGKILL
    torn = tmp_path / "cut" / "checkpoint-7"  # as a kill in the middle of writing leaves it
    torn.mkdir()
    (torn / "model.safetensors").write_bytes(b"half")
    seen: list[dict] = []
    again = year_questions.train(tiny("bert", 2), tmp_path / "cut", {}, on_event=seen.append)
    assert next(e["step"] for e in seen if e["kind"] == "step") == 5  # after the checkpoint of the first epoch
    for name, value in again.ranker.module.state_dict().items():
        torch.testing.assert_close(value, whole[name], atol=1e-5, rtol=0)


LAUNCHERS = {
    "torchrun": "torch.distributed.run --standalone --nproc-per-node 2",
    "accelerate": "accelerate.commands.launch --cpu --num_processes 2 --num_machines 1 --mixed_precision no "
    "--dynamo_backend no --main_process_port 0",
}


@pytest.mark.slow
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_as2_train_in_two_processes_saves_and_reports_one_version(launcher, tiny, tmp_path):
    data = tmp_path / "questions.jsonl"
    data.write_text(jsonl.dumps(year_questions.questions(0, 13)))
    settings = ["epochs=1", "bf16=False"]

    def train(out: Path, *launcher: str) -> str:
        command = [f"cross-encoder:backbone={tiny('bert', 2)}", str(data), "--dev", str(data), "--out", str(out)]
        given = [part for setting in settings for part in ("--with", setting)]
        run = subprocess.run(
            [sys.executable, *launcher, "-m", "as2core.cli", "train", *command, *given, "--json"],
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    train(tmp_path / "alone")
    report = train(tmp_path / "together", "-m", *LAUNCHERS[launcher].split())
    card = json.loads(report)["card"]  # one document: the second process prints none
    assert card["metrics"]["AP"] > 0 and [p.name for p in tmp_path.glob(".*.work")] == []
    assert (tmp_path / "together" / "config.json").read_text() == (tmp_path / "alone" / "config.json").read_text()
