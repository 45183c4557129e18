"""Ranking by generation (Nogueira dos Santos et al., 2020, Tables 2 and 3): no tuning, MLE, LUL and RLL; the question's
likelihood against the answer's; and a discriminative twin on the same encoder.

The model is the prefix language model over the default encoder, or that of `--backbone`. The papers' GPT2 and BART come
with a pretrained output layer; an encoder's is trained first, by MLE on SQuAD-sent ("transferred"), and the tuning on
the target starts from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import cast

import torch

from as2core.experiments.base import Options, Report, count_steps
from as2core.experiments.bench import Bench, Target, Work, describe_setting, place, read_target, sample, score, untuned
from as2core.experiments.cells import Cell
from as2core.experiments.report.findings import Finding, exceeds
from as2core.nn.backbone import Backbone
from as2core.nn.question_lm import PrefixLM, Seq2SeqLM
from as2core.rankers.base import HasWeights
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.rankers.generative import GenerativeRanker, load_question_lm
from as2core.rankers.seq2seq_classifier import Seq2SeqClassifierRanker, load_seq2seq_classifier
from as2core.training.settings import TrainSettings
from as2core.types import OnProgress

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
AS_GOOD = 0.01  # AP

_WEIGHTS = "GPT2's and BART's weights are not at hand: `as2 reproduce generation --backbone DIR` measures one of them"
_BACKWARDS_NOTE = "both start from the model transferred by log P(q|a), with fewer negatives backwards"
FINDINGS = (
    Finding(
        "MLE on questions beats no tuning",
        "MAP .516 no tuning, .550 MLE",
        (exceeds("MLE", UNTUNED),),
        "without tuning an encoder's output layer has learnt nothing, GPT2's has",
    ),
    Finding("unlikelihood of wrong passages helps", "MAP .550 MLE, .690 LUL", (exceeds("LUL", "MLE"),)),
    Finding("a ranking loss on likelihoods helps more", "MAP .690 LUL, .774 RLL", (exceeds("RLL", "LUL"),)),
    Finding(
        "the question's likelihood ranks better than the answer's",
        "WikiPassageQA, RLL: MAP .531 log P(a|q), .735 log P(q|a)",
        (exceeds("RLL", BACKWARDS),),
        _BACKWARDS_NOTE,
    ),
    Finding(
        "generative ranking is at least as good as its discriminative twin",
        "BART-large: MAP .845 discriminative, .849 RLL",
        (exceeds("RLL", DISCRIMINATIVE, -AS_GOOD),),
        f"the twin is the same encoder with its [CLS] state and the pairwise loss; as good: at most {AS_GOOD} worse",
    ),
    Finding(
        "larger generative models rank better",
        "WikiQA MAP, RLL: GPT2 .774 base, .819 large; BART .775, .849",
        missing=_WEIGHTS,
    ),
    Finding("BART ranks better than GPT2", "WikiQA MAP, large, RLL: .819 GPT2, .849 BART", missing=_WEIGHTS),
    Finding(
        "unlikelihood does not help on InsuranceQA",
        "MAP .430 MLE, .427 LUL (its labels are noisy)",
        missing="InsuranceQA is not at hand: `as2 reproduce generation --set insuranceqa`",
    ),
)


@dataclass(frozen=True, slots=True)
class Sizes:
    """SQuAD questions, target train questions, measured questions, RLL's sampled negatives, epochs on the target,
    seeds."""

    general: int
    target: int
    dev: int
    negatives: int
    epochs: int
    seeds: int


SMALL = Sizes(general=5000, target=430, dev=10_000, negatives=7, epochs=3, seeds=5)
FULL = Sizes(general=60_000, target=60_000, dev=10_000, negatives=15, epochs=10, seeds=3)


def run(options: Options, on_progress: OnProgress | None = None, sizes: Sizes | None = None) -> Report:
    """Raises UnknownData when SQuAD or the target are missing."""
    sizes = sizes or (FULL if options.full else SMALL)
    seeds = range(options.seeds or sizes.seeds)
    target = read_target(options, sizes.target)
    target = replace(target, test=sample(target.test, sizes.dev, seed=0))
    size_key = {k: v for k, v in asdict(sizes).items() if k != "seeds"}
    steps = count_steps(on_progress, len(seeds) * (5 + len(TUNE)))
    bench = Bench("generation", options, target, size_key, steps)
    for seed in seeds:
        _Ways(bench, sizes, seed).run()
    setting = (
        f"a prefix model, its output layer learnt on {sizes.general:,} SQuAD questions; {sizes.epochs} epoch(s), the "
        f"hardest of {sizes.negatives} negatives for RLL and the twin; {describe_setting(bench)} (the "
        "paper: GPT2-base)"
    )
    return bench.report(bench.judge(FINDINGS, setting))


@dataclass(frozen=True, slots=True)
class _Ways:
    """The cells of one seed, one a way to train."""

    bench: Bench
    sizes: Sizes
    seed: int

    def run(self) -> None:
        self._measure(UNTUNED, lambda work: self._untrained())
        self._measure(TRANSFERRED, lambda work: self._transferred(), TRANSFER)
        for name, settings in TUNE.items():
            negatives = self.sizes.negatives if name == "RLL" else settings.negatives
            self._tune(name, self._transferred, replace(settings, negatives=negatives))
        few = min(4, self.sizes.negatives)
        self._tune(BACKWARDS, self._backwards, replace(ANSWER, negatives=few))
        if twin := self._choose_twin():
            self._tune(DISCRIMINATIVE, twin, replace(TWIN, negatives=self.sizes.negatives))

    def _choose_twin(self) -> Callable[[], HasWeights] | None:
        """The discriminative ranker on the same model; None for a decoder alone, which has none here."""
        name, module = self.bench.options.backbone, self._untrained().module
        if isinstance(module, PrefixLM):
            return partial(untuned, partial(CrossEncoderRanker, pool="cls"), self.bench.options, seed=self.seed)
        return partial(self._make_seq2seq_twin, str(name)) if isinstance(module, Seq2SeqLM) else None

    def _make_seq2seq_twin(self, backbone: str) -> HasWeights:
        torch.manual_seed(self.seed)
        return place(Seq2SeqClassifierRanker(load_seq2seq_classifier(backbone)))

    def _untrained(self) -> GenerativeRanker:
        torch.manual_seed(self.seed)
        return place(GenerativeRanker(load_question_lm(self.bench.options.backbone)))

    def _transferred(self) -> GenerativeRanker:
        """Of an encoder, whose output layer is new; a language model has its own already."""
        base = self._untrained()
        if not isinstance(base.module, PrefixLM):
            return base

        def make(work: Work) -> HasWeights:
            squad = self.bench.options.questions("squad-train", "no-all-neg")
            general = sample(squad, self.sizes.general, self.seed)
            return work.train("transfer", base, general, TRANSFER, seed=self.seed).ranker

        return cast(GenerativeRanker, self.bench.model(TRANSFERRED, self.seed, make, TRANSFER))

    def _backwards(self) -> GenerativeRanker:
        return GenerativeRanker(self._transferred().module, direction="answer")

    def _tune(self, name: str, make: Callable[[], HasWeights], settings: TrainSettings) -> None:
        settings = replace(settings, seed=self.seed, epochs=self.sizes.epochs)

        def train(work: Work) -> HasWeights:
            target: Target = self.bench.target
            base = make()
            fitting = settings if isinstance(base.encoder, Backbone) else replace(settings, frozen_layers=0)
            return work.train("model", base, target.train, fitting, target.dev).ranker

        self._measure(name, train, settings)

    def _measure(self, name: str, train: Callable[[Work], HasWeights], *settings: TrainSettings) -> None:
        def measure(work: Work) -> Cell:
            return score(name, train(work), self.bench.target.test)

        self.bench.cell(name, self.seed, measure, *settings)
