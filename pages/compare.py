"""Compare: any rankers over any labelled set, with how sure the difference is."""

from contextlib import suppress

import streamlit as st

from app.components import compare_job, compare_results, compare_setup, url
from app.components.page import page
from app.services import adapting, comparing
from as2core.errors import As2Error

frame = page("Compare", "Which ranker is better, how sure that is, and what it costs.")
wb = frame.wb
jobs = adapting.jobs(wb, kind="compare")
job = None
if url.get("job"):
    with suppress(As2Error):
        if (number := url.job()) is not None and (found := adapting.job(wb, number)).kind == "compare":
            job = found
    if job is None:
        st.caption("The comparison of this address is not known here.")
if job is None:
    job = next((j for j in jobs if j.active), None)

with st.expander("A new comparison", icon=":material/add:", expanded=job is None or bool(compare_setup.asked())):
    compare_setup.draw(wb, corpus_name=frame.corpus.name)
if job is not None:
    url.put(job=job.id)
    if job.state == "done":
        with st.spinner("Drawing …"):
            view = comparing.comparison(wb, job.id, by=frame.annotator.id)
        compare_results.draw(view)
    else:
        compare_job.draw(wb, job)
compare_setup.draw_earlier(jobs, job.id if job else None)
