"""Fine-tuning against transfer and adapt (Garg et al., 2020): accuracy, label noise, stability, the merged control, and
which of ASNQ's negatives help. Every labelled pair of the target counts.

In a small run the transferred model is the last exit of the shipped cascade, so that only adapting costs time; the
merged control then has its own transfer step, on as much general data as it merges. In a full run, and where layers
of the encoder are drawn anew, the transfer step is trained here, on ASNQ where its file is at hand, else on SQuAD-sent,
SelQA and QED. The papers' encoders cannot rank before they are trained; the default one here was pretrained to, so
`--reset-layers` gives a start more like theirs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import cast

import numpy as np

from as2core.data.catalog import load_questions
from as2core.experiments.base import ASNQ_FILE, WITHOUT_ASNQ, Options, Report, count_steps
from as2core.experiments.bench import (
    ALL_PAIRS,
    Bench,
    Work,
    describe_setting,
    read_target,
    sample,
    score,
    untuned,
)
from as2core.experiments.cells import Cell
from as2core.experiments.report.findings import (
    FAILS,
    HOLDS,
    NOT_RUN,
    UNDECIDED,
    Finding,
    Part,
    Row,
    exceeds,
    format_estimate,
)
from as2core.experiments.uncertainty import estimate_mean
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.training.noise import flip_labels
from as2core.training.settings import TrainSettings
from as2core.types import OnProgress, Question

NOISE = (0.0, 0.1, 0.2)
ASNQ_NEGATIVES = ((1,), (2,), (3,), (2, 3), (1, 2, 3))
GENERAL_NEGATIVES = 4  # at most, of a general question
GENERAL = ("selqa-dev", "selqa-test", "qed-dev")
TUNED, ADAPTED, ALONE = "fine-tuned", "transferred and adapted", "transferred"

TRANSFER = replace(ALL_PAIRS, learning_rate=6e-5)
FINE_TUNE = replace(ALL_PAIRS, learning_rate=5e-5)
ADAPT = replace(ALL_PAIRS, learning_rate=3e-5)
# the paper's (section 5.2), for a full run
FULL_TRANSFER = replace(ALL_PAIRS, learning_rate=2e-5, weight_decay=0.0, freeze_embeddings=False)
FULL_ADAPT = replace(FULL_TRANSFER, learning_rate=1e-6)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Questions of each set, epochs of the last step, seeds; `shipped`: take the shipped cascade for transferred."""

    target: int
    general: int
    asnq: int
    epochs: int
    seeds: int
    shipped: bool


SMALL = Sizes(target=430, general=2000, asnq=2000, epochs=3, seeds=5, shipped=True)
RESET = replace(SMALL, general=2500, shipped=False)  # no shipped model has its last layers drawn anew
FULL = Sizes(target=10_000, general=12_000, asnq=60_000, epochs=3, seeds=5, shipped=False)


def name_noisy(way: str, noise: float) -> str:
    return f"{way}, {noise:.0%} noise" if noise else way


def _loses_less(noise: float) -> Part:
    """The fine-tuned model's loss by noise, less the transferred one's."""
    weights = {TUNED: 1.0, name_noisy(TUNED, noise): -1.0, ADAPTED: -1.0, name_noisy(ADAPTED, noise): 1.0}
    return Part(weights, low=0.0)


FINDINGS = (
    Finding("transfer and adapt beats fine-tuning", "MAP .813 fine-tuned, .893 TandA", (exceeds(ADAPTED, TUNED),)),
    Finding(
        "adapting to the target helps after the transfer",
        "WikiQA MAP .884 ASNQ alone, .893 TandA; TREC-QA .823, .912",
        (exceeds(ADAPTED, ALONE),),
    ),
    Finding(
        "10% flipped labels cost the transferred model less",
        "MAP drops by 4.67 % fine-tuned, 1.90 % TandA",
        (_loses_less(0.1),),
        "the same flipped pairs for both",
    ),
    Finding(
        "20% flipped labels cost the transferred model less",
        "MAP drops by 22.63 % fine-tuned, 2.57 % TandA",
        (_loses_less(0.2),),
        "the same flipped pairs for both",
    ),
    Finding(
        "one after the other beats both sets merged in one run",
        "TREC-QA MAP .898 merged, .912 TandA",
        (exceeds("one after the other", "merged"),),
        "both see the same general questions for as many epochs",
    ),
    Finding(
        "negatives 2 and 3 alone teach as much as all, 2 alone least",
        "WikiQA MAP .870, .751, .881, .883, .884 for negatives 1; 2; 3; 2, 3; 1, 2, 3",
        (
            exceeds("ASNQ negatives 2,3", "ASNQ negatives 1,2,3", -0.01),
            *(exceeds(f"ASNQ negatives {n}", "ASNQ negatives 2") for n in ("1", "3", "2,3", "1,2,3")),
        ),
        "as much: at most a point less; one epoch, not adapted",
        WITHOUT_ASNQ,
    ),
    Finding(
        "with the largest encoder it sets the state of the art",
        "RoBERTa-large: WikiQA MAP .920, TREC-QA .943",
        missing="its weights and ASNQ are not at hand: `as2 reproduce tanda --full --backbone DIR`",
    ),
    Finding(
        "it is robust to the noise of real annotation",
        "Alexa's questions, MAP of sample 1: BERT-base .506 without transfer, .585 with it; RoBERTa-large .654, .680",
        missing="the sets are not public",
    ),
)


def run(options: Options, on_progress: OnProgress | None = None, sizes: Sizes | None = None) -> Report:
    """Raises UnknownData when the target, SelQA or QED are missing."""
    sizes = sizes or (FULL if options.full else RESET if options.reset_layers else SMALL)
    seeds = range(options.seeds or sizes.seeds)
    target, asnq = read_target(options, sizes.target), read_asnq(options, sizes.asnq)
    general = asnq if asnq and not sizes.shipped else read_general(options, sizes)
    ablations = len(ASNQ_NEGATIVES) if asnq else 0
    size_key = {k: v for k, v in asdict(sizes).items() if k != "seeds"}
    per_seed = 2 * len(NOISE) + 5 + ablations
    bench = Bench("tanda", options, target, size_key, count_steps(on_progress, 1 + len(seeds) * per_seed))
    study = _Study(bench, sizes, general, asnq)
    for seed in seeds:
        study.run_seed(seed)
    start = "the shipped cascade's last exit" if sizes.shipped else f"{len(general):,} general questions"
    setting = f"transferred: {start}; {sizes.epochs} epochs; {describe_setting(bench)}"
    rows = bench.judge(FINDINGS, setting)
    return bench.report([*rows, _epoch_row(bench, setting), _seed_row(bench, setting)])


Make = Callable[[], CrossEncoderRanker]


@dataclass(frozen=True, slots=True)
class _Study:
    """The cells of one seed, each a training of its own."""

    bench: Bench
    sizes: Sizes
    general: list[Question]
    asnq: list[Question]

    def run_seed(self, seed: int) -> None:
        tune, adapt, transfer = self._settings()
        fresh = partial(untuned, CrossEncoderRanker, self.bench.options, seed=seed)
        transferred = _load_shipped if self.sizes.shipped else partial(self._transfer, seed, transfer)
        train = self.bench.target.train
        start_seed = None if self.sizes.shipped else seed
        self.bench.cell(ALONE, start_seed, lambda work: score(ALONE, transferred(), self.bench.target.test), transfer)
        for noise in NOISE:
            noisy = flip_labels(train, noise, seed=seed)[0]  # both see the same
            self._train(name_noisy(TUNED, noise), seed, fresh, noisy, tune)
            self._train(name_noisy(ADAPTED, noise), seed, transferred, noisy, adapt)
        self._train("merged", seed, fresh, [*self.general, *train], tune)
        self._train("one after the other", seed, partial(self._transfer, seed, transfer), train, adapt)
        self._course(TUNED, seed, fresh, tune)
        self._course(ADAPTED, seed, transferred, adapt)
        for grades in ASNQ_NEGATIVES if self.asnq else ():
            name = f"ASNQ negatives {','.join(map(str, grades))}"
            self._train(name, seed, fresh, self.asnq, replace(transfer, negatives_from=grades, epochs=1))

    def _settings(self) -> tuple[TrainSettings, TrainSettings, TrainSettings]:
        if self.bench.options.full:
            return replace(FULL_TRANSFER, epochs=9), replace(FULL_ADAPT, epochs=3), replace(FULL_TRANSFER, epochs=9)
        epochs = self.sizes.epochs
        return replace(FINE_TUNE, epochs=epochs), replace(ADAPT, epochs=epochs), replace(TRANSFER, epochs=epochs)

    def _transfer(self, seed: int, settings: TrainSettings) -> CrossEncoderRanker:
        """Once for a seed, kept in the store."""

        def make(work: Work) -> CrossEncoderRanker:
            base = untuned(CrossEncoderRanker, self.bench.options, seed=seed)
            return work.train("transfer", base, self.general, settings, self.bench.target.dev, seed=seed).ranker

        return cast(CrossEncoderRanker, self.bench.model("transferred here", seed, make, settings))

    def _train(self, name: str, seed: int, make: Make, train: Sequence[Question], settings: TrainSettings) -> None:
        def measure(work: Work) -> Cell:
            result = work.train("model", make(), train, settings, self.bench.target.dev, seed=seed)
            return score(name, result.ranker, self.bench.target.test)

        self.bench.cell(name, seed, measure, settings)

    def _course(self, way: str, seed: int, make: Make, settings: TrainSettings) -> None:
        """How AP goes over the epochs (Figure 4, without early stopping): the mean change from one to the next."""

        def measure(work: Work) -> Cell:
            target = self.bench.target
            history = work.train("course", make(), target.train, settings, target.test, seed=seed).history
            aps = [[*e["dev_ap"].values()][-1] for e in history if e["kind"] == "eval"]
            return Cell({}, {"change": float(np.abs(np.diff(aps)).mean()) if len(aps) > 1 else 0.0})

        self.bench.cell(f"{way}, by epoch", seed, measure, settings)


def _load_shipped() -> CrossEncoderRanker:
    return CrossEncoderRanker.from_cascade(cast(CascadeRanker, get("cascade:engine=torch")))


def read_general(options: Options, sizes: Sizes) -> list[Question]:
    """SelQA and QED, and in full SQuAD-sent as well; of each question its correct candidates and a few others."""
    sets = GENERAL if sizes.shipped else (*GENERAL, "squad-train")
    rng = random.Random(0)
    questions = []
    for q in sample([q for name in sets for q in options.questions(name)], sizes.general, seed=0):
        wrong = [c.id for c in q.candidates if c.label == 0]
        negatives = set(rng.sample(wrong, min(len(wrong), GENERAL_NEGATIVES)))
        questions.append(replace(q, candidates=tuple(c for c in q.candidates if c.label == 1 or c.id in negatives)))
    return questions


def read_asnq(options: Options, questions: int) -> list[Question]:
    """A sample of ASNQ's questions with an answer; none where its file is not at hand."""
    path = options.data_dir and options.data_dir / ASNQ_FILE
    if not path or not path.is_file():
        return []
    return sample([q for q in load_questions(path).questions if q.positives], questions, seed=0)


def _epoch_row(bench: Bench, setting: str) -> Row:
    """Over seeds alone: a change of a mean is no mean over questions."""
    finding = "from epoch to epoch the adapted model moves less"
    paper = "Figure 4: high variance fine-tuned, small with TandA"
    tuned, adapted = (bench.numbers.get(f"{way}, by epoch", {}) for way in (TUNED, ADAPTED))
    seeds = sorted(set(tuned) & set(adapted), key=str)
    if not seeds:
        return Row(finding, paper, NOT_RUN, setting, NOT_RUN, "no course of both yet")
    moves = np.array([[by_seed[s]["change"] for s in seeds] for by_seed in (tuned, adapted)])
    estimate = estimate_mean((moves[0] - moves[1])[:, None])
    verdict, why = Part({}, low=0.0).verdict(estimate, is_drawn=True)
    means = moves.mean(axis=1)
    ours = f"mean change of AP between epochs {means[0]:.3f} fine-tuned, {means[1]:.3f} TandA"
    return Row(finding, paper, f"{ours}: {format_estimate(estimate)}", f"over seeds alone; {setting}", verdict, why)


def _seed_row(bench: Bench, setting: str) -> Row:
    """The ratio of two variances, with Fisher's F."""
    finding = "from seed to seed the adapted model moves less"
    paper = "no numbers; low variance is claimed between models of like dev accuracy"
    seeds = bench.samples.seeds([TUNED, ADAPTED])
    if len(seeds) < 2:
        return Row(finding, paper, NOT_RUN, setting, NOT_RUN, "needs two seeds of both or more")
    from scipy.stats import f

    tuned, adapted = (float(bench.samples.table(w, "AP", seeds).mean(1).std(ddof=1)) for w in (TUNED, ADAPTED))
    edge = float(f.ppf(0.975, len(seeds) - 1, len(seeds) - 1))
    ratio = (tuned / max(adapted, 1e-9)) ** 2
    verdict = HOLDS if ratio > edge else FAILS if ratio < 1 / edge else UNDECIDED
    ours = f"standard deviation of AP {tuned:.3f} fine-tuned, {adapted:.3f} TandA"
    why = f"the variances' ratio is {ratio:.2g}; outside {1 / edge:.2g} to {edge:.3g} it would decide"
    return Row(finding, paper, ours, f"{len(seeds)} seeds; {setting}", verdict, why)
