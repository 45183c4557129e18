"""The recipes of the shipped models: how much data, and the settings of each stage. `as2 transfer --recipe default`
runs one (as2core.training.recipe_run).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from as2core.training.settings import TrainSettings


@dataclass(frozen=True, slots=True)
class Recipe:
    """Hard negatives are mined in SQuAD's `paragraphs`; the generative ranker learns from all their questions, and from
    `ranked_questions` of them against wrong passages. The cascade learns from a sample of `cascade_questions`, taken
    from `squad_questions` of SQuAD and all of SelQA and QED, each with `far` negatives of other articles: it starts
    from what the backbone knows, and more of SQuAD teaches it to trust shared words. The few starter questions come
    `starter_repeats` times, and `reworded` questions of the folders of corpora/ in `written` are added. Of these two a
    share, `titled`, is read with titles before the sentences; all else without. A share of the candidates, `padded`,
    has other words appended. The cascade is the mean of the weights trained with each of the changes in `variants`."""

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
    seed: int = 0

    def each_variant(self) -> list[Recipe]:
        """The recipe of each cascade whose weights are averaged."""
        return [replace(self, variants=({},), **changes) for changes in self.variants]

    @property
    def sample(self) -> dict:
        """How the cascade's training data are sampled, for its card: all but the stages' settings."""
        others = ("what", "cascade", "mle", "rll", "variants", "seed", "ranked_questions")
        return {k: v for k, v in asdict(self).items() if k not in others}


_CASCADE = TrainSettings(learning_rate=3e-5, exit_draw="all", distill=2.0, temperature=0.5, evals_per_epoch=3)
_GENERATIVE = TrainSettings(loss="mle", distill=5.0, frozen_layers=2)
_MLE = replace(_GENERATIVE, learning_rate=2e-4, batch_questions=32, evals_per_epoch=3)
_RLL = replace(_GENERATIVE, learning_rate=5e-5, loss="rll", evals_per_epoch=4, patience=4)
_WIDER = {"cascade": replace(_CASCADE, learning_rate=2e-5), "reworded": 9501, "written": ("reworded", "asked")}

_DEFAULT = Recipe(
    "what models/ holds: an hour and a half on two cores",
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
)
RECIPES = {
    "default": _DEFAULT,
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
    ),
}
