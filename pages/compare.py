"""Compare: any rankers over any labelled set, with how sure the difference is."""

from functools import partial

import streamlit as st

from app.compare import comparison
from app.jobs import queue
from app.ui import url
from app.ui.compare import findings, results, setup
from app.ui.compare.job import draw_comparison
from app.ui.compare.shipped import draw_note, find_shipped_comparison
from app.ui.job import draw_live, load_linked
from app.ui.page import page

frame = page("Compare", "Which ranker is better, how certain that is, and what it costs.")
wb = frame.wb
jobs = queue.list_jobs(wb, kind="compare")
job = load_linked(wb, "compare", "The comparison in this link does not exist here.")
job = job or next((j for j in jobs if j.is_active), None)
shipped = find_shipped_comparison(wb, str(wb.settings.starter_dir)) if job is None else None

is_first = job is None and shipped is None
with st.expander("New comparison", icon=":material/add:", expanded=is_first or bool(setup.rankers_in_url())):
    setup.draw(wb, corpus_name=frame.corpus.name, by=frame.annotator.id)
if job is not None:
    url.put(job=job.id)
    if job.state == "done":
        with st.spinner("Drawing …"):
            view = comparison.load_comparison(wb, job.id, by=frame.annotator.id)
        results.draw(view)
        findings.draw(wb, view, frame.corpus)
    else:
        draw_live(wb, job, partial(draw_comparison, person=frame.annotator))
elif shipped is not None:
    setup.draw_earlier(jobs, None)  # above what came with the program: these are the reader's own
    draw_note(wb, by=frame.annotator.id)
    results.draw(shipped)
    findings.draw(wb, shipped, frame.corpus)
if shipped is None:
    setup.draw_earlier(jobs, job.id if job else None)
