"""Which labels look wrong: what a model of the labels reads, what it doubts, and what a retrain leaves out."""

from dataclasses import replace

import numpy as np
import pytest
from fake_models import FakeCascade

from app.adapt import label_noise
from app.adapt.label_noise import TooFewLabels
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.cost import EncoderShape
from as2core.errors import NotEnoughLabels
from as2core.questions.synonyms import Synonyms
from as2core.types import Candidate, Question


class Judge:
    """Knows from the text what is right, with an error of its own; one exit, calibrated."""

    name, exits, is_calibrated, schedule = "judge", (6,), True, DropSchedule.constant(0.0, exits=1)

    def __init__(self, error: float = 1.0, lift: float = 0.0) -> None:
        self.error, self.lift = error, lift

    def trace_many(self, asked, schedule):
        return [self._trace(candidates, schedule) for _, candidates in asked]

    def _trace(self, candidates, schedule):
        draw = np.random.default_rng(len(candidates[0].text) + ord(candidates[0].text[0]))
        logits = np.array([2.0 if "right" in c.text else -5.0 for c in candidates])
        logits = (logits + draw.normal(0, self.error, len(logits)) + self.lift).astype(np.float32)
        n = len(candidates)
        lengths, none = np.full(n, 8), np.array([], dtype=int)
        record = ExitRecord(6, np.arange(n), logits, none, 0.001, 8 * n, 1.0)
        return CascadeTrace(lengths, (record,), schedule, EncoderShape(32, 64, 6))

    def probability(self, logits, exit_index=-1):
        return 1 / (1 + np.exp(-logits))


def questions(n: int = 60, *, wrong: float = 0.0) -> list[Question]:
    """Ten candidates each, one of them right; `wrong` of the labels turned round."""
    draw = np.random.default_rng(0)
    made = []
    for i in range(n):
        labels = [int(j == i % 10) for j in range(10)]
        texts = [f"{'a' * i}: {'right' if right else 'not'} {j}" for j, right in enumerate(labels)]
        turned = [1 - y if draw.random() < wrong else y for y in labels]
        found = tuple(Candidate(f"{i}-{j}", t, y) for j, (t, y) in enumerate(zip(texts, turned, strict=True)))
        made.append(Question(f"q{i}", f"Which {i}?", found))
    return made


def is_wrong(candidate: Candidate) -> bool:
    return ("right" in candidate.text) != (candidate.label == 1)


def test_right_labels_are_all_believed():
    asked = questions()
    found = label_noise.filter_labels(Judge(), asked)
    assert found.questions == tuple(asked)
    assert found.excluded_labels == ()
    assert found.rate < label_noise.MIN_WRONG_SHARE


def test_of_many_wrong_labels_most_are_left_out_and_few_right_ones():
    asked = questions(wrong=0.2)
    found = label_noise.filter_labels(Judge(), asked)
    assert found.rate == pytest.approx(0.2, abs=0.05)
    wrong = sum(is_wrong(c) for q in asked for c in q.candidates)
    hit = sum(is_wrong(c) for _, c in found.excluded_labels)
    assert hit / wrong > 0.8
    assert hit / len(found.excluded_labels) > 0.9
    left = {c.id for _, c in found.excluded_labels}
    assert left.isdisjoint(c.id for q in found.questions for c in q.candidates)
    assert sum(len(q.candidates) for q in found.questions) + len(left) == 600


@pytest.mark.parametrize(
    ("judge", "asked"),
    [
        (None, questions(wrong=0.2)),  # no shipped cascade
        (Judge(lift=4.0), questions(wrong=0.2)),  # sure of nothing
        (Judge(), questions(4, wrong=0.2)),  # too few labels
    ],
    ids=["no judge", "never sure", "few labels"],
)
def test_where_it_cannot_be_told_every_label_is_believed(judge, asked):
    found = label_noise.filter_labels(judge, asked)
    assert (found.questions, found.rate, found.excluded_labels) == (tuple(asked), None, ())


def test_labels_of_hard_pairs_alone_are_no_sign_of_slips():
    """What an adaptive queue asks about: nothing is easy, so chance looks like slips to a model of the labels."""
    found = label_noise.filter_labels(Judge(error=3.0, lift=3.0), questions())
    assert found.excluded_labels == ()


def test_the_probability_that_a_label_is_right_is_bayes_rule():
    p, rate = np.array([0.2, 0.5, 0.8]), 0.2  # before: 0, 1/2, 1
    assert label_noise.estimate_right_probability(p, np.ones(3), rate) == pytest.approx([0, 0.8, 1])
    assert label_noise.estimate_right_probability(p, np.zeros(3), rate) == pytest.approx([1, 0.8, 0])
    assert label_noise.estimate_right_probability(p, np.ones(3), 0.0) == pytest.approx(np.ones(3))


def test_the_share_of_wrong_labels_is_the_smaller_of_two_looks():
    p, given = np.linspace(0.1, 0.9, 5), np.array([1, 0, 0, 0, 1])
    assert label_noise.estimate_wrong_share(p, given, np.array([True, True, True, True, False])) == pytest.approx(0.25)
    assert label_noise.estimate_wrong_share(p, given, np.array([True, False, False, False, False])) == pytest.approx(
        0.26
    )


def test_where_many_are_wrong_each_half_is_judged_by_one_that_learnt_from_the_other():
    asked, taught, judged = questions(wrong=0.2), [], {}

    class Knowing(Judge):
        def __init__(self, number):
            super().__init__(error=0.5)
            self.number = number

        def trace_many(self, asked, schedule):
            judged.setdefault(self.number, []).extend(text for text, _ in asked)
            return super().trace_many(asked, schedule)

    def knowing(half, number):
        taught.append((number, [q.qid for q in half]))
        return Knowing(number)

    poor = Judge(error=4.0)  # knows little of the field
    alone, helped = label_noise.filter_labels(poor, asked), label_noise.filter_labels(poor, asked, train_judge=knowing)
    assert taught == [(0, [q.qid for q in asked[::2]]), (1, [q.qid for q in asked[1::2]])]
    assert judged == {0: [q.text for q in asked[1::2]], 1: [q.text for q in asked[::2]]}

    def hits(found):
        return sum(is_wrong(c) for _, c in found.excluded_labels) - sum(
            not is_wrong(c) for _, c in found.excluded_labels
        )

    assert hits(helped) > hits(alone)


def test_nobody_is_taught_where_labels_are_right_and_a_half_that_teaches_nothing_is_no_error():
    def never(half, number):
        raise AssertionError("the labels are right")

    def nothing(half, number):
        raise NotEnoughLabels("no question has a sentence labelled correct")

    label_noise.filter_labels(Judge(), questions(), train_judge=never)
    asked = questions(wrong=0.2)
    assert label_noise.filter_labels(Judge(), asked, train_judge=nothing) == label_noise.filter_labels(Judge(), asked)


def test_judges_that_tell_the_labels_no_better_are_not_listened_to():
    class Guessing(Judge):
        def _trace(self, candidates, schedule):
            return super()._trace([replace(c, text=c.text[::-1]) for c in candidates], schedule)

    asked = questions(wrong=0.2)
    assert label_noise.filter_labels(
        Judge(), asked, train_judge=lambda half, number: Guessing()
    ) == label_noise.filter_labels(Judge(), asked)


class CountingJudge(Judge):
    def __init__(self) -> None:
        super().__init__()
        self.candidates = 0

    def trace_many(self, asked, schedule):
        self.candidates += sum(len(candidates) for _, candidates in asked)
        return super().trace_many(asked, schedule)


def test_scoring_ends_as_soon_as_few_labels_can_be_wrong_and_nothing_is_left_out_either_way(monkeypatch):
    asked = questions(400)
    judge = CountingJudge()
    found = label_noise.filter_labels(judge, asked)
    assert judge.candidates < 0.8 * 4000
    monkeypatch.setattr(label_noise, "bound_wrong_share", lambda *_: 1.0)
    complete = label_noise.filter_labels(judge, asked)
    assert found.questions == complete.questions == tuple(asked)
    assert complete.rate <= found.rate < label_noise.MIN_WRONG_SHARE


def test_the_bound_is_what_the_share_of_correct_among_sure_pairs_cannot_exceed():
    labels = np.array([0, 0, 1, 0, 1, 0, 0, 1])
    sure = np.array([True, True, True, False])
    assert label_noise.bound_wrong_share(labels, sure) == pytest.approx(3 / 5)  # 1 of 3, and the 2 correct ones to come
    everything = np.array([True, True, True, False, False, True, True, True])
    assert label_noise.bound_wrong_share(labels, everything) == pytest.approx(labels[everything].mean())
    assert label_noise.bound_wrong_share(labels[:1], np.array([False])) == 1.0


def test_too_few_labels_are_noticed_before_anything_is_scored():
    judge = CountingJudge()
    label_noise.filter_labels(judge, questions(9))
    assert judge.candidates == 0


def test_judge_and_copies_read_the_questions_with_the_synonyms_and_the_labels_stay_with_them_as_asked():
    read = []

    class Reader(Judge):
        def trace_many(self, asked, schedule):
            read.extend(text for text, _ in asked)
            return super().trace_many(asked, schedule)

    def learn(half, number):
        read.extend(q.text for q in half)
        return Reader()

    asked = questions(wrong=0.2)
    found = label_noise.filter_labels(
        Reader(error=3.0), asked, synonyms=Synonyms((("which", "what"),)), train_judge=learn
    )
    assert len(read) > 2 * len(asked) and all(text.startswith("Which (what) ") for text in read)
    assert found.excluded_labels
    assert {q.text for q in (*found.questions, *(q for q, _ in found.excluded_labels))} == {q.text for q in asked}


def trace_of(question, texts):
    candidates = [Candidate(str(i), t) for i, t in enumerate(texts)]
    return FakeCascade().trace(question, candidates, DropSchedule.constant(0.0, exits=5))


def test_the_features_of_a_candidate_are_its_logits_its_lead_and_two_scores():
    trace = trace_of("When was the tower finished?", ["The tower was finished.", "A tower.", "Bread."])
    said = label_noise.extract_features(trace, np.array([-1.0, -2.0, -3.0]), np.array([0.9, 0.5, 0.1]))
    assert said.shape == (3, 5 + 1 + 2)
    assert said[:, 4] == pytest.approx([3.0, 0.0, -3.0])  # of "tower" and "finished" they share 2, 1 and none
    assert said[:, 5] == pytest.approx([3.0, -3.0, -6.0])  # ahead of the second, behind the first
    assert said[:, 6:].tolist() == [[-1.0, 0.9], [-2.0, 0.5], [-3.0, 0.1]]


def test_a_lone_candidate_is_level_with_nobody_and_the_generative_score_may_be_missing():
    said = label_noise.extract_features(trace_of("Who?", ["Nobody."]), np.array([0.2]))
    assert said.shape == (1, 7)
    assert said[0, 5] == 0.0


def test_where_few_are_correct_the_first_quarter_holds_most_labels_turned_round_of_either_kind():
    draw = np.random.default_rng(0)
    questions = np.repeat(np.arange(150), 10)
    right = (np.arange(1500) % 10 == 0).astype(int)  # one of ten
    features = draw.normal(0, 1.0, (1500, 2)) + 1.5 * right[:, None]
    turned = np.zeros(1500, dtype=bool)
    for kind, n in ((1, 30), (0, 270)):
        turned[draw.choice(np.flatnonzero(right == kind), n, replace=False)] = True
    given = np.where(turned, 1 - right, right)
    doubt = label_noise.estimate_other_probability(
        label_noise.cross_validate(features, given, questions.tolist()), given
    )
    first = np.zeros(1500, dtype=bool)
    first[np.argsort(-doubt)[:375]] = True
    assert (first & turned).sum() / turned.sum() >= 0.6
    for kind in (0, 1):
        assert (first & turned & (given == kind)).sum() / (turned & (given == kind)).sum() >= 0.6


def test_where_one_question_has_all_the_correct_labels_there_is_too_little_to_learn_from():
    questions, given = [0] * 10 + [1, 2, 3, 4, 5] * 4, np.array([1] * 10 + [0] * 20)
    with pytest.raises(TooFewLabels, match="of one question"):
        label_noise.cross_validate(np.random.default_rng(0).normal(size=(30, 2)), given, questions)


def plant_errors(flipped: int = 8, questions: int = 30):
    """Features that tell the labels apart, some of which are turned round."""
    draw = np.random.default_rng(1)
    labels = np.array([int(i % 4 == 0) for i in range(4 * questions)])
    features = draw.normal(0, 0.5, (len(labels), 3)) + 3 * labels[:, None]
    wrong = draw.choice(len(labels), flipped, replace=False)
    given = labels.copy()
    given[wrong] = 1 - given[wrong]
    return features, given, [i // 4 for i in range(len(labels))], set(wrong.tolist())


def test_labels_that_were_turned_round_are_the_ones_doubted():
    features, given, questions, wrong = plant_errors()
    found = label_noise.find_suspicious(features, given, questions)
    assert {i for i, _ in found[: len(wrong)]} == wrong
    assert all(0.5 < doubt <= 1 for _, doubt in found)


def test_doubting_takes_labels_of_both_kinds_on_several_questions():
    features, given, questions, _ = plant_errors(0, 5)
    with pytest.raises(TooFewLabels, match="10 correct and 10 incorrect"):
        label_noise.find_suspicious(features, given, questions)
