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
from functools import lru_cache
from itertools import groupby, islice
from pathlib import Path

import torch

from as2core.data import jsonl
from as2core.data.catalog import CORPORA, load_questions, stream_questions
from as2core.data.starter import build
from as2core.errors import UnreadableFile
from as2core.nn.backbone import DEFAULT_SHA256, load_backbone
from as2core.nn.precision import has_bfloat16
from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.system.files import sha256
from as2core.training.mining import VectorCache, add_far_negatives, add_hard_negatives, keep_nearest_negatives
from as2core.training.recipes import Recipe
from as2core.types import OnProgress, Question

FILES = {
    "SQuAD v1.1 train (CC BY-SA 4.0)": "squad/train-v1.1.json.gz",
    "SelQA dev (Apache-2.0)": "selqa/dev.jsonl",
    "SelQA test (Apache-2.0)": "selqa/test.jsonl",
    "QED dev (CC BY-SA 3.0)": "qed/dev.jsonl",
}

DEV_ARTICLES = 12  # of SQuAD
SMALL_PARAGRAPHS = 1000  # a recipe of fewer reads only a part of each file
SMALL_ARTICLES = 30  # of SQuAD, whose sentences take a minute to divide


@dataclass(frozen=True, slots=True)
class Material:
    """A recipe's questions, with hard negatives: SQuAD's, SelQA's and QED's, the starter corpus's train part (`own`),
    `reworded` ones, and dev questions of articles that no other question is about. `vectors` has all texts without
    their titles, and those of `own` and `reworded` with them where the recipe reads some so."""

    squad: list[Question]
    selqa_qed: list[Question]
    own: list[Question]
    reworded: list[Question]
    dev: list[Question]
    vectors: VectorCache


def is_small(paragraphs: int) -> bool:
    """Whether a recipe of so many is to show that its steps run, not to train."""
    return paragraphs < SMALL_PARAGRAPHS


def gather(recipe: Recipe, data_dir: Path, folder: Path, on_progress: OnProgress | None = None) -> Material:
    """Read, embed and mine; vectors are stored in `folder`. Raises UnreadableFile (data missing)."""
    squad, selqa_qed, dev = map(list, _read_questions(recipe.paragraphs, recipe.seed, Path(data_dir)))
    general = squad + selqa_qed + dev
    vectors = VectorCache(lambda: BiEncoderRanker(load_backbone(), max_length=128), folder, DEFAULT_SHA256)
    starter, reworded = load_questions("starter-train").questions, _reworded_questions(recipe)
    reworded = random.Random(recipe.seed).sample(reworded, min(recipe.reworded, len(reworded)))
    # half precision where the processor has instructions for it
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=has_bfloat16("cpu")):
        vectors.embed(_texts(general), on_progress)
        general = add_hard_negatives(general, vectors, seed=recipe.seed)
    vectors.embed(_texts(starter + reworded), on_progress)
    starter_questions = [q for q in keep_nearest_negatives(starter, vectors) for _ in range(recipe.starter_repeats)]
    own = [replace(q, qid=f"{q.qid}#{i}") for i, q in enumerate(starter_questions)]
    reworded = keep_nearest_negatives(reworded, vectors)
    if recipe.titled:
        vectors.embed([c.titled_text for q in own + reworded for c in q.candidates], on_progress)
    squad, selqa_qed, dev = general[: len(squad)], general[len(squad) : -len(dev)], general[-len(dev) :]
    return Material(squad, selqa_qed, own, reworded, dev, vectors)


def sample_for_cascade(recipe: Recipe, material: Material) -> list[Question]:
    """The questions that a cascade learns from, the starter's and the reworded ones at the end."""
    rng = random.Random(recipe.seed)
    few = rng.sample(material.squad, min(recipe.squad_questions, len(material.squad))) + material.selqa_qed
    few = random.Random(recipe.seed).sample(few, min(recipe.cascade_questions, len(few)))
    few = add_far_negatives(few, material.vectors, each=recipe.far, seed=recipe.seed)
    hard = [q if rng.random() < recipe.titled else q.drop_titles() for q in material.own + material.reworded]
    return [q.drop_titles() for q in few] + hard


def data_sources(recipe: Recipe, data_dir: Path) -> list[dict[str, str]]:
    """The data with its SHA-256, for the card."""
    files = [{"name": name, "sha256": sha256(path)} for name, path in data_files(data_dir).items()]
    folders = " and ".join(f"corpora/{folder}" for folder in recipe.written)
    ours = {
        "starter corpus, train part": load_questions("starter-train").questions,
        f"questions of {folders}": _reworded_questions(recipe),
    }
    return files + [{"name": name, "sha256": digest_content(jsonl.dumps(some))} for name, some in ours.items()]


def data_files(data_dir: Path) -> dict[str, Path]:
    """The data sets' files. Raises UnreadableFile if any is missing."""
    paths = {name: Path(data_dir) / file for name, file in FILES.items()}
    missing = [str(p) for p in paths.values() if not p.is_file()]
    if missing:
        raise UnreadableFile(f"the recipe needs {', '.join(missing)}: give the folder of the data sets with --data-dir")
    return paths


def digest_content(content: object) -> str:
    """SHA-256 of a text, or of a value as JSON."""
    return hashlib.sha256((content if isinstance(content, str) else json.dumps(content)).encode()).hexdigest()


def _reworded_questions(recipe: Recipe) -> list[Question]:
    return [q for folder in recipe.written for q in build(CORPORA / folder)["train"] if q.positives]


def _texts(questions: Sequence[Question]) -> list[str]:
    return [t for q in questions for t in (q.text, *(c.text for c in q.candidates))]


@lru_cache(maxsize=1)  # the models of a run are trained one after another, on the same questions
def _read_questions(paragraphs: int, seed: int, data_dir: Path) -> tuple[tuple[Question, ...], ...]:
    """SQuAD's, then SelQA's and QED's, then dev questions (of SQuAD articles and others that training never sees)."""
    rng = random.Random(seed)
    squad_path, *other_paths = data_files(data_dir).values()
    by_paragraph, dev_titles = _read_squad(squad_path, paragraphs, rng)
    groups = [qs for qs in by_paragraph.values() if len(qs[0].candidates) > 1]
    inside = [qs for qs in groups if _title(qs[0]) not in dev_titles]
    outside = [qs for qs in groups if _title(qs[0]) in dev_titles]
    sample = rng.sample(inside, min(paragraphs, len(inside)))
    squad = [q for qs in sample for q in rng.sample(qs, min(2, len(qs)))]
    dev = [rng.choice(qs) for qs in rng.sample(outside, min(90, paragraphs // 10, len(outside)))]
    others = [q for path in other_paths for q in jsonl.read(path)[0] if q.positives]
    rng.shuffle(others)
    by_title: dict[str, list[Question]] = defaultdict(list)  # questions about one article ask for the same sentences
    for q in others[:150] if is_small(paragraphs) else others:
        by_title[_title(q)].append(q)
    other_dev: list[Question] = []
    while len(other_dev) < (20 if is_small(paragraphs) else 110):
        other_dev += by_title.pop(next(iter(by_title)))
    return tuple(squad), tuple(q for qs in by_title.values() for q in qs), tuple(dev + other_dev)


def _read_squad(path: Path, paragraphs: int, rng: random.Random) -> tuple[dict[str, list[Question]], set[str]]:
    """Questions by paragraph, and the titles of the articles for dev."""
    articles = groupby(stream_questions(path)[0], _title)  # an article's questions stand together
    by_paragraph: dict[str, list[Question]] = defaultdict(list)
    for _, questions in islice(articles, SMALL_ARTICLES) if is_small(paragraphs) else articles:
        for q in questions:
            by_paragraph[q.candidates[0].id.rpartition("-")[0]].append(q)
    titles = {_title(qs[0]) for qs in by_paragraph.values()}
    return by_paragraph, set(rng.sample(sorted(titles), DEV_ARTICLES))


def read_dev_articles(recipe: Recipe, data_dir: Path) -> list[list[Question]]:
    """SQuAD's questions about the articles that the recipe never trains on, an article a list. Raises UnreadableFile
    (data missing)."""
    squad_path = next(iter(data_files(data_dir).values()))
    by_paragraph, dev_titles = _read_squad(squad_path, recipe.paragraphs, random.Random(recipe.seed))
    articles: dict[str, list[Question]] = defaultdict(list)
    for questions in by_paragraph.values():
        if _title(questions[0]) in dev_titles:
            articles[_title(questions[0])] += questions
    return list(articles.values())


def _title(q: Question) -> str:
    return q.candidates[0].title
