"""Writes corpora/starter/comparison.json, which the page Compare shows before any comparison was made.

    python benchmarks/prepared_comparison.py

The shipped rankers on the starter test questions, in a home of their own; some minutes on two cores. To be run again
when the starter corpus or a shipped model changes: a test says so.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from app import bootstrap
from app.compare import comparison_job, shipped_comparison
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.workbench.settings import Settings
from app.worker import RUNNERS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--to", type=Path, help="another file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        wb = bootstrap.open(Settings(home=Path(home), worker="external"))
        job = comparison_job.start_compare(wb, shipped_comparison.SETTINGS.rankers, shipped_comparison.SETTINGS.data)
        run_queued(wb, RUNNERS)
        done = queue.load_job(wb, job.id)
        if done.state != "done":
            raise SystemExit(f"the comparison is {done.state}: {done.error}")
        file = arguments.to or wb.settings.starter_dir / shipped_comparison.FILE
        shipped_comparison.write_shipped_comparison(wb, job.id, file)
        wb.close()
    print(f"{file}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
