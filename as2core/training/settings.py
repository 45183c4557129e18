"""What a training run is told. The two named settings are TandA's two steps (Garg et al., 2020), scaled to a small
encoder: a higher rate, since MiniLM is a tenth of BERT-base, and far fewer questions.
"""

from __future__ import annotations

from dataclasses import dataclass

from as2core.errors import BadSetting

LOSSES = ("pointwise", "listwise", "mle", "lul", "rll")
EXIT_DRAWS = ("uniform", "all")


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """`negatives` are sampled anew each epoch, at most so many a question, beside at most two positives.
    `exit_draw`: "uniform" draws one exit a mini-batch (the paper), "all" takes the mean loss of all exits.
    `distill` weighs the KL to a teacher's scores, softened by `temperature`. `frozen_layers` counts from the bottom.
    `patience`: evaluations without a better dev AP before stopping. `warmup`: share of the steps. `loss`: None lets the
    ranker choose (pointwise; generative: mle). `margin`: RLL's lambda, in nats.
    """

    epochs: int = 1
    learning_rate: float = 8e-5
    batch_questions: int = 8
    negatives: int = 4
    loss: str | None = None
    exit_draw: str = "uniform"
    distill: float = 0.0
    temperature: float = 0.05
    margin: float = 3.0
    frozen_layers: int = 0
    freeze_embeddings: bool = True
    warmup: float = 0.1
    weight_decay: float = 0.01
    evals_per_epoch: int = 1
    patience: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.loss is not None and self.loss not in LOSSES:
            raise BadSetting(f"no loss {self.loss!r}; known: {', '.join(LOSSES)}")
        if self.exit_draw not in EXIT_DRAWS:
            raise BadSetting(f"no exit draw {self.exit_draw!r}; known: {', '.join(EXIT_DRAWS)}")
        if self.epochs < 1 or self.learning_rate <= 0 or self.batch_questions < 1 or self.negatives < 1:
            raise BadSetting("epochs, learning rate, questions a batch and negatives have to be positive")


TRANSFER = TrainSettings(epochs=1, learning_rate=8e-5, evals_per_epoch=4)
ADAPT = TrainSettings(epochs=3, learning_rate=3e-5)
