"""The shipped cascade adapted to the whole of WikiQA's and TREC-QA's training part, as a retrain does it; or the
generative ranker.

    python benchmarks/adapted.py            prints the tables and writes them to docs/results.md; half an hour
    python benchmarks/adapted.py --ranker generative --set "WikiQA train"    the generative ranker, on one of the two
    python benchmarks/adapted.py --tiny     a few questions, to see that it runs; writes nothing

Questions with an answer alone (no all-), trained with the settings of "Retrain from labels"; a tenth of the training
questions steers, the dev part only judges. The sets are read from AS2_BENCH_DATA, or from ../shared/data beside the
repository. Nothing that learns from them is shipped.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

from _texts import DATA, needed

from app.services import slips
from app.services.learning import settings_for, taught
from as2core.data.catalog import apply_setting, load_questions
from as2core.evaluation import bootstrap, evaluate, paired_test
from as2core.experiments.base import write_section
from as2core.rankers.catalog import get
from as2core.training.fine_tune import fine_tune
from as2core.types import Question

ROOT = Path(__file__).resolve().parents[1]
SETS = {
    "WikiQA train": ("wikiqa/WikiQA-train.tsv", "wikiqa/WikiQA-dev.tsv"),
    "TREC-QA train-all": ("trecqa/train-all.jsonl", "trecqa/dev.jsonl"),
}
RANKERS = ("cascade", "generative")
RATIOS = {"cascade": (0.0, 0.3), "generative": (None,)}  # only a cascade drops candidates


def adapted(name: str, train: list[Question], seed: int):
    """The shipped ranker after a retrain on these questions, and what it learnt from."""
    mixed = random.Random(seed).sample(train, len(train))
    held = max(1, len(mixed) // 10)
    base, judge = shipped(name), shipped("cascade")
    with tempfile.TemporaryDirectory() as folder:
        trusted = slips.believed(
            judge,
            mixed[held:],
            seed=seed,
            taught=lambda half, number: taught(judge, half, Path(folder) / str(number), seed=seed),
        )
        settings = settings_for(base, {"seed": seed})
        return fine_tune(base, trusted.questions, mixed[:held], settings, workdir=Path(folder) / "all").ranker, trusted


def shipped(name: str, ratio: float | None = 0.0):
    """Its own layers in torch, as the adapted one is run."""
    return get(f"cascade:drop_ratio={ratio:g},engine=torch" if name == "cascade" else name)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tiny", action="store_true")
    options.add_argument("--set", choices=tuple(SETS), help="one of the two")
    options.add_argument("--ranker", choices=RANKERS, default="cascade")
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    few = 12 if given.tiny else None
    for name, (train, dev) in SETS.items():
        if given.set not in (None, name):
            continue
        needed(train, dev)
        known = apply_setting(load_questions(str(DATA / train)).questions, "clean")[:few]
        judges = apply_setting(load_questions(str(DATA / dev)).questions, "clean")[:few]
        after, trusted = adapted(given.ranker, known, given.seed)
        rate = "could not be told" if trusted.rate is None else f"were taken to be {trusted.rate:.1%}"
        generative = given.ranker == "generative"
        command = f'python benchmarks/adapted.py {"--ranker generative " * generative}--set "{name}"'
        lines = [
            f"## The shipped {'generative ranker' if generative else 'cascade'}, adapted to {name}",
            "",
            f"Printed and written by `{command}`. Seed {given.seed}; {len(known):,} questions, of whose labels the "
            f"wrong ones {rate} and {len(trusted.left_out):,} were left out; AP, RR and P@1 on the dev part (clean, "
            f"{len(judges)} questions), with a 95 % bootstrap of AP and a paired randomisation test against the ranker "
            "before.",
            "",
            "| ratio | before: AP | RR | P@1 | after: AP | RR | P@1 | difference |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for ratio in RATIOS[given.ranker]:
            if ratio is not None:
                after.drop_ratio = ratio
            old, new = evaluate(shipped(given.ranker, ratio), judges), evaluate(after, judges)
            low, high = bootstrap(new.per_question["AP"].values())
            p = paired_test(new.per_question["AP"], old.per_question["AP"])
            was, now = ([f"{e.metrics[m]:.3f}" for m in ("AP", "RR", "P@1")] for e in (old, new))
            now[0] += f" ({low:.3f} to {high:.3f})"
            said = f"{p.difference:+.3f} (p {'< 0.001' if p.p < 0.001 else f'= {p.p:.3f}'})"
            lines.append(f"| {' | '.join(['' if ratio is None else f'{ratio:g}', *was, *now, said])} |")
        text = "\n".join([*lines, ""])
        print(text, flush=True)
        if not given.tiny:
            slug = "".join(c if c.isalnum() else "-" for c in f"{'generative-' * generative}{name}".lower())
            write_section(ROOT / "docs" / "results.md", f"adapted-{slug}", text)


if __name__ == "__main__":
    main()
