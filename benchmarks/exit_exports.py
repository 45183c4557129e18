"""The exits of the shipped cascade as models of their own, for browsers and phones: how good, how large, how fast.

    python benchmarks/exit_exports.py             prints the table and writes it to docs/models.md: five minutes
    python benchmarks/exit_exports.py --limit 10  a quick check; writes nothing

Each exit is exported as `as2 versions export cascade DIR --exit LAYER` does with `--to onnx`, in float32, and with
`--to onnx-int8`. The files are run by ONNX Runtime on the CPU. The time is that of 100 SQuAD sentences to one question,
the median of rounds in turns. A second table has how soon, and in how much memory, the whole cascade and its exports
give their first answer in a fresh process.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

from _texts import JUDGES, require_files, sentences

from as2core.data.catalog import load_questions
from as2core.evaluation.rankers import evaluate
from as2core.experiments.base import table, write_section
from as2core.export import export_ranker
from as2core.rankers.base import Ranker
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.system.cores import count_cores
from as2core.types import Candidate

PAGE = Path(__file__).resolve().parents[1] / "docs" / "models.md"
QUESTION = "When did the university open its first library?"
SENTENCES, ROUNDS, STARTS = 100, 7, 5
FIRST_ANSWER = """
import sys, as2core
as2core.Reranker(sys.argv[1]).rank(sys.argv[2], ["It opened in 1889.", "It rains."])
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""  # getrusage would have this process's peak, which a child inherits
FORMATS = {"float32": "onnx", "int8": "onnx-int8"}  # of an export, by its weights
Form = tuple[int, str]  # layers, and weights


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--limit", type=int, help="questions of each set")
    limit = options.parse_args().limit
    require_files("squad/train-v1.1.json.gz", "wikiqa/WikiQA-dev.tsv", "trecqa/dev.jsonl")
    cascade = get("cascade:drop_ratio=0,engine=torch")
    assert isinstance(cascade, CascadeRanker)
    with tempfile.TemporaryDirectory() as folder:
        forms = [(depth, weights) for depth in cascade.exits for weights in FORMATS]
        files = {form: Path(folder) / "-".join(map(str, form)) / "model.onnx" for form in forms}
        for (depth, weights), file in files.items():
            export_ranker(cascade, FORMATS[weights], file.parent, card={}, depth=depth)
        rankers = {form: get(str(file)) for form, file in files.items()}
        sizes = {form: file.stat().st_size / 1e6 for form, file in files.items()}
        heads = ("layers", "weights", "file", "100 sentences", *JUDGES)
        text = table("", heads, make_rows(rankers, sizes, limit)).strip()
        wholes = {f"`--to {FORMATS[weights]}`": str(files[cascade.exits[-1], weights].parent) for weights in FORMATS}
        starts = list_starts({"`cascade`": "cascade", **wholes})
    text += f"\n\nP@1 in brackets; {count_cores()} cores."
    start = table("", ("`as2core.Reranker` of", "first answer after", "memory then"), starts).strip()
    print(text, start, sep="\n\n")
    if limit is None:
        write_section(PAGE, "exits", text)
        write_section(PAGE, "export-starts", start)


def make_rows(
    rankers: Mapping[Form, Ranker], sizes: Mapping[Form, float], limit: int | None
) -> Iterator[tuple[str, ...]]:
    seconds = measure_seconds(rankers)
    sets = {name: load_questions(data).questions[:limit] for name, data in JUDGES.items()}
    for form, ranker in rankers.items():
        figures = [evaluate(ranker, questions).metrics for questions in sets.values()]
        quality = [f"{m['AP']:.3f} ({m['P@1']:.3f})" for m in figures]
        yield f"{form[0]}", form[1], f"{sizes[form]:.0f} MB", f"{seconds[form] * 1000:.0f} ms", *quality


def measure_seconds(rankers: Mapping[Form, Ranker]) -> dict[Form, float]:
    candidates = [Candidate(str(i), text) for i, text in enumerate(sentences(SENTENCES))]
    times: dict[Form, list[float]] = {form: [] for form in rankers}
    for round_ in range(ROUNDS + 1):
        for form, ranker in rankers.items():
            start = time.perf_counter()
            ranker.score(QUESTION, candidates)
            if round_:  # the first warms up
                times[form].append(time.perf_counter() - start)
    return {form: median(values) for form, values in times.items()}


def list_starts(specs: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Each in a fresh process, in turns: the median seconds to its first answer, and the largest memory until then."""
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in specs}
    for _ in range(STARTS):
        for name, spec in specs.items():
            start = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", FIRST_ANSWER, spec, QUESTION], capture_output=True, text=True, check=True
            )
            runs[name].append((time.perf_counter() - start, int(done.stdout) / 1024))
    medians = {name: [median(values) for values in zip(*of, strict=True)] for name, of in runs.items()}
    return [(name, f"{seconds:.1f} s", f"{mb:.0f} MB") for name, (seconds, mb) in medians.items()]


if __name__ == "__main__":
    main()
