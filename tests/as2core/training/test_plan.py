import dataclasses
import random

import numpy as np
import pytest
import torch
from year_questions import questions, tiny_ranker

from as2core.errors import BadSetting, NotEnoughLabels
from as2core.training.learners import learner_for
from as2core.training.plan import plan_batches
from as2core.training.settings import ADAPT, TrainSettings
from as2core.types import Candidate, Question

FAST = TrainSettings(epochs=2, batch_questions=4, negatives=3, seed=1)


def draw_exits(exits: int = 5, **settings) -> list[int | None]:
    return [b.exit_index for b in plan_batches(questions(0, 40), TrainSettings(**settings), exits=exits, needs="label")]


def test_the_plan_draws_every_exit_and_never_an_unlabelled_candidate():
    unlabelled = [
        dataclasses.replace(q, candidates=(*q.candidates, Candidate("u", "the music is long", None)))
        for q in questions(0, 40)
    ]
    batches = plan_batches(unlabelled, dataclasses.replace(FAST, epochs=5), exits=5, needs="label")
    assert {b.exit_index for b in batches} == {0, 1, 2, 3, 4}
    used = {g.question.candidates[r].id for b in batches for g in b.groups for r in g.rows}
    assert "u" not in used
    asked = sorted(g.question.qid for b in batches[:10] for g in b.groups)
    assert asked == sorted(q.qid for q in unlabelled)  # an epoch asks each question once


def plan_with_lists(asked: list[Question], settings: TrainSettings) -> list[list[tuple[str, tuple[int, ...]]]]:
    """The same plan with every group in memory: the question's id and rows of each group, by batch."""
    rng, batches = random.Random(settings.seed), []
    for _ in range(settings.epochs):
        groups = []
        for q in asked:
            rows = []
            for label, most in ((1, settings.positives), (0, settings.negatives)):
                indices = [i for i, c in enumerate(q.candidates) if c.label == label]
                rows += rng.sample(indices, min(len(indices), most))
            groups.append((q, sorted(rows)))
        if settings.by_pairs:
            groups = [(q, [row]) for q, rows in groups for row in rows]
        rng.shuffle(groups)
        epoch, window = [], settings.batch_questions * 32
        for start in range(0, len(groups), window):
            similar = sorted(
                groups[start : start + window], key=lambda g: max(len(g[0].candidates[r].titled_text) for r in g[1])
            )
            for i in range(0, len(similar), settings.batch_questions):
                epoch.append([(q.qid, tuple(rows)) for q, rows in similar[i : i + settings.batch_questions]])
        rng.shuffle(epoch)
        batches += epoch
    return batches


@pytest.mark.parametrize("by_pairs", [False, True])
def test_the_plan_has_the_order_of_shuffled_lists(by_pairs):
    settings = TrainSettings(epochs=3, seed=4, batch_questions=3, negatives=2, by_pairs=by_pairs)
    with_titles = with_open_ones(120)[:100] + questions(120, 30)
    batches = plan_batches(with_titles, settings, exits=2, needs="label")
    plan = [[(g.question.qid, g.rows) for g in b.groups] for b in batches]
    assert plan == plan_with_lists(with_titles, settings)
    place = len(batches) // 2  # of the second epoch, behind one of the last
    assert [g.rows for g in batches[-1].groups] == [rows for _, rows in plan[-1]]
    assert [g.rows for g in batches[place].groups] == [rows for _, rows in plan[place]]


def test_labels_of_one_class_are_refused_with_what_is_missing():
    only_wrong = [dataclasses.replace(q, candidates=q.candidates[1:2]) for q in questions(0, 1)]
    only_right = [dataclasses.replace(q, candidates=tuple(c for c in q.candidates if c.label)) for q in questions(0, 3)]
    with pytest.raises(NotEnoughLabels, match="labelled correct"):
        plan_batches(only_wrong, ADAPT, exits=5, needs="label")
    with pytest.raises(NotEnoughLabels, match="labelled incorrect"):
        plan_batches(only_right, ADAPT, exits=5, needs="label")
    with pytest.raises(NotEnoughLabels, match="both"):
        plan_batches(only_wrong + only_right, ADAPT, exits=5, needs="pair")
    assert plan_batches(only_right, ADAPT, exits=1, needs="positive")  # question likelihood needs no incorrect sentence


def test_round_robin_takes_the_exits_in_turn_and_all_takes_none_apart():
    assert draw_exits(exits=3, exit_draw="round-robin", epochs=2)[:7] == [0, 1, 2, 0, 1, 2, 0]
    assert set(draw_exits(exit_draw="all")) == {None}


def test_the_bias_to_early_exits_fades_by_half_of_the_run():
    exits = draw_exits(exits=2, exit_draw="early", early_bias=3.0, batch_questions=1, epochs=100)  # 4,000 batches
    first, second = exits[:200], exits[2000:]
    assert first.count(0) / 200 == pytest.approx(
        1 / (1 + 2.718**-2.85), abs=0.05
    )  # the odds are e^2.85 there, on average
    assert second.count(0) / 2000 == pytest.approx(0.5, abs=0.05)


def test_a_token_budget_is_filled_and_never_passed():
    costs = {q.qid: random.Random(q.qid).randint(50, 400) for q in questions(0, 40)}
    settings = dataclasses.replace(FAST, max_tokens=2000)
    batches = plan_batches(
        questions(0, 40), settings, exits=1, needs="label", count_tokens=lambda g: costs[g.question.qid]
    )
    sums = [sum(costs[g.question.qid] for g in b.groups) for b in batches]
    assert max(sums) <= 2000
    assert sum(sums) == 2 * sum(costs.values())  # two epochs
    assert len(batches) <= 2 * (sum(costs.values()) / (2000 - 400) + 1)  # only a window's last batch may be slack


def test_a_question_over_the_budget_stands_alone():
    batches = plan_batches(
        questions(0, 3), dataclasses.replace(FAST, max_tokens=10), exits=1, needs="label", count_tokens=lambda _: 99
    )
    assert [len(b.groups) for b in batches] == [1] * 6


def test_a_budget_that_the_ranker_s_learner_cannot_count_is_refused(tiny):
    settings = dataclasses.replace(FAST, max_tokens=10)
    learner = learner_for(tiny_ranker("generative", tiny("bert", 2)), settings)
    with pytest.raises(BadSetting, match="batch_questions"):
        plan_batches(questions(0, 3), settings, exits=1, needs="label", count_tokens=learner.count_tokens)


def test_negatives_come_from_the_grades_asked_for_alone():
    graded = Question(
        "q",
        "who ?",
        tuple(
            Candidate(str(i), f"text {i}", int(grade == 4), grade=grade) for i, grade in enumerate((1, 2, 3, 4, 1, 3))
        ),
    )

    def grades(wanted: tuple[int, ...]) -> set[int | None]:
        batches = plan_batches([graded], TrainSettings(negatives=9, negatives_from=wanted), exits=1, needs="label")
        return {g.question.candidates[r].grade for b in batches for g in b.groups for r in g.rows}

    assert grades(()) == {1, 2, 3, 4}
    assert grades((2, 3)) == {2, 3, 4}
    with pytest.raises(BadSetting, match="1, 2 and 3"):
        grades((7,))


def test_processes_share_a_batch_without_rest():
    batch = plan_batches(questions(0, 5), dataclasses.replace(FAST, batch_questions=5), exits=1, needs="label")[0]
    parts = [batch.share(i, 3).groups for i in range(3)]
    assert [len(p) for p in parts] == [2, 2, 1]
    assert {g.question.qid for p in parts for g in p} == {f"q{i}" for i in range(5)}
    assert batch.share(7, 8).groups == ()


def with_open_ones(n: int) -> list[Question]:
    """Each question has two candidates without a label behind its four; all have a title."""
    opened = [
        (*q.candidates, *(Candidate(f"{q.qid}-u{i}", f"the music {i} is long", None) for i in range(2)))
        for q in questions(0, n)
    ]
    return [
        dataclasses.replace(q, candidates=tuple(dataclasses.replace(c, title="Iron") for c in candidates))
        for q, candidates in zip(questions(0, n), opened, strict=True)
    ]


def test_candidates_without_a_label_go_along_where_a_teacher_scores_them():
    settings = dataclasses.replace(FAST, unlabelled=1, distill=1.0)
    batches = plan_batches(with_open_ones(8), settings, exits=1, needs="label")
    groups = [g for b in batches for g in b.groups]
    assert all(g.has_label.count(False) == 1 and g.has_label.count(True) == 4 for g in groups)
    assert len({g.rows for g in groups if g.question.qid == "q0"} | {g.rows for g in groups}) > 1  # they are drawn


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0, 0), (0.3, 0.2, 0.4), (1.0, 1, 1)])
def test_of_all_titles_a_share_is_left_out(share, least, most):
    settings = dataclasses.replace(FAST, title_dropout=share)
    batches = plan_batches(with_open_ones(40), settings, exits=1, needs="label")
    readings = [text for b in batches for text in b.readings]
    assert least <= sum(not text.startswith("Iron") for text in readings) / len(readings) <= most


def test_candidates_without_a_label_need_a_teacher():
    with pytest.raises(BadSetting, match="set distill"):
        TrainSettings(unlabelled=2)


def test_a_candidate_without_a_label_is_in_the_teacher_s_term_and_in_no_other(tiny):
    settings = dataclasses.replace(FAST, unlabelled=2, distill=1.0, contrast=1.0, exit_draw="all")
    ranker = tiny_ranker("cascade", tiny("bert", 2), dropout=False)
    learner = learner_for(ranker, settings, lambda _q, texts: np.arange(len(texts), dtype=np.float32))
    all_of_it, labelled = (
        plan_batches(with_open_ones(4), s, exits=2, needs="label")[0]
        for s in (settings, dataclasses.replace(settings, unlabelled=0))
    )
    order = {g.question.qid: g for g in labelled.groups}
    labelled = dataclasses.replace(labelled, groups=tuple(order[g.question.qid] for g in all_of_it.groups))
    with torch.no_grad():
        more, fewer = (learner(**learner.collate(batch)) for batch in (all_of_it, labelled))
    assert [value.item() for value, _ in more[:2]] == pytest.approx([value.item() for value, _ in fewer[:2]], abs=1e-5)
    assert more[2][0].item() != pytest.approx(fewer[2][0].item(), abs=1e-3)
