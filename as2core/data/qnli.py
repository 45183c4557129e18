"""QNLI (Wang et al., 2019, GLUE): SQuAD's questions with sentences of their paragraphs, as pairs. TandA compares it
with ASNQ as the set to transfer from (Garg et al., 2020, Table 7).

GLUE pairs each question with the sentences of its paragraph and leaves out pairs with low lexical overlap; half of its
pairs are correct. It publishes neither the measure nor the bound. Here each question has its correct sentence and the
incorrect one that shares most words with it, if both share `MIN_SHARE` of the question's different words: 100,540 pairs
of SQuAD's train part (`as2 data build qnli`), where the paper counts 105 thousand.
"""

from collections.abc import Iterator
from dataclasses import replace

from as2core.data import squad
from as2core.data.source import Report
from as2core.sources.content import Source
from as2core.text import tokenize
from as2core.types import Question

MIN_SHARE = 0.25


def stream(source: Source, report: Report) -> Iterator[Question]:
    """Questions with a correct and an incorrect sentence, in the paragraph's order."""
    for question in squad.stream(source, report):
        if (pair := select_pair(question)) is None:
            report.omissions["its sentences share too few words with it"] += 1
        else:
            yield pair


def select_pair(question: Question) -> Question | None:
    """A question of SQuAD-sent with two of its candidates; None where one of them shares too few words with it."""
    words = set(tokenize(question.text))
    shared = [len(words & set(tokenize(c.text))) for c in question.candidates]
    rows: list[int] = []
    for label in (0, 1):
        of_label = [i for i, c in enumerate(question.candidates) if c.label == label]
        rows += sorted(of_label, key=lambda i: -shared[i])[:1]
    if len(rows) < 2 or min(shared[i] for i in rows) < MIN_SHARE * len(words):
        return None
    return replace(question, candidates=tuple(question.candidates[i] for i in sorted(rows)))
