import krippendorff
import numpy as np
import pytest

from app.labels import agreement
from app.labels.agreement import AC1, compute_ac1, compute_alpha, compute_kappa, infer_question_kind


def units(a: str, b: str) -> list:
    return [(i, {"a": int(x), "b": int(y)}) for i, (x, y) in enumerate(zip(a, b, strict=True))]


def test_alpha_of_krippendorffs_two_observers_is_point_095():
    # Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), example A
    assert compute_alpha(units("0100000010", "1110010000")) == pytest.approx(0.095, abs=5e-4)


def test_kappa_of_fifty_proposals_is_point_4():
    # 20 both yes, 15 both no, 5 and 10 mixed: observed 0.7, by chance 0.5
    left, right = "1" * 25 + "0" * 25, "1" * 20 + "0" * 5 + "1" * 10 + "0" * 15
    assert compute_kappa(units(left, right), "a", "b") == pytest.approx(0.4)


def test_ac1_stays_high_where_nearly_all_labels_are_the_same():
    # 118 both yes, 5 and 2 mixed: observed 118/125; yes 243/250, so by chance 2 (243/250) (7/250)
    lopsided = units("1" * 123 + "00", "1" * 118 + "0" * 5 + "11")
    chance = 2 * 243 / 250 * 7 / 250
    assert compute_ac1(lopsided) == pytest.approx((118 / 125 - chance) / (1 - chance)) == pytest.approx(0.941, abs=5e-4)
    assert compute_kappa(lopsided, "a", "b") < 0
    assert compute_ac1(units("111", "111")) == 1.0 and compute_ac1([]) is None


def test_ac1_of_three_people_who_need_not_all_label():
    # pairs that agree: 1 of 1, 1 of 3, 3 of 3; share of yes 1, 1/3, 0
    three = [(0, {"a": 1, "b": 1}), (1, {"a": 1, "b": 0, "c": 0}), (2, {"a": 0, "b": 0, "c": 0})]
    observed, yes = (1 + 1 / 3 + 1) / 3, (1 + 1 / 3) / 3
    chance = 2 * yes * (1 - yes)
    assert compute_ac1(three) == pytest.approx((observed - chance) / (1 - chance))
    sums = np.array([[sum(x) for x in zip(*(AC1.parts(votes) for _, votes in three), strict=True)]])
    assert AC1.of_sums(sums)[0] == pytest.approx(compute_ac1(three))


def test_agreement_is_undefined_where_everybody_always_says_the_same_one_thing():
    assert compute_alpha(units("111", "111")) is None
    assert compute_kappa(units("111", "111"), "a", "b") is None


def test_agreement_takes_the_pairs_that_two_judged_and_leaves_unsure_out(wb, towers, give_signs, ann, bob):
    give_signs(ann, "+-+-")
    give_signs(bob, "+-?")
    found = agreement.measure_agreement(wb, towers.id)
    assert (found.alpha.n, found.alpha.value, found.annotators) == (2, 1.0, ("ann", "bob"))
    [(a, b, estimate)] = found.kappas
    assert (a, b, estimate.value, estimate.low) == ("ann", "bob", 1.0, None)  # one question: nothing to resample


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When was the tower finished?", "when"),
        ("In which year was it, and why?", "which"),
        ("HOW  many came?", "how-many"),
        ("How much does it weigh?", "how-many"),
        ("How was it built?", "how"),
        ("To whom does it belong?", "who"),
        ("Name the somewhat whole builders.", "other"),
    ],
)
def test_a_question_without_a_kind_has_that_of_its_first_word_that_asks(question, kind):
    assert infer_question_kind(question) == kind


def test_agreement_on_an_asked_question_goes_by_how_it_asks(wb, towers, give_signs, ann, bob):
    give_signs(ann, "+-")
    give_signs(bob, "+-")
    assert [(kind, e.n) for kind, e in agreement.measure_agreement(wb, towers.id).per_kind] == [("when", 2)]


def test_a_few_questions_that_all_say_the_same_give_no_interval():
    def measure(questions: int):
        same = [(q, {"a": left, "b": right}) for q in range(questions) for left, right in ((0, 1), (1, 0), (0, 0))]
        return agreement._estimate(same, agreement.ALPHA)

    assert measure(5).value is not None and measure(5).low is measure(5).high is None
    assert measure(6).low == measure(6).high == pytest.approx(measure(6).value)


def test_agreement_over_time_goes_by_the_day_of_the_second_label(wb, towers, give_signs, clock, ann, bob):
    give_signs(ann, "+-+-")
    give_signs(bob, "+-")
    clock.advance(days=3)
    give_signs(bob, "  -+")
    over_time = dict(agreement.measure_agreement(wb, towers.id).over_time)
    assert {day: e.n for day, e in over_time.items()} == {"2024-05-01": 2, "2024-05-04": 2}
    assert over_time["2024-05-01"].value == 1.0
    assert over_time["2024-05-04"].value < 0


def test_anchoring_is_agreement_with_the_model_shown_less_blind(wb, towers, give_signs, ann, bob):
    give_signs(ann, "++-", arm="shown", model_says=True)  # two of three follow the model
    give_signs(bob, "+-", arm="blind", model_says=True)  # one of two
    give_signs(bob, "  +", model_says=True)  # chance did not decide on its scores
    found = agreement.measure_anchoring(wb, towers.id)
    assert (found.visible, found.blind) == (3, 2)
    assert (found.agree_visible, found.agree_blind) == pytest.approx((2 / 3, 1 / 2))
    assert found.shift.value == pytest.approx(1 / 6)


def make_units(questions: int = 12, pairs: int = 5, people: str = "abc") -> list:
    """Units of several a question, most of them agreed on; two people at least judge each."""
    draw = np.random.default_rng(5)
    found = []
    for i in range(questions * pairs):
        truth = draw.random() < 0.3
        said = {p: int(truth != (draw.random() < 0.15)) for p in people if p in "ab" or draw.random() < 0.5}
        found.append((i // pairs, said))
    return found


def resample(units, measure, seed=0):
    """The interval the long way: the measure itself on every resample."""
    by_question = {}
    for unit in units:
        by_question.setdefault(unit[0], []).append(unit)
    questions, draw, found = list(by_question.values()), np.random.default_rng(seed), []
    for _ in range(agreement.RESAMPLES):
        chosen = draw.integers(len(questions), size=len(questions))
        again = measure([unit for i in chosen for unit in questions[i]])
        if again is not None and np.isfinite(again):
            found.append(again)
    return np.quantile(found, [0.025, 0.975])


@pytest.mark.parametrize(
    ("units", "measure", "told"),
    [
        (make_units(), compute_alpha, agreement.ALPHA),
        (make_units(2, 2), compute_alpha, agreement.ALPHA),  # resamples in which it is undefined
        (make_units(), lambda us: compute_kappa(us, "a", "b"), agreement._kappa_of("a", "b")),
        (make_units(3, 2), lambda us: compute_kappa(us, "b", "a"), agreement._kappa_of("b", "a")),
        ([(q, (i % 2 == 0, q % 3 > 0)) for q in range(9) for i in range(q % 3 + 1)], agreement._shift, agreement.SHIFT),
    ],
    ids=["alpha", "alpha, few", "kappa", "kappa, few", "shift"],
)
def test_an_interval_from_sums_is_the_one_from_resampled_units(units, measure, told):
    found = agreement._estimate(units, told)
    sums = np.array([[told.parts(unit) for _, unit in units]]).sum(axis=1)
    assert told.of_sums(sums)[0] == pytest.approx(found.value, abs=1e-9)
    assert (found.value, found.n) == (measure(units), len(units))
    assert [found.low, found.high] == pytest.approx(resample(units, measure), abs=1e-9)


def test_the_libraries_are_asked_once_a_figure_however_many_resamples(monkeypatch):
    calls = []
    library = krippendorff.alpha
    monkeypatch.setattr(krippendorff, "alpha", lambda **k: calls.append(1) or library(**k))
    agreement._estimate_by(["May", "June"] * 30, make_units())
    assert len(calls) == 2
