"""Dividing labelled questions into those to learn from, to steer by and to judge by.

By question, and questions that nearly repeat each other stay together. What decides is a digest of the question, not
the seed of a run: a question once held out stays held out when labels are added, so a version trained on another
version's successor never meets its own judges. Sets that come divided keep their division, and their test part is
not used at all: it is the frozen benchmark.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from app.services.labels import Labelled, judged
from as2core.text import words
from as2core.types import Question

NEAR = 0.8  # Jaccard of the words
HELD_OUT, DEV = 0.25, 0.15  # shares of the undivided questions


@dataclass(frozen=True, slots=True)
class Split:
    """Questions with labelled candidates only. `borrowed`: the shipped dev part is held out, since nothing else is."""

    train: tuple[Question, ...]
    dev: tuple[Question, ...]
    held_out: tuple[Question, ...]
    borrowed: bool = False


def split(labelled: Sequence[Labelled]) -> Split:
    """Questions without any label are left out. Held-out ones have a correct and an incorrect candidate."""
    found = [x for x in labelled if x.question.positives or x.question.negatives]
    groups: list[list[Labelled]] = [[found[i] for i in g] for g in near_duplicates([x.question.text for x in found])]
    train: list[Labelled] = []
    dev: list[Labelled] = []
    test: list[Labelled] = []
    undivided: list[list[Labelled]] = []
    for group in groups:
        given = {x.split for x in group} - {""}
        side = {"test": test, "dev": dev, "train": train}
        home = next((side[s] for s in ("test", "dev", "train") if s in given), None)
        if home is None:
            undivided.append(group)
        else:
            home += group
    held = [x for x in test if not x.split]  # nearly a question of the frozen benchmark: never trained on
    drawn_train, drawn_dev, drawn_held = _draw(undivided, need_dev=not dev)
    held += drawn_held
    borrowed = not any(_clean(x) for x in held) and any(_clean(x) for x in dev)
    if borrowed:
        held, dev = dev, []
        again_train, again_dev, _ = _draw([[x] for x in train], need_dev=True, hold_out=False)
        train, dev = again_train, again_dev
    train, dev = train + drawn_train, dev + drawn_dev
    return Split(_judged(train), _judged(dev), _judged([x for x in held if _clean(x)]), borrowed)


def near_duplicates(texts: Sequence[str]) -> list[list[int]]:
    """Groups of positions whose texts share at least NEAR of their words, directly or through others.

    Two sets that alike share one of their rarest words, so only those that do are compared.
    """
    sets = [frozenset(words(t)) or frozenset([t]) for t in texts]
    frequency: dict[str, int] = {}
    for s in sets:
        for w in s:
            frequency[w] = frequency.get(w, 0) + 1
    parent = list(range(len(texts)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    having: dict[str, list[int]] = {}
    for i, s in enumerate(sets):
        rarest = sorted(s, key=lambda w: (frequency[w], w))[: len(s) - ceil(NEAR * len(s)) + 1]
        for j in {j for w in rarest for j in having.get(w, ())}:
            if root(i) != root(j) and len(s & sets[j]) >= NEAR * len(s | sets[j]):
                parent[max(root(i), root(j))] = min(root(i), root(j))
        for w in rarest:
            having.setdefault(w, []).append(i)
    groups: dict[int, list[int]] = {}
    for i in range(len(texts)):
        groups.setdefault(root(i), []).append(i)
    return list(groups.values())


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


def _judged(found: Sequence[Labelled]) -> tuple[Question, ...]:
    return tuple(judged(x.question) for x in sorted(found, key=lambda x: x.id))
