"""Evaluations that are kept: the same ranker on the same data is never scored twice."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from app.services.versions import located
from app.services.workbench import Workbench
from as2core.errors import As2Error
from as2core.evaluation import Cut, Evaluation, evaluate
from as2core.types import OnProgress, Question
from db.repositories import versions as rows


def evaluated(
    wb: Workbench,
    name: str,
    questions: Sequence[Question],
    *,
    data: str,
    setting: str = "clean",
    ranker: Any = None,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """The evaluation of a version or catalog spec, from the store or made now and stored. `ranker` is the loaded one,
    if it is at hand. Raises BadSetting, UnknownRanker, DamagedModel."""
    key, digest = ranker_key(wb, name), data_hash(questions)
    with wb.read() as s:
        known = rows.evaluation(s, key, digest, setting)
        if known is not None and "cuts" in known.result:  # older ones do not tell where candidates were dropped
            return from_stored(known.result, name, setting)
    made = evaluate(
        ranker if ranker is not None else load(wb, name), questions, setting=setting, on_progress=on_progress
    )
    with wb.write() as s:
        rows.put_evaluation(s, key, digest, setting, ranker=name, data=data, result=to_stored(made), now=wb.clock())
    return made


def load(wb: Workbench, name: str) -> Any:
    """A ranker by a version's name or directory, or a catalog spec. Raises UnknownRanker, BadSetting, DamagedModel."""
    at = located(wb, name)
    return wb.models.named(name) if at is None else wb.models.version(*at)


def ranker_key(wb: Workbench, name: str) -> str:
    """The name, and for models the digest of their cards, which carry those of their weights. A ranker made of others
    may hold any of the shipped ones."""
    from as2core.rankers.catalog import CATALOG

    kind = name.partition(":")[0]
    if at := located(wb, name):
        folders = [at[0]]
    elif kind in CATALOG and CATALOG[kind].nested:
        folders = sorted(wb.settings.models_dir.glob("*"))
    else:
        folders = [wb.settings.models_dir / {"cross-encoder": "cascade"}.get(kind, kind)]
    digest = hashlib.sha256()
    for folder in folders:
        try:
            digest.update((folder / "card.json").read_bytes())
        except OSError:
            continue
    return f"{name}@{digest.hexdigest()[:16]}"


def data_hash(questions: Sequence[Question]) -> str:
    from as2core.data.jsonl import dumps

    return hashlib.sha256(dumps(questions).encode()).hexdigest()


def plain(value: Any) -> Any:
    """The value as JSON has it: arrays as lists, a number that is none as null."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(v) for v in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value


def to_stored(e: Evaluation) -> dict[str, Any]:
    return plain(
        {
            "questions": e.questions,
            "metrics": e.metrics,
            "per_question": e.per_question,
            "scores": e.scores,
            "seconds": e.seconds,
            "relative_cost": e.relative_cost,
            "cuts": [asdict(cut) for cut in e.cuts],
        }
    )


def from_stored(stored: dict[str, Any], name: str, setting: str) -> Evaluation:
    try:
        scores = {qid: np.array(values, dtype=np.float32) for qid, values in stored["scores"].items()}
        return Evaluation(
            name,
            setting,
            stored["questions"],
            stored["metrics"],
            stored["per_question"],
            scores,
            stored["seconds"],
            stored["relative_cost"],
            tuple(Cut(**{**cut, "lost": tuple(cut["lost"])}) for cut in stored["cuts"]),
        )
    except (KeyError, TypeError) as e:
        raise As2Error(f"a stored evaluation of {name} cannot be read ({json.dumps(str(e))}): compare again") from e
