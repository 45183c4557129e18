"""The panel of a comparison that has no result yet."""

import streamlit as st

from app.compare.comparison import ComparisonSettings
from app.jobs.queue import JobView
from app.ui.compare.names import describe_questions, describe_raw_names_of, name_comparison
from app.ui.job import draw_bar, draw_cancel_or_retry, draw_wait_and_error
from app.ui.text import plain
from app.workbench.people import AnnotatorView
from app.workbench.workbench import Workbench

OUTCOMES = {
    "failed": "The comparison failed. Nothing else was changed.",
    "cancelled": "It was stopped. Finished rankers are stored and will not run again.",
    "lost": "The worker was interrupted. Run it again: finished rankers are stored.",
}


def draw_comparison(wb: Workbench, job: JobView, person: AnnotatorView) -> None:
    with st.container(border=True, key="compare_job"):
        if job.is_active:
            draw_bar(job, "Comparing")
        settings = ComparisonSettings.of(job)
        st.caption(plain(f"{name_comparison(settings)} ({describe_questions(settings)})"),
                   help=describe_raw_names_of(settings))  # fmt: skip
        if job.result:
            st.markdown("The result is below. The times are being measured." if job.is_active else
                        "The result is below, without the times.")  # fmt: skip
        elif job.state in OUTCOMES:
            st.markdown(OUTCOMES[job.state])
        draw_wait_and_error(wb, job)
        draw_cancel_or_retry(wb, job, "compare", person)
