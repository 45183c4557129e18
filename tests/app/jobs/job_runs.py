"""Runs jobs beside a test, or leaves one as a dead worker does."""

import threading
import time

from app.jobs import queue
from app.jobs.attempt import run_queued
from db.repositories import jobs as rows


def in_background(wb, runners, run=run_queued, **more):
    thread = threading.Thread(target=run, args=(wb, runners), kwargs=more)
    thread.start()
    return thread


def make_endless_run(started):
    """What a job does that goes on until it is cancelled or stopped; `started` is set as it begins."""

    def run(job):
        started.set()
        while True:
            job.check()
            time.sleep(0.01)

    return run


def die_in(wb, job_id, worker="another-machine:1:1"):
    """Leave a job as a worker leaves it that was killed in the middle."""
    with wb.write() as s:
        claimed = rows.claim_next(s, queue.PRIORITIES, worker, wb.clock())
        assert claimed.id == job_id
