from year_questions import questions

from as2core.training.fine_tune import fine_tune
from as2core.training.loop import RunControl
from as2core.training.settings import TrainSettings
from as2core.training.transfer_adapt import transfer_adapt

TRANSFER = TrainSettings(learning_rate=3e-3, batch_questions=4, freeze_embeddings=False, seed=1)
ADAPT = TrainSettings(epochs=2, learning_rate=1e-3, batch_questions=2, noise=0.25, freeze_embeddings=False, seed=2)


def test_transfer_and_adapt_are_two_fine_tunings_one_after_the_other(base, tmp_path):
    general, target, dev = questions(0, 12), questions(12, 4), questions(16, 4)
    seen: list[dict] = []
    _, adapted = transfer_adapt(
        base,
        general,
        target,
        dev,
        transfer=TRANSFER,
        adapt=ADAPT,
        workdir=tmp_path / "both",
        control=RunControl(seen.append),
    )
    first = fine_tune(base, general, dev, TRANSFER, workdir=tmp_path / "1")
    second = fine_tune(first.ranker, target, dev, ADAPT, workdir=tmp_path / "2")
    a, b = adapted.ranker.module.state_dict(), second.ranker.module.state_dict()
    assert all(a[k].equal(b[k]) for k in a)
    steps = [e["stage"] for e in seen if e["kind"] == "step"]
    assert steps == ["transfer"] * 3 + ["adapt"] * 4
    (noise,) = [e for e in seen if e["kind"] == "noise"]
    assert noise["stage"] == "adapt"
    assert (noise["pairs"], noise["to_correct"] + noise["to_incorrect"]) == (16, 4)
