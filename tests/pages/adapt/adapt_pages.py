"""Adapt of the labelled home, and the jobs and labels that it shows."""

import stored
from app_pages import open_page
from stored import THINGS, put_job

from app.labels import annotation
from app.workbench import people

PAIRED_WORSE = {"difference": -0.04, "low": -0.07, "high": -0.01, "p": 0.01, "wins": 2, "losses": 14, "ties": 19}
WORSE = {"AP": 0.662, "before AP": 0.702, "paired": PAIRED_WORSE}


def open_adapt(query=None):
    return open_page("adapt", {"corpus": "things"} | (query or {}))


def open_result(wb, **changes):
    job = put_job(wb, state="done", corpus_id=THINGS, result=stored.retrain_result(**changes))
    return open_adapt({"job": str(job)})


def put_retrain(wb, *arguments, **changes):
    return put_job(wb, "retrain", *arguments, **{"corpus_id": THINGS} | changes)


def read_settings(wb):
    """The settings of the retrain asked for last."""
    return stored.jobs(wb)[-1].settings


def label(wb, question, sentence, kind, name="me"):
    who = people.sign_in(wb, name).id
    annotation.give_label(wb, question_id=question, sentence_id=sentence, annotator_id=who, label=kind)


def find_title(at):
    return next(m.value for m in at.markdown if m.value.startswith("**Retraining"))
