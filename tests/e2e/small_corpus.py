"""A handful of the starter corpus: a folder for AS2_CORPORA_DIR that is read in a moment and retrained on in half a
minute. Every question keeps its correct sentences and three others of the same article: 60 labels to train on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "corpora" / "starter"
QUESTIONS = {"train": 15, "dev": 6, "test": 4}
OTHERS = 3


def write(folder: Path) -> Path:
    """Write it under `folder`, which is returned."""
    target = folder / "starter"
    (target / "articles").mkdir(parents=True)
    articles = set()
    for split, wanted in QUESTIONS.items():
        lines = []
        for line in (SOURCE / f"{split}.jsonl").read_text(encoding="utf-8").splitlines():
            question = json.loads(line)
            kept = _kept(question["candidates"])
            if kept and len(lines) < wanted:
                articles |= {_article(c) for c in kept}
                lines.append(json.dumps({**question, "candidates": kept}))
        (target / f"{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name in articles:
        shutil.copy(SOURCE / "articles" / f"{name}.md", target / "articles")
    return folder


def _kept(candidates: list[dict]) -> list[dict]:
    correct = [c for c in candidates if c["label"] == 1]
    if not correct:
        return []
    home = _article(correct[0])
    others = [c for c in candidates if c["label"] == 0 and _article(c) == home][:OTHERS]
    chosen = {c["id"] for c in (*correct, *others)}
    return [c for c in candidates if c["id"] in chosen]


def _article(candidate: dict) -> str:
    return candidate["id"].rpartition("-")[0]
