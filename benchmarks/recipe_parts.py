"""What each part of the cascade's transfer recipe is worth: a base, the recipe made small and without what was added to
it since, then with one thing changed.

    python benchmarks/recipe_parts.py                   prints the table, writes it to docs/results.md; an hour or two
    python benchmarks/recipe_parts.py --only adapters   one row beside the base, 20 minutes; writes nothing
    python benchmarks/recipe_parts.py --tiny            a few questions, to see that it runs; writes nothing

All rows learn from the same questions but for what the row says, with one seed, and are measured on starter test,
WikiQA dev and TREC-QA dev (clean) by the last exit and two below. The sets are read from AS2_BENCH_DATA, or from
../shared/data beside the repository.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from statistics import mean

import numpy as np
import torch
from _simulated import medquad
from _texts import DATA, JUDGES, require_files
from torch import nn
from torch.nn.utils import parametrize

from as2core.cascade.tune import trace_all
from as2core.data.catalog import apply_setting, load_questions
from as2core.evaluation.robustness import measure_robustness
from as2core.experiments.base import write_section
from as2core.experiments.cells import describe_code
from as2core.experiments.twins import exit_ap
from as2core.nn.backbone import load_backbone
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.text import tokenize
from as2core.training.fine_tune import fine_tune
from as2core.training.learners import Teacher
from as2core.training.recipe_data import FILES, Material, gather, read_dev_articles, sample_for_cascade
from as2core.training.recipes import RECIPES, Recipe
from as2core.training.settings import TrainSettings
from as2core.training.teachers import correct_teacher, mean_teacher, ranker_teacher
from as2core.types import Candidate, Question

ROOT = Path(__file__).resolve().parents[1]
EXITS = (2, 4, 6)
RANK, RATE = 16, 3e-4  # of the adapters
PARAGRAPHS, OTHER_PARAGRAPHS, TWO_SENTENCES = 6000, 5, 0.5  # of the sentence-level pre-training
SHORTENED, FAR, MORE, REWORDED = 0.5, 4, 300, 1024

Texts = dict[str, str]  # what a teacher reads for a question, where that is another


@dataclass(frozen=True, slots=True)
class Part:
    """What differs from the base: the recipe, the questions (and what the teachers read for them), the settings, that
    the labels correct the teacher, that adapters learn in the encoder's place, or that the whole is first trained on
    so many paragraphs of SQuAD without their questions."""

    what: str
    change: Callable[[list[Question], Material, int], tuple[list[Question], Texts]] = lambda q, _m, _s: (q, {})
    recipe: dict = field(default_factory=dict)
    settings: dict = field(default_factory=dict)
    by_labels: bool = False
    adapters: bool = False
    paragraphs: int = 0


def without_mined(questions: list[Question], _material: Material, _seed: int) -> tuple[list[Question], Texts]:
    trimmed = [replace(q, candidates=tuple(c for c in q.candidates if "-hard-" not in c.id)) for q in questions]
    return trimmed, {}


def shortened(questions: list[Question], _material: Material, seed: int) -> tuple[list[Question], Texts]:
    """Half of the questions without one of the words that they share with their answer; the teachers read the whole."""
    rng = random.Random(seed)
    out, originals = [], {}
    for q in questions:
        answer = {w for c in q.candidates if c.label for w in tokenize(c.text)}
        shared = [w for w in tokenize(q.text) if w in answer and len(w) > 3]
        text = q.text
        if shared and rng.random() < SHORTENED:
            text = re.sub(rf"\s*\b{re.escape(rng.choice(shared))}\b", "", q.text, count=1, flags=re.IGNORECASE)
            originals[text] = q.text
        out.append(replace(q, text=text))
    return out, originals


def with_medquad(questions: list[Question], material: Material, seed: int) -> tuple[list[Question], Texts]:
    medical = list(medquad(DATA / "medquad" / "qa.jsonl", min(MORE, len(questions)), 1, seed=seed).questions)
    material.vectors.embed([t for q in medical for t in (q.text, *(c.text for c in q.candidates))])
    return questions + [q.drop_titles() for q in medical], {}


def draw_spans(paragraphs: Iterable[Question], limit: int, *, seed: int) -> list[Question]:
    """Spans in the same paragraph, or not: the objective SSP of Di Liello et al. ("Pre-training Transformer Models with
    Sentence-Level Objectives for Answer Sentence Selection", EMNLP 2022), as questions that a cascade can learn from.

    One or two sentences of a paragraph are the question; another one of it is correct, and sentences of other
    paragraphs of the same article are incorrect. Each of `paragraphs` has its sentences as candidates."""
    rng = random.Random(seed)
    by_article: dict[str, dict[str, list[Candidate]]] = {}
    for q in paragraphs:
        paragraph = q.candidates[0].id.rpartition("-")[0]
        by_article.setdefault(q.candidates[0].title, {}).setdefault(paragraph, list(q.candidates))
    spans = []
    for article in by_article.values():
        for name, sentences in article.items():
            others = [c for other, some in article.items() if other != name for c in some]
            size = 2 if len(sentences) > 2 and rng.random() < TWO_SENTENCES else 1
            if len(sentences) > size and others:
                first = rng.randrange(len(sentences) - size + 1)
                rest = sentences[:first] + sentences[first + size :]
                text = " ".join(c.text for c in sentences[first : first + size])
                negatives = rng.sample(others, min(OTHER_PARAGRAPHS, len(others)))
                listed = [replace(rng.choice(rest), label=1), *(replace(c, label=0) for c in negatives)]
                spans.append(Question(name, text, tuple(listed)))
    return rng.sample(spans, min(limit, len(spans)))


def pretrain(base: CascadeRanker, recipe: Recipe, limit: int, folder: Path) -> CascadeRanker:
    """The base trained on spans of `limit` paragraphs of the recipe's articles, without a teacher."""
    unseen = {article[0].candidates[0].title for article in read_dev_articles(recipe, DATA)}
    squad = load_questions(DATA / "squad" / "train-v1.1.json.gz").questions
    spans = draw_spans((q for q in squad if q.candidates[0].title not in unseen), limit, seed=recipe.seed)
    spans = [q.drop_titles() for q in spans]
    return fine_tune(base, spans, [], replace(recipe.cascade, distill=0.0), workdir=folder).ranker


def more(questions: list[Question], material: Material, seed: int) -> tuple[list[Question], Texts]:
    qids = {q.qid for q in questions}
    rest = [q.drop_titles() for q in material.selqa_qed if q.qid not in qids]
    return questions + random.Random(seed).sample(rest, min(MORE, len(rest))), {}


PARTS = {
    "base": Part("the base"),
    "no-teacher": Part("without a teacher", settings={"distill": 0.0}),
    "no-mined": Part("without negatives from the same article", without_mined),
    "far": Part(f"with {FAR} negatives from other articles, by the backbone's cosine", recipe={"far": FAR}),
    "medquad": Part(f"with {MORE} questions of MedQuAD", with_medquad),
    "more": Part(f"with {MORE} more questions of SelQA and QED", more),
    "reworded": Part(f"with {REWORDED:,} questions worded unlike their answers", recipe={"reworded": REWORDED}),
    "corrected": Part("the teacher corrected by the labels", by_labels=True),
    "shortened": Part("half of the questions without one of the words they share with the answer", shortened),
    "self": Part("the last exit teaches the others, too", settings={"self_distill": 1.0}),
    "adapters": Part(
        f"adapters of rank {RANK} and the heads, rate {RATE:g}", settings={"learning_rate": RATE}, adapters=True
    ),
    "spans": Part(f"first trained on spans of one paragraph or two, {PARAGRAPHS:,} of them", paragraphs=PARAGRAPHS),
}


class LowRank(nn.Module):
    """W + B A, the update of a matrix by one of low rank (LoRA; Hu et al., 2022); nothing at first."""

    def __init__(self, weight: torch.Tensor, rank: int) -> None:
        super().__init__()
        rows, columns = weight.shape
        self.a = nn.Parameter(torch.randn(rank, columns) / columns**0.5)
        self.b = nn.Parameter(torch.zeros(rows, rank))

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return weight + self.b @ self.a


def _matrices(ranker: CascadeRanker) -> list[nn.Linear]:
    return [m for m in ranker.backbone.blocks.modules() if isinstance(m, nn.Linear)]


def adapt_by_low_rank(ranker: CascadeRanker, rank: int) -> None:
    """The encoder's weights stay; beside each matrix of its layers stands an update of low rank that learns."""
    ranker.backbone.requires_grad_(False)
    for linear in _matrices(ranker):
        parametrize.register_parametrization(linear, "weight", LowRank(linear.weight, rank))
        linear.parametrizations.weight.original.requires_grad_(False)


def merge(ranker: CascadeRanker) -> None:
    """Put the updates into the matrices."""
    for linear in _matrices(ranker):
        if parametrize.is_parametrized(linear):
            parametrize.remove_parametrizations(linear, "weight")


def train_part(part: Part, material: Material, recipe: Recipe, teacher: Teacher, folder: Path) -> CascadeRanker:
    torch.manual_seed(recipe.seed)
    changed = replace(recipe, **part.recipe)
    material = replace(material, reworded=material.reworded[: changed.reworded])
    train, originals = part.change(sample_for_cascade(changed, material), material, recipe.seed)
    dev = [q.drop_titles() for q in material.dev]

    def teach(question: str, texts: list[str]) -> np.ndarray:
        return teacher(originals.get(question, question), tuple(texts))

    base = CascadeRanker(load_backbone())
    if part.adapters:
        adapt_by_low_rank(base, RANK)
    if part.paragraphs:
        limit = min(part.paragraphs, 4 * recipe.paragraphs)
        base = pretrain(base, recipe, limit, folder.with_name(f"{folder.name}-before"))
    settings: TrainSettings = replace(recipe.cascade, **part.settings)
    ranker = fine_tune(
        base,
        train,
        dev,
        settings,
        workdir=folder,
        teacher=correct_teacher(teach, train) if part.by_labels else teach,
    ).ranker
    merge(ranker)
    return ranker


def evaluate_part(ranker: CascadeRanker, sets: dict[str, Sequence[Question]]) -> tuple[dict[str, list[float]], float]:
    """AP by set at EXITS, and the share of the starter questions that keep their top answer when it is padded."""
    ap = {}
    for name, questions in sets.items():
        run = trace_all(ranker, questions)
        ap[name] = [exit_ap(run, ranker.exits.index(layer)) for layer in EXITS]
    return ap, measure_robustness(ranker, sets["starter-test"], rewrites={})["padded candidate"]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tiny", action="store_true")
    options.add_argument("--only", choices=tuple(PARTS))
    options.add_argument("--threads", type=int, help="of torch; all cores if not given")
    parsed = options.parse_args()
    if parsed.threads:
        torch.set_num_threads(parsed.threads)
    require_files(*FILES.values(), "medquad/qa.jsonl")
    started_at = time.monotonic()
    small = {"paragraphs": 1500, "squad_questions": 600, "cascade_questions": 1000, "starter_repeats": 1}
    if parsed.tiny:
        small = {"paragraphs": 60, "squad_questions": 60, "cascade_questions": 24, "starter_repeats": 1}
    base = {"far": 0, "titled": 0.0, "reworded": 0}
    recipe = replace(RECIPES["default"], **small, **base)
    limit = 4 if parsed.tiny else None
    sets = {
        name: apply_setting(load_questions(where).questions, "clean")[:limit]
        for name, where in JUDGES.items()
        if name == where or Path(where).exists()
    }
    lines = [
        "## The effect of each part of the cascade's recipe",
        "",
        f"Printed and written by `python benchmarks/recipe_parts.py`, of the code of {describe_code()}: one seed, "
        f"{recipe.cascade_questions:,} questions and the starter corpus's train part, trained without titles. Each "
        "row changes one thing. "
        f"The cells are AP (clean, with titles) at exits {EXITS[0]}, {EXITS[1]} and the last. `padded` is the share of "
        "starter test questions that keep their top answer when words are appended to it.",
        "",
        f"| | {' | '.join(sets)} | mean of the last | padded |",
        f"|---|{'---|' * (len(sets) + 2)}",
    ]
    with tempfile.TemporaryDirectory() as scratch:
        material = gather(replace(recipe, reworded=limit or REWORDED), DATA, Path(scratch))
        if parsed.tiny:
            material = replace(material, own=material.own[:8], dev=material.dev[:8])
        ask = mean_teacher((ranker_teacher(get("generative")), material.vectors.cosines))
        teacher = cache(lambda question, texts: ask(question, list(texts)))  # the rows ask much the same
        for name, part in PARTS.items():
            if parsed.only not in (None, name) and name != "base":
                continue
            results, padded = evaluate_part(train_part(part, material, recipe, teacher, Path(scratch) / name), sets)
            cells = " | ".join(" / ".join(f"{ap:.3f}" for ap in by_exit) for by_exit in results.values())
            lines.append(f"| {part.what} | {cells} | {mean(x[-1] for x in results.values()):.3f} | {padded:.3f} |")
            print(f"{(time.monotonic() - started_at) / 60:.1f} min  {lines[-1]}", flush=True)
    print("\n".join([*lines, ""]))
    if not (parsed.tiny or parsed.only):
        write_section(ROOT / "docs" / "results.md", "recipe-parts", "\n".join(lines))


if __name__ == "__main__":
    main()
