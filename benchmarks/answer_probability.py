"""How far the probability of an answer can be trusted: starter questions asked of the whole starter corpus.

    python benchmarks/answer_probability.py          prints the tables and writes them to docs/models.md
    python benchmarks/answer_probability.py --write  also stores the fit in the shipped cascade and its card
    python benchmarks/answer_probability.py --limit 10  a quick check; writes nothing

The questions are those of dev and test, which no shipped model was trained on, those without an answer among them. Each
is asked as a person would; a sentence is right if it is labelled correct. Every figure but those of a sentence
by itself comes from ten folds, each scored by a fit that did not see it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.special import expit
from scipy.stats import rankdata

from as2core.data.catalog import load_questions
from as2core.experiments.base import write_section
from as2core.rankers.answer_shares import share_out
from as2core.rankers.base import CalibratesScores, HasWeights
from as2core.training.calibrate import fit_answer_shares, platt

ROOT = Path(__file__).resolve().parents[1]
FOLDS = 10
EDGES = (0.0, 0.45, 0.6, 0.75, 0.9, 1.01)  # of the words on the page
Fit = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # x and y to fit on, x to score -> probabilities


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """Of each candidate, `(n,)`: the logit at the last exit, the probability by itself, and whether it is right.
    `has_answer`: whether the question was written with one."""

    logits: np.ndarray
    alone: np.ndarray
    right: np.ndarray
    has_answer: bool

    @property
    def best(self) -> int:
        return int(self.logits.argmax())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--limit", type=int, help="questions")
    options.add_argument("--write", action="store_true", help="store the fit in models/cascade")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["AS2_HOME"] = home
        questions = ask_questions(arguments.limit)
    lines = report(questions)
    print("\n".join(lines))
    if arguments.limit is None:
        write_section(ROOT / "docs" / "models.md", "answer probability", "\n".join(lines))
    if arguments.write:
        store(fit_shares(questions), len(questions))


def ask_questions(limit: int | None) -> list[AskedQuestion]:
    from app import bootstrap
    from app.ask import asking
    from app.exchange.starter import ensure_starter
    from app.ranking import scoring
    from app.versions import loading

    wb, questions = bootstrap.open(), []
    try:
        corpus, ranker = ensure_starter(wb), scoring.as_cascade(loading.load_version(wb))
        for q in [q for split in ("dev", "test") for q in load_questions(f"starter-{split}").questions][:limit]:
            view = asking.ask(wb, corpus.id, q.text, as_typed=True)
            correct = {c.text for c in q.candidates if c.label == 1}
            last = view.trace.exits[-1]
            right = np.array([view.candidates[i].text in correct for i in last.alive])
            alone = ranker.probability(last.scores)
            questions.append(AskedQuestion(last.scores.astype(float), alone, right, bool(correct)))
    finally:
        wb.close()
    return questions


def report(questions: Sequence[AskedQuestion]) -> list[str]:
    right = np.array([q.right[q.best] for q in questions])
    shares = cross_fit_shares(questions)
    best = np.array([p[q.best] for q, p in zip(questions, shares, strict=True)])
    ordered = [np.sort(q.logits) for q in questions]
    logit, lead = np.array([x[-1] for x in ordered]), np.array([x[-1] - x[-2] for x in ordered])
    ways = {
        "the sentence's probability by itself": np.array([q.alone[q.best] for q in questions]),
        "Platt on its logit": cross_fit(fit_platt, logit, right),
        "Platt on its lead over the second": cross_fit(fit_platt, lead, right),
        "isotonic on its lead over the second": cross_fit(fit_isotonic, lead, right),
        "shared out among all candidates (shipped)": best,
    }
    return [
        f"{len(right)} questions, {right.mean():.0%} of the answers right. Brier score (lower is better; always saying "
        f"{right.mean():.0%} has {right.mean() * (1 - right.mean()):.3f}) and the area under the ROC curve:",
        "",
        "| probability of the answer | Brier | AUC |",
        "|---|---|---|",
        *(f"| {name} | {np.mean((p - right) ** 2):.3f} | {auc(p, right):.2f} |" for name, p in ways.items()),
        "",
        "The shipped one by the words on the page:",
        "",
        "| probability | answers | mean probability | right |",
        "|---|---|---|---|",
        *count_bands(best, right),
        "",
        *compare_candidates(questions, shares),
    ]


def count_bands(p: np.ndarray, right: np.ndarray) -> list[str]:
    lines = []
    for low, high in pairwise(EDGES):
        rows = (p >= low) & (p < high)
        if rows.any():
            label = f"{low:.0%} to {min(high, 1):.0%}"
            lines.append(f"| {label} | {rows.sum()} | {p[rows].mean():.0%} | {right[rows].mean():.0%} |")
    return lines


def compare_candidates(questions: Sequence[AskedQuestion], shares: Sequence[np.ndarray]) -> list[str]:
    """Over all candidates, whose probabilities the page shows, too."""
    right = np.concatenate([q.right for q in questions])
    ways = {
        "by itself": np.concatenate([q.alone for q in questions]),
        "shared out among all": np.concatenate(shares),
    }
    return [
        f"All {len(right):,} candidates, {right.sum()} of them right:",
        "",
        "| probability of a candidate | Brier | cross-entropy |",
        "|---|---|---|",
        *(
            f"| {name} | {np.mean((p - right) ** 2):.4f} | {-np.mean(np.log(np.where(right, p, 1 - p))):.4f} |"
            for name, p in ways.items()
        ),
    ]


def fit_shares(questions: Sequence[AskedQuestion]) -> tuple[float, float]:
    return fit_answer_shares([q.logits for q in questions], np.array([q.right[q.best] for q in questions]))


def cross_fit_shares(questions: Sequence[AskedQuestion]) -> list[np.ndarray]:
    fold, out = np.arange(len(questions)) % FOLDS, [np.zeros(0)] * len(questions)
    for number in range(min(FOLDS, len(questions))):
        calibration = fit_shares([q for q, f in zip(questions, fold, strict=True) if f != number])
        for i in np.flatnonzero(fold == number):
            shares = share_out(calibration, questions[i].logits)
            assert shares is not None
            out[i] = shares
    return out


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
    fit = {"scale": calibration[0], "share": calibration[1], "questions": questions}
    update_description(ranker, path, {**read_card(path), "answer_probability": fit})
    print(f"stored {calibration} in {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
