"""A comparison that ran to its end."""

from app.compare import comparison, comparison_job
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.worker import RUNNERS


def run_comparison(wb, *arguments, **more):
    job = comparison_job.start_compare(wb, *arguments, **more)
    run_queued(wb, RUNNERS)
    done = queue.load_job(wb, job.id)
    assert done.state == "done", done.error
    return comparison.load_comparison(wb, job.id)


def view_job(wb):
    return queue.list_jobs(wb, kind="compare")[0].id
