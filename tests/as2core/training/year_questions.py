"""Questions a tiny model learns in a few steps: the sentence with a year is the answer. Run as a program it trains on
them, which tests use to train in processes of their own."""

import sys
from dataclasses import replace
from pathlib import Path

from as2core.types import Candidate, Question

THINGS = ["tower", "bridge", "river", "iron", "steel", "water", "bread", "music", "heart", "cell", "city", "winter"]


def questions(start: int, n: int) -> list[Question]:
    """Question i has its right sentence at place i mod 4."""
    out = []
    for i in range(start, start + n):
        at, other = i % len(THINGS), [THINGS[(i + j) % len(THINGS)] for j in (1, 2, 3)]
        texts = [f"the {THINGS[at]} was built in 1889", *(f"the {w} is long" for w in other)]
        place = i % 4
        texts[0], texts[place] = texts[place], texts[0]
        cands = tuple(Candidate(f"{i}-{j}", t, int(j == place)) for j, t in enumerate(texts))
        out.append(Question(f"q{i}", f"when was the {THINGS[at]} built ?", cands))
    return out


def tiny_ranker(kind: str, backbone: str, *, dropout: bool = True):
    """A cascade or a generative ranker over a tiny encoder, the same at every call."""
    import torch

    from as2core.rankers.catalog import get

    torch.manual_seed(2)
    ranker = get(f"{kind}:backbone={backbone}")
    if not dropout:
        for module in ranker.module.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
    return ranker


def train(backbone: str, workdir: Path, settings: dict, *, dropout: bool = True, on_event=None):
    """13 questions, so that the last batch of an epoch is a short one."""
    from as2core.training.fine_tune import fine_tune
    from as2core.training.loop import RunControl
    from as2core.training.settings import TrainSettings

    told = {"epochs": 2, "learning_rate": 3e-3, "batch_questions": 4, "negatives": 3, "freeze_embeddings": False}
    settings = dict(settings)
    learnt = questions(0, 13)
    if settings.pop("one_label_each", False):
        learnt = [
            replace(q, candidates=tuple(c for c in q.candidates if c.label == i % 2)) for i, q in enumerate(learnt)
        ]
    kind = "generative" if settings.get("loss") in ("mle", "rll") else "cascade"
    return fine_tune(
        tiny_ranker(kind, backbone, dropout=dropout),
        learnt,
        questions(16, 4),
        TrainSettings(**(told | settings)),
        workdir=workdir,
        control=RunControl(on_event),
    )


def main() -> None:
    """`kill` dies of SIGKILL after the sixth step; `weigh` writes losses and last weights, from process 0."""
    import json
    import os
    import signal

    what, backbone, workdir, settings = sys.argv[1], sys.argv[2], Path(sys.argv[3]), json.loads(sys.argv[4])
    if what == "kill":

        def die(event):
            if event.get("step") == 6 and event["kind"] == "step":
                os.kill(os.getpid(), signal.SIGKILL)

        train(backbone, workdir, settings, on_event=die)
    from safetensors.torch import save_file

    trained = train(backbone, workdir, settings, dropout=False)
    if os.environ.get("RANK", "0") == "0":
        save_file(trained.ranker.module.state_dict(), workdir / "last.safetensors")
        (workdir / "history.json").write_text(json.dumps(trained.history))


if __name__ == "__main__":
    main()
