"""Compare of the home with two comparisons, and results made for a test."""

import stored
from app_pages import open_page
from stored import put_job

from app.compare.comparison import Figure, RankerResult
from as2core.metrics import PairedTest


def open_comparison(job):
    return open_page("compare", {"corpus": "things", "job": str(job)})


def put_comparison(wb, state, **changes):
    settings = {"rankers": ["cascade", "bm25"], "data": "starter-dev", "setting": "clean", "limit": None}
    return put_job(wb, "compare", state, corpus_id=None, settings=settings, **changes)


def table(at):
    return next(d.value for d in at.dataframe if "AP, 95 %" in d.value.columns)


def read_settings(wb):
    return stored.jobs(wb)[-1].settings


def result(ranker, ap=0.8, cost=1.0):
    return RankerResult(ranker, {"AP": Figure(ap, ap - 0.1, ap + 0.1)}, relative_cost=cost)


def is_form_open(at):
    [form] = [e.proto for e in at.expander if e.label == "New comparison"]
    return form.expanded


CLEAR = PairedTest(difference=0.1, low=0.05, high=0.15, p=0.001, wins=60, losses=20, ties=42)
