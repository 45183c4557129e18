"""A handful of each shipped corpus: a folder for AS2_CORPORA_DIR that is read in a moment and retrained on in half a
minute. Every question keeps its correct sentences and three others of the same article: 60 labels to train on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "corpora"
QUESTIONS = {
    "starter": {"train": 15, "dev": 6, "test": 4},
    "handbook": {"train": 24, "dev": 4, "test": 20},
}
OTHERS = 3


def write(folder: Path) -> Path:
    """Write both shipped corpora under `folder`, which is returned."""
    for name, sizes in QUESTIONS.items():
        _write_corpus(name, sizes, folder / name)
    return folder


def _write_corpus(name: str, sizes: Mapping[str, int], target: Path) -> None:
    (target / "articles").mkdir(parents=True)
    articles = set()
    for split, size in sizes.items():
        lines = []
        for line in (SOURCE / name / f"{split}.jsonl").read_text(encoding="utf-8").splitlines():
            question = json.loads(line)
            candidates = _reduce(question["candidates"])
            if candidates and len(lines) < size:
                articles |= {_article(c) for c in candidates}
                lines.append(json.dumps({**question, "candidates": candidates}))
        (target / f"{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for article in articles:
        shutil.copy(SOURCE / name / "articles" / f"{article}.md", target / "articles")
    shutil.copy(SOURCE / name / "vectors.npz", target)  # or a worker embeds them first


def _reduce(candidates: list[dict]) -> list[dict]:
    correct = [c for c in candidates if c["label"] == 1]
    if not correct:
        return []
    home = _article(correct[0])
    others = [c for c in candidates if c["label"] == 0 and _article(c) == home][:OTHERS]
    ids = {c["id"] for c in (*correct, *others)}
    return [c for c in candidates if c["id"] in ids]


def _article(candidate: dict) -> str:
    return candidate["id"].rpartition("-")[0]
