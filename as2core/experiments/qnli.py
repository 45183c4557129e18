"""QNLI in place of ASNQ as the set to transfer from (Garg et al., 2020, Table 7): a model fine-tuned on it alone, and
adapted to the target afterwards; ASNQ beside it where its file is at hand.

QNLI is built from SQuAD (as2core.data.qnli).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial

from as2core.data.qnli import select_pair
from as2core.experiments.base import WITHOUT_ASNQ, Options, Report, count_steps
from as2core.experiments.bench import Bench, Work, describe_setting, read_target, sample, score, untuned
from as2core.experiments.cells import Cell
from as2core.experiments.report.findings import Finding, exceeds
from as2core.experiments.tanda import ADAPT, FULL_ADAPT, FULL_TRANSFER, TRANSFER, read_asnq
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.types import OnProgress, Question


@dataclass(frozen=True, slots=True)
class Sizes:
    """Questions to transfer on and to adapt to, epochs of adapting, seeds."""

    general: int
    target: int
    epochs: int
    seeds: int


SMALL = Sizes(general=3000, target=430, epochs=3, seeds=5)
FULL = Sizes(general=60_000, target=10_000, epochs=3, seeds=5)

Reader = Callable[[], list[Question]]

FINDINGS = (
    Finding(
        "adapting to the target helps after QNLI",
        "WikiQA MAP .760 QNLI alone, .832 TandA (QNLI); TREC-QA .820, .863",
        (exceeds("adapted after QNLI", "QNLI alone"),),
    ),
    Finding(
        "ASNQ alone transfers better than QNLI alone",
        "WikiQA MAP .760 QNLI, .884 ASNQ; TREC-QA .820, .823",
        (exceeds("ASNQ alone", "QNLI alone"),),
        missing=WITHOUT_ASNQ,
    ),
    Finding(
        "ASNQ is the better set to transfer from",
        "WikiQA MAP .832 TandA (QNLI), .893 TandA (ASNQ); TREC-QA .863, .912",
        (exceeds("adapted after ASNQ", "adapted after QNLI"),),
        missing=WITHOUT_ASNQ,
    ),
)


def run(options: Options, on_progress: OnProgress | None = None, sizes: Sizes | None = None) -> Report:
    """Raises UnknownData when SQuAD or the target are missing."""
    sizes = sizes or (FULL if options.full else SMALL)
    seeds = range(options.seeds or sizes.seeds)
    target, asnq = read_target(options, sizes.target), read_asnq(options, sizes.general)
    readers: dict[str, Reader] = {"QNLI": lambda: _read_qnli(options), **({"ASNQ": lambda: asnq} if asnq else {})}
    size_key = {k: v for k, v in asdict(sizes).items() if k != "seeds"}
    bench = Bench("qnli", options, target, size_key, count_steps(on_progress, len(seeds) * len(readers)))
    first, second = (FULL_TRANSFER, FULL_ADAPT) if options.full else (TRANSFER, replace(ADAPT, epochs=sizes.epochs))
    for seed in seeds:
        for name, reader in readers.items():
            bench.cell(name, seed, partial(_transfer_and_adapt, bench, name, reader, seed), first, second)
    setting = f"{sizes.general:,} questions of each set at most, one epoch; {describe_setting(bench)}"
    return bench.report(bench.judge(FINDINGS, setting))


def _transfer_and_adapt(bench: Bench, name: str, reader: Reader, seed: int, work: Work) -> Cell:
    questions = sample(reader(), bench.sizes["general"], seed)
    target, epochs = bench.target, bench.sizes["epochs"]
    first, second = (FULL_TRANSFER, FULL_ADAPT) if bench.options.full else (TRANSFER, ADAPT)
    base = untuned(CrossEncoderRanker, bench.options, seed=seed)
    alone = work.train("transfer", base, questions, first, target.dev, seed=seed).ranker
    adapted = work.train("adapt", alone, target.train, second, target.dev, seed=seed, epochs=epochs).ranker
    both = [score(f"{name} alone", alone, target.test), score(f"adapted after {name}", adapted, target.test)]
    return Cell({system: values for cell in both for system, values in cell.values.items()})


def _read_qnli(options: Options) -> list[Question]:
    return [pair for q in options.questions("squad-train", "no-all-neg") if (pair := select_pair(q))]
