import pytest

from as2core.errors import BadSetting
from as2core.rankers.catalog import get
from as2core.training import fine_tune
from as2core.training.noise import flip_labels
from as2core.training.plan import plan_batches
from as2core.training.settings import TrainSettings
from as2core.types import Candidate, Question


def make_questions(n: int, *, correct: int) -> list[Question]:
    """`n` pairs in questions of ten, the first `correct` of them right, and one unlabelled candidate each."""
    marks = [int(i < correct) for i in range(n)]
    return [
        Question(
            f"q{at}",
            "who ?",
            (
                *(Candidate(str(j), f"text {j}", y) for j, y in enumerate(marks[at : at + 10])),
                Candidate("open", "not labelled"),
            ),
        )
        for at in range(0, n, 10)
    ]


@pytest.mark.parametrize(("rate", "flipped"), [(0.1, 867), (0.2, 1734)])
def test_wikiqa_s_8672_training_pairs_lose_as_many_labels_as_in_the_paper(rate, flipped):
    clean = make_questions(8672, correct=1040)
    noisy, told = flip_labels(clean, rate, seed=3)
    changed = [
        (a.label, b.label)
        for q, p in zip(clean, noisy, strict=True)
        for a, b in zip(q.candidates, p.candidates, strict=True)
        if a.label != b.label
    ]
    assert len(changed) == flipped
    assert (told.pairs, told.to_correct, told.to_incorrect) == (8672, changed.count((0, 1)), changed.count((1, 0)))
    assert told.to_incorrect == pytest.approx(flipped * 1040 / 8672, rel=0.3)  # drawn from all pairs alike
    assert all(q.candidates[-1].label is None for q in noisy)


def test_a_share_that_is_no_binary_fraction_loses_none():
    assert 0.29 * 100 < 29
    _, told = flip_labels(make_questions(100, correct=10), 0.29)
    assert told.to_correct + told.to_incorrect == 29


def test_the_seed_alone_decides_which():
    clean = make_questions(100, correct=10)
    assert flip_labels(clean, 0.2, seed=1) == flip_labels(clean, 0.2, seed=1)
    assert flip_labels(clean, 0.2, seed=1)[0] != flip_labels(clean, 0.2, seed=2)[0]


def test_no_noise_changes_nothing_and_a_rate_over_one_is_refused():
    clean = make_questions(20, correct=2)
    assert flip_labels(clean, 0.0)[0] == clean
    with pytest.raises(BadSetting, match="0 to 1"):
        flip_labels(clean, 1.2)


def test_the_noise_told_is_that_of_the_grades_trained_on(tiny, tmp_path, monkeypatch):
    """A flipped candidate keeps its grade, which no longer tells whether the training takes it."""
    plans = []

    def plan(*args, **kwargs):
        plans.append(plan_batches(*args, **kwargs))
        return plans[-1]

    monkeypatch.setattr(fine_tune, "plan_batches", plan)
    rows = [Candidate(str(i), f"text {i}", int(g == 4), grade=g) for i, g in enumerate((4, 1, 1, 2, 2, 3))]
    settings = TrainSettings(epochs=1, noise=0.75, negatives_from=(2, 3), positives=9, negatives=9, seed=1)
    base = get(f"cross-encoder:backbone={tiny('bert', 2)}")
    [told, *_] = fine_tune.fine_tune(base, [Question("a", "?", tuple(rows))], [], settings, workdir=tmp_path).history
    [[group]] = [batch.groups for batch in plans[0]]
    flipped = [c.label for c in group.candidates if c.label != (c.grade == 4)]
    assert [c.id for c in group.candidates] == ["0", "3", "4", "5"]
    assert (
        (told["pairs"], told["to_correct"], told["to_incorrect"])
        == (4, flipped.count(1), flipped.count(0))
        == (4, 2, 1)
    )
