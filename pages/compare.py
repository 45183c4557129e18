"""Compare: any rankers over any labelled set, with how sure the difference is."""

from contextlib import suppress

import streamlit as st

from app.compare import comparison
from app.jobs import queue
from app.ui import url
from app.ui.compare import job as compare_job
from app.ui.compare import results, setup
from app.ui.page import page
from as2core.errors import As2Error

frame = page("Compare", "Which ranker is better, how certain that is, and what it costs.")
wb = frame.wb
jobs = queue.list_jobs(wb, kind="compare")
job = None
if url.get("job"):
    with suppress(As2Error):
        if (number := url.job()) is not None and (found := queue.load_job(wb, number)).kind == "compare":
            job = found
    if job is None:
        st.caption("The comparison in this link does not exist here.")
if job is None:
    job = next((j for j in jobs if j.active), None)

with st.expander("New comparison", icon=":material/add:", expanded=job is None or bool(setup.rankers_in_url())):
    setup.draw(wb, corpus_name=frame.corpus.name)
if job is not None:
    url.put(job=job.id)
    if job.state == "done":
        with st.spinner("Drawing …"):
            view = comparison.load_comparison(wb, job.id, by=frame.annotator.id)
        results.draw(view)
    else:
        compare_job.draw(wb, job)
setup.draw_earlier(jobs, job.id if job else None)
