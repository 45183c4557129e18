import numpy as np
import pytest

from app.adapt.cross_fitting import MAX_FEW_QUESTIONS, MIN_HELD_OUT_QUESTIONS, CrossFit, cross_fit, plan_folds
from app.adapt.report import BeforeAfter
from as2core.evaluation.rankers import Evaluation
from as2core.types import Candidate, Question

WORDS = "oak elm ash fir yew box bay fig nut pea rye hop tea oat".split()


def ask(n: int, *, labels: tuple[int, ...] = (1, 0), text: str = "") -> Question:
    """Unlike any other by its words."""
    number = f"{WORDS[n % 14]}{n} {WORDS[n // 14]}{n}"
    return Question(
        f"q{n}", text or f"where {number}?", tuple(Candidate(str(i), f"s{i}", y) for i, y in enumerate(labels))
    )


def evaluation(values: dict[str, float]) -> Evaluation:
    scores = {qid: np.array([1.0, 0.0]) for qid in values}
    mean = sum(values.values()) / len(values)
    return Evaluation("r", "clean", len(values), {"AP": mean}, {"AP": values}, scores, 1.0, 0.5)


@pytest.mark.parametrize(("n", "folds"), [(MAX_FEW_QUESTIONS, 3), (MAX_FEW_QUESTIONS + 1, 2), (60, 2)])
def test_every_training_question_is_judged_once_by_a_copy_that_did_not_see_it(n, folds):
    train = [ask(i) for i in range(n)]
    made = plan_folds(train, [], trained_on=())
    assert len(made) == folds
    assert sorted(q.qid for fold in made for q in fold.judged_questions) == sorted(q.qid for q in train)
    for fold in made:
        assert not {q.qid for q in fold.train} & {q.qid for q in fold.judged_questions}
        assert len(fold.train) + len(fold.judged_questions) == n
    sizes = [len(fold.judged_questions) for fold in made]
    assert max(sizes) - min(sizes) <= 1


def test_there_are_no_folds_where_enough_questions_are_held_out():
    train = [ask(i) for i in range(30)]
    assert plan_folds(train, train[: MIN_HELD_OUT_QUESTIONS - 1], trained_on=())
    assert plan_folds(train, train[:MIN_HELD_OUT_QUESTIONS], trained_on=()) == ()


def test_near_duplicates_are_on_one_side_by_their_words_and_by_their_vectors():
    train = [ask(0), ask(1, text="where oak0 oak0"), *(ask(i) for i in range(2, 12))]
    vectors = np.eye(12)
    vectors[3] = vectors[2]
    folds = plan_folds(train, [], trained_on=(), vectors=vectors)
    assert len(folds) > 1
    for fold in folds:
        judged = {q.qid for q in fold.judged_questions}
        assert ("q0" in judged) == ("q1" in judged)
        assert ("q2" in judged) == ("q3" in judged)


def test_what_the_base_knows_and_what_lacks_a_kind_of_label_is_learnt_from_and_not_judged():
    train = [ask(0), ask(1, labels=(1,)), *(ask(i) for i in range(2, 10))]
    made = plan_folds(train, [], trained_on={train[0].text})
    assert {q.qid for fold in made for q in fold.judged_questions} == {f"q{i}" for i in range(2, 10)}
    for known in ("q0", "q1"):
        assert sum(known in {q.qid for q in fold.train} for fold in made) == len(made) - 1


def test_too_few_questions_to_learn_from_make_no_folds():
    assert plan_folds([ask(0)], [], trained_on=()) == ()
    assert plan_folds([], [], trained_on=()) == ()


def test_before_and_after_are_over_the_judged_and_the_held_out_questions():
    folds = plan_folds([ask(i) for i in range(24)], [], trained_on=())
    result = cross_fit(
        folds,
        lambda questions: evaluation({q.qid: 0.5 for q in questions}),
        lambda fold, number: evaluation({q.qid: float(number) for q in fold.judged_questions}),
    )
    assert [q.qid for q in result.questions] == [q.qid for fold in folds for q in fold.judged_questions]
    held_out = BeforeAfter(evaluation({"h": 0.0}), evaluation({"h": 1.0}))
    both = result.add_to(held_out)
    assert both.before.questions == both.after.questions == 25
    assert both.before.metrics["AP"] == pytest.approx(24 * 0.5 / 25)
    assert both.after.metrics["AP"] == pytest.approx((12 * 0.0 + 12 * 1.0 + 1.0) / 25)
    assert both.after.per_question["AP"]["h"] == 1.0
    assert set(both.after.scores) == set(both.after.per_question["AP"])


def test_without_folds_nothing_is_measured_and_nothing_is_added():
    def fail(*_: object) -> Evaluation:
        raise AssertionError("nothing is to be measured")

    assert cross_fit((), fail, fail) == CrossFit()
    held_out = BeforeAfter(evaluation({"h": 0.0}), evaluation({"h": 1.0}))
    assert CrossFit().add_to(held_out) is held_out
