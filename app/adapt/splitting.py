"""Dividing labelled questions into training, validation ("dev") and held-out questions.

Near-duplicate questions stay on one side: the same words (Jaccard, exact, so none is missed as with a sketch), or the
same meaning (cosine of the bi-encoder's vectors). Shared sentences do not matter: a sentence may answer one question
and not another. A digest of the question decides, not the seed of a run. A group of near-duplicates is held out if any
of its questions is by its own digest, so a held-out question stays held out when labels and near-duplicates are added,
and no later version is trained on it; a question that stood in for the lack of others alone makes way for them. The
price is that larger groups are held out more often: of single questions a quarter, of pairs 7 in 16. Sets that come
divided keep their division. Their test part is never trained on; without other questions to hold out it is held out,
unless it is the frozen benchmark.

Two more rules keep the held-out questions unknown to a version. What the base or its ancestors were trained on
(`trained_on`) is never held out, in whatever corpus it is asked again, nor used for validation. An exception: if the
dev part is held out for lack of others (`borrowed`), validation questions are drawn from the train part. And
near-duplicates of the frozen benchmark (`benchmarks`) are never trained on. A group of near-duplicates goes to one side
as a whole, so a near-duplicate that the base was trained on, or of a divided set's train part, has it trained on.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil
from operator import itemgetter

import numpy as np

from app.labels.consensus import LabelledQuestion, drop_unlabelled
from as2core.text import tokenize
from as2core.types import Question

MIN_JACCARD = 0.8  # of the words
MIN_SHARED_WORDS = MIN_JACCARD / (1 + MIN_JACCARD)  # of the words of both, counted twice where they share them
ROUNDING = 1e-9
MIN_COSINE = 0.88  # rewordings of one question have some .92, different questions of one article below .8
HELD_OUT_SHARE, DEV_SHARE = 0.25, 0.15  # of the undivided questions
MIN_DEV = 20  # validation questions; fewer would select a training's result by chance, and are trained on instead
CHUNK_ROWS = 1024  # vectors compared with all others at a time

Embed = Callable[[Sequence[str]], np.ndarray | None]


@dataclass(frozen=True, slots=True)
class Split:
    """Questions with labelled candidates only. `borrowed_part`: the part of an imported division that is held out,
    since no other question is: "test", "dev", or "". `familiar_count`, `benchmark`: how many questions with both kinds
    of labels the base has learnt from, and how many are of a frozen benchmark, near-duplicates included. `incomplete`:
    questions that would be held out too, but have labels of one kind only, on which nothing can be measured."""

    train: tuple[Question, ...]
    dev: tuple[Question, ...]
    held_out: tuple[Question, ...]
    borrowed_part: str = ""
    familiar_count: int = 0
    benchmark: int = 0
    incomplete: tuple[LabelledQuestion, ...] = ()

    @property
    def train_labels(self) -> tuple[int, int]:
        """How many labels of the training questions are correct, and incorrect."""
        return sum(q.positives for q in self.train), sum(q.negatives for q in self.train)

    @property
    def one_sided(self) -> tuple[int, int]:
        """How many training questions have correct labels only, and incorrect labels only: a cascade learns nothing
        from them."""
        kinds = Counter((bool(q.positives), bool(q.negatives)) for q in self.train)
        return kinds[True, False], kinds[False, True]


def split(
    all_questions: Sequence[LabelledQuestion],
    *,
    embed: Embed | None = None,
    trained_on: Sequence[str] = (),
    benchmarks: Sequence[str] = (),
    to_training: Callable[[Question], Question] = drop_unlabelled,
) -> Split:
    """Questions without any label are left out. Held-out ones have a correct and an incorrect candidate.

    `embed` gives unit vectors `(n, width)`; without it, or them, only words are compared. `trained_on` and `benchmarks`
    are texts of questions. `to_training` makes a training question of a labelled one.
    """
    questions = [x for x in all_questions if x.question.has_labels]
    groups = _group_questions(questions, embed, trained_on, benchmarks)
    of_part = {part: [g for g in groups if g.part == part] for part in ("train", "dev", "test", "")}
    dev = _list_questions(of_part["dev"])
    drawn_train, drawn_dev, drawn_held_out = _draw([g.questions for g in of_part[""]], need_dev=not dev)
    train, unfamiliar = _list_questions(of_part["train"]), [g for g in of_part["test"] if not g.is_familiar]
    held_out = [*(x for x in _list_questions(unfamiliar) if not x.question.split), *drawn_held_out]
    borrowed_part = ""
    if not _count_usable(held_out):
        test = [x for g in unfamiliar if not g.is_benchmark for x in g.questions if x.question.split == "test"]
        if _count_usable(test):
            held_out, borrowed_part = test, "test"
        elif _count_usable(dev):
            held_out, borrowed_part = dev, "dev"
            train, dev, _ = _draw([g.questions for g in of_part["train"]], need_dev=True, hold_out=False)
    return Split(
        _to_questions([*train, *drawn_train], to_training),
        _to_questions([*dev, *drawn_dev]),
        _to_questions([x for x in held_out if x.question.has_both_labels]),
        borrowed_part,
        sum(_count_usable(g.questions) for g in groups if g.is_familiar),
        sum(_count_usable(g.questions) for g in groups if g.is_benchmark),
        tuple(x for x in held_out if not x.question.has_both_labels),
    )


@dataclass(frozen=True, slots=True)
class _Group:
    """Labelled questions that are near-duplicates. `is_familiar`: the base has learnt from one like them;
    `is_benchmark`: one like them is in a frozen benchmark."""

    questions: tuple[LabelledQuestion, ...]
    is_familiar: bool
    is_benchmark: bool

    @property
    def part(self) -> str:
        """Where they belong, together: "test" is never trained on; "" where chance decides."""
        splits = {x.question.split for x in self.questions}
        if "test" in splits or self.is_benchmark:
            return "test"
        if self.is_familiar or ("train" in splits and "dev" not in splits):
            return "train"
        return "dev" if "dev" in splits else ""


def _group_questions(
    questions: Sequence[LabelledQuestion], embed: Embed | None, trained_on: Sequence[str], benchmarks: Sequence[str]
) -> list[_Group]:
    texts = [*(x.question.text for x in questions), *trained_on, *benchmarks]
    first_benchmark = len(questions) + len(trained_on)
    return [
        _Group(
            tuple(questions[i] for i in places if i < len(questions)),
            is_familiar=any(len(questions) <= i < first_benchmark for i in places),
            is_benchmark=any(i >= first_benchmark for i in places),
        )
        for places in group_near_duplicates(texts, embed(texts) if embed and texts else None)
        if any(i < len(questions) for i in places)
    ]


def _list_questions(groups: Sequence[_Group]) -> list[LabelledQuestion]:
    return [x for group in groups for x in group.questions]


def _count_usable(questions: Sequence[LabelledQuestion]) -> int:
    """How many can be ranked well or badly."""
    return sum(x.question.has_both_labels for x in questions)


def group_near_duplicates(texts: Sequence[str], vectors: np.ndarray | None = None) -> list[list[int]]:
    """Groups of positions whose texts share at least MIN_JACCARD of their words, or whose unit vectors `(n, width)`
    have a cosine of at least MIN_COSINE, directly or through others."""
    labels = np.array(_group_by_words(texts), dtype=int)  # (n,), of the group of each text
    if vectors is not None:
        labels = _merge_by_meaning(labels, vectors)
    groups: dict[int, list[int]] = {}
    for i, group in enumerate(labels.tolist()):
        groups.setdefault(group, []).append(i)
    return list(groups.values())


def _group_by_words(texts: Sequence[str]) -> list[int]:
    """The position of one text of its group for each. Only texts that share one of their rarest words are compared, and
    only until they are known to be of one group: of thousands that are nearly the same each is compared with a few.

    The words of each are in one order, the rarest first. Two sets that are similar enough share a word of their first
    few, and the first that they share has enough words after it in both: the prefix and the positional filter of Xiao
    et al. 2008, "Efficient similarity joins for near duplicate detection".
    """
    words_of = [frozenset(tokenize(t)) or frozenset([t]) for t in texts]
    from scipy.cluster.hierarchy import DisjointSet

    first_with: dict[frozenset[str], int] = {}
    groups = DisjointSet(range(len(texts)))
    for i, words in enumerate(words_of):
        groups.merge(i, first_with.setdefault(words, i))
    frequency = Counter(chain.from_iterable(first_with))
    # word -> (number of words, place of this one) -> group -> the texts so far
    having: defaultdict[str, defaultdict[tuple[int, int], dict[int, list[int]]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for words, i in first_with.items():
        size = len(words)
        rarest = sorted(words, key=lambda w: (frequency[w], w))[: size - ceil(MIN_JACCARD * size) + 1]
        for place, word in enumerate(rarest):
            for (other_size, other_place), texts_by_group in having[word].items():
                most_shared = min(size - place, other_size - other_place)
                if most_shared < MIN_SHARED_WORDS * (size + other_size) - ROUNDING:
                    continue
                for old in [group for group in texts_by_group if groups[group] != group]:  # joined to another since
                    texts_by_group.setdefault(groups[old], []).extend(texts_by_group.pop(old))
                for group, others in texts_by_group.items():
                    if not groups.connected(i, group) and any(_is_near(words, words_of[j]) for j in others):
                        groups.merge(i, group)
        for place, word in enumerate(rarest):
            having[word][size, place].setdefault(groups[i], []).append(i)
    return [groups[i] for i in range(len(texts))]


def _is_near(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= MIN_JACCARD * len(one | other)


def _merge_by_meaning(labels: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """The groups `(n,)`, those of near vectors put together."""
    labels = labels.copy()
    for start in range(0, len(vectors), CHUNK_ROWS):
        near = vectors[start : start + CHUNK_ROWS] @ vectors.T >= MIN_COSINE  # (chunk, n)
        for i, row in enumerate(near, start):
            if len(others := np.unique(labels[row & (labels != labels[i])])):
                labels[np.isin(labels, others)] = labels[i]
    return labels


def _draw(
    groups: Sequence[Sequence[LabelledQuestion]], *, need_dev: bool, hold_out: bool = True
) -> tuple[list[LabelledQuestion], list[LabelledQuestion], list[LabelledQuestion]]:
    """Train, dev and held-out questions by the digests of each group's questions. The held-out part gets at least one
    question; the dev part has MIN_DEV that can be ranked well or badly, or none."""
    by_digest = sorted(((sorted(map(_hash_to_unit, group)), group) for group in groups), key=itemgetter(0))
    sides: dict[str, list[Sequence[LabelledQuestion]]] = {"held": [], "dev": [], "train": []}
    for digests, group in by_digest:
        if hold_out and digests[0] < HELD_OUT_SHARE:
            sides["held"].append(group)
        elif need_dev and any(HELD_OUT_SHARE <= x < HELD_OUT_SHARE + DEV_SHARE for x in digests):
            sides["dev"].append(group)
        else:
            sides["train"].append(group)
    if sum(map(_count_usable, sides["dev"])) < MIN_DEV:
        sides["train"] += sides.pop("dev")
    if hold_out:
        _ensure_a_held_out(sides)
    train, dev, held_out = ([x for g in sides.get(s, ()) for x in g] for s in ("train", "dev", "held"))
    return train, dev, held_out


def _ensure_a_held_out(sides: dict[str, list[Sequence[LabelledQuestion]]]) -> None:
    """If no held-out question has labels of both kinds, the first of the others that has them is held out."""
    if any(map(_count_usable, sides["held"])):
        return
    usable = [g for g in sides["train"] if _count_usable(g)]
    if len(usable) > 1:
        sides["train"].remove(usable[0])
        sides["held"].append(usable[0])


def _hash_to_unit(x: LabelledQuestion) -> float:
    """Where a question falls in [0, 1), by a digest of its words."""
    digest = hashlib.blake2b(" ".join(tokenize(x.question.text)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def _to_questions(
    questions: Sequence[LabelledQuestion], to_question: Callable[[Question], Question] = drop_unlabelled
) -> tuple[Question, ...]:
    return tuple(to_question(x.question) for x in sorted(questions, key=lambda x: x.id))
