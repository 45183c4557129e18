"""The settings of a training run. The two named settings are TandA's two steps (Garg et al., 2020), scaled to a small
encoder: a higher rate, since MiniLM is a tenth of BERT-base, and far fewer questions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from as2core.errors import BadSetting

LOSSES = ("pointwise", "pairwise", "listwise", "mle", "lul", "rll")
EXIT_DRAWS = ("uniform", "round-robin", "early", "all")
REDUCTIONS = ("mean", "sum")
UNLIMITED = 10_000  # more candidates than any question has
SCHEDULES = ("triangular", "slanted-triangular", "linear", "constant")


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """At most `positives` correct and `negatives` incorrect candidates a question, sampled anew each epoch;
    with `negatives_from` incorrect ones of these grades only (ASNQ's labels 1 to 3), with `hard_negatives` from so many
    that the base ranks highest (0: from all; as2core.training.hard_negatives). `batch_questions` a
    mini-batch, or as many as fit into `max_tokens`; `by_pairs`: pairs of a question and one candidate, shuffled over
    all questions, in place of whole questions. `noise`: the share of labels flipped beforehand.
    `loss`: None lets the ranker choose (pointwise; generative: mle; an encoder-decoder's twin: pairwise). `margin`: the
    hinge's, pairwise in logits, RLL's lambda in nats. `reduction` "sum": the losses of a generative ranker are sums
    over tokens and pairs, as its paper writes them, else means. `distill` weighs the KL to a teacher's scores, softened
    by `temperature`; `self_distill` that of a cascade's exits to its last, which takes the exit draw "all" (Zhang et
    al., "Be Your Own Teacher", 2019).
    `contrast` weighs InfoNCE within a question, beside the loss. `unlabelled`: so many of a question's candidates
    without a label learn from the teacher too. `title_dropout`: the share of candidates read without their title.
    `dropout`: the probability in every layer of the ranker while it is trained; None leaves each at its own.
    `anchor` weighs how far a cascade's logits on its anchors are from the base's (as2core.training.anchors).
    `match_prior`: a trained cascade's logits are on the level of its labels within the loss (as2core.training.prior).
    `tuned_share`: how far the result is from the base's weights (0) to the trained ones (1); None leaves it to the dev
    questions (as2core.training.weight_mean).
    `exit_draw`, the exit a mini-batch trains: "uniform" draws it (the paper), "round-robin" takes them in turn, "early"
    draws with odds of exp(`early_bias`) between neighbours, falling to even odds at half of the steps; "all" takes the
    mean loss of all exits. `stop_gradient` keeps an exit's gradient above the exit before it.
    `schedule` of the rate: "triangular" climbs over `warmup`, a share of the steps, then falls in a line to 0;
    (`warmup_updates`, if not 0, are a number of them instead);
    "slanted-triangular" goes between a 32nd of the rate and the rate (Howard and Ruder, 2018); "linear" falls from the
    first step; "constant" stays, once climbed. A rate that climbs begins at 0, so the first step has no effect, but for
    the slanted triangle's. Gradients are clipped at a norm of 1, the Trainer's default. `frozen_layers` counts from the
    bottom. `patience`: evaluations without a better dev AP before stopping. `bf16`: half precision where the processor
    has instructions for it, else float32. Raises BadSetting for values that make no training.
    """

    epochs: int = 1
    learning_rate: float = 8e-5
    schedule: str = "triangular"
    warmup: float = 0.1
    warmup_updates: int = 0
    weight_decay: float = 0.01
    batch_questions: int = 8
    by_pairs: bool = False
    max_tokens: int | None = None
    positives: int = 2
    negatives: int = 4
    negatives_from: tuple[int, ...] = ()
    hard_negatives: int = 0
    noise: float = 0.0
    loss: str | None = None
    margin: float = 3.0
    reduction: str = "mean"
    contrast: float = 0.0
    distill: float = 0.0
    temperature: float = 0.05
    self_distill: float = 0.0
    unlabelled: int = 0
    anchor: float = 0.0
    title_dropout: float = 0.0
    dropout: float | None = None
    match_prior: bool = False
    tuned_share: float | None = 1.0
    exit_draw: str = "uniform"
    early_bias: float = 1.0
    stop_gradient: bool = False
    frozen_layers: int = 0
    freeze_embeddings: bool = True
    evals_per_epoch: int = 1
    patience: int = 3
    bf16: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        names = (("loss", self.loss, (None, *LOSSES)), ("exit draw", self.exit_draw, EXIT_DRAWS))
        more = (("schedule", self.schedule, SCHEDULES), ("reduction", self.reduction, REDUCTIONS))
        for kind, name, choices in (*names, *more):
            if name not in choices:
                raise BadSetting(f"no {kind} {name!r}; known: {', '.join(filter(None, choices))}")
        if min(self.epochs, self.batch_questions, self.positives, self.negatives, self.patience) < 1:
            raise BadSetting("epochs, questions a batch, positives, negatives and patience have to be positive")
        if not 0 < self.learning_rate < math.inf:
            raise BadSetting(f"learning_rate={self.learning_rate:g}: a rate is above 0, such as 3e-5")
        if self.max_tokens is not None and (not isinstance(self.max_tokens, int) or self.max_tokens < 1):
            raise BadSetting(
                f"max_tokens={self.max_tokens}: it is a positive number; leave it out for batches of batch_questions"
            )
        if self.warmup_updates < 0:
            raise BadSetting(
                f"warmup_updates={self.warmup_updates}: give a number of updates, or 0 for a share (warmup)"
            )
        if self.hard_negatives < 0:
            raise BadSetting(f"hard_negatives={self.hard_negatives}: give a number of candidates, or 0 for all")
        if self.frozen_layers < 0:
            raise BadSetting(f"frozen_layers={self.frozen_layers}: it counts from the bottom, 0 freezes none")
        if not 0 < self.temperature < math.inf:
            raise BadSetting(f"temperature={self.temperature:g}: it divides a teacher's scores, so give one above 0")
        for name in ("weight_decay", "margin", "contrast", "distill", "self_distill", "anchor", "early_bias"):
            if not 0 <= getattr(self, name) < math.inf:
                raise BadSetting(f"{name}={getattr(self, name):g}: give 0 or more")
        if not 0 <= self.seed < 2**32:
            raise BadSetting(f"seed={self.seed}: give a whole number from 0 to {2**32 - 1}")
        if self.self_distill and self.exit_draw != "all":
            raise BadSetting(
                f"self_distill={self.self_distill:g}: the last exit teaches the others, so all have to be computed: "
                'set exit_draw="all" too'
            )
        if self.unlabelled < 0 or (self.unlabelled and not self.distill):
            raise BadSetting(
                f"unlabelled={self.unlabelled}: candidates without a label learn from a teacher: set distill"
            )
        if self.tuned_share is not None and not 0 <= self.tuned_share <= 1:
            raise BadSetting(f"tuned_share={self.tuned_share:g}: it is the share of the trained weights, 0 to 1")
        if self.dropout is not None and not 0 <= self.dropout < 1:
            raise BadSetting(f"dropout={self.dropout:g}: give a probability, 0 to below 1, or leave it out")
        if not 0 <= self.title_dropout <= 1:
            raise BadSetting(f"title_dropout={self.title_dropout:g}: give a share of the candidates, 0 to 1")
        if not 0 <= self.noise < 1 or not 0 <= self.warmup <= 1:
            raise BadSetting("noise is a share of the labels, 0 to below 1, and warmup a share of the steps, 0 to 1")


TRANSFER = TrainSettings(epochs=1, learning_rate=8e-5, evals_per_epoch=4)
ADAPT = TrainSettings(epochs=3, learning_rate=3e-5)
