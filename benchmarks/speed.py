"""The cascade's time over 100 real candidates at several drop ratios, beside peers on the same weights in the same run.

    python benchmarks/speed.py              prints the table and writes docs/performance.md
    python benchmarks/speed.py --rounds 2   a quick look; writes nothing

Rounds are interleaved (every way once, then again), medians are reported, ratios are to the plain Hugging Face loop:
pairs in the order given, batches of 32, padded to the longest, as sentence-transformers' CrossEncoder runs them.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

from as2core.cascade.schedule import DropSchedule
from as2core.data.catalog import load_questions
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.types import Candidate

ROOT = Path(__file__).resolve().parents[1]
RATIOS = (0.0, 0.3, 0.4, 0.5)


@torch.inference_mode()
def plain_loop(cascade: CascadeRanker, question: str, candidates: list[Candidate]) -> list[float]:
    """The whole model and its last classifier over batches of 32 in the order given."""
    backbone, out = cascade.backbone, []
    for start in range(0, len(candidates), 32):
        part = [c.text for c in candidates[start : start + 32]]
        packed = backbone.encode([question] * len(part), part, max_length=cascade.max_length)
        ids, mask, second = backbone.pad(packed, list(range(len(part))))
        hidden = backbone.run(backbone.embed(ids), mask, 0, backbone.layers)
        out += cascade.module.heads[-1](hidden, mask, second).tolist()
    return out


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=9)
    rounds = options.parse_args().rounds
    cascade, whole, generative = get("cascade"), get("cross-encoder"), get("generative")
    questions = [q for q in load_questions("starter-test").questions if q.positives]
    sentences = list({c.text: c for q in questions for c in q.candidates}.values())[:100]
    asked = questions[0].text
    complete = cascade.trace(asked, sentences, DropSchedule.constant(0.0, exits=len(cascade.exits)))
    ways: dict[str, Callable[[], object]] = {
        "plain Hugging Face loop, batches of 32": lambda: plain_loop(cascade, asked, sentences),
        "whole model, sorted micro-batches (`cross-encoder`)": lambda: whole.score(asked, sentences),
    }
    promised = {}
    for ratio in RATIOS:
        schedule = DropSchedule.constant(ratio, exits=len(cascade.exits), keep=cascade.keep)
        name = f"`cascade:drop_ratio={ratio:g}`"
        ways[name] = lambda s=schedule: cascade.trace(asked, sentences, s)
        promised[name] = 1 - complete.replay(schedule).relative_cost
    ways["replaying a complete trace at 0.3"] = lambda: complete.replay(
        DropSchedule.constant(0.3, exits=len(cascade.exits))
    )
    ways["`generative`, all 100"] = lambda: generative.score(asked, sentences)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, run in ways.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(t) for name, t in times.items()}
    base = next(iter(medians.values()))
    lines = [
        "# Performance",
        "",
        f"100 sentences of the starter corpus against one question, {torch.get_num_threads()} threads, float32, "
        f"medians of {rounds} interleaved rounds. Printed and written by `python benchmarks/speed.py`. "
        "Machines differ and this one is shared: the ratios within one run are what counts.",
        "",
        "| way | ms | times the plain loop | compute saved, promised |",
        "|---|---|---|---|",
    ]
    for name, seconds in medians.items():
        saved = f"{promised[name]:.0%}".replace("-0%", "0%") if name in promised else ""  # the extra heads cost .3 %
        lines.append(f"| {name} | {seconds * 1000:,.1f} | {base / seconds:,.2f} | {saved} |")
    print("\n".join(lines))
    if rounds >= 9:
        (ROOT / "docs" / "performance.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
