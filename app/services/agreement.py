"""Whether people agree, what they disagree on, how it is settled, and how much seeing a score sways them.

Cohen's kappa for two people is scikit-learn's, Krippendorff's alpha for any number (who need not have labelled the same
pairs) is the `krippendorff` package's, nominal. Only correct and incorrect are judgements: "unsure" counts as missing.
Intervals come from resampling questions, since the pairs of one question are not independent.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, groupby
from typing import Any

import numpy as np

from app.services.label_views import AgreementView, AnchoringView, ConflictView, Estimate
from app.services.labels import BINARY
from app.services.people import ADMIN, Gone, require
from app.services.views import CORRECT, LABELS
from app.services.workbench import Workbench, storable
from as2core.errors import BadSetting
from db.models import WITHDRAWN
from db.repositories import labels as label_rows
from db.repositories import people as people_rows
from db.repositories import reviews

RESAMPLES, LEVEL = 300, 0.95
MAX_NOTE = 500
_ASKS = re.compile(r"\b(?:how\s+(?:many|much)|how|who(?:m|se)?|what|when|where|which|why)\b", re.IGNORECASE)
Unit = tuple[int, Mapping[str, int]]  # question id, person -> 1 correct, 0 incorrect


def agreement(wb: Workbench, corpus_id: int, *, seed: int = 0) -> AgreementView:
    """Over the pairs that two or more people judged."""
    units, days, kinds = [], [], []
    for group in _pairs(wb, corpus_id):
        judged = [r for r in group if r.label in BINARY]
        if len(judged) > 1:
            units.append((group[0].question_id, {r.name: BINARY[r.label] for r in judged}))
            days.append(judged[1].created.date().isoformat())
            kinds.append(group[0].kind or kind_of(group[0].question))
    people = sorted({name for _, said in units for name in said})
    kappas = []
    for a, b in combinations(people, 2):
        common = [u for u in units if a in u[1] and b in u[1]]
        if common:
            kappas.append((a, b, _estimate(common, lambda us, a=a, b=b: kappa(us, a, b), seed)))
    return AgreementView(
        alpha=_estimate(units, alpha, seed),
        kappas=tuple(kappas),
        over_time=_by(days, units, seed),
        per_kind=_by(kinds, units, seed),
        annotators=tuple(people),
    )


def kind_of(question: str) -> str:
    """The kind of a question that came without one: its first word that asks."""
    said = _ASKS.search(question)
    if said is None:
        return "other"
    word = said[0].lower()
    return "how-many" if word.split()[1:] else "who" if word.startswith("who") else word


def alpha(units: Sequence[Unit]) -> float | None:
    """Krippendorff's alpha; None where everybody always says the same one thing, since then it is undefined."""
    import krippendorff

    counts = np.array([[list(said.values()).count(value) for value in (0, 1)] for _, said in units])
    if not len(counts) or (counts.sum(axis=0) == 0).any():
        return None
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


def kappa(units: Sequence[Unit], a: str, b: str) -> float | None:
    """Cohen's kappa of two people; None where both always say the same one thing."""
    from sklearn.metrics import cohen_kappa_score

    left, right = ([said[name] for _, said in units] for name in (a, b))
    if len({*left, *right}) < 2:
        return None
    return float(cohen_kappa_score(left, right))


def conflicts(wb: Workbench, corpus_id: int, annotator_id: int) -> tuple[ConflictView, ...]:
    """Pairs that people label differently, those not settled first. An admin sees all; others those they labelled
    themselves, so that nobody learns what peers say before their own label is in."""
    found = []
    with wb.read() as s:
        me = people_rows.person(s, annotator_id)
        everything = me is not None and me.role == ADMIN
        for group in _pairs(wb, corpus_id):
            said = {r.label for r in group if r.label in BINARY}
            if len(said) < 2 or not (everything or any(r.annotator_id == annotator_id for r in group)):
                continue
            first = group[0]
            ruled = reviews.newest_verdict(s, (first.question_id, first.sentence_id))
            open_ = ruled is None or ruled[0].label == WITHDRAWN
            found.append(
                ConflictView(
                    first.question_id,
                    first.sentence_id,
                    first.question,
                    first.text,
                    first.title,
                    tuple((r.name, r.label) for r in group),
                    *(() if open_ else (ruled[0].label, ruled[1], ruled[0].note)),
                )
            )
    return tuple(sorted(found, key=lambda c: bool(c.verdict)))


def settle(
    wb: Workbench, *, question_id: int, sentence_id: int, annotator_id: int, label: str | None, note: str = ""
) -> None:
    """An adjudicator's verdict: what the pair counts as from now on, whatever the labels say; they stay. None opens the
    pair again. Raises NotAllowed unless an admin, BadSetting, Gone."""
    if label is not None and label not in LABELS:
        raise BadSetting(f"no label {label!r}; known: {', '.join(LABELS)}")
    note = " ".join(storable(note).split())[:MAX_NOTE]
    pair = (question_id, sentence_id)
    with wb.write(durable=True) as s:
        require(s, annotator_id, ADMIN)
        if not label_rows.of_pair(s, *pair):
            raise Gone("nobody labels this pair any more; load the page anew")
        reviews.add_verdict(s, pair, annotator_id, label or WITHDRAWN, note, wb.clock())


def anchoring(wb: Workbench, corpus_id: int, *, seed: int = 0) -> AnchoringView:
    """How often labels say what the model said, with its score on the screen and without, on pairs where chance decided
    which; the difference is what seeing does."""
    with wb.read() as s:
        found = label_rows.randomised(s, corpus_id)
    units = [
        (r.question_id, (r.arm == "blind", (r.label == CORRECT) == r.model_says)) for r in found if r.label in BINARY
    ]
    blind = [agrees for _, (is_blind, agrees) in units if is_blind]
    shown = [agrees for _, (is_blind, agrees) in units if not is_blind]
    return AnchoringView(
        shown=len(shown),
        blind=len(blind),
        agree_shown=float(np.mean(shown)) if shown else None,
        agree_blind=float(np.mean(blind)) if blind else None,
        shift=_estimate(units, _shift, seed),
    )


def _shift(units: Sequence[tuple[int, tuple[bool, bool]]]) -> float | None:
    blind = [agrees for _, (is_blind, agrees) in units if is_blind]
    shown = [agrees for _, (is_blind, agrees) in units if not is_blind]
    return float(np.mean(shown) - np.mean(blind)) if shown and blind else None


def _pairs(wb: Workbench, corpus_id: int) -> Iterable[list[Any]]:
    """The people's labels, pair by pair, of those that two or more of them labelled."""
    with wb.read() as s:
        rows = reviews.judged_twice(s, corpus_id)
    return [list(group) for _, group in groupby(rows, key=lambda r: (r.question_id, r.sentence_id))]


def _by(names: Sequence[str], units: Sequence[Unit], seed: int) -> tuple[tuple[str, Estimate], ...]:
    return tuple(
        (name, _estimate([u for n, u in zip(names, units, strict=True) if n == name], alpha, seed))
        for name in sorted(set(names))
    )


def _estimate(units: Sequence[tuple[int, Any]], measure: Callable[[Sequence], float | None], seed: int) -> Estimate:
    """The measure with its percentile interval over resampled questions (the first of each unit)."""
    value = measure(units)
    if value is None:
        return Estimate(None, None, None, len(units))
    by_question: dict[int, list] = {}
    for unit in units:
        by_question.setdefault(unit[0], []).append(unit)
    questions, draw, found = list(by_question.values()), np.random.default_rng(seed), []
    for _ in range(RESAMPLES):
        chosen = draw.integers(len(questions), size=len(questions))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a resample in which it is undefined
            again = measure([unit for i in chosen for unit in questions[i]])
        if again is not None and np.isfinite(again):
            found.append(again)
    if len(questions) < 2 or not found:
        return Estimate(value, None, None, len(units))
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, float(low), float(high), len(units))
