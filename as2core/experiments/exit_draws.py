"""How a cascade's exits are best trained (Soldaini and Moschitti, 2020, section 4.3.1): one exit drawn uniformly a
mini-batch, against taking them in turn, a bias to early exits, all at once, and a gradient stopped at the exit before.

All start from the same untuned encoder and see the same batches of WikiQA.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from as2core.experiments.base import Options, Report, Row
from as2core.experiments.courses import WHOLE, Course, Runner, final, spread, untuned, wikiqa
from as2core.rankers.cascade import CascadeRanker
from as2core.types import OnProgress

SETTINGS = replace(WHOLE, learning_rate=5e-5, freeze_embeddings=False)
VARIANTS = {
    "uniform": {},
    "round robin": {"exit_draw": "round-robin"},
    "bias to early exits": {"exit_draw": "early"},
    "all exits at once": {"exit_draw": "all"},
    "uniform, gradient stopped": {"stop_gradient": True},
}


@dataclass(frozen=True, slots=True)
class Sizes:
    target: int
    epochs: int
    seeds: int


SMALL = Sizes(target=150, epochs=2, seeds=1)
FULL = Sizes(target=10_000, epochs=4, seeds=3)


def run(options: Options, on_progress: OnProgress | None = None, sizes: Sizes | None = None) -> Report:
    """Raises UnknownData when WikiQA is not at hand."""
    sizes = sizes or (FULL if options.full else SMALL)
    seeds = range(options.seeds or sizes.seeds)
    target = wikiqa(options, sizes.target)
    runner = Runner(options, on_progress, runs=len(VARIANTS) * len(seeds))
    found: dict[str, list[Course]] = {}
    for name, told in VARIANTS.items():
        found[name] = [
            runner.train(
                name,
                untuned(CascadeRanker, seed=seed),
                target.train,
                target.dev,
                replace(SETTINGS, seed=seed, epochs=sizes.epochs, **told),
            )[1]
            for seed in seeds
        ]
    ap = {name: float(np.mean([final(c) for c in courses])) for name, courses in found.items()}
    setting = (
        f"MiniLM, exits 2 to 6; {len(target.train)} WikiQA train questions, {sizes.epochs} epochs, seeds: "
        f"{len(seeds)}; AP on dev after the last epoch; the paper trains on ASNQ and gives no numbers here"
    )
    others = [ap["round robin"], ap["bias to early exits"]]
    rows = (
        Row(
            "a uniform draw of the exit is enough",
            "round robin and a bias to early exits were no better",
            f"last exit's AP {ap['uniform']:.3f} uniform, {others[0]:.3f} round robin, {others[1]:.3f} early bias",
            setting,
            ap["uniform"] >= max(others) - 0.005,
        ),
        Row(
            "the gradient has to reach the embeddings",
            "stopped at the exit before, later exits get worse",
            f"last exit's AP {ap['uniform']:.3f} through, {ap['uniform, gradient stopped']:.3f} stopped",
            "as above; a difference within .005 is counted as none",
            ap["uniform"] > ap["uniform, gradient stopped"] + 0.005,
        ),
    )
    return Report(rows, (_table(found),))


def _table(found: dict[str, list[Course]]) -> str:
    layers = list(next(iter(found.values()))[0][-1])
    lines = [
        f"AP on WikiQA dev by exit, nothing dropped:\n\n| training | {' | '.join(f'layer {x}' for x in layers)} |",
        f"|---|{'---|' * len(layers)}",
    ]
    for name, courses in found.items():
        lines.append(f"| {name} | {' | '.join(spread([c[-1][x] for c in courses]) for x in layers)} |")
    return "\n".join(lines)
