"""Adapt: learn from what people said, see before and after, decide."""

from contextlib import suppress
from pathlib import Path

import streamlit as st

from app.components import (
    adapt_automatic,
    adapt_card,
    adapt_choice,
    adapt_job,
    adapt_jobs,
    adapt_ready,
    adapt_versions,
    url,
)
from app.components.page import page
from app.components.text import plain
from app.services import adapting, versions
from app.services.adapt_views import Readiness
from app.services.choosing import Choice
from app.services.views import JobView
from as2core.errors import As2Error

frame = page("Adapt", "Fit the ranker to what people said, and keep it only if it got better.")
st.html(Path(adapt_card.__file__).with_name("adapt.css"))
said = st.session_state.pop("_adapt_said", "")
if said:
    st.toast(plain(said), icon=":material/check:")
wb = frame.wb


def chosen_job() -> JobView | None:
    """The job of the address, else one that is under way on this corpus."""
    if url.get("job"):
        with suppress(As2Error):
            if (number := url.job()) is not None and (found := adapting.job(wb, number)).kind == "retrain":
                return found
        st.caption("The retrain of this address is not known here.")
    return next(reversed(adapting.active_jobs(wb, "retrain", frame.corpus.id)), None)


def draw_version(name: str) -> None:
    with st.container(border=True, key="adapt_card"):
        try:
            version, card = versions.get_version(wb, name), versions.card(wb, name)
        except As2Error as error:
            st.error(plain(str(error)), icon=":material/error:")
        else:
            st.subheader(plain(version.name), anchor=False)
            adapt_card.draw_card(card, adapting.hidden(wb, frame.annotator.id))
            adapt_versions.draw_decision(wb, version, frame.annotator)
    st.button("Put this away", key="adapt_away", type="tertiary", on_click=lambda: url.put(version=None))


def draw_job(job: JobView) -> None:
    if job.state == "done":
        made = next((v for v in versions.list_versions(wb, kind=None) if v.name == job.result.get("version")), None)
        with st.container(border=True, key="adapt_card"):
            adapt_card.draw(job.result, adapting.hidden(wb, frame.annotator.id))
            if made is not None:
                adapt_versions.draw_decision(wb, made, frame.annotator)
    adapt_job.draw(wb, job)
    if not job.active:
        st.button("Put this away", key="adapt_away", type="tertiary", on_click=lambda: url.put(job=None))


@st.cache_data(ttl=10, show_spinner=False)  # a spinner that comes and goes would close the expander below
def readiness(corpus_id: int, labels: int, chosen: dict, kind: str, base: str, replay: float) -> Readiness:
    """Dividing thousands of labels takes a while; a change is seen at once by its count, at the latest in 10 s."""
    return adapting.readiness(wb, corpus_id, Choice.of(chosen), kind=kind, base=base, replay=replay)


adapt_automatic.draw_waiting(wb)
job = chosen_job()
recent = adapting.recent_jobs(wb, frame.corpus.id)
adapt_jobs.draw_lost(recent, adapting.newest_job(wb, "retrain", frame.corpus.id), shown=job)
if url.get("version"):
    draw_version(url.get("version"))
elif job is not None:
    url.put(job=job.id)
    draw_job(job)

chosen, kind, base = adapt_choice.choice(frame.corpus.id), adapt_choice.kind(), adapt_ready.base(wb)
ready = readiness(frame.corpus.id, frame.corpus.labels, chosen.stored(), kind, base, adapt_choice.replay())
adapt_ready.draw_labels(ready)
adapt_choice.draw(frame.corpus.id, ready.by_annotator)
adapt_ready.draw_start(wb, frame.corpus, ready, frame.annotator)

adapt_automatic.draw_rule(wb, frame.corpus.id, frame.annotator)
adapt_jobs.draw_list(wb, recent)

st.subheader("Versions", anchor=False)
adapt_versions.draw_list(wb, frame.annotator)
adapt_versions.dialogs(wb, frame.annotator)
