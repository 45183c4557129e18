"""ASNQ++: negatives of other questions up to n, drawn by seed from a sample of bounded size."""

import tracemalloc
from collections import Counter, deque
from itertools import permutations

import pytest

from as2core.data.asnq_plus import SAMPLES_PER_CANDIDATE, extend
from as2core.errors import BadSetting
from as2core.types import Candidate, Question


def questions(number=20, each=10):
    """Question i has `each` sentences, of which the first is correct."""
    for i in range(number):
        candidates = (
            Candidate(f"{j}", f"sentence {j} of {i}", int(j == 0), grade=4 if j == 0 else 3) for j in range(each)
        )
        yield Question(f"q{i}", f"question {i}?", tuple(candidates))


def test_every_question_gets_as_many_candidates_as_asked_its_own_first():
    made = list(extend(questions(), questions(), candidates=50))
    assert [len(q.candidates) for q in made] == [50] * 20
    for own, more in zip(questions(), made, strict=True):
        assert more.candidates[:10] == own.candidates and more.positives == 1
        added = more.candidates[10:]
        assert {(c.label, c.grade) for c in added} == {(0, 1)}
        assert len({c.text for c in more.candidates}) == 50 and len({c.id for c in more.candidates}) == 50
        assert not any(c.text.endswith(f" of {own.qid[1:]}") or c.text.startswith("sentence 0 ") for c in added)


def test_the_seed_decides_and_a_question_that_has_enough_is_left_alone():
    first, again, other = (list(extend(questions(), questions(), candidates=15, seed=s)) for s in (1, 1, 2))
    assert first == again != other
    assert list(extend(questions(), questions(), candidates=10)) == list(questions())


def test_too_few_sentences_of_others_are_told_with_how_many_are_missing():
    with pytest.raises(BadSetting, match=r"question 'q0': 3 sentences are missing.*fewer candidates"):
        list(extend(questions(2, 4), questions(2, 4), candidates=10))
    with pytest.raises(BadSetting, match="at least 1"):
        list(extend([], [], candidates=0))


def test_sentences_of_the_end_are_as_likely_as_those_of_the_start():
    drawn = Counter()
    *_, last = questions(200, 2)
    assert 3 * SAMPLES_PER_CANDIDATE < 199  # more than the sample holds
    for seed in range(200):
        (more,) = extend(questions(200, 2), [last], candidates=3, seed=seed)
        drawn[int(more.candidates[-1].text.rpartition(" ")[2]) < 100] += 1
    assert 70 < drawn[True] < 130  # 200 draws, half of the others in the first half: four deviations wide


def test_each_order_of_the_others_is_as_likely():
    drawn = Counter()
    for seed in range(1200):
        *_, last = extend(questions(4, 2), questions(4, 2), candidates=5, seed=seed)
        drawn[tuple(c.text for c in last.candidates[2:])] += 1
    orders = set(permutations([f"sentence 1 of {i}" for i in range(3)]))
    assert set(drawn) == orders and all(148 < n < 252 for n in drawn.values())  # 200 each, four deviations wide


def test_the_sample_is_bounded_whatever_the_size():
    def peak(number):
        tracemalloc.start()
        deque(extend(questions(number), questions(number), candidates=12), maxlen=0)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert SAMPLES_PER_CANDIDATE * 12 < 60 * 9  # the smaller set fills the sample already
    peak(10)
    assert peak(400) < 1.3 * peak(60)
