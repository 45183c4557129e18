"""The shipped models, made again: `as2 transfer --recipe default`.

Transfer (Garg et al., 2020) on data that may be passed on: SQuAD-sent, SelQA, QED, the starter corpus's train part, and
corpora/reworded and corpora/asked, whose questions are worded unlike their answers. The generative ranker learns
question likelihood (MLE), then to prefer the right sentence (RLL). A cascade learns all exits at once, from labels and
from what the generative ranker and the bi-encoder say together; the one that is kept is the mean of the weights of
several that learnt a little differently (Wortsman et al., 2022). Probabilities and the no-answer threshold are fitted
on the starter corpus's dev questions, whose articles the models never see. WikiQA and TREC-QA are never trained on.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import random
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from as2core.data import jsonl, squad
from as2core.data.catalog import CORPORA, load_questions
from as2core.data.starter import build
from as2core.errors import BadSetting, UnreadableFile
from as2core.nn.backbone import DEFAULT_BACKBONE, load_backbone
from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import MODELS_DIR
from as2core.rankers.fusion import standardised
from as2core.rankers.generative import GenerativeRanker, load_question_lm
from as2core.rankers.versions import describe_anew, load_version, read_card, save_version, sha256
from as2core.robustness import robustness
from as2core.training.calibrate import calibrate, level_end
from as2core.training.fine_tune import Trained, fine_tune
from as2core.training.learners import Teacher
from as2core.training.mining import Vectors, add_far_negatives, add_hard_negatives, keep_hardest
from as2core.training.settings import TrainSettings
from as2core.types import Candidate, OnProgress, Question

FILES = {
    "SQuAD v1.1 train (CC BY-SA 4.0)": "squad/train-v1.1.json.gz",
    "SelQA dev (Apache-2.0)": "selqa/dev.jsonl",
    "SelQA test (Apache-2.0)": "selqa/test.jsonl",
    "QED dev (CC BY-SA 3.0)": "qed/dev.jsonl",
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How much data, and the settings of each stage. SQuAD's `paragraphs` are where hard negatives are mined;
    the generative ranker learns from all their questions, `ranked_questions` of them against wrong passages too. The
    cascade sees a sample of `cascade_questions`, of SQuAD's `squad_questions` and the rest, each with `far` negatives
    of other articles: it starts from what the backbone knows, and more of SQuAD teaches it to trust shared words. The
    few starter questions come `starter_repeats` times; beside them the cascade sees `reworded` questions, of the
    folders of corpora/ that were `written` for training alone. Of these two it reads a share, `titled`, with the titles
    before the sentences; all else is read without. A share of its candidates, `padded`, has other words behind it. The
    cascade is the mean of the weights that the recipe teaches with the changes of each of the `variants`."""

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
    variants: tuple[Mapping[str, Any], ...] = ({},)
    seed: int = 0

    def varied(self) -> list[Recipe]:
        """The recipe of each cascade whose weights count."""
        return [replace(self, variants=({},), **changes) for changes in self.variants]

    @property
    def sample(self) -> dict[str, Any]:
        """How much of what the cascade sees, for its card: what is no stage's settings."""
        others = ("what", "cascade", "mle", "rll", "variants", "seed", "ranked_questions")
        return {k: v for k, v in dataclasses.asdict(self).items() if k not in others}


_CASCADE = TrainSettings(
    epochs=1,
    learning_rate=3e-5,
    batch_questions=8,
    negatives=4,
    exit_draw="all",
    distill=2.0,
    temperature=0.5,
    evals_per_epoch=3,
)
_MLE = TrainSettings(
    epochs=1, learning_rate=2e-4, batch_questions=32, loss="mle", distill=5.0, frozen_layers=2, evals_per_epoch=3
)
_RLL = TrainSettings(
    epochs=1,
    learning_rate=5e-5,
    batch_questions=8,
    negatives=4,
    loss="rll",
    distill=5.0,
    frozen_layers=2,
    evals_per_epoch=4,
    patience=4,
)

_WIDER = {"cascade": replace(_CASCADE, learning_rate=2e-5), "reworded": 9501, "written": ("reworded", "asked")}

RECIPES = {
    "default": Recipe(
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
    ),
    "tiny": Recipe(
        "the same steps on a few hundred questions, to see that they run",
        paragraphs=60,
        squad_questions=60,
        cascade_questions=100,
        ranked_questions=40,
        starter_repeats=1,
        cascade=replace(_CASCADE, evals_per_epoch=1),
        mle=replace(_MLE, evals_per_epoch=1),
        rll=replace(_RLL, evals_per_epoch=1),
        reworded=30,
        far=4,
        titled=0.5,
        padded=0.1,
        variants=({}, {"far": 0}),
    ),
}


def run_recipe(
    name: str,
    data_dir: Path,
    out: Path,
    *,
    stages: Sequence[str] = ("generative", "cascade"),
    on_event: Callable[[dict], None] | None = None,
    on_progress: OnProgress | None = None,
) -> list[Path]:
    """Train and save `out/generative` and `out/cascade`, which learns from the former (the shipped one, without that
    stage). Work files and checkpoints go to `out/.work`; a second call resumes there.

    Raises BadSetting (no such recipe, or another's versions there), UnreadableFile (data missing)."""
    if name not in RECIPES:
        raise BadSetting(f"no recipe {name!r}; known: {', '.join(RECIPES)}")
    recipe = RECIPES[name]
    for made in (out / stage for stage in stages if (out / stage).is_dir()):
        if (made_by := read_card(made).get("recipe")) != name:
            raise BadSetting(f"{made} was made by the recipe {made_by!r}: choose another folder with --out")
    _needed(data_dir)
    card = {
        "recipe": name,
        "parent": DEFAULT_BACKBONE,
        "seed": recipe.seed,
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else f"{torch.get_num_threads()} CPU cores",
    }
    for stage in stages:
        if (out / stage).is_dir():
            continue  # an earlier call came so far
        if stage == "generative":
            material = gather(recipe, data_dir, out / ".work", on_progress)
            _generative(recipe, material, data_dir, out, card, on_event)
        else:
            taught = [_taught(told, data_dir, out, card, on_event, on_progress) for told in recipe.varied()]
            ranker = mean_of_weights([load_version(path) for path in taught])
            _ship(ranker, out / stage, _in_one([read_card(path) for path in taught]))
    return [out / stage for stage in stages]


@dataclass(frozen=True, slots=True)
class Material:
    """What a recipe learns from, hard negatives included: SQuAD's questions, SelQA's and QED's (`asked`), the starter
    corpus's train part (`own`), `reworded` ones, and dev questions of articles that none of these is about. `vectors`
    knows all texts without their titles, and those of `own` and `reworded` with them where the recipe reads some so."""

    squad: list[Question]
    asked: list[Question]
    own: list[Question]
    reworded: list[Question]
    dev: list[Question]
    vectors: Vectors


def gather(recipe: Recipe, data_dir: Path, folder: Path, on_progress: OnProgress | None = None) -> Material:
    """Read, mine, embed; vectors are kept in `folder`. Raises UnreadableFile (data missing)."""
    squad_sent, asked, dev = _questions(recipe, data_dir)
    vectors = Vectors(BiEncoderRanker(load_backbone(), max_length=128), folder)
    starter, reworded = _starter("starter-train"), _reworded(recipe)
    reworded = random.Random(recipe.seed).sample(reworded, min(recipe.reworded, len(reworded)))
    with half_precision():
        vectors.learn(_texts(squad_sent + asked + dev), on_progress)
        widened = add_hard_negatives(squad_sent + asked + dev, vectors, seed=recipe.seed)
    vectors.learn(_texts(starter + reworded), on_progress)
    own = [q for q in keep_hardest(starter, vectors) for _ in range(recipe.starter_repeats)]
    own = [replace(q, qid=f"{q.qid}#{i}") for i, q in enumerate(own)]
    reworded = keep_hardest(reworded, vectors)
    if recipe.titled:
        vectors.learn([c.reading for q in own + reworded for c in q.candidates], on_progress)
    train, dev = widened[: -len(dev)], widened[-len(dev) :]
    return Material(train[: len(squad_sent)], train[len(squad_sent) :], own, reworded, dev, vectors)


def for_the_cascade(recipe: Recipe, material: Material) -> list[Question]:
    """The sample it learns from, the starter's and the reworded at the end."""
    rng = random.Random(recipe.seed)
    few = rng.sample(material.squad, min(recipe.squad_questions, len(material.squad))) + material.asked
    few = random.Random(recipe.seed).sample(few, min(recipe.cascade_questions, len(few)))
    few = add_far_negatives(few, material.vectors, each=recipe.far, seed=recipe.seed)
    hard = [q if rng.random() < recipe.titled else q.untitled() for q in material.own + material.reworded]
    return [q.untitled() for q in few] + hard


def half_precision() -> torch.autocast:
    """bfloat16 where the processor has instructions for it."""
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=torch.cpu._is_avx512_bf16_supported())


def both_teachers(generative: GenerativeRanker, vectors: Vectors, meant: dict[str, str] | None = None) -> Teacher:
    """What the generative ranker and the backbone's cosines, which know all texts, say together; of a text in `meant`
    they read what it stands for there."""

    def teach(question: str, texts: list[str]) -> np.ndarray:
        texts = [(meant or {}).get(t, t) for t in texts]
        likelihood = generative.score(question, [Candidate(str(i), t) for i, t in enumerate(texts)])
        both = standardised(likelihood) + standardised(vectors.teach(question, texts))
        return (both / 2).astype(np.float32)

    return teach


def corrected(teacher: Teacher, questions: Sequence[Question]) -> Teacher:
    """On these questions, whose labels are complete, the best of the correct candidates changes places with a teacher's
    first where that is incorrect."""
    correct: dict[str, set[str]] = {}
    for q in questions:
        correct.setdefault(q.text, set()).update(c.reading for c in q.candidates if c.label == 1)

    def teach(question: str, texts: list[str]) -> np.ndarray:
        scores = np.array(teacher(question, texts))
        right = [i for i, t in enumerate(texts) if t in correct.get(question, ())]
        first = int(scores.argmax())
        if right and first not in right:
            best = max(right, key=lambda i: scores[i])
            scores[[first, best]] = scores[[best, first]]
        return scores

    return teach


def measure_again(out: Path) -> list[Path]:
    """Set the probabilities of `out/cascade` and measure what its card tells anew, without training. Raises
    DamagedModel."""
    _measure(out / "cascade")
    return [out / "cascade"]


def mean_of_weights(cascades: Sequence[CascadeRanker]) -> CascadeRanker:
    """A copy of the first, each of its weights the mean of all theirs: a uniform soup (Wortsman et al., 2022, section
    3). They began at the same weights, or their mean would rank by chance."""
    states = [c.module.state_dict() for c in cascades]
    mean = {
        name: torch.stack([s[name].float() for s in states]).mean(0).to(t.dtype) if t.is_floating_point() else t
        for name, t in states[0].items()
    }
    made = copy.deepcopy(cascades[0])
    made.module.load_state_dict(mean)
    return made


def _taught(recipe: Recipe, data_dir: Path, out: Path, card: dict, on_event, on_progress) -> Path:
    """The cascade that this variant teaches, in `out/.work`; of another recipe, data or teacher elsewhere there."""
    own_stage = out / "generative"
    path = own_stage if own_stage.is_dir() else MODELS_DIR / "generative"
    work = _work(recipe, data_dir, out) / f"cascade-{read_card(path)['sha256'][:12]}"
    if not (work / "taught").is_dir():
        started = time.monotonic()
        material = gather(recipe, data_dir, out / ".work", on_progress)
        train, meant = _some_padded(for_the_cascade(recipe, material), recipe)
        labelled = train[-len(material.own + material.reworded) :]
        teach = corrected(both_teachers(load_version(path), material.vectors, meant), labelled)
        torch.manual_seed(recipe.seed)  # the heads' first values
        base = CascadeRanker(load_backbone())
        dev = [q.untitled() for q in material.dev]
        trained = fine_tune(base, train, dev, recipe.cascade, workdir=work, teacher=teach, on_event=on_event)
        told = _told(trained, _sources(recipe, data_dir), {"transfer": recipe.cascade}, len(train), started)
        save_version(trained.ranker, work / "taught", {**card, **told, "sample": recipe.sample})
    return work / "taught"


def _in_one(cards: Sequence[dict]) -> dict:
    """One card for the mean of several: data and minutes of all, the most questions, the rest of each."""
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


def _generative(recipe: Recipe, material: Material, data_dir: Path, out: Path, card: dict, on_event) -> None:
    started, work = time.monotonic(), _work(recipe, data_dir, out)
    squad_sent, asked, own, dev = (
        [q.untitled() for q in some] for some in (material.squad, material.asked, material.own, material.dev)
    )
    train = squad_sent + asked
    ranked = random.Random(recipe.seed).sample(train, min(recipe.ranked_questions, len(train))) + own
    train = train + own
    dev = dev[::3]  # a language model's dev pass costs more than a step; a third tells enough to stop by
    teach = material.vectors.both
    torch.manual_seed(recipe.seed)
    base = GenerativeRanker(load_question_lm())
    mle = fine_tune(base, train, dev, recipe.mle, workdir=work / "mle", teacher=teach, on_event=on_event)
    level_end(mle.ranker, train[:150])
    rll = fine_tune(mle.ranker, ranked, dev, recipe.rll, workdir=work / "rll", teacher=teach, on_event=on_event)
    told = _told(rll, _sources(recipe, data_dir), {"mle": recipe.mle, "rll": recipe.rll}, len(train), started)
    _ship(rll.ranker, out / "generative", {**card, **told})


def _some_padded(questions: list[Question], recipe: Recipe) -> tuple[list[Question], dict[str, str]]:
    """A share of the candidates with the first words of a sentence from anywhere behind them; and what a teacher reads
    for each of these, the candidate as it was."""
    rng = random.Random(recipe.seed)
    anywhere = [c.text for q in questions for c in q.candidates]
    meant: dict[str, str] = {}

    def padded(c: Candidate) -> Candidate:
        if rng.random() >= recipe.padded:
            return c
        words = " ".join(rng.choice(anywhere).split()[: rng.randint(3, 9)])
        longer = replace(c, text=f"{c.text} ( {words} )" if rng.random() < 0.5 else f"{c.text} {words}")
        meant[longer.reading] = c.reading
        return longer

    return [replace(q, candidates=tuple(padded(c) for c in q.candidates)) for q in questions], meant


def _told(trained: Trained, sources: list[dict], settings: dict, questions: int, started: float) -> dict:
    """What the run was told and what it reached, for its card."""
    return {
        "data": sources,
        "questions": questions,
        "settings": {k: dataclasses.asdict(s) for k, s in settings.items()},
        "minutes": round((time.monotonic() - started) / 60, 1),
        "dev_ap": [e["dev_ap"] for e in trained.history if e["kind"] == "eval"][-1:],
    }


def _ship(ranker, path: Path, card: dict) -> None:
    """Save, compact."""
    licence = "weights CC BY-SA 4.0 (SQuAD, SelQA, QED, this project's own questions); see docs/models.md"
    making = path.parent / ".work" / path.name
    shutil.rmtree(making, ignore_errors=True)  # of a call that was stopped here
    save_version(ranker, making, {**card, "licence": licence}, compact=True)
    if isinstance(ranker, CascadeRanker):
        _measure(making)  # as it is stored, which is not exactly as it was trained
    making.rename(path)


def _measure(path: Path) -> None:
    """Set a version's probabilities, and write what its card tells of them and of careless questions."""
    ranker, test = load_version(path), _starter("starter-test")
    told = {
        "calibration": calibrate(ranker, _starter("starter-dev")),
        "robustness": robustness(ranker, test),
        "robustness_mended": robustness(ranker, test, mending=True),
    }
    describe_anew(ranker, path, {**read_card(path), **told})


def _work(recipe: Recipe, data_dir: Path, out: Path) -> Path:
    """Where the steps of this recipe on this data are kept: another goes on elsewhere."""
    return out / ".work" / _digest([dataclasses.asdict(recipe), _sources(recipe, data_dir)])[:12]


def _sources(recipe: Recipe, data_dir: Path) -> list[dict]:
    """The data with its SHA-256."""
    files = [{"name": what, "sha256": sha256(path)} for what, path in _needed(data_dir).items()]
    folders = " and ".join(f"corpora/{folder}" for folder in recipe.written)
    ours = {"starter corpus, train part": _starter("starter-train"), f"questions of {folders}": _reworded(recipe)}
    return files + [{"name": what, "sha256": _digest(jsonl.dumps(some))} for what, some in ours.items()]


def _reworded(recipe: Recipe) -> list[Question]:
    return [q for written in recipe.written for q in build(CORPORA / written)["train"] if q.positives]


def _needed(data_dir: Path) -> dict[str, Path]:
    """The data sets' files. Raises UnreadableFile if any is missing."""
    paths = {what: Path(data_dir) / rel for what, rel in FILES.items()}
    missing = [str(p) for p in paths.values() if not p.is_file()]
    if missing:
        raise UnreadableFile(f"the recipe needs {', '.join(missing)}: give the folder of the data sets with --data-dir")
    return paths


def _starter(part: str) -> list[Question]:
    return load_questions(part).questions


def _digest(what: Any) -> str:
    return hashlib.sha256((what if isinstance(what, str) else json.dumps(what)).encode()).hexdigest()


def _texts(questions: Sequence[Question]) -> list[str]:
    return [t for q in questions for t in (q.text, *(c.text for c in q.candidates))]


def _questions(recipe: Recipe, data_dir: Path) -> tuple[list[Question], list[Question], list[Question]]:
    """SQuAD's, then SelQA's and QED's, then dev questions (of SQuAD articles and others that training never sees)."""
    rng = random.Random(recipe.seed)
    squad_path, selqa_dev, selqa_test, qed = _needed(data_dir).values()
    by_paragraph: dict[str, list[Question]] = {}
    for q in squad.read(squad_path)[0]:
        by_paragraph.setdefault(q.candidates[0].id.rpartition("-")[0], []).append(q)
    titles = sorted({qs[0].candidates[0].title for qs in by_paragraph.values()})
    held_out = set(rng.sample(titles, 12))
    groups = {k: v for k, v in by_paragraph.items() if len(v[0].candidates) > 1}
    inside = [k for k, v in groups.items() if v[0].candidates[0].title not in held_out]
    outside = [k for k in groups if k not in set(inside)]
    chosen = rng.sample(inside, min(recipe.paragraphs, len(inside)))
    squad_sent = [q for k in chosen for q in rng.sample(groups[k], min(2, len(groups[k])))]
    dev = [rng.choice(groups[k]) for k in rng.sample(outside, min(90, recipe.paragraphs // 10, len(outside)))]
    small = recipe.paragraphs < 1000
    asked = [q for p in (selqa_dev, selqa_test, qed) for q in jsonl.read(p)[0] if q.positives]
    rng.shuffle(asked)
    asked = asked[:150] if small else asked
    about: dict[str, list[Question]] = {}  # questions about one article ask for the same sentences
    for q in asked:
        about.setdefault(q.candidates[0].title, []).append(q)
    judges = []
    while len(judges) < (20 if small else 110):
        judges += about.pop(next(iter(about)))
    dev += judges
    asked = [q for of_one in about.values() for q in of_one]
    return squad_sent, asked, dev
