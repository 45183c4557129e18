"""Every experiment by name. Listing them imports none of their modules."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from as2core.errors import BadSetting
from as2core.experiments.base import Options, Report, table
from as2core.types import OnProgress

Run = Callable[[Options, OnProgress | None], Report]
EXPERIMENTS = {
    "cascade": "exits, drop ratios, monolithic depths and the sequential reranker (Soldaini and Moschitti 2020)",
    "exit_draws": "ways to train a cascade's exits (Soldaini and Moschitti 2020, section 4.3.1)",
    "structure": "Cosinet and Compare-Aggregate, listwise and recurrent (Bonadiman and Moschitti 2020)",
    "generation": "no tuning, MLE, LUL and RLL, both directions (Nogueira dos Santos et al. 2020)",
    "tanda": "fine-tuning against transfer and adapt, with label noise (Garg et al. 2020)",
    "qnli": "QNLI against ASNQ as the set to transfer from (Garg et al. 2020, Table 7)",
    "rerank": "a cheap first ranker before the transformer (Matsubara et al. 2020)",
}


def load_experiment(name: str) -> Run:
    """The `run` of an experiment. Raises BadSetting for an unknown name."""
    if name not in EXPERIMENTS:
        raise BadSetting(f"no experiment {name!r}; known: {', '.join(EXPERIMENTS)}")
    from as2core.experiments import cascade, exit_draws, generation, qnli, rerank, structure, tanda

    modules = (cascade, exit_draws, generation, qnli, rerank, structure, tanda)
    return {m.__name__.rpartition(".")[2]: m.run for m in modules}[name]


def reproduce(name: str, options: Options, on_progress: OnProgress | None = None) -> tuple[Report, float]:
    """Run an experiment in a folder of its own below `options.workdir`; the report, with the paper's rows that are not
    run and why, and the seconds it took."""
    from as2core.experiments.not_run import ROWS

    run = load_experiment(name)
    options.workdir.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=options.workdir) as folder:
        report = run(replace(options, workdir=Path(folder)), on_progress)
    report = replace(report, rows=(*report.rows, *ROWS.get(name, ())))
    return report, time.perf_counter() - started


def markdown(name: str, report: Report, command: str, seconds: float) -> str:
    """The section of docs/results.md for a report."""
    title = f"## {name}: {EXPERIMENTS[name]}\n\nPrinted and written by `{command}`, in {seconds / 60:.1f} minutes."
    answers = {True: "yes", False: "no", None: ""}
    rows = [map(_cell, (r.finding, r.paper, r.ours, answers[r.holds], r.differs)) for r in report.rows]
    findings = table(title, ["finding", "paper", "ours", "holds here", "how ours differs"], map(list, rows))
    return "\n".join([findings, "", *(f"{note.strip()}\n" for note in report.notes)]).rstrip() + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
