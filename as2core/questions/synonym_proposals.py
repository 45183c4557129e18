"""Synonyms that labels suggest: what a word of the questions means, seen from where their answers are.

If the answers to most questions about a "whale" are about a VX-90, and few other answers are, then a whale is a VX-90
here. That is a thesaurus generated from co-occurrence (Manning, Raghavan and Schütze, "Introduction to Information
Retrieval", 2008, section 9.2.3), across the two sides of labelled pairs as in expansion by query logs (Cui, Wen, Nie
and Ma, "Probabilistic query expansion using query logs", WWW 2002). Their measure is a conditional probability. Here a
term must also be more frequent than chance explains (Fisher's exact test, one-sided), since there are few labels, and
the documents must write it more often than the word. A person decides which are taken over.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from as2core.questions.synonyms import Synonyms
from as2core.text import STOP_WORDS, find_words

MIN_QUESTIONS = 2  # with the word, and as many of their answers with the term
MIN_SHARE = 0.6  # of the answers to questions with the word must have the term
MAX_LITERAL_SHARE = 1 / 3  # of those answers may have the word itself: in more of them it means what it says
MIN_SENTENCES = 3  # that have a term, or it is none of the documents' terms
MAX_P = 0.003
MAX_TOGETHER = 2  # words with the same answers: of more, nobody can tell which one has the meaning
MAX_WORDS, MAX_TERM_WORDS, MAX_LETTERS = 2, 3, 30  # of a word, of a meaning, and of each of their words
_NO_TOPIC = STOP_WORDS | {"get", "gets", "got", "go", "goes", "please", "pls"}
_POSSESSIVES = ("'s", "\u2019s")
_PLURAL = re.compile(r"(?<=[^\W_]{3})(?:['\u2019]s|(?<!s)s)$")


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """`context`: the title of the document with the correct sentence, the sentences before it, and itself."""

    question: str
    context: Sequence[str]


@dataclass(frozen=True, slots=True)
class SynonymProposal:
    """Of `questions` with the word, such as `example`, `answers` have the meaning in their context. `p`: how probable
    that many are by chance, from how many of all answers have it."""

    word: str
    meaning: str
    example: str
    questions: int
    answers: int
    p: float


def propose_synonyms(
    questions: Sequence[AnsweredQuestion], sentences: Iterable[str], synonyms: Synonyms | None = None
) -> list[SynonymProposal]:
    """The least probable by chance first; none for a word of `synonyms`, a part of one or a longer one. `sentences`: of
    the documents, whose terms the meanings are. Questions with the same answer count once: other words for it tell
    nothing new."""
    forms_of = _count_forms(sentences)
    frequency = Counter({phrase: forms.total() for phrase, forms in forms_of.items()})
    answers = _group_by_answer(questions)
    totals = Counter(t for a in answers for t in a.terms if frequency[t] >= MIN_SENTENCES)
    having: dict[str, list[_Answer]] = defaultdict(list)
    for answer in answers:
        for word in answer.words:
            having[word].append(answer)
    known_words = [{_normalise(part) for part in word.split()} for word in (synonyms.words if synonyms else ())]
    together = Counter(_list_ids(those) for word, those in having.items() if " " not in word)
    best: dict[str, SynonymProposal] = {}
    for word, those in having.items():
        literal = sum(word in a.terms for a in those)
        if len(those) < MIN_QUESTIONS or literal > MAX_LITERAL_SHARE * len(those):
            continue
        if together[_list_ids(those)] > MAX_TOGETHER or _overlaps(word, known_words):
            continue
        usual = Counter(t for a in those for t in a.terms if t in totals and t not in a.words)
        counts = {t: n for t, n in usual.items() if frequency[t] > frequency[word]}
        if choice := _choose_term(word, len(those), counts, totals, len(answers)):
            term, n, p = choice
            phrase, example = min((a.words[word] for a in those), key=lambda form: len(form[0]))
            best[word] = SynonymProposal(_drop_ending(phrase), _choose_form(forms_of[term]), example, len(those), n, p)
    return sorted(_drop_parts(best), key=lambda proposal: (proposal.p, proposal.word))


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """`terms`: the phrases of its context. `words`: those of its questions, with their form as written and the
    question."""

    terms: frozenset[str]
    words: Mapping[str, tuple[str, str]]


def _group_by_answer(pairs: Iterable[AnsweredQuestion]) -> list[_Answer]:
    questions: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for a in pairs:
        questions[tuple(a.context)].append(a.question)
    return [
        _Answer(
            frozenset(term for part in context for term in _list_phrases(part, MAX_TERM_WORDS)),
            {w: (form, t) for t in texts for w, form in _list_phrases(_drop_measure(t), MAX_WORDS).items()},
        )
        for context, texts in questions.items()
    ]


def _count_forms(sentences: Iterable[str]) -> dict[str, Counter[str]]:
    """Of every phrase, how many sentences have it in which form."""
    forms_of: dict[str, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        for phrase, form in _list_phrases(sentence, MAX_TERM_WORDS).items():
            forms_of[phrase][form] += 1
    return forms_of


def _choose_term(
    word: str, questions: int, counts: Mapping[str, int], totals: Mapping[str, int], answers: int
) -> tuple[str, int, float] | None:
    """(term, how many of the answers have it, p): the least probable by chance, of equal ones the longest."""
    from scipy.stats import hypergeom

    enough = max(MIN_QUESTIONS, MIN_SHARE * questions)
    usual = [(t, n) for t, n in counts.items() if n >= enough and not set(t.split()) & set(word.split())]
    if not usual:
        return None
    chances = hypergeom.sf([n - 1 for _, n in usual], answers, [totals[t] for t, _ in usual], questions)
    tests = [(p, -len(t.split()), t, n) for (t, n), p in zip(usual, chances.tolist(), strict=True)]
    p, _, term, n = min(tests)
    return (term, n, p) if p <= MAX_P else None


def _overlaps(word: str, others: Iterable[set[str]]) -> bool:
    """Whether it is one of these, a part of one, or has one as its part."""
    parts = set(word.split())
    return any(parts <= other or parts >= other for other in others)


def _list_ids(answers: Iterable[_Answer]) -> tuple[int, ...]:
    return tuple(map(id, answers))


def _choose_form(forms: Mapping[str, int]) -> str:
    """The most frequent; of equal ones, one in lower case before one of a heading."""
    return min(forms, key=lambda form: (-forms[form], not form.islower(), form))


def _drop_parts(best: dict[str, SynonymProposal]) -> Iterator[SynonymProposal]:
    """Of "part" and "Friday part" only one: the longer, unless most questions have the shorter alone."""
    for word, proposal in best.items():
        longer = [p for w, p in best.items() if word in w.split() and w != word]
        parts = [best[w] for w in word.split() if w in best and w != word]
        is_covered = any(p.answers >= MIN_SHARE * proposal.questions for p in longer)
        covers_little = any(proposal.answers < MIN_SHARE * p.questions for p in parts)
        if not is_covered and not covers_little:
            yield proposal


def _drop_measure(question: str) -> str:
    """Without what "how" asks for: "how long" is after a time, not after something long."""
    return re.sub(r"\bhow\s+\w+", "how", question, flags=re.IGNORECASE)


def _list_phrases(text: str, longest: int) -> dict[str, str]:
    """Normal form -> form as written, of all runs of up to so many topical words that no punctuation divides."""
    phrases: dict[str, str] = {}
    spans = find_words(text)
    for first, (begin, _) in enumerate(spans):
        normal: list[str] = []
        last = begin
        for start, end in spans[first : first + longest]:
            word = text[start:end]
            if not _is_topical(word) or text[last:start].strip():
                break
            normal.append(_normalise(word))
            phrases.setdefault(" ".join(normal), " ".join(text[begin:end].split()))
            last = end
            if word.endswith(_POSSESSIVES):
                break
    return phrases


def _is_topical(word: str) -> bool:
    """No stop word, no number, and nothing that a line of synonyms cannot have."""
    is_word = 1 < len(word) <= MAX_LETTERS and not word[0].isdigit() and "," not in word
    return is_word and word.lower() not in _NO_TOPIC


def _normalise(word: str) -> str:
    return _PLURAL.sub("", word.lower())


def _drop_ending(word: str) -> str:
    """Without an ending that `Synonyms.expand` allows for: "grandma" of "grandma's". One that may belong to the word
    stays ("boxes", "bus")."""
    return word if word.endswith(("es", "us", "is", "as")) else _PLURAL.sub("", word)
