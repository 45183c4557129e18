"""The labels of one retrain, composed and written down: what is learnt from, steered by, judged by and replayed.

The preview on the page and the job use the same composition, but a page does not wait for a model: until a job has
embedded the questions, the preview knows near-duplicates by their words alone. A job composes once; another attempt
reads what the first one wrote.
"""

from __future__ import annotations

import json
import logging
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from app.services import choosing, splitting
from app.services.choosing import Choice
from app.services.evaluations import data_hash
from app.services.labels import Labelled
from app.services.splitting import Split
from app.services.workbench import Workbench
from as2core.errors import As2Error, NotEnoughLabels
from as2core.types import Question

log = logging.getLogger(__name__)

FROZEN, WIKIQA = "starter-test", "wikiqa-dev"
PARTS = ("train", "dev", "held_out", "replay")
REPLAY = 0.25  # the share of the shipped training questions that is mixed in
STEER_QUESTIONS, STEER_CANDIDATES = 40, 24  # dev questions and their candidates looked at while training


@dataclass(frozen=True, slots=True)
class Composition:
    """`found`: all questions as the choice labels them. `replay`: shipped questions mixed in against forgetting."""

    found: tuple[Labelled, ...]
    parts: Split
    replay: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A composition as it was written down, and its SHA-256. `origins`: how many of the questions to train on were
    asked, proposed, imported; `givers`: who gave how many of their labels. Both empty in one of an older program."""

    parts: Split
    replay: tuple[Question, ...]
    choice: Choice
    digest: str
    origins: Mapping[str, int]
    givers: Mapping[str, int]

    @property
    def learnt(self) -> list[Question]:
        """All that is trained on."""
        return [*self.parts.train, *self.replay]


def compose(
    wb: Workbench,
    corpus_id: int,
    choice: Choice,
    *,
    seen: Sequence[str] = (),
    replay: float = 0.0,
    seed: int = 0,
    preview: bool = False,
) -> Composition:
    """`seen`: questions that the base or its ancestors learnt from. A `preview` embeds nothing anew."""
    shipped, frozen = starter(wb, "train"), [q for found in benchmarks(wb).values() for q in found]
    found = choosing.load(wb, corpus_id, choice)
    parts = splitting.split(
        found,
        embed=partial(vectors, wb, known_only=preview),
        seen=list(dict.fromkeys([*seen, *(q.text for q in shipped)])),
        frozen=[q.text for q in frozen],
        learnt=partial(choosing.with_presumed, presumed=choice.presumed, seed=seed),
    )
    return Composition(tuple(found), parts, replayed(shipped, parts, replay, seed))


def vectors(wb: Workbench, texts: Sequence[str], *, known_only: bool = False) -> np.ndarray | None:
    """Unit vectors of questions `(n, width)`, each embedded once a home; None if `known_only` and some are not yet."""
    if known_only and not (wb.settings.home / "vectors.npz").exists():
        return None
    from as2core.training.mining import Vectors

    known = Vectors(wb.models.embedder, wb.settings.home)
    if not known_only:
        known.learn(texts)
    return known.of(texts) if known.knows(texts) else None


def starter(wb: Workbench, part: str) -> list[Question]:
    """The shipped questions of a part that have a correct candidate, [] where the corpus is not there. What was learnt
    from the train part is no secret to any base; the test part is the frozen benchmark."""
    from as2core.data import jsonl

    file = wb.settings.corpora_dir / "starter" / f"{part}.jsonl"
    return list(jsonl.read(file)[0]) if file.is_file() else []


def benchmarks(wb: Workbench) -> dict[str, list[Question]]:
    """The frozen questions that are at hand, by name: no retrain learns from them or from what nearly repeats them."""
    found = {FROZEN: starter(wb, "test"), WIKIQA: _wikiqa(wb.settings.data_dir)}
    return {name: questions for name, questions in found.items() if questions}


def _wikiqa(data_dir: Path | None) -> list[Question]:
    from as2core.data.catalog import apply_setting, load_questions

    file = data_dir / "wikiqa" / "WikiQA-dev.tsv" if data_dir else None
    if file is None or not file.is_file():
        return []
    try:
        return apply_setting(load_questions(file).questions, "clean")
    except As2Error as e:
        log.warning("WikiQA dev is no benchmark now: %s", e)
        return []


def replayed(shipped: Sequence[Question], parts: Split, share: float, seed: int) -> tuple[Question, ...]:
    """A share of the shipped questions, drawn by the seed, without those that are among the labelled ones anyway."""
    there = {q.text for part in (parts.train, parts.dev, parts.held_out) for q in part}
    able = [q for q in shipped if q.positives and q.negatives and q.text not in there]
    wanted = math.ceil(share * len(able))
    drawn = sorted(random.Random(seed).sample(able, wanted), key=lambda q: q.qid)
    return tuple(replace(q, qid=f"replay {q.qid}") for q in drawn)


def frozen(
    wb: Workbench, corpus_id: int, folder: Path, settings: Mapping[str, Any], seen: Sequence[str] = ()
) -> Snapshot:
    """The composition as it was when the job first ran, written down then. Raises NotEnoughLabels if nothing is left
    to train on or to judge by."""
    from as2core.data import jsonl

    file = folder / "snapshot.jsonl"
    if not file.exists():
        choice = Choice.of(settings.get("choice"))
        made = compose(
            wb,
            corpus_id,
            choice,
            seen=seen,
            replay=settings.get("replay") or 0.0,
            seed=settings.get("seed", 0),
        )
        asked = [(part, q) for part in PARTS for q in getattr(made.parts, part, made.replay)]
        learnt = {q.qid for q in made.parts.train}
        of = [x for x in made.found if x.question.qid in learnt]
        head = {
            "choice": choice.stored(),
            "origins": dict(Counter(x.origin for x in of).most_common()),
            "givers": choosing.givers(wb, corpus_id, choice, {x.id for x in of}),
        }
        lines = [json.dumps(head, ensure_ascii=False)]
        lines += [json.dumps({"part": part, **jsonl.to_record(q)}, ensure_ascii=False) for part, q in asked]
        making = file.with_suffix(".part")
        making.write_text("\n".join(lines) + "\n", encoding="utf-8")
        making.rename(file)
    return read(file)


def read(file: Path) -> Snapshot:
    """What `frozen` wrote. Raises NotEnoughLabels if nothing is in it to train on or to judge by."""
    from as2core.data import jsonl

    found: dict[str, list[Question]] = {part: [] for part in PARTS}
    first, *lines = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")  # a text may hold a U+2028
    for line in lines:
        record = json.loads(line)
        found[record.pop("part")].append(jsonl.from_record(record))
    if not found["train"] or not found["held_out"]:
        raise NotEnoughLabels("the labels were withdrawn meanwhile: nothing is left to train on or to judge by")
    digest = data_hash([q for part in PARTS for q in found[part]])
    *parts, replay = (tuple(found[part]) for part in PARTS)
    head = json.loads(first)
    choice = Choice.of(head["choice"])
    return Snapshot(Split(*parts), replay, choice, digest, head.get("origins", {}), head.get("givers", {}))


def steering(dev: Sequence[Question], seed: int) -> list[Question]:
    """Dev questions cut down to what can be scored after every epoch: all correct candidates and a sample of others."""
    rng = random.Random(seed)
    able = [q for q in dev if q.positives and q.negatives]
    chosen = sorted(rng.sample(able, min(STEER_QUESTIONS, len(able))), key=lambda q: q.qid)
    cut = []
    for q in chosen:
        others = [i for i, c in enumerate(q.candidates) if c.label != 1]
        kept = set(rng.sample(others, min(len(others), max(1, STEER_CANDIDATES - q.positives))))
        candidates = tuple(c for i, c in enumerate(q.candidates) if c.label == 1 or i in kept)
        cut.append(Question(q.qid, q.text, candidates, q.kind))
    return cut
