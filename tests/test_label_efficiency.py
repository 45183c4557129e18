import sys
from pathlib import Path

import pytest
import torch

from as2core.types import Candidate, Question

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import label_efficiency
from _simulated import Desk, Pool, medquad
from label_efficiency import TINY, Bench, labels_for


def test_the_labels_for_a_goal_lie_on_the_line_between_two_budgets():
    assert labels_for(0.75, 0.70, {100: 0.72, 200: 0.78}) == pytest.approx(150)
    assert labels_for(0.71, 0.70, {100: 0.72, 200: 0.78}) == pytest.approx(50)
    assert labels_for(0.80, 0.70, {100: 0.72, 200: 0.78}) is None


def test_the_base_without_transfer_is_the_same_in_every_run(monkeypatch):
    monkeypatch.setattr(label_efficiency, "get", lambda spec: torch.rand(3).tolist())
    drawn = []
    for before in (1, 2):
        torch.manual_seed(before)
        drawn.append(Bench(Pool("none", (), ()), Pool("none", (), ()), TINY, print).bare)
    assert drawn[0] == drawn[1]


def make_question(n: int) -> Question:
    texts = [f"Tower {n} was finished in 18{n}0.", f"Tower {n} is tall.", "Bread is baked.", f"It rains {n} days."]
    return Question(
        f"q{n}",
        f"When was tower {n} finished?",
        tuple(Candidate(f"q{n}-{i}", t, int(i == 0)) for i, t in enumerate(texts)),
    )


@pytest.mark.parametrize("queue", ["random", "uncertain", "disagree", "dropped", "tops"])
def test_a_sitting_gives_as_many_right_labels_as_the_budget_says(desk, queue):
    few, many = desk.sitting(queue, (4, 9), presumed=0)
    for budget, found in ((4, few), (9, many)):
        assert sum(len(q.candidates) for q in found) == budget
        assert all(c.label == int("finished" in c.text) for q in found for c in q.candidates)


def test_tops_asks_first_about_what_the_cascade_puts_first(desk):
    (found,) = desk.sitting("tops", (3,), presumed=0)
    assert [(len(q.candidates), q.positives) for q in found] == [(1, 1)] * 3


@pytest.fixture(scope="module")
def desk():
    with Desk(Pool("towers", tuple(make_question(n) for n in range(1, 4)), ())) as opened:
        yield opened


def test_medquad_questions_hold_their_own_opening_and_those_of_the_same_topic(tmp_path):
    def record(topic, kind):
        return (
            f'{{"focus": "{topic}", "question": "What is the {kind} of {topic}?", "answer": '
            f'"What is it? The {kind} of {topic} is known. It is told here. And here. This is left out."}}'
        )

    topics = [f"disease {i}" for i in range(8)]
    file = tmp_path / "qa.jsonl"
    file.write_text("\n".join(record(t, k) for t in topics for k in ("cause", "cure", "course")))
    pool = medquad(file, None, None)
    assert (len(pool.questions), len(pool.dev)) == (18, 6)  # topics go to one side as a whole
    for q in (*pool.questions, *pool.dev):
        right = [c.text for c in q.candidates if c.label == 1]
        kind, topic = q.text.removeprefix("What is the ").removesuffix("?").split(" of ")
        assert right == [f"The {kind} of {topic} is known. It is told here. And here."]
        assert sum(topic in c.text for c in q.candidates) == 3
        assert len(q.candidates) <= 10
    assert not {q.text.split(" of ")[1] for q in pool.questions} & {q.text.split(" of ")[1] for q in pool.dev}
