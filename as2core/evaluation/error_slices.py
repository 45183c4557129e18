"""Questions grouped by what they share, so that errors show a pattern: the kind of question, its length, how many of
its words the correct sentence has, its document.

A question is in one slice of each group, and in none of a group that says nothing about it. A user's own slices
(`slice_rules`) may share questions. Small slices differ by chance, so each has an interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from as2core.evaluation.slice_rules import SliceRule
from as2core.metrics import wilson_interval
from as2core.text import STOP_WORDS, tokenize
from as2core.types import Question

MAX_DOCUMENTS = 10  # the slices by document: those with the most questions
MIN_DOCUMENT_QUESTIONS = 2
SHORT_WORDS, MEDIUM_WORDS = 6, 10  # of a question, at most
OWN = "own"  # the group of a user's slices
KINDS = {"who": "who", "whom": "who", "whose": "who", "when": "when", "where": "where", "why": "why", "which": "what",
         "what": "what", "how": "how"}  # fmt: skip
AUXILIARIES = frozenset(
    "is are was were am be do does did has have had can could will would shall should may might must".split()
)


@dataclass(frozen=True, slots=True)
class Slice:
    """Questions that share something, by their ids."""

    group: str
    name: str
    qids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SliceResult:
    """One ranker on a slice: the share of its questions that are answered (a correct candidate is first) with Wilson's
    95 % interval. `errors`: those that are not."""

    group: str
    name: str
    questions: int
    share: float
    low: float
    high: float
    errors: tuple[str, ...]


def slice_questions(questions: Sequence[Question], rules: Sequence[SliceRule] = ()) -> tuple[Slice, ...]:
    """By group, the user's own first; in the others the slice with the most questions first. An own slice may be
    empty."""
    slices = [Slice(OWN, rule.name, tuple(q.qid for q in questions if rule.includes(q))) for rule in rules]
    for group, name_slice in GROUPS.items():
        members: dict[str, list[str]] = {}
        for q in questions:
            if name := name_slice(q):
                members.setdefault(name, []).append(q.qid)
        rows = [Slice(group, name, tuple(qids)) for name, qids in members.items()]
        rows.sort(key=lambda row: (-len(row.qids), row.name))
        slices += rows
    return (*slices, *_slice_by_document(questions))


def measure_slices(slices: Sequence[Slice], precisions: Mapping[str, float]) -> tuple[SliceResult, ...]:
    """`precisions`: question id -> P@1; questions that are not in it are left out, and slices without others. By group;
    in each the slice with the smallest share answered first."""
    results = []
    for row in slices:
        qids = [qid for qid in row.qids if qid in precisions]
        if not qids:
            continue
        errors = tuple(qid for qid in qids if precisions[qid] != 1)
        right = len(qids) - len(errors)
        low, high = wilson_interval(right, len(qids))
        results.append(SliceResult(row.group, row.name, len(qids), right / len(qids), low, high, errors))
    groups = list(dict.fromkeys(r.group for r in results))
    return tuple(sorted(results, key=lambda r: (groups.index(r.group), r.share)))


def find_kind(question: str) -> str:
    """By its first question word: "who", "when", "where", "why", "how many", "how", "what"; else "yes or no" or
    "other"."""
    words = tokenize(question)
    for word, after in zip(words, [*words[1:], ""], strict=False):
        if word == "how" and after in ("many", "much"):
            return "how many"
        if word in ("what", "which") and after in ("year", "date", "day", "time"):
            return "when"
        if word in KINDS:
            return KINDS[word]
    return "yes or no" if words and words[0] in AUXILIARIES else "other"


def describe_length(question: str) -> str:
    words = len(tokenize(question))
    if words <= SHORT_WORDS:
        return f"up to {SHORT_WORDS} words"
    return f"{SHORT_WORDS + 1} to {MEDIUM_WORDS} words" if words <= MEDIUM_WORDS else f"over {MEDIUM_WORDS} words"


def describe_shared_words(question: Question) -> str:
    """How many of the question's topical words the correct sentence that has most of them has; "" without a correct
    sentence or a topical word."""
    topical = set(tokenize(question.text)) - STOP_WORDS
    shares = [len(topical & set(tokenize(c.titled_text))) for c in question.candidates if c.label == 1]
    if not shares or not topical:
        return ""
    share = max(shares) / len(topical)
    if share == 0:
        return "none"
    return "all" if share == 1 else "half or more" if share >= 0.5 else "less than half"


def _slice_by_document(questions: Sequence[Question]) -> list[Slice]:
    """By the title of the first correct sentence's document."""
    titles = {q.qid: next((c.title for c in q.candidates if c.label == 1 and c.title), "") for q in questions}
    counts = Counter(filter(None, titles.values())).most_common(MAX_DOCUMENTS)
    return [
        Slice("document", title, tuple(qid for qid, other in titles.items() if other == title))
        for title, n in counts
        if n >= MIN_DOCUMENT_QUESTIONS
    ]


GROUPS: dict[str, Callable[[Question], str]] = {
    "kind": lambda q: find_kind(q.text),
    "length": lambda q: describe_length(q.text),
    "words in the answer": describe_shared_words,
}
