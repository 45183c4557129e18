import random
from collections import Counter

import pytest

from as2core.training.careless import (
    REWRITES,
    misspelt,
    one_shared_word_less,
    unmarked,
    written_carelessly,
)
from as2core.types import Candidate, Question

TOWER = Question(
    "q",
    "When was the tower finished?",
    (Candidate("a", "The tower was finished in 1889.", 1), Candidate("b", "Rain.", 0)),
)


@pytest.mark.parametrize("seed", range(20))
def test_one_word_is_misspelt_inside_and_keeps_its_first_letter(seed):
    was, now = TOWER.text.split(), misspelt(TOWER, random.Random(seed)).split()
    changed = [(a, b) for a, b in zip(was, now, strict=True) if a != b]
    assert len(changed) <= 1  # two equal neighbours change places unseen
    for a, b in changed:
        assert a[0] == b[0]
        assert not Counter(b) - Counter(a)
        assert len(a) - len(b) in (0, 1)


def test_short_words_are_left_alone():
    asked = Question("q", "Who is it ?", ())
    assert misspelt(asked, random.Random(0)) == asked.text


def test_the_question_mark_goes():
    assert unmarked(TOWER, random.Random(0)) == "When was the tower finished"


def test_a_word_of_the_answer_goes_and_one_stays():
    said = {one_shared_word_less(TOWER, random.Random(seed)) for seed in range(20)}
    assert said == {"When was the finished?", "When was the tower ?"}
    alone = Question("q", "Who built the tower?", TOWER.candidates)
    assert one_shared_word_less(alone, random.Random(0)) == alone.text


def test_as_many_as_the_odds_say_and_each_new_wording_knows_what_was_meant():
    asked = [Question(str(i), f"When was the tower number {i} finished?", TOWER.candidates) for i in range(2000)]
    written, meant = written_carelessly(asked, seed=1)
    changed = [(a, b) for a, b in zip(asked, written, strict=True) if a.text != b.text]
    assert len(changed) == pytest.approx(2000 * sum(REWRITES.values()), rel=0.1)
    assert all(meant[b.text] == a.text for a, b in changed)
    assert all((a.qid, a.candidates) == (b.qid, b.candidates) for a, b in zip(asked, written, strict=True))
    assert written_carelessly(asked, seed=1)[0] == written
