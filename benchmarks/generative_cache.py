"""The generative ranker over 100 real sentences: reading them with the question, against having read them before.

    python benchmarks/generative_cache.py              prints the table and writes its part of docs/performance.md
    python benchmarks/generative_cache.py --quick      a little of it; writes nothing

Rounds are interleaved (every way once, then again), with another question each round, and medians are reported. A
cached round reads every sentence's states from the file.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from as2core.data.catalog import load_questions
from as2core.experiments.base import write_section
from as2core.metrics import order
from as2core.rankers.catalog import get
from as2core.rankers.generative import GenerativeRanker
from as2core.rankers.passage_cache import PassageCache

ROOT = Path(__file__).resolve().parents[1]
CANDIDATES, ROUNDS = 100, 9


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    quick = options.parse_args().quick
    rounds, candidates = (1, 10) if quick else (ROUNDS, CANDIDATES)
    questions = [q for q in load_questions("starter-test").questions if q.positives]
    sentences = list({c.text: c for q in questions for c in q.candidates}.values())[:candidates]
    module = get("generative").module
    tokens = [len(i) for i in module.tokenizer([c.titled_text for c in sentences])["input_ids"]]
    question_tokens = [len(i) for i in module.tokenizer([q.text for q in questions[:rounds]])["input_ids"]]
    with tempfile.TemporaryDirectory() as folder:
        cache = PassageCache(Path(folder) / "kept.db")
        fast_cache = PassageCache(Path(folder) / "fast.db")
        ways = {
            "uncached, float32": GenerativeRanker(module),
            "uncached, bfloat16": GenerativeRanker(module, fast=True),
            "cached, float32": GenerativeRanker(module, cache=cache),
            "cached, bfloat16 (what the pages use without ONNX Runtime)": GenerativeRanker(
                module, cache=fast_cache, fast=True
            ),
            "uncached, int8": GenerativeRanker(module),
            "cached, int8 (what the pages use)": GenerativeRanker(
                module, cache=PassageCache(Path(folder) / "int8.db"), fast=True
            ),
        }
        for ranker in list(ways.values())[4:]:
            ranker.prepare_engine(Path(folder) / "graphs")
            ranker.prepared.wait()
        filling = {}
        for name in [n for n in ways if n.startswith("cached")]:  # the first question fills the cache
            started = time.perf_counter()
            ways[name].score(questions[-1].text, sentences)
            filling[name] = time.perf_counter() - started
        megabytes = cache.size_bytes / 1e6
        times: dict[str, list[float]] = {name: [] for name in ways}
        scores: dict[str, list[np.ndarray]] = {name: [] for name in ways}
        for i in range(rounds):
            for name, ranker in ways.items():
                started = time.perf_counter()
                scores[name].append(ranker.score(questions[i % len(questions)].text, sentences))
                times[name].append(time.perf_counter() - started)
        for ranker in ways.values():
            if ranker.cache is not None:
                ranker.cache.close()
    medians = {name: statistics.median(t) for name, t in times.items()}
    exact, base = scores["uncached, float32"], medians["uncached, float32"]
    n, long, short = len(sentences), statistics.mean(tokens), statistics.mean(question_tokens)
    lines = [
        "## Generative scores from cached sentences",
        "",
        f"{n} sentences of the starter corpus ({long:.0f} tokens on average) against one question ({short:.0f} tokens),"
        f" a different one each round, {torch.get_num_threads()} threads, medians of {rounds} interleaved rounds. "
        "Printed and written by `python benchmarks/generative_cache.py`.",
        "",
        "| way | ms | speed-up | speed-up within the precision | first question, ms | largest score difference "
        "| same best sentence |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, seconds in medians.items():
        differs = max(np.abs(a - b).max() for a, b in zip(scores[name], exact, strict=True))
        same = sum(order(a)[0] == order(b)[0] for a, b in zip(scores[name], exact, strict=True))
        first = f"{filling[name] * 1000:,.0f}" if name in filling else ""
        alike = medians[f"uncached, {name.split()[1].rstrip(',')}"]
        speed = f"{seconds * 1000:,.0f} | {base / seconds:.1f} | {alike / seconds:.1f}"
        lines.append(f"| {name} | {speed} | {first} | {differs:.4f} | {same} of {len(exact)} |")
    lines += [
        "",
        f"The cached sentences take {megabytes:.0f} MB on disk ({megabytes / n * 1000:.0f} kB each, float16). Without "
        f"them, a question sends {n * (long + short):,.0f} tokens through the layers, with them {n * short:,.0f}. The "
        "output layer over the whole vocabulary costs about as much per token as all layers together, and runs on the "
        "question's tokens in both cases. The lengths therefore limit the saving in float32. The rest comes from "
        "bfloat16 layers and, with cached sentences, an int8 output layer; or from int8 throughout, where up to six "
        "sentences near the best are scored again in float32.",
    ]
    print("\n".join(lines))
    if not quick:
        write_section(ROOT / "docs" / "performance.md", "generative-cache", "\n".join(lines))


if __name__ == "__main__":
    main()
