import random

from as2core.training.augmentation import drop_answers, pad_candidates, write_carelessly
from as2core.types import Candidate, Question

TREES = tuple(
    Candidate(t, f"The {t} is a tree.", int(t == "oak"), "Trees") for t in ("oak", "ash", "elm", "fir", "yew")
)
QUESTIONS = [Question(str(i), f"Which of the trees has acorns number {i}?", TREES) for i in range(300)]


def test_a_share_is_written_carelessly_and_its_original_is_known():
    written, originals = write_carelessly(QUESTIONS, 0.5, random.Random(0))
    pairs = [(q, new) for q, new in zip(QUESTIONS, written, strict=True) if new.text != q.text]
    assert 90 < len(pairs) < 150
    assert all(originals[new.text] == q.text and new.candidates == q.candidates for q, new in pairs)
    texts = [new.text for _, new in pairs]
    assert {True, False} == {t.endswith("?") for t in texts} == {t.islower() for t in texts}
    typed = [t for t in texts if "acorns" not in t or "Which" not in t]
    assert typed and all(t[0] in "Ww" for t in texts)  # never the first letter
    assert write_carelessly(QUESTIONS, 0.0, random.Random(0)) == (QUESTIONS, {})


def test_a_question_without_its_answer_keeps_all_that_is_incorrect():
    dropped = [q for q in drop_answers(QUESTIONS, 0.2, random.Random(0)) if not q.positives]
    assert 40 < len(dropped) < 80
    assert all(q.candidates == TREES[1:] for q in dropped)
    few = [Question("few", "Which?", TREES[:3])] * 50  # two incorrect ones tell little
    assert drop_answers(few, 1.0, random.Random(0)) == few


def test_padded_candidates_are_longer_and_their_reading_is_known():
    padded, originals = pad_candidates(QUESTIONS, 0.1, random.Random(0))
    pairs = [
        (c, new)
        for q, p in zip(QUESTIONS, padded, strict=True)
        for c, new in zip(q.candidates, p.candidates, strict=True)
        if c.text != new.text
    ]
    assert 100 < len(pairs) < 200
    assert all(new.text.startswith(c.text) and originals[new.titled_text] == c.titled_text for c, new in pairs)
