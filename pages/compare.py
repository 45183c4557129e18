"""Compare: any rankers over any labelled set, with how sure the difference is."""

from functools import partial

import streamlit as st

from app.compare import comparison
from app.compare.short_names import shorten_view
from app.jobs import queue
from app.jobs.kinds import JobKind
from app.ui import url
from app.ui.compare import downloads, findings, ranker_choice, recipes, results, setup, shipped
from app.ui.compare.job import draw_comparison
from app.ui.job import draw_live, load_job_of_link
from app.ui.page import open_page

frame = open_page("Compare", "Which ranker is better, how certain that is, and what it costs.")
wb, corpus, person = frame.wb, frame.corpus, frame.annotator
jobs = queue.list_jobs(wb, kind=JobKind.COMPARE)
job = load_job_of_link(wb, "compare", "The comparison in this link does not exist here.")
here, elsewhere = shipped.list_active(jobs, corpus.name)
job = job or next(iter(here), None) or shipped.find_newest(jobs, corpus.name)
prepared = shipped.find_shipped_comparison(wb, str(wb.settings.starter_dir)) if job is None else None
is_prepared_open = prepared is not None and shipped.is_open(corpus.name)


def _draw_result(view: comparison.ComparisonView) -> None:
    short = shorten_view(view)
    results.draw(short, partial(_draw_below_table, view))
    findings.draw(wb, short, corpus, by=person.id)


def _draw_below_table(view: comparison.ComparisonView) -> None:
    recipes.draw(wb, view)
    downloads.draw(view)


for other in elsewhere:
    if job is None or other.id != job.id:
        setup.draw_elsewhere(other)
if job is None and not is_prepared_open:
    shipped.draw_absence(corpus.name, jobs, has_shipped=prepared is not None)
is_form_open = (job is None and not is_prepared_open) or bool(ranker_choice.read_rankers())
with st.expander("New comparison", icon=":material/add:", expanded=is_form_open):
    setup.draw(frame, job)
if job is None:
    setup.draw_earlier(jobs, None)  # above what came with the program: these are the reader's own
if job is not None:
    url.put(job=job.id)
    if job.state != "done":
        draw_live(wb, job, partial(draw_comparison, person=person))
    if job.result:
        with st.spinner("Drawing …"):
            view = comparison.load_comparison(wb, job.id, by=person.id)
        setup.draw_changes(frame, job)
        _draw_result(view)
    setup.draw_earlier(jobs, job.id)
    shipped.draw_way(wb, corpus.name)
elif prepared is not None and is_prepared_open:
    shipped.draw_note(wb, corpus.name, by=person.id)
    _draw_result(prepared)
