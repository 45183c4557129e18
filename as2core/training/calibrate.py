"""Platt scaling (Platt, 1999): logits to probabilities, one scale and shift an exit, fitted on labelled questions;
and the no-answer threshold: where the best candidate's probability is lower, "no answer" is right more often. Beside it
a fit of each question's candidates together, which shares out the probability to be the answer among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.special import expit, logit

from as2core.cascade.engine import Engine, run_cascade
from as2core.cascade.logit_cache import with_cache
from as2core.cascade.schedule import DropSchedule
from as2core.errors import BadSetting, NotEnoughLabels
from as2core.nn.heads import ExitHead
from as2core.nn.question_lm import PrefixLM
from as2core.rankers.base import Query
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.generative import GenerativeRanker
from as2core.types import OnProgress, Progress, Question

FOLDS = 5
SCALE_BOUNDS, SHARE_BOUNDS = (0.01, 20.0), (0.02, 0.98)
MAX_LEVEL_QUESTIONS = 50  # with a correct candidate, and as many without


def calibrate(
    ranker: CascadeRanker,
    questions: Sequence[Question],
    on_progress: OnProgress | None = None,
    *,
    fits_answers: bool = True,
) -> dict:
    """Set the ranker's `calibration`, `threshold` and `answer_calibration`; returns the report for its card. Unlabelled
    candidates are left out.

    The fit uses all questions. The reported calibration error and reliability curve by exit, and the threshold's
    balanced accuracy, come from FOLDS folds over questions, each scored by a fit that did not see it.
    The threshold maximises balanced accuracy over questions with and without an answer. A question whose candidates are
    all labelled counts twice: as it is, and without its correct candidates. Without both kinds the threshold stays. The
    probabilities of answers are fitted on questions as they are, unless `fits_answers` is False; they stay without
    right and wrong answers among them. Raises NotEnoughLabels where no candidate has a label.
    """
    logits: list[np.ndarray] = []  # (exits, labelled candidates) a question
    labels: list[np.ndarray] = []
    best: list[tuple[float, bool, int]] = []  # the best logit, whether the question has an answer, and its number
    answers: list[tuple[np.ndarray, bool]] = []  # the logits of all candidates, and whether the best is correct
    for done, q in enumerate(questions):
        if on_progress:
            on_progress(Progress(done, len(questions), q.text))
        has_label = np.array([c.label is not None for c in q.candidates])
        if not has_label.any():
            continue
        [by_exit] = exit_logits(ranker, [(q.text, q.candidates)])
        last, number = by_exit[-1], len(labels)
        logits.append(by_exit[:, has_label])
        labels.append(np.array([c.label == 1 for c in q.candidates])[has_label])
        best.append((float(last.max()), q.positives > 0, number))
        if len(last) > 1 and (label := q.candidates[int(last.argmax())].label) is not None:
            answers.append((last, label == 1))
        if has_label.all() and 0 < q.positives < len(q.candidates):
            best.append((float(last[~labels[-1]].max()), False, number))
    if not labels:
        raise NotEnoughLabels("no sentence is labelled: probabilities are fitted on labels, so give some first")
    y, exits = np.concatenate(labels).astype(float), np.concatenate(logits, axis=1)
    fold = np.repeat(np.arange(len(labels)), [len(rows) for rows in labels]) % FOLDS
    ranker.calibration = tuple(fit_probability(x, y) for x in exits)
    ranker.is_calibrated = True
    best_logit, answerable, numbers = (np.array(column) for column in zip(*best, strict=True))
    top = ranker.probability(best_logit)
    report: dict[str, int | float] = {
        "questions": len(labels),
        "candidates": len(y),
        "correct": int(y.sum()),
        "without_answer": int((~answerable).sum()),
    }
    if answerable.any() and not answerable.all():
        ranker.threshold, _ = best_threshold(top, answerable)
        report["balanced_accuracy"] = measure_threshold(top, answerable, numbers % FOLDS)
    report |= _fit_answers(ranker, answers) if fits_answers else {}
    return {**report, "threshold": ranker.threshold, "folds": FOLDS, **_measure_reliability(ranker, exits, y, fold)}


def _measure_reliability(
    ranker: CascadeRanker, logits: np.ndarray, y: np.ndarray, fold: np.ndarray
) -> dict[str, object]:
    """The calibration error and curve of each exit and the last, from logits `(exits, n)` of held-out folds `(n,)`."""
    held_out = {str(e): _held_out_probabilities(x, y, fold) for e, x in zip(ranker.exits, logits, strict=True)}
    curves = {layer: measure_reliability(p, y) for layer, p in held_out.items()}
    errors = {layer: expected_calibration_error(p, y) for layer, p in held_out.items()}
    last_exit = str(ranker.exits[-1])
    return {
        "ece": errors[last_exit],
        "ece_per_exit": errors,
        "reliability": curves[last_exit],
        "reliability_per_exit": curves,
    }


def _fit_answers(ranker: CascadeRanker, answers: Sequence[tuple[np.ndarray, bool]]) -> dict[str, int]:
    """Set the probabilities of answers by logits and whether the best was right; returns its part of the report."""
    right = np.array([y for _, y in answers])
    if not 0 < right.sum() < len(right):
        return {}
    ranker.answer_calibration = fit_answer_shares([logits for logits, _ in answers], right)
    return {"answers": len(right), "right_answers": int(right.sum())}


def fit_answer_shares(logits: Sequence[np.ndarray], right: np.ndarray) -> tuple[float, float]:
    """(scale, share) of `share_out` that minimise the cross-entropy of the best candidate's probability against whether
    it was right. A list of `(n_i,)`, n_i > 1, and `(m,)`. Both stay within bounds, so that separable data does not send
    them to infinity or to certainty."""
    below = np.full((len(logits), max(map(len, logits))), -np.inf)  # how far each stands below the best, padded
    for row, x in zip(below, logits, strict=True):
        row[: len(x)] = np.asarray(x, dtype=float) - np.max(x)

    def loss(theta: np.ndarray) -> float:
        scale, share = theta
        p = share / np.exp(scale * below).sum(axis=1)
        return -float(np.mean(np.where(right > 0, np.log(p), np.log1p(-p))))

    scale, share = minimize(loss, (1.0, 0.8), method="L-BFGS-B", bounds=(SCALE_BOUNDS, SHARE_BOUNDS)).x
    return round(float(scale), 6), round(float(share), 6)


def exit_logits(ranker: CascadeRanker, queries: Sequence[Query], engine: Engine | None = None) -> list[np.ndarray]:
    """Each query's logits `(exits, candidates)`, without the first stage, which would pass on only some of them; by the
    ranker's engine if no other is given. They go through the ranker's cache of logits if it has one."""
    complete = DropSchedule.constant(0.0, exits=len(ranker.exits))
    texts = [(question, ranker.list_texts(candidates)) for question, candidates in queries]
    engine = with_cache(engine or ranker.engine, ranker.logits)
    return [np.stack([e.scores for e in trace.exits]) for trace in run_cascade(engine, texts, complete)]


def _fold_masks(fold: np.ndarray, positive: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each fold which `(n,)` to fit on, and which to score: the other folds are fitted on, or all where the others
    hold one kind of label only."""
    for number in np.unique(fold):
        others = fold != number
        has_both = 0 < positive[others].sum() < others.sum()
        yield others if has_both else np.ones_like(others), ~others


def _held_out_probabilities(logits: np.ndarray, y: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """P(correct) `(n,)`, each by the fit on the other folds."""
    p = np.empty(len(y))
    for fit, held_out in _fold_masks(fold, y):
        scale, shift = fit_probability(logits[fit], y[fit])
        p[held_out] = expit(scale * logits[held_out].astype(float) + shift)
    return p


def measure_threshold(top: np.ndarray, answerable: np.ndarray, fold: np.ndarray) -> float:
    """Balanced accuracy of thresholds on the best probability `(n,)` of questions with and without an answer, each set
    on the other folds."""
    has_answer = np.empty(len(top), dtype=bool)
    for fit, held_out in _fold_masks(fold, answerable):
        threshold, _ = best_threshold(top[fit], answerable[fit])
        has_answer[held_out] = top[held_out] >= threshold
    return round(float((has_answer[answerable].mean() + (~has_answer[~answerable]).mean()) / 2), 4)


def level_heads(
    ranker: CascadeRanker, questions: Sequence[Question], should_stop: Callable[[], bool] | None = None
) -> None:
    """Scale and shift each exit's untrained head so that its logits fit the labels' frequency (Platt's fit, folded into
    the head). Cosines of one encoder lie close together and far from zero; without this the first steps of training
    go into the level and damage what the backbone knows. Changes the ranker.

    Fitted on the labelled candidates of MAX_LEVEL_QUESTIONS questions with a correct candidate and as many without.
    Nothing changes where all have one label, nor in a head without a cosine; where the fit would turn the order round
    (by chance, with few labels), a head is only shifted. `should_stop` is called between questions; once it is true the
    ranker stays as it was."""
    if not any(isinstance(head, ExitHead) for head in ranker.module.heads):
        return
    with_answer = islice((q for q in questions if q.positives), MAX_LEVEL_QUESTIONS)
    others = islice((q for q in questions if q.negatives and not q.positives), MAX_LEVEL_QUESTIONS)
    logits: list[np.ndarray] = []
    labels: list[int] = []
    for q in (*with_answer, *others):
        if should_stop and should_stop():
            return
        candidates = [c for c in q.candidates if c.label is not None]
        labels += [int(c.label == 1) for c in candidates]
        logits += exit_logits(ranker, [(q.text, candidates)])
    if not 0 < sum(labels) < len(labels):
        return
    y = np.array(labels)
    for x, head in zip(np.concatenate(logits, axis=1), ranker.module.heads, strict=True):
        if not isinstance(head, ExitHead):
            continue
        scale, shift = platt(x, y)
        if scale <= 0:
            scale, shift = 1.0, float(logit(y.mean()) - x.mean())
        weight, bias = head.net[-1].parameters()
        with torch.no_grad():
            head.cosine.mul_(scale)
            weight.mul_(scale)
            bias.mul_(scale).add_(shift)


def level_end(ranker: GenerativeRanker, questions: Sequence[Question]) -> None:
    """The same for the prefix model after MLE, which has only seen correct passages and lets every question end: scale
    and shift the similarity term of the end's logit, so that P(end) fits the labels' frequency. Changes the ranker."""
    module = ranker.module
    if not isinstance(module, PrefixLM):
        raise BadSetting("only the prefix language model has an end to level")
    device = next(module.parameters()).device
    similarity, margin, labels = [], [], []
    for q in questions:
        texts = [c.titled_text for c in q.candidates]
        batch = {name: t.to(device) for name, t in module.encode(texts, [q.text] * len(texts)).items()}
        with torch.inference_mode():
            log_p, valid, question, passage = (t.cpu() for t in module.read(**batch))
        end = log_p[torch.arange(len(texts)), valid.sum(1) - 1].double().clamp(max=-1e-7)
        similarity.append(torch.cosine_similarity(question, passage).numpy())
        margin.append((end - torch.log(-torch.expm1(end))).numpy())  # logit of P(end)
        labels += [float(c.label == 1) for c in q.candidates]
    cosine = np.concatenate(similarity).astype(float)
    scale, shift = platt(cosine, np.array(labels))
    with torch.no_grad():
        rest = np.concatenate(margin) - float(module.end_scale) * cosine - float(module.end_bias)
        module.end_scale.fill_(scale)
        module.end_bias.fill_(shift - float(np.median(rest)))


def fit_probability(logits: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """`platt` of logits and labels (n,), but a higher logit never makes a lower probability: where the labels, few or
    wrong, say so, the scale is 0, the best that is left, and every candidate has the probability of them all."""
    scale, shift = platt(logits, labels)
    return (scale, shift) if scale >= 0 else (0.0, round(float(logit(smooth_labels(labels).mean())), 6))


def smooth_labels(labels: np.ndarray) -> np.ndarray:
    """Platt's targets `(n,)`: what a fit is to give a correct candidate, and an incorrect one, so that separable data
    does not send the scale to infinity."""
    positive = labels.sum()
    return np.where(labels > 0, (positive + 1) / (positive + 2), 1 / (len(labels) - positive + 2))


def platt(logits: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """(scale, shift) that minimise the cross-entropy of sigmoid(scale * logit + shift), `(n,)` and `(n,)`.

    Targets are Platt's, `smooth_labels`. It is fitted to standardised logits: far from zero scale and shift hang
    together, and the search would stop on the way.
    """
    target = smooth_labels(labels)
    middle, spread = logits.mean(dtype=float), logits.std(dtype=float) if np.ptp(logits) else 1.0
    x = np.stack([(logits - middle) / spread, np.ones(len(logits))], axis=1)  # (n, 2)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        z = x @ theta
        return float(np.mean(np.logaddexp(0, z) - target * z)), x.T @ (expit(z) - target) / len(x)

    slope, height = minimize(loss, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-8}).x
    scale = float(slope / spread)
    return round(scale, 6), round(float(height - scale * middle), 6)


def best_threshold(top: np.ndarray, answerable: np.ndarray) -> tuple[float, float]:
    """The cut on `top` (n,) that maximises the mean of the two classes' accuracies, and that accuracy."""
    values = np.unique(top)
    cuts = np.concatenate([values[:1] / 2, (values[1:] + values[:-1]) / 2])
    accuracy = [(np.mean(top[answerable] >= c) + np.mean(top[~answerable] < c)) / 2 for c in cuts]
    at = int(np.argmax(accuracy))
    return float(cuts[at]), round(float(accuracy[at]), 4)


def expected_calibration_error(p: np.ndarray, y: np.ndarray, bins: int = 10) -> float:
    """The mean gap of confidence and frequency over equal-width bins, weighted by their size (Guo et al., 2017)."""
    curve = measure_reliability(p, y, bins)
    return round(sum(abs(b["confidence"] - b["frequency"]) * b["candidates"] for b in curve) / len(p), 4)


def measure_reliability(p: np.ndarray, y: np.ndarray, bins: int = 10) -> list[dict[str, float]]:
    """The reliability curve of probabilities `p` (n,) and labels `y` (n,): in each equal-width bin that holds any, the
    mean confidence, the frequency of correct candidates, and how many there are (Niculescu-Mizil and Caruana, 2005)."""
    which = np.minimum((p * bins).astype(int), bins - 1)
    return [
        {
            "confidence": round(float(p[which == b].mean()), 6),
            "frequency": round(float(y[which == b].mean()), 6),
            "candidates": int((which == b).sum()),
        }
        for b in np.unique(which)
    ]
