"""How a cascade's exits are best trained (Soldaini and Moschitti, 2020, section 4.3.1): one exit drawn uniformly for a
mini-batch, against taking them in turn, a bias to early exits, all at once, and a gradient stopped at the exit before.

All start from the same untuned encoder and see the same batches of WikiQA.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from as2core.experiments.base import Options, Report, Row, count_steps, table
from as2core.experiments.courses import ALL_PAIRS, Course, Runner, Sizes, last_exit, spread, untuned, wikiqa
from as2core.rankers.cascade import CascadeRanker
from as2core.types import OnProgress

SETTINGS = replace(ALL_PAIRS, learning_rate=5e-5, freeze_embeddings=False)
VARIANTS: dict[str, dict[str, object]] = {
    "uniform": {},
    "round robin": {"exit_draw": "round-robin"},
    "bias to early exits": {"exit_draw": "early"},
    "all exits at once": {"exit_draw": "all"},
    "uniform, gradient stopped": {"stop_gradient": True},
}
TOLERANCE = 0.005  # AP that counts as no difference

SMALL = Sizes(target=150, epochs=2, seeds=1)
FULL = Sizes(target=10_000, epochs=4, seeds=3)


def run(options: Options, on_progress: OnProgress | None = None, sizes: Sizes | None = None) -> Report:
    """Raises UnknownData when WikiQA is missing."""
    sizes = sizes or (FULL if options.full else SMALL)
    seeds = range(options.seeds or sizes.seeds)
    target = wikiqa(options, sizes.target)
    runner = Runner(options, count_steps(on_progress, len(VARIANTS) * len(seeds)))
    ends: dict[str, Course] = {}  # by seed, after the last epoch: none is selected by what it is reported on
    for name, changes in VARIANTS.items():
        changes = {**changes, "epochs": sizes.epochs}
        bases = [untuned(CascadeRanker, seed=seed) for seed in seeds]
        ends[name] = [runner.course(name, b, target, SETTINGS, seed=s, **changes)[-1] for s, b in enumerate(bases)]
    uniform, in_turn, early, _, stopped = (float(np.mean(last_exit(by_seed))) for by_seed in ends.values())
    rows = (
        Row(
            "a uniform draw of the exit is enough",
            "round robin and a bias to early exits were no better",
            f"last exit's AP {uniform:.3f} uniform, {in_turn:.3f} round robin, {early:.3f} early bias",
            f"MiniLM, exits 2 to 6; {len(target.train)} WikiQA train questions, {sizes.epochs} epochs, seeds: "
            f"{len(seeds)}; AP on dev after the last epoch; the paper trains on ASNQ and gives no numbers here",
            uniform >= max(in_turn, early) - TOLERANCE,
        ),
        Row(
            "the gradient has to reach the embeddings",
            "stopped at the exit before, later exits get worse",
            f"last exit's AP {uniform:.3f} through, {stopped:.3f} stopped",
            "as above; a difference within .005 is counted as none",
            uniform > stopped + TOLERANCE,
        ),
    )
    layers = list(ends["uniform"][0])
    cells = [[name, *(spread([ap[x] for ap in by_seed]) for x in layers)] for name, by_seed in ends.items()]
    title = "AP on WikiQA dev by exit, nothing dropped:"
    return Report(rows, (table(title, ["training", *(f"layer {x}" for x in layers)], cells),))
