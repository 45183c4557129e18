"""Ranking by generation (Nogueira dos Santos et al., 2020, Tables 2 and 3): no tuning, MLE, LUL and RLL; the question's
likelihood against the answer's; and a discriminative twin on the same encoder.

The model is the prefix language model over the default encoder. The papers' GPT2 and BART come with a pretrained output
layer; this one is trained first, by MLE on SQuAD-sent ("transferred"), and the tuning on WikiQA starts from there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch

from as2core.evaluation import evaluate
from as2core.experiments.base import Options, Report, Row, count_steps, table
from as2core.experiments.courses import Runner, Target, sample, spread, untuned
from as2core.rankers.base import Ranker
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.rankers.generative import GenerativeRanker, load_question_lm
from as2core.training.learners import R
from as2core.training.settings import TrainSettings
from as2core.types import OnProgress, Question

_LM = TrainSettings(learning_rate=2e-4, frozen_layers=2, positives=2)
TRANSFER = replace(_LM, loss="mle", batch_questions=32)
TUNE = {
    "MLE": replace(_LM, loss="mle", learning_rate=5e-5, batch_questions=16),
    "LUL": replace(_LM, loss="lul", learning_rate=5e-5, batch_questions=8, negatives=5),
    "RLL": replace(_LM, loss="rll", learning_rate=5e-5, batch_questions=8, margin=3.0),
}
ANSWER = replace(TUNE["RLL"], margin=0.5)  # in nats a token: the answer's likelihood is a mean
TWIN = TrainSettings(loss="pairwise", learning_rate=5e-5, batch_questions=8, margin=1.0)
UNTUNED, TRANSFERRED, BACKWARDS, DISCRIMINATIVE = "no tuning", "transferred", "RLL, log P(a|q)", "twin"


@dataclass(frozen=True, slots=True)
class Sizes:
    """SQuAD questions, WikiQA train questions, dev questions, RLL's sampled negatives, epochs on WikiQA, seeds."""

    general: int
    target: int
    dev: int
    negatives: int
    epochs: int
    seeds: int


SMALL = Sizes(general=1600, target=180, dev=80, negatives=7, epochs=1, seeds=1)
FULL = Sizes(general=60_000, target=10_000, dev=10_000, negatives=15, epochs=10, seeds=3)

Aps = dict[str, list[float]]  # AP of each variant, by seed


def run(options: Options, on_progress: OnProgress | None = None, sizes: Sizes | None = None) -> Report:
    """Raises UnknownData when SQuAD or WikiQA are missing."""
    sizes = sizes or (FULL if options.full else SMALL)
    seeds = range(options.seeds or sizes.seeds)
    dev = sample(options.questions("wikiqa-dev"), sizes.dev, seed=0)
    aps: Aps = {}
    runner = Runner(options, count_steps(on_progress, len(seeds) * (3 + len(TUNE))))
    for seed in seeds:
        general = sample(options.questions("squad-train", "no-all-neg"), sizes.general, seed)
        target = Target(sample(options.questions("wikiqa-train"), sizes.target, seed), dev)
        for name, ap in _run_seed(runner, general, target, sizes, seed).items():
            aps.setdefault(name, []).append(ap)
    setting = (
        f"a prefix model over MiniLM of 6 layers, its output layer learnt on {len(general)} SQuAD questions; "
        f"{len(target.train)} WikiQA train questions, {sizes.epochs} epoch(s), the hardest of {sizes.negatives} "
        f"negatives for RLL and the twin, {len(dev)} dev questions, seeds: {len(seeds)} "
        "(the paper: GPT2-base, WikiQA test)"
    )
    cells = [[name, spread(values)] for name, values in aps.items()]
    return Report(findings(aps, setting), (table("AP on WikiQA dev, clean, of every way:", ["way", "AP"], cells),))


def _run_seed(runner: Runner, general: list[Question], target: Target, sizes: Sizes, seed: int) -> dict[str, float]:
    """AP on dev of every variant. Nothing is selected by dev: the weights after the last step count."""

    def tune(what: str, base: R, settings: TrainSettings, negatives: int | None = None) -> R:
        changes = {"seed": seed, "epochs": sizes.epochs, "negatives": negatives}
        return runner.train(what, base, Target(target.train), settings, **changes).ranker

    torch.manual_seed(seed)
    untrained = GenerativeRanker(load_question_lm())
    transferred = runner.train("transfer, MLE", untrained, Target(general), TRANSFER, seed=seed).ranker
    rankers: dict[str, Ranker] = {UNTUNED: untrained, TRANSFERRED: transferred}
    for name, settings in TUNE.items():
        rankers[name] = tune(name, transferred, settings, sizes.negatives if name == "RLL" else None)
    backwards = GenerativeRanker(transferred.module, direction="answer")
    rankers[BACKWARDS] = tune(BACKWARDS, backwards, ANSWER, min(4, sizes.negatives))
    twin = untuned(partial(CrossEncoderRanker, pool="cls"), seed=seed)
    rankers[DISCRIMINATIVE] = tune(DISCRIMINATIVE, twin, TWIN, sizes.negatives)
    return {name: evaluate(r, target.dev).metrics["AP"] for name, r in rankers.items()}


def findings(aps: Aps, differs: str) -> tuple[Row, ...]:
    """One row a finding; it holds where the mean over the seeds says so."""

    def row(finding: str, paper: str, low: str, high: str, how: str = "as above") -> Row:
        ours = f"AP {spread(aps[low])} {low}, {spread(aps[high])} {high}"
        return Row(finding, paper, ours, how, bool(np.mean(aps[high]) > np.mean(aps[low])))

    return (
        row(
            "MLE on questions beats no tuning",
            "MAP .516 no tuning, .550 MLE",
            UNTUNED,
            "MLE",
            f"{differs}; without tuning our output layer has learnt nothing, GPT2's has: from SQuAD alone "
            f"({TRANSFERRED}) AP {spread(aps[TRANSFERRED])}",
        ),
        row("unlikelihood of wrong passages helps", "MAP .550 MLE, .690 LUL", "MLE", "LUL"),
        row("a ranking loss on likelihoods helps more", "MAP .690 LUL, .774 RLL", "LUL", "RLL"),
        row(
            "the question's likelihood ranks better than the answer's",
            "WikiPassageQA, RLL: MAP .531 log P(a|q), .735 log P(q|a)",
            BACKWARDS,
            "RLL",
            "as above, on WikiQA; both start from the model transferred by log P(q|a), and fewer negatives backwards",
        ),
        row(
            "generative ranking is at least as good as its discriminative twin",
            "BART-large: MAP .845 discriminative, .849 RLL",
            DISCRIMINATIVE,
            "RLL",
            "the twin is the same encoder with its [CLS] state and the pairwise loss, tuned on WikiQA alone",
        ),
    )
