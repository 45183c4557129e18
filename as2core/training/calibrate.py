"""Platt scaling (Platt, 1999): logits to probabilities, one scale and shift an exit, fitted on labelled questions;
and the no-answer threshold, the probability of the best candidate under which "no answer" is right more often.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.special import expit, logit

from as2core.cascade.engine import run_cascade
from as2core.cascade.schedule import DropSchedule
from as2core.nn.heads import ExitHead
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.generative import GenerativeRanker
from as2core.types import Candidate, Question

FOLDS = 5
ENOUGH = 50  # questions of a kind, to level by


def calibrate(ranker: CascadeRanker, questions: Sequence[Question]) -> dict:
    """Sets the ranker's `calibration` and `threshold`; returns what the card tells. Unlabelled candidates are left out.

    What is kept is fitted on all questions; what is told of it (calibration error and reliability curve by exit, the
    threshold's balanced accuracy) comes from FOLDS folds over questions, each judged by a fit that did not see it.
    The threshold maximises balanced accuracy over questions with and without an answer. A question whose candidates are
    all labelled stands on both sides: as it is, and with its correct candidates taken away. Without both kinds it
    stays.
    """
    logits: list[list[np.ndarray]] = [[] for _ in ranker.exits]
    labels, best, answerable, asked = [], [], [], []
    for q in questions:
        known = np.array([c.label is not None for c in q.candidates])
        if not known.any():
            continue
        found = _logits(ranker, q.text, q.candidates)
        for of_exit, x in zip(logits, found, strict=True):
            of_exit.append(x[known])
        labels.append(np.array([c.label == 1 for c in q.candidates])[known])
        last = found[-1]
        best.append(float(last.max()))
        answerable.append(q.positives > 0)
        asked.append(len(labels) - 1)
        if known.all() and 0 < q.positives < len(q.candidates):
            best.append(float(last[~labels[-1]].max()))
            answerable.append(False)
            asked.append(len(labels) - 1)
    y = np.concatenate(labels).astype(float)
    x = [np.concatenate(of_exit) for of_exit in logits]
    fold = np.repeat(np.arange(len(labels)), [len(known) for known in labels]) % FOLDS
    ranker.calibration = tuple(platt(of_exit, y) for of_exit in x)
    ranker.calibrated = True
    top, has, top_fold = ranker.probability(np.array(best)), np.array(answerable), np.array(asked) % FOLDS
    report = {
        "questions": len(labels),
        "candidates": len(y),
        "correct": int(y.sum()),
        "without_answer": int((~has).sum()),
    }
    if has.any() and not has.all():
        ranker.threshold, _ = best_threshold(top, has)
        report["balanced_accuracy"] = _held_out_accuracy(top, has, top_fold)
    told = [_held_out(of_exit, y, fold) for of_exit in x]
    curves = {str(layer): reliability(p, y) for layer, p in zip(ranker.exits, told, strict=True)}
    errors = {str(layer): expected_calibration_error(p, y) for layer, p in zip(ranker.exits, told, strict=True)}
    last_exit = str(ranker.exits[-1])
    return {
        **report,
        "threshold": ranker.threshold,
        "folds": FOLDS,
        "ece": errors[last_exit],
        "ece_per_exit": errors,
        "reliability": curves[last_exit],
        "reliability_per_exit": curves,
    }


def _logits(ranker: CascadeRanker, question: str, candidates: Sequence[Candidate]) -> list[np.ndarray]:
    """Every candidate's, `(n,)` an exit; a first ranker, which would let only some of them in, is passed by."""
    complete = DropSchedule.constant(0.0, exits=len(ranker.exits))
    [trace] = run_cascade(ranker.engine, [(question, [c.reading for c in candidates])], complete)
    return [e.scores for e in trace.exits]


def _held_out(logits: np.ndarray, y: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """P(correct) `(n,)`, each by Platt's fit on the other folds; on all, where those hold one kind of label only."""
    p = np.empty(len(y))
    for f in np.unique(fold):
        others = fold != f
        known = others if 0 < y[others].sum() < others.sum() else np.ones(len(y), dtype=bool)
        scale, shift = platt(logits[known], y[known])
        p[~others] = expit(scale * logits[~others].astype(float) + shift)
    return p


def _held_out_accuracy(top: np.ndarray, has: np.ndarray, fold: np.ndarray) -> float:
    """Balanced accuracy of thresholds on the best probability `(n,)`, each set on the other folds."""
    said = np.empty(len(top), dtype=bool)
    for f in np.unique(fold):
        others = fold != f
        known = others if 0 < has[others].sum() < others.sum() else np.ones(len(top), dtype=bool)
        cut, _ = best_threshold(top[known], has[known])
        said[~others] = top[~others] >= cut
    return round(float((said[has].mean() + (~said[~has]).mean()) / 2), 4)


def level(ranker: CascadeRanker, questions: Sequence[Question], should_stop: Callable[[], bool] | None = None) -> None:
    """Scale and shift each exit's untrained head so that its logits fit the labels' frequency (Platt's fit, folded into
    the head). Cosines of one encoder lie close together and far from zero; without this the first steps of training
    spend themselves on the level and spoil what the backbone knows. Changes the ranker.

    ENOUGH questions with a correct candidate and as many without are looked at, of these the labelled candidates.
    Nothing is done where all have one label, nor to a head without a cosine; where the nearer candidates are the wrong
    ones, a chance of few labels, a head is only shifted. `should_stop` is asked between questions; once it is true the
    ranker stays as it was."""
    answered, others = [q for q in questions if q.positives], [q for q in questions if q.negatives and not q.positives]
    logits: list[list[np.ndarray]] = [[] for _ in ranker.exits]
    labels: list[int] = []
    for q in (*answered[:ENOUGH], *others[:ENOUGH]):
        if should_stop and should_stop():
            return
        known = [c for c in q.candidates if c.label is not None]
        labels += [int(c.label or 0) for c in known]
        for found, x in zip(logits, _logits(ranker, q.text, known), strict=True):
            found.append(x)
    if not 0 < sum(labels) < len(labels):
        return
    for found, head in zip(logits, ranker.module.heads, strict=True):
        if not isinstance(head, ExitHead):
            continue
        x, y = np.concatenate(found), np.array(labels)
        scale, shift = platt(x, y)
        if scale <= 0:
            scale, shift = 1.0, float(logit(y.mean()) - x.mean())
        with torch.no_grad():
            head.cosine *= scale
            head.net[-1].weight *= scale
            head.net[-1].bias.mul_(scale).add_(shift)


def level_end(ranker: GenerativeRanker, questions: Sequence[Question]) -> None:
    """The same for the prefix model after MLE, which has only seen right passages and so lets every question end: scale
    and shift what nearness adds to the end's logit, so that P(end) fits the labels' frequency. Changes the ranker."""
    module = ranker.module
    device = next(module.parameters()).device
    near, margin, labels = [], [], []
    for q in questions:
        texts = [c.reading for c in q.candidates]
        batch = {name: t.to(device) for name, t in module.encode(texts, [q.text] * len(texts)).items()}
        with torch.inference_mode():
            log_p, valid, asked, about = (t.cpu() for t in module.read(**batch))
        end = log_p[torch.arange(len(texts)), valid.sum(1) - 1].double().clamp(max=-1e-7)
        near.append(torch.cosine_similarity(asked, about).numpy())
        margin.append((end - torch.log(-torch.expm1(end))).numpy())  # logit of P(end)
        labels += [float(c.label == 1) for c in q.candidates]
    cosine = np.concatenate(near).astype(float)
    scale, shift = platt(cosine, np.array(labels))
    with torch.no_grad():
        own = np.concatenate(margin) - float(module.end_scale) * cosine - float(module.end_bias)
        module.end_scale.fill_(scale)
        module.end_bias.fill_(shift - float(np.median(own)))


def platt(logits: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """(scale, shift) that minimise the cross-entropy of sigmoid(scale * logit + shift), `(n,)` and `(n,)`.

    Targets are Platt's smoothed ones, so that separable data does not send the scale to infinity. It is fitted to
    standardised logits: far from zero scale and shift hang together, and the search would stop on the way.
    """
    positive = labels.sum()
    target = np.where(labels > 0, (positive + 1) / (positive + 2), 1 / (len(labels) - positive + 2))
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
    curve = reliability(p, y, bins)
    return round(sum(abs(b["confidence"] - b["frequency"]) * b["candidates"] for b in curve) / len(p), 4)


def reliability(p: np.ndarray, y: np.ndarray, bins: int = 10) -> list[dict[str, float]]:
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
