"""What training on a set as large as ASNQ takes, whose questions stay in their file: memory, and the time of reading.

    python benchmarks/large_training.py                  5 million pairs; prints the table and writes it to
                                                         docs/techniques/transfer-and-adapt.md (20 minutes)
    python benchmarks/large_training.py --pairs 20000    so many; writes nothing

The set is generated: questions of 350 candidates, as ASNQ has them. Each way runs in a process of its own. The model
is a tiny random one, so that its own share is small; batches are TandA's, 32 pairs of any questions, and training is
stopped after a few steps. "In memory" is a tenth of the set, read whole. The set's share of the peak is what the
process needs more than after training on two questions.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

from as2core.experiments.base import write_section

ROOT = Path(__file__).resolve().parents[1]
PAIRS, CANDIDATES, BATCHES, STEPS = 5_000_000, 350, 500, 20
WORDS = "tower bridge river iron steel water bread music heart cell city winter the was built in of a by and".split()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--pairs", type=int, default=PAIRS)
    options.add_argument("--measure", nargs=2, metavar=("FILE", "MIN_BYTES"), help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.measure:
        print(json.dumps(measure(Path(arguments.measure[0]), float(arguments.measure[1]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        lines = report(Path(folder), arguments.pairs)
    print("\n".join(lines))
    if arguments.pairs == PAIRS:
        write_section(ROOT / "docs" / "techniques" / "transfer-and-adapt.md", "large", "\n".join(lines))


def report(folder: Path, pairs: int) -> list[str]:
    whole, tenth = generate(folder / "whole.tsv", pairs), generate(folder / "tenth.tsv", pairs // 10)
    rows = [
        "| pairs | file, MB | questions | peak, MB | of it the set, MB | open, s | plan, s | a batch, ms |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for path, where, min_bytes in (
        (tenth, "in memory", "inf"),
        (tenth, "in the file", "0"),
        (whole, "in the file", "0"),
    ):
        result = run(path, min_bytes)
        size = path.stat().st_size / 1e6
        peaks = f"{result['peak']:,.0f} | {result['peak'] - result['start']:,.0f}"
        times = f"{result['open']:,.0f} | {result['plan']:,.0f} | {result['batch']:.1f}"
        rows.append(f"| {result['pairs']:,} | {size:,.0f} | {where} | {peaks} | {times} |")
    return [f"Printed and written by `python benchmarks/large_training.py`, {STEPS} steps each.", "", *rows]


def generate(path: Path, pairs: int, seed: int = 0) -> Path:
    """ASNQ's rows; one candidate of each question is correct."""
    rng = random.Random(seed)
    sentences = [" ".join(rng.choices(WORDS, k=rng.randint(8, 40))) for _ in range(10_000)]
    with path.open("w") as file:
        for i in range(-(-pairs // CANDIDATES)):
            question = f"when was the {rng.choice(WORDS)} of {i} built"
            correct = rng.randrange(CANDIDATES)
            texts = rng.choices(sentences, k=min(CANDIDATES, pairs - i * CANDIDATES))
            file.writelines(f"{question}\t{t}\t{4 if j == correct else 1}\n" for j, t in enumerate(texts))
    return path


def run(path: Path, min_bytes: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", str(path), min_bytes]
    return dict(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))


def measure(path: Path, min_bytes: float) -> dict[str, float]:
    """Train a few steps on the file; seconds, and MB at the peak and before the set is opened."""
    from as2core.data.catalog import matches_setting, open_questions
    from as2core.data.lazy_questions import filter_questions
    from as2core.errors import Cancelled
    from as2core.training.fine_tune import fine_tune
    from as2core.training.loop import RunControl
    from as2core.training.plan import plan_batches
    from as2core.training.settings import UNLIMITED, TrainSettings

    settings = TrainSettings(by_pairs=True, batch_questions=32, positives=UNLIMITED, negatives=UNLIMITED)
    with tempfile.TemporaryDirectory() as folder:
        ranker, small = tiny_ranker(Path(folder)), generate(Path(folder, "small.tsv"), 2 * CANDIDATES)
        warm = fine_tune(ranker, open_questions(small)[0], [], settings, workdir=Path(folder, "warm"))
        start, clock = peak(), time.monotonic()
        questions, report = open_questions(path, min_bytes=min_bytes)
        questions = filter_questions(questions, lambda q: matches_setting(q, "no-all-neg"))
        opened = time.monotonic()
        batches = plan_batches(questions, settings, exits=1, needs="label")
        planned = time.monotonic()
        texts = [batches[i % len(batches)].readings for i in range(BATCHES)]
        built = time.monotonic()
        del batches, texts
        steps = count(1)
        stop = RunControl(should_stop=lambda: next(steps) >= STEPS)
        with suppress(Cancelled):
            fine_tune(warm.ranker, questions, [], settings, workdir=Path(folder, "work"), control=stop)
    times = {"open": opened - clock, "plan": planned - opened, "batch": (built - planned) / BATCHES * 1000}
    return {**times, "pairs": report.candidates, "start": start, "peak": peak()}


def peak() -> float:
    """This process's highest resident memory, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def tiny_ranker(folder: Path):
    """A cross-encoder of random weights that knows the words."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    from as2core.rankers.catalog import get

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "when", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(names))
    config = BertConfig(
        vocab_size=len(names), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
    )
    BertModel(config).save_pretrained(folder / "bert")
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder / "bert")
    return get(f"cross-encoder:backbone={folder / 'bert'}")


if __name__ == "__main__":
    main()
