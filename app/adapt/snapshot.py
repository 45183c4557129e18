"""The labels of one retrain, composed and written down: training, validation and held-out questions, and the replay.

The preview on the page and the job compose alike, but a page does not wait for a model: until a job has embedded the
questions, the preview finds near-duplicates by their words alone. A job composes once; another attempt reads what the
first one wrote.
"""

import json
import math
import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np

from app.adapt import label_selection, splitting
from app.adapt.settings import RetrainSettings
from app.corpora.synonyms import read_synonyms
from app.labels.consensus import LabelledQuestion
from app.versions.benchmarks import load_benchmarks, load_starter
from app.versions.evaluations import hash_questions
from app.workbench.workbench import Workbench
from as2core.data import jsonl
from as2core.errors import NotEnoughLabels
from as2core.questions.synonyms import Synonyms
from as2core.system.files import replace_file
from as2core.training.mining import VectorCache
from as2core.types import OnProgress, Question

PARTS = ("train", "dev", "held_out", "replay")
VALIDATION_QUESTIONS, VALIDATION_CANDIDATES = 40, 24  # scored after every epoch


@dataclass(frozen=True, slots=True)
class Composition:
    """`questions`: all, with the labels selected. `replay`: shipped questions mixed in against forgetting."""

    questions: tuple[LabelledQuestion, ...]
    parts: splitting.Split
    replay: tuple[Question, ...]

    @property
    def presumed_count(self) -> int:
        """How many unlabelled candidates of the training questions count as incorrect."""
        labels = {x.question.qid: x.question.negatives for x in self.questions}
        return sum(q.negatives - labels[q.qid] for q in self.parts.train)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A composition as it was written down, and its SHA-256. Its questions are as they were asked; `read` makes them
    those that a ranker reads, with the corpus's synonyms. `origins`: how many of the training questions were asked,
    proposed, imported; `givers`: who gave how many of their labels; both empty in one of an older program.
    `presumed_count`: how many of their incorrect sentences carry no label; None in one of an older program."""

    parts: splitting.Split
    replay: tuple[Question, ...]
    choice: label_selection.LabelSelection
    digest: str
    origins: Mapping[str, int]
    givers: Mapping[str, int]
    synonyms: Synonyms
    presumed_count: int | None = None

    def read(self, questions: Sequence[Question]) -> tuple[Question, ...]:
        return self.synonyms.expand_all(questions)

    def prepare_training(self, train: Sequence[Question]) -> Self:
        """With these training questions, and validation questions, as a ranker reads them."""
        return replace(self, parts=replace(self.parts, train=self.read(train), dev=self.read(self.parts.dev)))

    @property
    def training_questions(self) -> list[Question]:
        return [*self.parts.train, *self.replay]


def compose(
    wb: Workbench,
    corpus_id: int,
    settings: RetrainSettings,
    *,
    trained_on: Sequence[str] = (),
    preview: bool = False,
    on_progress: OnProgress | None = None,
) -> Composition:
    """`trained_on`: questions that the base or its ancestors were trained on. A `preview` embeds nothing."""
    starter, benchmarks = load_starter(wb, "train"), load_benchmarks(wb).values()
    questions = label_selection.load(wb, corpus_id, settings.choice, seed=settings.seed)
    parts = splitting.split(
        questions,
        embed=partial(embed_questions, wb, known_only=preview, on_progress=on_progress),
        trained_on=list(dict.fromkeys([*trained_on, *(q.text for q in starter)])),
        benchmarks=[q.text for benchmark in benchmarks for q in benchmark],
        to_training=partial(label_selection.presume_incorrect, number=settings.choice.presumed, seed=settings.seed),
    )
    replay = sample_replay(starter, parts, settings.replay, settings.seed)
    return Composition(tuple(questions), _narrow_training(questions, parts, settings.choice.questions), replay)


def _narrow_training(
    questions: Sequence[LabelledQuestion], parts: splitting.Split, ids: Collection[int]
) -> splitting.Split:
    """To the questions of these ids, after the split: a held-out question stays held out whatever is chosen."""
    if not ids:
        return parts
    qids = {x.question.qid for x in questions if x.id in ids}
    return replace(parts, train=tuple(q for q in parts.train if q.qid in qids))


def embed_questions(
    wb: Workbench, texts: Sequence[str], *, known_only: bool = False, on_progress: OnProgress | None = None
) -> np.ndarray | None:
    """Unit vectors of questions `(n, width)`, each embedded once; None if `known_only` and some are not yet."""
    if known_only and not (wb.settings.local / "vectors.npz").exists():
        return None
    cache = VectorCache(wb.models.embedder, wb.settings.local, wb.models.embedder_weights())
    if not known_only:
        cache.embed(texts, on_progress)
    return cache.get(texts) if cache.has_all(texts) else None


def sample_replay(starter: Sequence[Question], parts: splitting.Split, share: float, seed: int) -> tuple[Question, ...]:
    """A share of the shipped questions, drawn by the seed, without those that are among the labelled ones."""
    texts = {q.text for part in (parts.train, parts.dev, parts.held_out) for q in part}
    usable = [q for q in starter if q.has_both_labels and q.text not in texts]
    sample = sorted(random.Random(seed).sample(usable, math.ceil(share * len(usable))), key=lambda q: q.qid)
    return tuple(replace(q, qid=f"replay {q.qid}") for q in sample)


def freeze(
    wb: Workbench,
    corpus_id: int,
    folder: Path,
    settings: RetrainSettings,
    trained_on: Sequence[str] = (),
    on_progress: OnProgress | None = None,
) -> Snapshot:
    """The composition as it was when the job first ran, written to `folder` then. Raises NotEnoughLabels if nothing is
    left to train on or to hold out."""
    file = folder / "snapshot.jsonl"
    if not file.exists():
        whole = compose(wb, corpus_id, settings, trained_on=trained_on, on_progress=on_progress)
        train_ids = {q.qid for q in whole.parts.train}
        train = [x for x in whole.questions if x.question.qid in train_ids]
        head = {
            "choice": settings.choice.to_json(),
            "origins": dict(Counter(x.origin for x in train).most_common()),
            "synonyms": str(read_synonyms(wb, corpus_id)),
            "givers": label_selection.count_givers(wb, corpus_id, settings.choice, {x.id for x in train}),
            "presumed": whole.presumed_count,
        }
        by_part = zip(PARTS, (whole.parts.train, whole.parts.dev, whole.parts.held_out, whole.replay), strict=True)
        records = [{"part": part, **jsonl.to_record(q)} for part, questions in by_part for q in questions]
        lines = (json.dumps(record, ensure_ascii=False) for record in (head, *records))
        with replace_file(file) as part:
            part.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read(file)


def read(file: Path) -> Snapshot:
    """What `freeze` wrote. Raises NotEnoughLabels if it has nothing to train on or to hold out."""
    parts: dict[str, list[Question]] = {part: [] for part in PARTS}
    first, *lines = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")  # a text may hold a U+2028
    for line in lines:
        record = json.loads(line)
        parts[record.pop("part")].append(jsonl.from_record(record))
    if not parts["train"] or not parts["held_out"]:
        raise NotEnoughLabels("labels were withdrawn: nothing is left to train on, or to hold out")
    head = json.loads(first)
    train, dev, held_out, replay = (tuple(parts[part]) for part in PARTS)
    synonyms = Synonyms.parse(head.get("synonyms", ""))
    return Snapshot(
        splitting.Split(train, dev, held_out),
        replay,
        label_selection.LabelSelection.from_json(head["choice"]),
        hash_questions([*synonyms.expand_all([*train, *dev, *held_out]), *replay]),
        head.get("origins", {}),
        head.get("givers", {}),
        synonyms,
        head.get("presumed"),
    )


def sample_validation(dev: Sequence[Question], seed: int) -> list[Question]:
    """Dev questions cut down to what can be scored after every epoch: all correct candidates and a sample of others."""
    rng = random.Random(seed)
    usable = [q for q in dev if q.has_both_labels]
    sample = []
    for q in sorted(rng.sample(usable, min(VALIDATION_QUESTIONS, len(usable))), key=lambda q: q.qid):
        others = [i for i, c in enumerate(q.candidates) if c.label != 1]
        indices = set(rng.sample(others, min(len(others), max(1, VALIDATION_CANDIDATES - q.positives))))
        candidates = tuple(c for i, c in enumerate(q.candidates) if c.label == 1 or i in indices)
        sample.append(replace(q, candidates=candidates))
    return sample
