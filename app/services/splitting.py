"""Dividing labelled questions into those to learn from, to steer by and to judge by.

By question, and questions that nearly repeat each other stay together: the same words (Jaccard, exact, so nothing slips
through as it can through a sketch of them), or the same meaning (cosine of the bi-encoder's vectors). What sentences
they share does not matter: a sentence may answer one question and not another. What decides is a digest of the
question, not the seed of a run: a question once held out stays held out when labels are added, so a version trained on
another version's successor never meets its own judges. Sets that come divided keep their division, and their test part
is not used at all: it is the frozen benchmark.

Two more things keep a judge from having been met before. What the base or its ancestors learnt from (`seen`) is never
judged by, in whatever corpus it is asked again, nor steered by, but where the shipped dev part is held out (`borrowed`)
and its train part alone is left for that; what nearly repeats the frozen benchmark (`frozen`) is never learnt from. A
group goes to one side as a whole, so there is no way for a leak.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from app.services.labels import Labelled, judged
from as2core.text import words
from as2core.types import Question

NEAR = 0.8  # Jaccard of the words
NEAR_MEANING = 0.88  # cosine: rewordings of one question have some .92, different questions of one article below .8
HELD_OUT, DEV = 0.25, 0.15  # shares of the undivided questions
ROWS = 1024  # vectors compared with all others at a time

Embed = Callable[[Sequence[str]], np.ndarray | None]


@dataclass(frozen=True, slots=True)
class Split:
    """Questions with labelled candidates only. `borrowed`: the shipped dev part is held out, since nothing else is."""

    train: tuple[Question, ...]
    dev: tuple[Question, ...]
    held_out: tuple[Question, ...]
    borrowed: bool = False


def split(
    labelled: Sequence[Labelled],
    *,
    embed: Embed | None = None,
    seen: Sequence[str] = (),
    frozen: Sequence[str] = (),
    learnt: Callable[[Question], Question] = judged,
) -> Split:
    """Questions without any label are left out. Held-out ones have a correct and an incorrect candidate.

    `embed` gives unit vectors `(n, width)`; without it, or them, only words are compared. `seen` and `frozen` are texts
    of questions. `learnt` makes a question to train on of a labelled one.
    """
    found = [x for x in labelled if x.question.positives or x.question.negatives]
    texts = [*(x.question.text for x in found), *seen, *frozen]
    train_groups: list[list[Labelled]] = []
    dev: list[Labelled] = []
    test: list[Labelled] = []
    undivided: list[list[Labelled]] = []
    for places in near_duplicates(texts, embed(texts) if embed and texts else None):
        group = [found[i] for i in places if i < len(found)]
        known = any(len(found) <= i < len(found) + len(seen) for i in places)
        judging = any(i >= len(found) + len(seen) for i in places) or any(x.split == "test" for x in group)
        given = {x.split for x in group}
        if judging:
            test += [] if known else group
        elif known or ("train" in given and "dev" not in given):
            train_groups.append(group)
        elif "dev" in given:
            dev += group
        elif group:
            undivided.append(group)
    held = [x for x in test if not x.split]  # nearly a question of the frozen benchmark: never trained on
    drawn_train, drawn_dev, drawn_held = _draw(undivided, need_dev=not dev)
    held += drawn_held
    borrowed = not any(_clean(x) for x in held) and any(_clean(x) for x in dev)
    if borrowed:
        held, dev = dev, []
        train, dev, _ = _draw([g for g in train_groups if g], need_dev=True, hold_out=False)
    else:
        train = [x for g in train_groups for x in g]
    train, dev = train + drawn_train, dev + drawn_dev
    return Split(_judged(train, learnt), _judged(dev), _judged([x for x in held if _clean(x)]), borrowed)


def near_duplicates(texts: Sequence[str], vectors: np.ndarray | None = None) -> list[list[int]]:
    """Groups of positions whose texts share at least NEAR of their words, or whose unit vectors `(n, width)` have a
    cosine of at least NEAR_MEANING, directly or through others."""
    parent = list(range(len(texts)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    pairs = [_by_words(texts)] if vectors is None else [_by_words(texts), _by_meaning(vectors)]
    for i, j in (pair for found in pairs for pair in found):
        a, b = root(i), root(j)
        parent[max(a, b)] = min(a, b)
    groups: dict[int, list[int]] = {}
    for i in range(len(texts)):
        groups.setdefault(root(i), []).append(i)
    return list(groups.values())


def _by_words(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Two sets that alike share one of their rarest words, so only those that do are compared."""
    sets = [frozenset(words(t)) or frozenset([t]) for t in texts]
    frequency: dict[str, int] = {}
    for s in sets:
        for w in s:
            frequency[w] = frequency.get(w, 0) + 1
    having: dict[str, list[int]] = {}
    for i, s in enumerate(sets):
        rarest = sorted(s, key=lambda w: (frequency[w], w))[: len(s) - ceil(NEAR * len(s)) + 1]
        for j in {j for w in rarest for j in having.get(w, ())}:
            if len(s & sets[j]) >= NEAR * len(s | sets[j]):
                yield i, j
        for w in rarest:
            having.setdefault(w, []).append(i)


def _by_meaning(vectors: np.ndarray) -> Iterator[tuple[int, int]]:
    for start in range(0, len(vectors), ROWS):
        near = vectors[start : start + ROWS] @ vectors.T >= NEAR_MEANING
        for i, j in np.argwhere(near):
            if start + int(i) > int(j):
                yield start + int(i), int(j)


def _draw(
    groups: Sequence[Sequence[Labelled]], *, need_dev: bool, hold_out: bool = True
) -> tuple[list[Labelled], list[Labelled], list[Labelled]]:
    """Train, dev and held-out questions by each group's digest; every part that is needed gets at least one."""
    ordered = sorted(groups, key=_place)
    sides: dict[str, list[Sequence[Labelled]]] = {"held": [], "dev": [], "train": []}
    for group in ordered:
        place = _place(group)
        if hold_out and place < HELD_OUT:
            sides["held"].append(group)
        elif need_dev and HELD_OUT <= place < HELD_OUT + DEV:
            sides["dev"].append(group)
        else:
            sides["train"].append(group)
    _see_to_it(sides, "held" if hold_out else None)
    if need_dev and len(sides["train"]) > 2:
        _see_to_it(sides, "dev")
    train, dev, held = ([x for g in sides[s] for x in g] for s in ("train", "dev", "held"))
    return train, dev, held


def _see_to_it(sides: dict[str, list[Sequence[Labelled]]], side: str | None) -> None:
    """If a side has no question with labels of both kinds, it gets the first of the training side that has them."""
    if side is None or any(_clean(x) for g in sides[side] for x in g):
        return
    able = [g for g in sides["train"] if any(_clean(x) for x in g)]
    if len(able) > 1:
        sides["train"].remove(able[0])
        sides[side].append(able[0])


def _place(group: Sequence[Labelled]) -> float:
    """Where a group falls in [0, 1), told by its first question."""
    first = min(group, key=lambda x: x.id)
    digest = hashlib.blake2b(" ".join(words(first.question.text)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def _clean(x: Labelled) -> bool:
    return bool(x.question.positives and x.question.negatives)


def _judged(found: Sequence[Labelled], as_seen: Callable[[Question], Question] = judged) -> tuple[Question, ...]:
    return tuple(as_seen(x.question) for x in sorted(found, key=lambda x: x.id))
