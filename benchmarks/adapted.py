"""The shipped cascade adapted to the whole of WikiQA's and TREC-QA's training part, as a retrain does it.

    python benchmarks/adapted.py            prints the table and writes it to docs/results.md; half an hour on two cores
    python benchmarks/adapted.py --tiny     a few questions, to see that it runs; writes nothing

Questions with an answer alone (no all-), trained with the settings of "Retrain from labels"; a tenth of the training
questions steers, the dev part only judges. The sets are read from AS2_BENCH_DATA, or from ../shared/data beside the
repository. Nothing that learns from them is shipped.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from pathlib import Path

from app.services.learning import settings_for
from as2core.data.catalog import apply_setting, load_questions
from as2core.evaluation import bootstrap, evaluate, paired_test
from as2core.experiments.base import write_section
from as2core.rankers.catalog import get
from as2core.training.fine_tune import fine_tune
from as2core.types import Question

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("AS2_BENCH_DATA", ROOT.parent / "shared" / "data"))
SETS = {
    "WikiQA train": ("wikiqa/WikiQA-train.tsv", "wikiqa/WikiQA-dev.tsv"),
    "TREC-QA train-all": ("trecqa/train-all.jsonl", "trecqa/dev.jsonl"),
}
RATIOS = (0.0, 0.3)


def adapted(train: list[Question], seed: int):
    """The shipped cascade after a retrain on these questions."""
    mixed = random.Random(seed).sample(train, len(train))
    held = max(1, len(mixed) // 10)
    base = get("cascade:drop_ratio=0")
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_for(base, {"seed": seed})
        return fine_tune(base, mixed[held:], mixed[:held], settings, workdir=Path(folder)).ranker


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tiny", action="store_true")
    options.add_argument("--set", choices=tuple(SETS), help="one of the two; the table then has that alone")
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    few = 12 if given.tiny else None
    command = "python benchmarks/adapted.py" + (f' --set "{given.set}"' if given.set else "")
    lines = [
        "## The shipped cascade, adapted to a whole training part",
        "",
        f"Printed and written by `{command}`. Seed {given.seed}; AP, RR and P@1 on the dev part "
        "(clean), with a 95 % bootstrap of AP and a paired randomisation test against the cascade before.",
        "",
        "| learnt from | ratio | before: AP | RR | P@1 | after: AP | RR | P@1 | difference |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, (train, dev) in SETS.items():
        if given.set not in (None, name):
            continue
        known = apply_setting(load_questions(str(DATA / train)).questions, "clean")[:few]
        judges = apply_setting(load_questions(str(DATA / dev)).questions, "clean")[:few]
        after = adapted(known, given.seed)
        for ratio in RATIOS:
            after.drop_ratio = ratio
            old, new = evaluate(get(f"cascade:drop_ratio={ratio:g}"), judges), evaluate(after, judges)
            low, high = bootstrap(new.per_question["AP"].values())
            p = paired_test(new.per_question["AP"], old.per_question["AP"])
            was, now = ([f"{e.metrics[m]:.3f}" for m in ("AP", "RR", "P@1")] for e in (old, new))
            now[0] += f" ({low:.3f} to {high:.3f})"
            said = f"{p.difference:+.3f} (p {'< 0.001' if p.p < 0.001 else f'= {p.p:.3f}'})"
            head = f"{name}, {len(known):,} questions; {len(judges)} to judge"
            lines.append(f"| {' | '.join([head, f'{ratio:g}', *was, *now, said])} |")
            print(lines[-1], flush=True)
    if not given.tiny:
        write_section(ROOT / "docs" / "results.md", "adapted", "\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
