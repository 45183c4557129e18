"""Whether people agree, what they disagree on, how it is settled, and how much seeing a score sways them.

Cohen's kappa for two people is scikit-learn's, Krippendorff's alpha for any number (who need not have labelled the same
pairs) is the `krippendorff` package's, nominal, and Gwet's AC1 is computed here. Only correct and incorrect are
judgements: "unsure" counts as missing. Intervals come from resampling questions, since the pairs of one question are
not independent. What a measure is made of adds up over questions, so a resample takes sums of theirs and no library.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, groupby
from typing import Generic, TypeVar

import numpy as np
from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.corpora.corpora import lock_corpus
from app.labels.consensus import BINARY, check_label, load_summary, mark_outcomes, tidy_note
from app.labels.guidelines import EditConflict
from app.labels.visibility import can_see_all
from app.workbench import audit
from app.workbench.people import ADMIN, Gone, require
from app.workbench.workbench import Workbench
from as2core.types import CORRECT
from db.models import WITHDRAWN, Question, Sentence
from db.repositories import corpora as corpus_rows
from db.repositories import labels as label_rows
from db.repositories import reviews
from db.repositories.pairs import group_by_pair, read_pair
from db.repositories.queues import lock_candidate

SETTLE = "settle a conflict"  # in the audit log
RESAMPLES, LEVEL = 300, 0.95
MIN_EQUAL_QUESTIONS = 6  # with fewer, resamples that are all equal say nothing of other questions
_ASKS = re.compile(r"\b(?:how\s+(?:many|much)|how|who(?:m|se)?|what|when|where|which|why)\b", re.IGNORECASE)
Votes = Mapping[str, int]  # person -> 1 correct, 0 incorrect
Unit = tuple[int, Votes]  # question id, its labels
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % interval (of coefficients by bootstrap over questions); all None where it cannot be
    computed. `n`: pairs of question and sentence that went in."""

    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class AgreementView:
    """`alike`: pairs on which all who judged them agree. `alpha`: Krippendorff's, nominal, over everyone; `ac1`:
    Gwet's. `kappas`: (name, name) -> Cohen's. `over_time`: (day the second label came, alpha). `per_kind`: question
    kind -> alpha. `annotators`: everybody with a label that somebody else's stands beside."""

    alike: int
    alpha: Estimate
    ac1: Estimate
    kappas: tuple[tuple[str, str, Estimate], ...]
    over_time: tuple[tuple[str, Estimate], ...]
    per_kind: tuple[tuple[str, Estimate], ...]
    annotators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VerdictView:
    """`label` is "withdrawn" where the pair was opened again."""

    label: str
    by: str
    note: str


@dataclass(frozen=True, slots=True)
class ConflictView:
    """A pair that people label differently, or did before it was settled. `verdict`, `by`, `note` are empty until then,
    and `verdict_id` is 0; the labels stay. `position`: the sentence's place in the document, from 0; `is_gone`: the
    sentence left it. `earlier`: the verdicts that count no more, oldest first."""

    question_id: int
    sentence_id: int
    question: str
    text: str
    title: str
    heading: str
    document_id: int
    position: int
    is_gone: bool
    labels: tuple[tuple[str, str], ...]
    earlier: tuple[VerdictView, ...] = ()
    verdict: str = ""
    by: str = ""
    note: str = ""
    verdict_id: int = 0


@dataclass(frozen=True, slots=True)
class AnchoringView:
    """Labels on pairs where chance decided whether the scores were on the screen. `agree_*`: share of labels that say
    what the model said; `shift`: visible minus blind, what seeing the score adds."""

    visible: int
    blind: int
    agree_visible: float | None
    agree_blind: float | None
    shift: Estimate


@dataclass(frozen=True, slots=True)
class Measure(Generic[T]):
    """`of_units` is the figure, None where it is undefined. It is a function of what `parts` (k numbers a unit) add up
    to, and `of_sums` is that function: (n, k) -> (n,), NaN where undefined."""

    of_units: Callable[[Sequence[tuple[int, T]]], float | None]
    parts: Callable[[T], tuple[float, ...]]
    of_sums: Callable[[np.ndarray], np.ndarray]


def measure_agreement(wb: Workbench, corpus_id: int) -> AgreementView:
    """Over the pairs that two or more people judged."""
    units, days, kinds = [], [], []
    with wb.read() as s:
        pairs = _group_by_pair(s, corpus_id)
    for group in pairs:
        judgements = [r for r in group if r.label in BINARY]
        if len(judgements) > 1:
            units.append((group[0].question_id, {r.annotator: BINARY[r.label] for r in judgements}))
            days.append(judgements[1].created.date().isoformat())
            kinds.append(group[0].kind or infer_question_kind(group[0].question))
    people = sorted({name for _, votes in units for name in votes})
    kappas = []
    for a, b in combinations(people, 2):
        if common := [u for u in units if a in u[1] and b in u[1]]:
            kappas.append((a, b, _estimate(common, _kappa_of(a, b))))
    by_day, by_kind = _estimate_by(days, units), _estimate_by(kinds, units)
    whole, gwet = _estimate(units, ALPHA), _estimate(units, AC1)
    alike = sum(len(set(votes.values())) == 1 for _, votes in units)
    return AgreementView(alike, whole, gwet, tuple(kappas), by_day, by_kind, tuple(people))


def infer_question_kind(question: str) -> str:
    """The kind of a question that came without one: its first word that asks."""
    match = _ASKS.search(question)
    if match is None:
        return "other"
    word = match[0].lower()
    return "how-many" if word.split()[1:] else "who" if word.startswith("who") else word


def compute_alpha(units: Sequence[Unit]) -> float | None:
    """Krippendorff's alpha; None where everybody always says the same one thing, since then it is undefined."""
    import krippendorff

    counts = np.array([[list(votes.values()).count(value) for value in (0, 1)] for _, votes in units])
    if not len(counts) or (counts.sum(axis=0) == 0).any():
        return None
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


def compute_ac1(units: Sequence[Unit]) -> float | None:
    """Gwet's AC1 for any number of people (Gwet, "Computing inter-rater reliability and its variance in the presence of
    high agreement", 2008). Chance agreement is taken to be that of guesses on hard units alone; so unlike alpha and
    kappa it stays high where nearly all labels are the same and people agree on them. None without a unit."""
    if not units:
        return None
    return float(_ac1_of_sums(np.array([_agreements(votes) for _, votes in units]).sum(0)[None])[0])


def _agreements(votes: Votes) -> tuple[float, ...]:
    """The share of the unit's pairs of people that agree, the share of correct, and 1."""
    n, ones = len(votes), sum(votes.values())
    return (ones * (ones - 1) + (n - ones) * (n - ones - 1)) / (n * (n - 1)), ones / n, 1.0


def _ac1_of_sums(sums: np.ndarray) -> np.ndarray:
    agree, ones, n = sums.T
    chance = 2 * ones / n * (1 - ones / n)
    return (agree / n - chance) / (1 - chance)


def _coincidences(votes: Votes) -> tuple[float, ...]:
    """How often a judgement of the unit meets another of its value, by value, and one of the other (Krippendorff 2011,
    "Computing Krippendorff's Alpha-Reliability", part C)."""
    ones = sum(votes.values())
    zeros, others = len(votes) - ones, max(1, len(votes) - 1)
    return zeros * (zeros - 1) / others, ones * (ones - 1) / others, zeros * ones / others


def _alpha_of_sums(sums: np.ndarray) -> np.ndarray:
    same_zeros, same_ones, mixed = sums.T
    zeros, ones = same_zeros + mixed, same_ones + mixed
    return np.where((zeros > 0) & (ones > 0), 1 - (zeros + ones - 1) * mixed / (zeros * ones), np.nan)


ALPHA = Measure(compute_alpha, _coincidences, _alpha_of_sums)
AC1 = Measure(compute_ac1, _agreements, _ac1_of_sums)


def compute_kappa(units: Sequence[Unit], a: str, b: str) -> float | None:
    """Cohen's kappa of two people; None where both always say the same one thing."""
    from sklearn.metrics import cohen_kappa_score

    left, right = ([votes[name] for _, votes in units] for name in (a, b))
    if len({*left, *right}) < 2:
        return None
    return float(cohen_kappa_score(left, right))


def _kappa_of(a: str, b: str) -> Measure[Votes]:
    return Measure(partial(compute_kappa, a=a, b=b), partial(_cell, a=a, b=b), _kappa_of_sums)


def _cell(votes: Votes, a: str, b: str) -> tuple[float, ...]:
    """The unit's place in the table of two people: both incorrect, both correct, only b, only a."""
    return tuple(float((votes[a], votes[b]) == cell) for cell in ((0, 0), (1, 1), (0, 1), (1, 0)))


def _kappa_of_sums(sums: np.ndarray) -> np.ndarray:
    both, only_b, only_a = sums.T[1:]
    n, ones_a, ones_b = sums.sum(axis=1), both + only_a, both + only_b
    by_chance = (ones_a * (n - ones_b) + (n - ones_a) * ones_b) / n
    return np.where(by_chance > 0, 1 - (only_a + only_b) / by_chance, np.nan)


def list_conflicts(wb: Workbench, corpus_id: int, annotator_id: int) -> tuple[ConflictView, ...]:
    """Pairs that people label differently, then those that a verdict settles, on which they may agree by now: it
    counts until it is taken back. Of everyone for whoever sees all labels; others find those they labelled."""
    make = partial(_collect_conflicts, wb, corpus_id)
    conflicts = load_summary(wb, mark_outcomes(wb, corpus_id), ("conflicts", corpus_id), make)
    with wb.read() as s:
        finds_all = can_see_all(s, annotator_id)
    return tuple(conflict for conflict, people in conflicts if finds_all or annotator_id in people)


def _collect_conflicts(wb: Workbench, corpus_id: int) -> list[tuple[ConflictView, frozenset[int]]]:
    """Each with who labelled it, the open ones first."""
    with wb.read() as s:
        verdicts = group_by_pair(reviews.list_signed_verdicts(s, corpus_id))
        pairs = _group_by_pair(s, corpus_id)
    conflicts = []
    for group in pairs:
        first, labels = group[0], tuple((r.annotator, r.label) for r in group)
        history = verdicts.get(read_pair(first), [])
        ruling = history[-1] if history and history[-1].label != WITHDRAWN else None
        is_open = ruling is None and len({r.label for r in group if r.label in BINARY}) > 1
        if is_open or ruling:
            pair = (*read_pair(first), first.question, first.text, first.title, first.heading)
            place = first.document_id, first.position, first.is_gone
            earlier = tuple(VerdictView(v.label, v.name, v.note) for v in history if v is not ruling)
            verdict = (ruling.label, ruling.name, ruling.note, ruling.id) if ruling else ()
            view = ConflictView(*pair, *place, labels, earlier, *verdict)
            conflicts.append((view, frozenset(r.annotator_id for r in group)))
    return sorted(conflicts, key=lambda c: bool(c[0].verdict))


def find_neighbours(wb: Workbench, sentence_id: int) -> tuple[str, str]:
    """The text before and after a sentence in its document; "" where there is none, or the sentence left it."""
    with wb.read() as s:
        sentence = s.get(Sentence, sentence_id)
        if sentence is None or sentence.retired:
            return "", ""
        return corpus_rows.find_neighbours(s, sentence.document_id, sentence.position)


def adjudicate(
    wb: Workbench,
    *,
    question_id: int,
    sentence_id: int,
    annotator_id: int,
    label: str | None,
    note: str = "",
    base: int | None = None,
    labels: Sequence[tuple[str, str]] | None = None,
) -> None:
    """An adjudicator's verdict: what the pair counts as from now on, whatever the labels say; they stay. None opens the
    pair again; the verdict that a person gave already, without another reason, changes nothing. `base`: the id of the
    verdict that the adjudicator has seen, 0 for none, None for whichever stands; `labels`: the labels seen, as in
    ConflictView, None for whichever stand. Raises EditConflict where others stand by now, NotAllowed unless an admin,
    BadSetting, Gone."""
    if label is not None:
        check_label(label)
    pair, note = (question_id, sentence_id), tidy_note(note)
    with wb.write(durable=True) as s:
        require(s, annotator_id, SETTLE, ADMIN)
        question = s.get(Question, question_id)
        if question is None:
            raise Gone("this question no longer exists; reload the page")
        lock_corpus(s, question.corpus_id)  # against imports and withdrawals of many labels
        lock_candidate(s, *pair)  # against the label of one person, and another verdict
        standing = [(r.annotator, r.label) for r in label_rows.list_labels_of_pair(s, *pair)]
        if not standing:
            raise Gone("this pair no longer has a label; reload the page")
        if label is not None and labels is not None and sorted(labels) != sorted(standing):
            raise EditConflict("the labels of the pair were changed meanwhile: nothing was recorded")
        ruling = reviews.find_signed_verdict(s, pair)
        if ruling is not None and (ruling.label, ruling.annotator_id, "") == (label, annotator_id, note):
            return  # such as by a double click
        _check_base(ruling, base)
        reviews.add_verdict(s, pair, annotator_id, label or WITHDRAWN, note, wb.clock())
        detail = f"{label or 'opened again'}: {s.get_one(Sentence, sentence_id).text}"
        audit.record(s, wb.clock(), annotator_id, SETTLE, question.text, detail)


def _check_base(ruling: Row | None, base: int | None) -> None:
    if base is None or base == (ruling.id if ruling else 0):
        return
    state = f"settled as {ruling.label} by {ruling.name}" if ruling else "opened again"
    raise EditConflict(f"the pair was {state} meanwhile: nothing was recorded")


def measure_anchoring(wb: Workbench, corpus_id: int) -> AnchoringView:
    """How often labels say what the model said, with its score on the screen and without, on pairs where chance decided
    which; the difference is what seeing does."""
    with wb.read() as s:
        rows = [r for r in label_rows.list_labels_with_arm(s, corpus_id) if r.label in BINARY]
    units = [(r.question_id, (r.arm == "blind", (r.label == CORRECT) == r.model_says)) for r in rows]
    visible, blind = _split_arms(units)
    agree_visible, agree_blind = (float(np.mean(arm)) if arm else None for arm in (visible, blind))
    return AnchoringView(len(visible), len(blind), agree_visible, agree_blind, _estimate(units, SHIFT))


def _split_arms(units: Sequence[tuple[int, tuple[bool, bool]]]) -> tuple[list[bool], list[bool]]:
    """Whether each agrees with the model: of those shown with the score, and of the blind ones."""
    visible = [agrees for _, (is_blind, agrees) in units if not is_blind]
    return visible, [agrees for _, (is_blind, agrees) in units if is_blind]


def _shift(units: Sequence[tuple[int, tuple[bool, bool]]]) -> float | None:
    visible, blind = _split_arms(units)
    return float(np.mean(visible) - np.mean(blind)) if visible and blind else None


def _arm(unit: tuple[bool, bool]) -> tuple[float, ...]:
    """Whether the unit is blind and whether shown, each with whether it agrees."""
    blind, agrees = unit
    return float(blind), float(blind and agrees), float(not blind), float(agrees and not blind)


def _shift_of_sums(sums: np.ndarray) -> np.ndarray:
    blind, agree_blind, visible, agree_visible = sums.T
    return agree_visible / visible - agree_blind / blind


SHIFT = Measure(_shift, _arm, _shift_of_sums)


def _group_by_pair(s: Session, corpus_id: int) -> list[list[Row]]:
    """The people's labels, pair by pair, of those that two or more of them labelled or a verdict settles."""
    rows = reviews.list_comparable_labels(s, corpus_id)
    return [list(group) for _, group in groupby(rows, key=read_pair)]


def _estimate_by(names: Sequence[str], units: Sequence[Unit]) -> tuple[tuple[str, Estimate], ...]:
    by_name: dict[str, list[Unit]] = {}
    for name, unit in zip(names, units, strict=True):
        by_name.setdefault(name, []).append(unit)
    return tuple((name, _estimate(by_name[name], ALPHA)) for name in sorted(by_name))


def _estimate(units: Sequence[tuple[int, T]], measure: Measure[T]) -> Estimate:
    """The measure with its percentile interval over resampled questions (the first of each unit)."""
    value = measure.of_units(units)
    if value is None:
        return Estimate(None, None, None, len(units))
    places = {question: i for i, question in enumerate(dict.fromkeys(question for question, _ in units))}
    of_questions = np.zeros((len(places), len(measure.parts(units[0][1]))))  # (questions, parts)
    np.add.at(of_questions, [places[question] for question, _ in units], [measure.parts(unit) for _, unit in units])
    draw = np.random.default_rng(0)
    samples = (draw.integers(len(places), size=len(places)) for _ in range(RESAMPLES))
    sums = np.array([np.bincount(d, minlength=len(places)) @ of_questions for d in samples])  # (resamples, parts)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = measure.of_sums(sums)
    values = values[np.isfinite(values)]
    if len(places) < 2 or not len(values):
        return Estimate(value, None, None, len(units))
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    if low == high and len(places) < MIN_EQUAL_QUESTIONS:
        return Estimate(value, None, None, len(units))
    return Estimate(value, float(low), float(high), len(units))
