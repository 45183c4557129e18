"""The training data of a recipe: SQuAD-sent, SelQA, QED, the starter corpus's train part, and questions of corpora/
that are worded unlike their answers, with hard negatives. WikiQA and TREC-QA are never trained on.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from as2core.data import jsonl
from as2core.data.catalog import CORPORA, load_questions
from as2core.data.starter import build
from as2core.errors import UnreadableFile
from as2core.nn.backbone import load_backbone
from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.rankers.versions import sha256
from as2core.training.mining import VectorCache, add_far_negatives, add_hard_negatives, keep_hardest
from as2core.training.recipes import Recipe
from as2core.types import Candidate, OnProgress, Question

FILES = {
    "SQuAD v1.1 train (CC BY-SA 4.0)": "squad/train-v1.1.json.gz",
    "SelQA dev (Apache-2.0)": "selqa/dev.jsonl",
    "SelQA test (Apache-2.0)": "selqa/test.jsonl",
    "QED dev (CC BY-SA 3.0)": "qed/dev.jsonl",
}
MAX_PADDING_WORDS = 9


@dataclass(frozen=True, slots=True)
class Material:
    """A recipe's questions, with hard negatives: SQuAD's, SelQA's and QED's (`asked`), the starter corpus's train part
    (`own`), `reworded` ones, and dev questions of articles that no other question is about. `vectors` has all texts
    without their titles, and those of `own` and `reworded` with them where the recipe reads some so."""

    squad: list[Question]
    asked: list[Question]
    own: list[Question]
    reworded: list[Question]
    dev: list[Question]
    vectors: VectorCache


def gather(recipe: Recipe, data_dir: Path, folder: Path, on_progress: OnProgress | None = None) -> Material:
    """Read, embed and mine; vectors are stored in `folder`. Raises UnreadableFile (data missing)."""
    squad_sent, asked, dev = _read_questions(recipe, data_dir)
    vectors = VectorCache(lambda: BiEncoderRanker(load_backbone(), max_length=128), folder)
    starter, reworded = starter_questions("starter-train"), _reworded_questions(recipe)
    reworded = random.Random(recipe.seed).sample(reworded, min(recipe.reworded, len(reworded)))
    with half_precision():
        vectors.embed(_texts(squad_sent + asked + dev), on_progress)
        widened = add_hard_negatives(squad_sent + asked + dev, vectors, seed=recipe.seed)
    vectors.embed(_texts(starter + reworded), on_progress)
    own = [q for q in keep_hardest(starter, vectors) for _ in range(recipe.starter_repeats)]
    own = [replace(q, qid=f"{q.qid}#{i}") for i, q in enumerate(own)]
    reworded = keep_hardest(reworded, vectors)
    if recipe.titled:
        vectors.embed([c.titled_text for q in own + reworded for c in q.candidates], on_progress)
    train, dev = widened[: -len(dev)], widened[-len(dev) :]
    return Material(train[: len(squad_sent)], train[len(squad_sent) :], own, reworded, dev, vectors)


def sample_for_cascade(recipe: Recipe, material: Material) -> list[Question]:
    """The questions that a cascade learns from, the starter's and the reworded ones at the end."""
    rng = random.Random(recipe.seed)
    few = rng.sample(material.squad, min(recipe.squad_questions, len(material.squad))) + material.asked
    few = random.Random(recipe.seed).sample(few, min(recipe.cascade_questions, len(few)))
    few = add_far_negatives(few, material.vectors, each=recipe.far, seed=recipe.seed)
    hard = [q if rng.random() < recipe.titled else q.drop_titles() for q in material.own + material.reworded]
    return [q.drop_titles() for q in few] + hard


def pad_candidates(questions: list[Question], recipe: Recipe) -> tuple[list[Question], dict[str, str]]:
    """Append the first words of a random sentence to a share of the candidates. Also returns the original text of each,
    which a teacher reads in its place."""
    rng = random.Random(recipe.seed)
    texts = [c.text for q in questions for c in q.candidates]
    originals: dict[str, str] = {}

    def pad(c: Candidate) -> Candidate:
        if rng.random() >= recipe.padded:
            return c
        words = " ".join(rng.choice(texts).split()[: rng.randint(3, MAX_PADDING_WORDS)])
        longer = replace(c, text=f"{c.text} ( {words} )" if rng.random() < 0.5 else f"{c.text} {words}")
        originals[longer.titled_text] = c.titled_text
        return longer

    return [replace(q, candidates=tuple(pad(c) for c in q.candidates)) for q in questions], originals


def half_precision() -> torch.autocast:
    """bfloat16 where the processor has instructions for it."""
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=torch.cpu._is_avx512_bf16_supported())


def data_sources(recipe: Recipe, data_dir: Path) -> list[dict[str, str]]:
    """The data with its SHA-256, for the card."""
    files = [{"name": name, "sha256": sha256(path)} for name, path in data_files(data_dir).items()]
    folders = " and ".join(f"corpora/{folder}" for folder in recipe.written)
    ours = {
        "starter corpus, train part": starter_questions("starter-train"),
        f"questions of {folders}": _reworded_questions(recipe),
    }
    return files + [{"name": name, "sha256": digest(jsonl.dumps(some))} for name, some in ours.items()]


def data_files(data_dir: Path) -> dict[str, Path]:
    """The data sets' files. Raises UnreadableFile if any is missing."""
    paths = {name: Path(data_dir) / file for name, file in FILES.items()}
    missing = [str(p) for p in paths.values() if not p.is_file()]
    if missing:
        raise UnreadableFile(f"the recipe needs {', '.join(missing)}: give the folder of the data sets with --data-dir")
    return paths


def starter_questions(part: str) -> list[Question]:
    return load_questions(part).questions


def digest(content: object) -> str:
    """SHA-256 of a text, or of anything that JSON can hold."""
    return hashlib.sha256((content if isinstance(content, str) else json.dumps(content)).encode()).hexdigest()


def _reworded_questions(recipe: Recipe) -> list[Question]:
    return [q for folder in recipe.written for q in build(CORPORA / folder)["train"] if q.positives]


def _texts(questions: Sequence[Question]) -> list[str]:
    return [t for q in questions for t in (q.text, *(c.text for c in q.candidates))]


def _read_questions(recipe: Recipe, data_dir: Path) -> tuple[list[Question], list[Question], list[Question]]:
    """SQuAD's, then SelQA's and QED's, then dev questions (of SQuAD articles and others that training never sees)."""
    rng = random.Random(recipe.seed)
    squad_path, *other_paths = data_files(data_dir).values()
    by_paragraph: dict[str, list[Question]] = defaultdict(list)
    for q in load_questions(squad_path).questions:
        by_paragraph[q.candidates[0].id.rpartition("-")[0]].append(q)
    titles = sorted({qs[0].candidates[0].title for qs in by_paragraph.values()})
    dev_titles = set(rng.sample(titles, 12))
    groups = {k: v for k, v in by_paragraph.items() if len(v[0].candidates) > 1}
    inside = [k for k, v in groups.items() if v[0].candidates[0].title not in dev_titles]
    outside = [k for k, v in groups.items() if v[0].candidates[0].title in dev_titles]
    paragraphs = rng.sample(inside, min(recipe.paragraphs, len(inside)))
    squad_sent = [q for k in paragraphs for q in rng.sample(groups[k], min(2, len(groups[k])))]
    dev = [rng.choice(groups[k]) for k in rng.sample(outside, min(90, recipe.paragraphs // 10, len(outside)))]
    asked = [q for path in other_paths for q in jsonl.read(path)[0] if q.positives]
    rng.shuffle(asked)
    is_small = recipe.paragraphs < 1000
    by_title: dict[str, list[Question]] = defaultdict(list)  # questions about one article ask for the same sentences
    for q in asked[:150] if is_small else asked:
        by_title[q.candidates[0].title].append(q)
    other_dev: list[Question] = []
    while len(other_dev) < (20 if is_small else 110):
        other_dev += by_title.pop(next(iter(by_title)))
    return squad_sent, [q for qs in by_title.values() for q in qs], dev + other_dev
