"""The recipes of the shipped models: how much data, and the settings of each stage. `as2 transfer --recipe default`
runs one (as2core.training.recipe_run).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from as2core.training.settings import TrainSettings


@dataclass(frozen=True, slots=True)
class EnsembleStage:
    """The last stage of a cascade (as2core.training.ensemble). The teacher is the mean of the cascade's own scores, the
    generative ranker's and the backbone's cosines, by `weights` in this order. The cascade learns from
    `squad_questions`, `other_questions` of SelQA and QED, both with `far` negatives of other articles, and
    `own_questions` of this project's corpora. Of all, these are shares: `titled` is read with titles before the
    sentences, `unanswerable` is without its correct candidates, and `careless` is written carelessly. The result is the
    mean of the weights of a training for each of `learning_rates` and `seeds`, in place of those of `settings`."""

    settings: TrainSettings
    squad_questions: int
    other_questions: int
    own_questions: int
    weights: tuple[float, float, float] = (1.0, 1.0, 0.5)
    far: int = 2
    titled: float = 0.5
    unanswerable: float = 0.15
    careless: float = 0.25
    learning_rates: tuple[float, ...] = (5e-5, 1e-4)
    seeds: tuple[int, ...] = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class Recipe:
    """Hard negatives are mined in SQuAD's `paragraphs`; the generative ranker learns from all their questions, and from
    `ranked_questions` of them against wrong passages. The cascade learns from a sample of `cascade_questions`, taken
    from `squad_questions` of SQuAD and all of SelQA and QED, each with `far` negatives of other articles: it starts
    from what the backbone knows, and more of SQuAD teaches it to trust shared words. The few starter questions come
    `starter_repeats` times, and `reworded` questions of the folders of corpora/ in `written` are added. Of these two a
    share, `titled`, is read with titles before the sentences; all else without. A share of the candidates, `padded`,
    has other words appended. The cascade is the mean of the weights trained with each of the changes in `variants`, and
    then learns from an `ensemble`."""

    what: str
    paragraphs: int
    squad_questions: int
    cascade_questions: int
    ranked_questions: int
    starter_repeats: int
    cascade: TrainSettings
    mle: TrainSettings
    rll: TrainSettings
    reworded: int = 0
    written: tuple[str, ...] = ("reworded",)
    far: int = 0
    titled: float = 0.0
    padded: float = 0.0
    variants: tuple[Mapping, ...] = ({},)
    ensemble: EnsembleStage | None = None
    seed: int = 0

    def each_variant(self) -> list[Recipe]:
        """The recipe of each cascade whose weights are averaged."""
        return [replace(self, variants=({},), ensemble=None, **changes) for changes in self.variants]

    @property
    def sample(self) -> dict:
        """How the cascade's training data are sampled, for its card: all but the stages' settings."""
        others = ("what", "cascade", "mle", "rll", "variants", "ensemble", "seed", "ranked_questions")
        return {k: v for k, v in asdict(self).items() if k not in others}


_CASCADE = TrainSettings(learning_rate=3e-5, exit_draw="all", distill=2.0, temperature=0.5, evals_per_epoch=3)
_GENERATIVE = TrainSettings(loss="mle", distill=5.0, frozen_layers=2)
_MLE = replace(_GENERATIVE, learning_rate=2e-4, batch_questions=32, evals_per_epoch=3)
_RLL = replace(_GENERATIVE, learning_rate=5e-5, loss="rll", evals_per_epoch=4, patience=4)
ENSEMBLE = EnsembleStage(
    settings=replace(_CASCADE, contrast=0.5, batch_questions=16, negatives=6, dropout=0.0, evals_per_epoch=1),
    squad_questions=8000,
    other_questions=3000,
    own_questions=20_000,
)
_WIDER = {"cascade": replace(_CASCADE, learning_rate=2e-5), "reworded": 9501, "written": ("reworded", "asked")}

_DEFAULT = Recipe(
    "what models/ holds: an hour and a half on two cores, and the ensemble's six trainings",
    paragraphs=5500,
    squad_questions=500,
    cascade_questions=3000,
    ranked_questions=5000,
    starter_repeats=4,
    cascade=_CASCADE,
    mle=_MLE,
    rll=_RLL,
    reworded=2045,
    far=4,
    titled=0.5,
    padded=0.1,
    variants=({}, _WIDER),
    ensemble=ENSEMBLE,
)
RECIPES = {
    "default": _DEFAULT,
    "short": replace(
        _DEFAULT,
        what="the same with one training of the ensemble, for two cores",
        ensemble=replace(ENSEMBLE, learning_rates=(1e-4,), seeds=(0,)),
    ),
    "tiny": replace(
        _DEFAULT,
        what="the same steps on a few hundred questions, to see that they run",
        paragraphs=60,
        squad_questions=60,
        cascade_questions=100,
        ranked_questions=40,
        starter_repeats=1,
        cascade=replace(_CASCADE, evals_per_epoch=1),
        mle=replace(_MLE, evals_per_epoch=1),
        rll=replace(_RLL, evals_per_epoch=1),
        reworded=30,
        variants=({}, {"far": 0}),
        ensemble=replace(ENSEMBLE, squad_questions=20, other_questions=20, own_questions=20, seeds=(0,)),
    ),
}
