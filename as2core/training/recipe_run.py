"""The shipped models, trained again: `as2 transfer --recipe default`.

Transfer (Garg et al., 2020) on data that may be redistributed (as2core.training.recipe_data). The generative ranker
learns question likelihood (MLE), then to prefer the correct sentence (RLL). A cascade learns all exits at once, from
labels and from the mean of the generative ranker's and the bi-encoder's scores; the result is the mean of the weights
of several variants (Wortsman et al., 2022), which then learns from an ensemble that it is part of
(as2core.training.ensemble). Probabilities and the no-answer threshold are fitted on the starter corpus's dev questions,
whose articles the models never see.
"""

from __future__ import annotations

import copy
import random
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

import torch

from as2core.data.catalog import load_questions
from as2core.errors import BadSetting
from as2core.evaluation.robustness import measure_robustness
from as2core.nn.backbone import DEFAULT_BACKBONE, load_backbone
from as2core.rankers.base import HasWeights
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import MODELS_DIR, load_version
from as2core.rankers.generative import GenerativeRanker, load_question_lm
from as2core.rankers.versions import read_card, save_version, update_description
from as2core.training import recipe_data
from as2core.training.augmentation import pad_candidates
from as2core.training.calibrate import calibrate, level_end
from as2core.training.ensemble import distill_ensemble
from as2core.training.fine_tune import TrainingResult, fine_tune
from as2core.training.learners import R
from as2core.training.loop import OnEvent, RunControl
from as2core.training.recipes import RECIPES, EnsembleStage, Recipe
from as2core.training.settings import TrainSettings
from as2core.training.teachers import correct_teacher, mean_teacher, original_teacher, ranker_teacher
from as2core.types import OnProgress

LEVEL_QUESTIONS = 150  # that the end of a question is levelled by
SMALL_QUESTIONS = 10  # that a small recipe's cascade is measured on


@dataclass(frozen=True, slots=True)
class RecipeRun:
    """One run of a recipe. `card` is what the cards of all its versions have in common."""

    recipe: Recipe
    data_dir: Path
    out: Path
    card: dict
    control: RunControl
    on_progress: OnProgress | None = None

    @property
    def folder(self) -> Path:
        """Work files and checkpoints; vectors lie here."""
        return self.out / ".work"

    def begin(self, name: str) -> None:
        """Say which part of the run begins."""
        if self.control.on_event:
            self.control.on_event({"kind": "begin", "name": name})

    @property
    def generative(self) -> Path:
        """The generative ranker that teaches: this run's, or the shipped one."""
        own = self.out / "generative"
        return own if own.is_dir() else MODELS_DIR / "generative"

    @property
    def workdir(self) -> Path:
        """The steps of this recipe on this data; those of others lie elsewhere."""
        inputs = [asdict(self.recipe), recipe_data.data_sources(self.recipe, self.data_dir)]
        return self.folder / recipe_data.digest_content(inputs)[:12]


def run_recipe(
    name: str,
    data_dir: Path,
    out: Path,
    *,
    stages: Sequence[str] = ("generative", "cascade"),
    on_event: OnEvent | None = None,
    on_progress: OnProgress | None = None,
) -> list[Path]:
    """Train and save `out/generative` and `out/cascade`, which learns from the former (the shipped one, without that
    stage). Work files and checkpoints go to `out/.work`; a second call resumes there.

    Raises BadSetting (no such recipe, or another's versions there), UnreadableFile (data missing)."""
    if name not in RECIPES:
        raise BadSetting(f"no recipe {name!r}; known: {', '.join(RECIPES)}")
    recipe = RECIPES[name]
    for path in (out / stage for stage in stages if (out / stage).is_dir()):
        if (owner := read_card(path).get("recipe")) != name:
            raise BadSetting(f"{path} was made by the recipe {owner!r}: choose another folder with --out")
    recipe_data.data_files(data_dir)
    card = {
        "recipe": name,
        "parent": DEFAULT_BACKBONE,
        "seed": recipe.seed,
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else f"{torch.get_num_threads()} CPU cores",
    }
    run = RecipeRun(recipe, data_dir, out, card, RunControl(on_event), on_progress)
    for stage in stages:
        if (out / stage).is_dir():
            continue  # finished by an earlier call
        if stage == "generative":
            _train_generative(run)
        else:
            paths = []
            for number, variant in enumerate(recipe.each_variant(), 1):
                run.begin(f"cascade {number} of {len(recipe.variants)}")
                paths.append(_train_cascade(replace(run, recipe=variant)))
            ranker, card = mean_of_weights([load_cascade(p) for p in paths]), _merge_cards([*map(read_card, paths)])
            if recipe.ensemble:
                ranker, card = _teach_by_ensemble(run, ranker, card, recipe.ensemble)
            run.begin("measuring the cascade")
            _save_compact(ranker, out / stage, card)
    return [out / stage for stage in stages]


def measure_again(out: Path) -> list[Path]:
    """Fit the probabilities of `out/cascade` and measure its card's figures again, without training. Raises
    DamagedModel."""
    _measure(out / "cascade")
    return [out / "cascade"]


def mean_of_weights(rankers: Sequence[R]) -> R:
    """A copy of the first, each of its weights the mean of all theirs: a uniform soup (Wortsman et al., 2022, section
    3). They have to start from the same weights, or their mean ranks by chance."""
    states = [c.module.state_dict() for c in rankers]
    mean = {
        name: torch.stack([s[name].float() for s in states]).mean(0).to(t.dtype) if t.is_floating_point() else t
        for name, t in states[0].items()
    }
    soup = copy.deepcopy(rankers[0])
    soup.module.load_state_dict(mean)
    return soup


def load_cascade(path: Path) -> CascadeRanker:
    """Load a version that is known to be a cascade. Raises DamagedModel."""
    ranker = load_version(path)
    assert isinstance(ranker, CascadeRanker)
    return ranker


def _train_cascade(run: RecipeRun) -> Path:
    """Train one variant's cascade, in `out/.work`; other recipes, data and teachers have other folders there."""
    recipe, teacher_path = run.recipe, run.generative
    work = run.workdir / f"cascade-{read_card(teacher_path)['sha256'][:12]}"
    path = work / "taught"
    if not path.is_dir():
        started = time.monotonic()
        material = _gather(run)
        sample = recipe_data.sample_for_cascade(recipe, material)
        train, originals = pad_candidates(sample, recipe.padded, random.Random(recipe.seed))
        in_domain = train[-len(material.own + material.reworded) :]
        teachers = (ranker_teacher(load_version(teacher_path)), material.vectors.cosines)
        teacher = correct_teacher(original_teacher(mean_teacher(teachers), originals), in_domain)
        torch.manual_seed(recipe.seed)  # the heads' first values
        base = CascadeRanker(load_backbone())
        run.begin("training the cascade")
        dev = [q.drop_titles() for q in material.dev]
        result = fine_tune(base, train, dev, recipe.cascade, workdir=work, teacher=teacher, control=run.control)
        card = _describe_training(run, result, {"transfer": recipe.cascade}, len(train), started)
        save_version(result.ranker, path, {**card, "sample": recipe.sample})
    return path


def _teach_by_ensemble(
    run: RecipeRun, start: CascadeRanker, card: dict, stage: EnsembleStage
) -> tuple[CascadeRanker, dict]:
    """The mean of the stage's trainings, and its card. Each of them is kept in `out/.work`."""
    started, work = time.monotonic(), run.workdir / f"ensemble-{read_card(run.generative)['sha256'][:12]}"
    material = _gather(replace(run, recipe=run.recipe.each_variant()[-1]))
    generative = load_version(run.generative)
    if torch.cuda.is_available():  # the teachers' part
        start.to("cuda")
        generative.to("cuda")
    paths = []
    for rate, seed in product(stage.learning_rates, stage.seeds):
        paths.append(path := work / f"rate-{rate:g}-seed-{seed}")
        if path.is_dir():
            continue
        run.begin(f"training the ensemble's cascade at rate {rate:g}, seed {seed}")
        result, sample = distill_ensemble(
            start,
            generative,
            material,
            stage,
            learning_rate=rate,
            seed=seed,
            workdir=work / f"{path.name}-steps",
            control=run.control,
        )
        save_version(result.ranker, path, {"questions": len(sample.questions)})
    minutes = round(card["minutes"] + (time.monotonic() - started) / 60, 1)
    questions = max(read_card(path)["questions"] for path in paths)
    details = {"ensemble": {**asdict(stage), "questions": questions}, "minutes": minutes}
    return mean_of_weights([load_cascade(p) for p in paths]), {**card, **details}


def _train_generative(run: RecipeRun) -> None:
    material, recipe = _gather(run), run.recipe
    started, work = time.monotonic(), run.workdir
    general = [q.drop_titles() for q in material.squad + material.selqa_qed]
    own = [q.drop_titles() for q in material.own]
    # a language model's dev pass costs more than a step; a third is enough for early stopping
    dev = [q.drop_titles() for q in material.dev[::3]]
    sample = random.Random(recipe.seed).sample(general, min(recipe.ranked_questions, len(general))) + own
    train = general + own
    torch.manual_seed(recipe.seed)
    ranker = GenerativeRanker(load_question_lm())
    settings = {"mle": recipe.mle, "rll": recipe.rll}
    teacher, control = material.vectors.teach_vectors, run.control
    run.begin("training the generative ranker")
    mle = fine_tune(ranker, train, dev, recipe.mle, workdir=work / "mle", teacher=teacher, control=control)
    level_end(mle.ranker, train[:LEVEL_QUESTIONS])
    run.begin("training the generative ranker against wrong passages")
    rll = fine_tune(mle.ranker, sample, dev, recipe.rll, workdir=work / "rll", teacher=teacher, control=control)
    _save_compact(rll.ranker, run.out / "generative", _describe_training(run, rll, settings, len(train), started))


def _gather(run: RecipeRun) -> recipe_data.Material:
    run.begin("reading the data")
    return recipe_data.gather(run.recipe, run.data_dir, run.folder, run.on_progress)


def _describe_training(
    run: RecipeRun, result: TrainingResult, settings: dict[str, TrainSettings], questions: int, started: float
) -> dict:
    """The card of a trained version: its data and settings, and what it reached."""
    return {
        **run.card,
        "data": recipe_data.data_sources(run.recipe, run.data_dir),
        "questions": questions,
        "settings": {name: asdict(s) for name, s in settings.items()},
        "minutes": round((time.monotonic() - started) / 60, 1),
        "dev_ap": [e["dev_ap"] for e in result.history if e["kind"] == "eval"][-1:],
    }


def _merge_cards(cards: Sequence[dict]) -> dict:
    """The card of the mean of several: data and minutes of all, the most questions, the rest of each."""
    data = {d["sha256"]: d for card in cards for d in card["data"]}
    return {
        **cards[0],
        "data": list(data.values()),
        "questions": max(card["questions"] for card in cards),
        "sample": [card["sample"] for card in cards],
        "settings": {"transfer": [card["settings"]["transfer"] for card in cards]},
        "minutes": round(sum(card["minutes"] for card in cards), 1),
        "dev_ap": [ap for card in cards for ap in card["dev_ap"]],
    }


def _save_compact(ranker: HasWeights, path: Path, card: dict) -> None:
    """Save with compact weights. A cascade is measured as it is stored, which is not exactly as it was trained."""
    licence = "weights CC BY-SA 4.0 (SQuAD, SelQA, QED, this project's own questions); see docs/models.md"
    part = path.parent / ".work" / path.name
    shutil.rmtree(part, ignore_errors=True)  # of a call that was stopped here
    save_version(ranker, part, {**card, "licence": licence}, compact=True)
    if isinstance(ranker, CascadeRanker):
        _measure(part)
    part.rename(path)


def _measure(path: Path) -> None:
    """Fit a version's probabilities; write its calibration and robustness into its card."""
    ranker, card = load_cascade(path), read_card(path)
    recipe = RECIPES.get(str(card.get("recipe")))
    limit = SMALL_QUESTIONS if recipe is not None and recipe_data.is_small(recipe.paragraphs) else None
    dev, test = (load_questions(f"starter-{part}").questions[:limit] for part in ("dev", "test"))
    report = {
        "calibration": calibrate(ranker, dev, fits_answers=False),  # docs/models.md
        "robustness": measure_robustness(ranker, test),
        "robustness_mended": measure_robustness(ranker, test, corrected=True),
    }
    update_description(ranker, path, {**card, **report})
