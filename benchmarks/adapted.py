"""The shipped cascade adapted to the whole of WikiQA's and TREC-QA's training part, as a retrain does it; or the
generative ranker.

    python benchmarks/adapted.py            prints the tables and writes them to docs/results.md; half an hour
    python benchmarks/adapted.py --ranker generative --set "WikiQA train"    the generative ranker, on one of the two
    python benchmarks/adapted.py --tiny     a few questions, to see that it runs; writes nothing

The commands themselves do it, in a home of their own: `as2 labels import` brings in the training part (clean: questions
with correct and incorrect candidates) with `--split train` and the dev part with `--split dev`; `as2 adapt` learns from
the former, of which it lets a part steer, and judges by the latter. The sets are read from AS2_BENCH_DATA, or from
../shared/data beside the repository. Nothing that learns from them is shipped.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from _texts import DATA, require_files

from as2core.data import jsonl
from as2core.data.catalog import apply_setting, load_questions
from as2core.evaluation.rankers import evaluate
from as2core.experiments.base import write_section
from as2core.experiments.cells import describe_code
from as2core.metrics import bootstrap, paired_test
from as2core.rankers.catalog import get, load_version
from as2core.types import Question

ROOT = Path(__file__).resolve().parents[1]
SETS = {
    "WikiQA train": ("wikiqa/WikiQA-train.tsv", "wikiqa/WikiQA-dev.tsv"),
    "TREC-QA train-all": ("trecqa/train-all.jsonl", "trecqa/dev.jsonl"),
}
RANKERS = ("cascade", "generative")
RATIOS = {"cascade": (0.0, 0.3), "generative": (None,)}  # only a cascade drops candidates
PROGRAM = Path(sys.executable).with_name("as2")


def as2(home: Path, *words: str) -> str:
    """What a command of ours prints; its progress is shown. Raises CalledProcessError."""
    completed = subprocess.run(
        [PROGRAM, *words], check=True, env=make_environment(home), stdout=subprocess.PIPE, text=True
    )
    return completed.stdout


def make_environment(home: Path) -> dict[str, str]:
    variables = {**os.environ, "AS2_HOME": str(home), "AS2_WORKER": "external"}
    variables.pop("AS2_DATA_DIR", None)  # or its dev parts are benchmarks, on which nothing may be selected
    return variables


@contextmanager
def open_home(folder: Path) -> Iterator[Path]:
    """A home with a worker, which ends with it: one that the commands start goes on to rank all that was imported."""
    home = folder / "home"
    with subprocess.Popen([PROGRAM, "worker"], env=make_environment(home)) as worker:
        try:
            yield home
        finally:
            worker.terminate()


def adapted(name: str, train: list[Question], dev: list[Question], seed: int) -> tuple[Any, dict[str, Any]]:
    """The shipped ranker after `as2 adapt`, and what that said."""
    with tempfile.TemporaryDirectory() as folder, open_home(Path(folder)) as home:
        for part, questions, into in (("train", train, ()), ("dev", dev, ("--corpus", "train"))):
            file = Path(folder) / f"{part}.jsonl"
            jsonl.write(questions, file)
            as2(home, "labels", "import", str(file), "--split", part, *into)
        result = json.loads(as2(home, "adapt", "--corpus", "train", "--kind", name, "--seed", str(seed), "--json"))
        made = json.loads(as2(home, "versions", "--json"))["versions"]
        path = next(version["path"] for version in made if version["name"] == result["version"])
        return load_version(Path(path)), result


def shipped(name: str, ratio: float | None = 0.0):
    """Its own layers in torch, as the adapted one is run here."""
    return get(f"cascade:drop_ratio={ratio:g},engine=torch" if name == "cascade" else name)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tiny", action="store_true")
    options.add_argument("--set", choices=tuple(SETS), help="one of the two")
    options.add_argument("--ranker", choices=RANKERS, default="cascade")
    options.add_argument("--seed", type=int, default=0)
    parsed = options.parse_args()
    limit = 12 if parsed.tiny else None
    for name, (train, dev) in SETS.items():
        if parsed.set not in (None, name):
            continue
        require_files(train, dev)
        train_questions = apply_setting(load_questions(str(DATA / train)).questions, "clean")[:limit]
        judges = apply_setting(load_questions(str(DATA / dev)).questions, "clean")[:limit]
        after, result = adapted(parsed.ranker, train_questions, judges, parsed.seed)
        counts, generative = result["labels"], parsed.ranker == "generative"
        command = f'python benchmarks/adapted.py {"--ranker generative " * generative}--set "{name}"'
        lines = [
            f"## The shipped {'generative ranker' if generative else 'cascade'}, adapted to {name}",
            "",
            f"Printed and written by `{command}`, which runs `as2 labels import` and `as2 adapt`. "
            f"Of the code of {describe_code()}. Seed {parsed.seed}. "
            f"Of {len(train_questions):,} questions, {counts['questions']:,} were used for training (with "
            f"{counts['replayed_questions']:,} shipped ones mixed in) and {counts['dev_questions']:,} for validation. "
            f"{result['left_out'].get('labels', 0):,} labels were excluded as probably wrong. AP, RR and P@1 are on "
            f"the dev part (clean, {len(judges)} questions), with a 95 % bootstrap interval of AP and a paired "
            "randomisation test against the ranker before.",
            "",
            "| ratio | before: AP | RR | P@1 | after: AP | RR | P@1 | difference |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for ratio in RATIOS[parsed.ranker]:
            if ratio is not None:
                after.drop_ratio = ratio
            old, new = evaluate(shipped(parsed.ranker, ratio), judges), evaluate(after, judges)
            low, high = bootstrap(new.per_question["AP"].values())
            p = paired_test(new.per_question["AP"], old.per_question["AP"])
            was, now = ([f"{e.metrics[m]:.3f}" for m in ("AP", "RR", "P@1")] for e in (old, new))
            now[0] += f" ({low:.3f} to {high:.3f})"
            difference = f"{p.difference:+.3f} (p {'< 0.001' if p.p < 0.001 else f'= {p.p:.3f}'})"
            lines.append(f"| {' | '.join(['' if ratio is None else f'{ratio:g}', *was, *now, difference])} |")
        text = "\n".join([*lines, ""])
        print(text, flush=True)
        if not parsed.tiny:
            slug = "".join(c if c.isalnum() else "-" for c in f"{'generative-' * generative}{name}".lower())
            write_section(ROOT / "docs" / "results.md", f"adapted-{slug}", text)


if __name__ == "__main__":
    main()
