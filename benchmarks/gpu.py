"""How quick the cascade is on a GPU, many questions of very many candidates at once, against sentence-transformers.

    python benchmarks/gpu.py            prints all and writes its part of docs/performance.md; says so where no GPU is
    python benchmarks/gpu.py --quick    a few pairs, on the CPU in float32 where there is no GPU; writes nothing

The same weights in bfloat16 for everyone; tokenising counts. Rounds are interleaved and medians told. The peer is timed
where it is installed (the extra `bench`), with its own batch size and with a large one.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import _peers
import numpy as np
import torch

from as2core.cascade.schedule import DropSchedule
from as2core.data.catalog import load_questions
from as2core.experiments.base import write_section
from as2core.metrics import measure_mean, order
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.types import Candidate, Question

ROOT = Path(__file__).resolve().parents[1]
QUESTIONS, CANDIDATES, ROUNDS = 64, 1300, 5
BATCHES = (32, 1024)  # the peer's: its default, and one that fills the device
RATIOS = (0.0, 0.3, 0.5)
Batch = list[tuple[str, list[Candidate]]]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    quick = options.parse_args().quick
    gpu = torch.cuda.is_available()
    if not gpu and not quick:
        print("no GPU here: not measured")
        return
    parts = ("test", "dev", "train")
    labelled = [q for p in parts for q in load_questions(f"starter-{p}").questions if q.positives and q.negatives]
    sizes = (2, 12, 1) if quick else (QUESTIONS, CANDIDATES, ROUNDS)
    device = torch.device("cuda" if gpu else "cpu")
    ranker = get("cascade:engine=torch")
    lines = [
        "## On a GPU",
        "",
        f"Printed and written by `python benchmarks/gpu.py`, on {torch.cuda.get_device_name() if gpu else 'the CPU'}.",
        "",
        *same_ranking(ranker, labelled[: 2 if quick else 100], device),
        *speed(ranker, labelled, device, *sizes),
    ]
    print("\n".join(lines))
    if not quick:
        write_section(ROOT / "docs" / "performance.md", "gpu", "\n".join(lines))


def same_ranking(ranker: CascadeRanker, questions: list[Question], device: torch.device) -> list[str]:
    """What the engine gives on the device against float32 on the CPU, nothing dropped."""
    nothing = DropSchedule.constant(0.0, exits=len(ranker.exits))
    batch = [(q.text, q.candidates) for q in questions]
    scores = []
    for place in (torch.device("cpu"), device):
        ranker.module.to(place)
        scores.append([t.exits[-1].scores for t in ranker.trace_many(batch, nothing)])
    ap = [100 * measure_mean(questions, _by_id(questions, s), ("AP",))["AP"] for s in scores]
    same = np.mean([order(a)[0] == order(b)[0] for a, b in zip(*scores, strict=True)])
    return [
        f"Against float32 on the CPU, over {len(questions)} starter questions with their own candidates: the same top "
        f"candidate in {same:.1%}, AP {ap[1]:.1f} instead of {ap[0]:.1f}.",
        "",
    ]


def _by_id(questions: list[Question], scores: list[np.ndarray]) -> dict[str, np.ndarray]:
    return {q.qid: s for q, s in zip(questions, scores, strict=True)}


def speed(
    ranker: CascadeRanker, labelled: list[Question], device: torch.device, questions: int, candidates: int, rounds: int
) -> list[str]:
    pool = list({c.text: replace(c, label=None) for q in labelled for c in q.candidates}.values())
    sentences = [pool[i % len(pool)] for i in range(candidates)]
    batch: Batch = [(q.text, sentences) for q in labelled[:questions]]
    pairs = [(q, c.titled_text) for q, candidates in batch for c in candidates]
    ways: dict[str, Callable[[], object]] = {}
    with tempfile.TemporaryDirectory() as folder:
        if _peers.has("sentence_transformers"):
            dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
            peer = _peers.cross_encoder(ranker, Path(folder) / "peer", device=device.type, dtype=dtype)
            for size in BATCHES:
                ways[f"sentence-transformers CrossEncoder, batches of {size}"] = lambda size=size: peer.predict(
                    pairs, batch_size=size, show_progress_bar=False
                )
        whole = get("cross-encoder:engine=torch")
        ways["whole model, torch engine"] = lambda: whole.trace_many(batch)
        for ratio in RATIOS:
            schedule = DropSchedule.constant(ratio, exits=len(ranker.exits), keep=ranker.keep)
            ways[f"`cascade:drop_ratio={ratio:g}`"] = lambda s=schedule: ranker.trace_many(batch, s)
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(1 + rounds):  # the first warms up
            for name, way in ways.items():
                started_at = time.perf_counter()
                way()  # all of them end with the scores on the CPU, so nothing is still running
                if number:
                    seconds[name].append(time.perf_counter() - started_at)
    medians = {name: statistics.median(t) for name, t in seconds.items()}
    best = min((t for name, t in medians.items() if "CrossEncoder" in name), default=None)
    return [
        f"{len(batch)} questions of {candidates:,} candidates, medians of {rounds} rounds:",
        "",
        "| way | s | candidates/s | speed-up over the better CrossEncoder |",
        "|---|---|---|---|",
        *(
            f"| {name} | {t:.2f} | {len(pairs) / t:,.0f} | {'' if best is None else f'{best / t:.1f}'} |"
            for name, t in medians.items()
        ),
    ]


if __name__ == "__main__":
    main()
