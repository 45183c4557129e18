"""Training questions as people type them, and with less to go by.

A ranker that was only shown proper questions loses its answer to a typo or a missing question mark, and one that was
shown SQuAD trusts shared words, since SQuAD's questions were written with the answer before the writer's eyes. So a
share of the questions is rewritten: two letters change places or one goes missing; the question mark goes; a word that
the question has in common with its answer goes. Labels stay, and a teacher is asked the question as it was: the
student learns to say the same in spite of it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from as2core.robustness import no_question_mark
from as2core.types import Question

WORD = re.compile(r"[^\W\d_]{4,}")  # shorter words are spelt right, and say little


def misspelt(q: Question, rng: random.Random) -> str:
    """A word with two neighbouring letters changed round, or a letter left out."""
    words = [m.span() for m in WORD.finditer(q.text)]
    if not words:
        return q.text
    start, end = rng.choice(words)
    at = rng.randrange(start + 1, end - 1)
    if rng.random() < 0.7:
        return f"{q.text[:at]}{q.text[at + 1]}{q.text[at]}{q.text[at + 2 :]}"
    return q.text[:at] + q.text[at + 1 :]


def unmarked(q: Question, rng: random.Random) -> str:
    return no_question_mark(q.text)


def one_shared_word_less(q: Question, rng: random.Random) -> str:
    """Without one of the words that a correct candidate has too; as it is if there are fewer than two."""
    answers = {w.lower() for c in q.candidates if c.label for w in WORD.findall(c.text)}
    shared = [m.span() for m in WORD.finditer(q.text) if m.group().lower() in answers]
    if len(shared) < 2:
        return q.text
    start, end = rng.choice(shared)
    return " ".join((q.text[:start] + q.text[end:]).split())


REWRITES: dict[Callable[[Question, random.Random], str], float] = {
    misspelt: 0.25,
    unmarked: 0.10,
    one_shared_word_less: 0.15,
}


def written_carelessly(questions: Sequence[Question], *, seed: int) -> tuple[list[Question], dict[str, str]]:
    """The questions, each rewritten with the odds of REWRITES, at most once; and what the new wordings stand for."""
    rng = random.Random(seed)
    out, meant = [], {}
    for q in questions:
        rewrite = rng.choices([*REWRITES, None], [*REWRITES.values(), 1 - sum(REWRITES.values())])[0]
        text = rewrite(q, rng) if rewrite else q.text
        if text != q.text:
            meant[text] = q.text
        out.append(replace(q, text=text))
    return out, meant
