"""ASNQ++ (the Rerank paper, SIGIR 2020, section 4.1.3): negatives of other questions added until there are 1,300.

The paper gives no more detail. Here they are drawn without replacement from a uniform sample of the file's incorrect
sentences (a reservoir, so that memory is bounded), and never a sentence that the question already has. They follow the
question's own candidates, so the place in the list reveals which they are: rank by content only.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace

from as2core.data.asnq import NEITHER
from as2core.data.source import iterate_labels
from as2core.errors import BadSetting
from as2core.types import Candidate, Question

SAMPLES_PER_CANDIDATE = 20  # at 1,300 candidates some 26,000 sentences, a few megabytes


def extend(
    questions: Iterable[Question], again: Iterable[Question], *, candidates: int = 1300, seed: int = 0
) -> Iterator[Question]:
    """The questions, each with `candidates` candidates (or what it had, if more); `again` is the same data once more,
    as the first pass draws the sample.

    An added candidate's label is 0, its grade 1, its id the other question's with its own. Raises BadSetting when the
    data have too few incorrect sentences.
    """
    if candidates < 1:
        raise BadSetting(f"{candidates} candidates a question: give at least 1")
    pool = _sample(questions, candidates * SAMPLES_PER_CANDIDATE, random.Random(seed))
    for question in again:
        missing = candidates - len(question.candidates)
        if missing > 0:
            others = _draw_negatives(question, pool, missing, random.Random(f"{seed} {question.qid}"))
            question = replace(question, candidates=(*question.candidates, *others))
        yield question


def _sample(questions: Iterable[Question], size: int, draw: random.Random) -> list[tuple[str, Candidate]]:
    """`(question id, incorrect candidate)`, each of the data as likely as another (Vitter's algorithm R)."""
    sample: list[tuple[str, Candidate]] = []
    negatives = ((q.qid, c) for q, c in iterate_labels(questions) if c.label == 0)
    for count, negative in enumerate(negatives, 1):
        if len(sample) < size:
            sample.append(negative)
        elif (place := draw.randrange(count)) < size:
            sample[place] = negative
    return sample


def _draw_negatives(
    question: Question, pool: list[tuple[str, Candidate]], missing: int, draw: random.Random
) -> Iterator[Candidate]:
    texts = {c.text for c in question.candidates}
    for place in _shuffle_lazily(len(pool), draw):
        qid, other = pool[place]
        if other.text not in texts:
            texts.add(other.text)
            yield replace(other, id=f"{qid}:{other.id}", grade=NEITHER)
            missing -= 1
            if not missing:
                return
    raise BadSetting(
        f"question {question.qid!r}: {missing} sentences are missing; the data have too few incorrect ones of other "
        "questions; set fewer candidates"
    )


def _shuffle_lazily(size: int, draw: random.Random) -> Iterator[int]:
    """0..size-1 in random order (Fisher and Yates), computed as they are read, so that a few of many cost little."""
    swaps: dict[int, int] = {}
    for i in range(size):
        j = draw.randrange(i, size)
        yield swaps.get(j, j)
        swaps[j] = swaps.get(i, i)
