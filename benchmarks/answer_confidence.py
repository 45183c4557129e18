"""How far the confidence of an answer can be trusted: starter questions asked of the whole starter corpus.

    python benchmarks/answer_confidence.py          prints the table and writes it to docs/models.md
    python benchmarks/answer_confidence.py --write  also stores the fit in the shipped cascade and its card
    python benchmarks/answer_confidence.py --limit 10  a quick check; writes nothing

The questions are those of dev and test, which no shipped model was trained on, those without an answer among them. Each
is asked as a person would; the answer is right if its sentence is labelled correct. Every figure but that of the
candidate's own probability comes from ten folds, each scored by a fit that did not see it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.special import expit
from scipy.stats import rankdata

from as2core.data.catalog import load_questions
from as2core.experiments.base import write_section
from as2core.rankers.base import CalibratesScores, HasWeights
from as2core.training.calibrate import platt

ROOT = Path(__file__).resolve().parents[1]
FOLDS = 10
EDGES = (0.0, 0.45, 0.6, 0.75, 0.9, 1.01)  # of the words on the page
Fit = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # x and y to fit on, x to score -> probabilities


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--limit", type=int, help="questions")
    options.add_argument("--write", action="store_true", help="store the fit in models/cascade")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["AS2_HOME"] = home
        logit, lead, probability, right = ask_questions(arguments.limit)
    lines = report(logit, lead, probability, right)
    print("\n".join(lines))
    if arguments.limit is None:
        write_section(ROOT / "docs" / "models.md", "answer confidence", "\n".join(lines))
    if arguments.write:
        store(platt(lead, right), len(right))


def ask_questions(limit: int | None) -> tuple[np.ndarray, ...]:
    """Of each question's answer: logit at the last exit, lead over the second candidate, probability, whether right."""
    from app import bootstrap
    from app.ask import asking
    from app.exchange.starter import ensure_starter

    wb = bootstrap.open()
    try:
        corpus, rows = ensure_starter(wb), []
        for q in [q for split in ("dev", "test") for q in load_questions(f"starter-{split}").questions][:limit]:
            view = asking.ask(wb, corpus.id, q.text, as_typed=True)
            scores = np.sort(view.trace.exits[-1].scores)
            correct = {c.text for c in q.candidates if c.label == 1}
            best = view.candidates[view.best]
            rows.append((scores[-1], scores[-1] - scores[-2], view.probability[view.best], best.text in correct))
    finally:
        wb.close()
    return tuple(np.array(column, dtype=float) for column in zip(*rows, strict=True))


def report(logit: np.ndarray, lead: np.ndarray, probability: np.ndarray, right: np.ndarray) -> list[str]:
    ways = {
        "the candidate's own probability": probability,
        "Platt on its logit": cross_fit(fit_platt, logit, right),
        "Platt on its lead (shipped)": cross_fit(fit_platt, lead, right),
        "isotonic on its lead": cross_fit(fit_isotonic, lead, right),
    }
    lines = [
        f"{len(right)} questions, {right.mean():.0%} of the answers right. Brier score (lower is better; always saying "
        f"{right.mean():.0%} has {right.mean() * (1 - right.mean()):.3f}) and the area under the ROC curve:",
        "",
        "| confidence | Brier | AUC |",
        "|---|---|---|",
        *(f"| {name} | {np.mean((p - right) ** 2):.3f} | {auc(p, right):.2f} |" for name, p in ways.items()),
        "",
        "The shipped one by the words on the page:",
        "",
        "| confidence | answers | mean confidence | right |",
        "|---|---|---|---|",
    ]
    p = ways["Platt on its lead (shipped)"]
    for low, high in pairwise(EDGES):
        rows = (p >= low) & (p < high)
        if rows.any():
            label = f"{low:.0%} to {min(high, 1):.0%}"
            lines.append(f"| {label} | {rows.sum()} | {p[rows].mean():.0%} | {right[rows].mean():.0%} |")
    return lines


def cross_fit(fit: Fit, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    fold = np.arange(len(y)) % FOLDS
    p = np.empty(len(y))
    for number in range(min(FOLDS, len(y))):
        p[fold == number] = fit(x[fold != number], y[fold != number], x[fold == number])
    return p


def fit_platt(x: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    scale, shift = platt(x, y)
    return expit(scale * new + shift)


def fit_isotonic(x: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression(y_min=0.02, y_max=0.98, out_of_bounds="clip").fit(x, y).predict(new)


def auc(p: np.ndarray, y: np.ndarray) -> float:
    ranks, positives = rankdata(p), y.sum()
    return float((ranks[y > 0].sum() - positives * (positives + 1) / 2) / max(positives * (len(y) - positives), 1))


def store(calibration: tuple[float, float], questions: int) -> None:
    from as2core.rankers.catalog import load_version
    from as2core.rankers.versions import read_card, update_description

    path = ROOT / "models" / "cascade"
    ranker = load_version(path)
    assert isinstance(ranker, CalibratesScores) and isinstance(ranker, HasWeights)
    ranker.answer_calibration = calibration
    fit = {"scale": calibration[0], "shift": calibration[1], "questions": questions}
    update_description(ranker, path, {**read_card(path), "answer_confidence": fit})
    print(f"stored {calibration} in {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
