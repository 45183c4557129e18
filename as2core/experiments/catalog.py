"""The experiments, by name: they are loaded when one is run."""

from __future__ import annotations

import time
from collections.abc import Callable

from as2core.errors import BadSetting
from as2core.experiments.base import EXPERIMENTS, RESETTABLE, TARGETS, Options, Report
from as2core.experiments.report.page import Record, describe_command
from as2core.types import OnProgress

Run = Callable[[Options, OnProgress | None], Report]


def load_experiment(name: str) -> Run:
    """The `run` of an experiment. Raises BadSetting for an unknown name."""
    if name not in EXPERIMENTS:
        raise BadSetting(f"no experiment {name!r}; known: {', '.join(EXPERIMENTS)}")
    from as2core.experiments import cascade, exit_draws, generation, qnli, rerank, structure, tanda

    modules = (cascade, exit_draws, generation, qnli, rerank, structure, tanda)
    return {m.__name__.rpartition(".")[2]: m.run for m in modules}[name]


def reproduce(name: str, options: Options, on_progress: OnProgress | None = None) -> Record:
    """Run an experiment, or go on with it. Raises BadSetting for an unknown one, a target that there is not, or layers
    to draw anew where it does not start from the encoder alone."""
    if options.target not in TARGETS:
        raise BadSetting(f"no set {options.target!r}; known: {', '.join(TARGETS)}")
    run = load_experiment(name)
    if options.reset_layers and name not in RESETTABLE:
        raise BadSetting(f"--reset-layers is for {', '.join(RESETTABLE)}, not for {name}: leave it out")
    options.store.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    report = run(options, on_progress)
    seconds = time.perf_counter() - started
    return Record(name, describe_command(name, options), "" if options.test else options.target, seconds, report)
