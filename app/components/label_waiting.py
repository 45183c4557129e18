"""In the place of an item when a queue is empty: why it is, and the background job that fills it.

Queues offer what a model has ranked. Questions that came with labels or a file were never ranked, so the first visit
starts a job that ranks some; later visits offer a button.
"""

from __future__ import annotations

import streamlit as st

from app.components import label_desk, label_list, links
from app.components.errors import guarded
from app.components.label_desk import Desk
from app.components.label_list import ListDesk
from app.components.text import count, plain
from app.services import Workbench, adapting, queueing, scoring
from app.services.views import CorpusView, JobView

POLL = 2.0
KEY = "_label_desk"
REVIEWS_EMPTY = {
    "flagged": "Nobody flagged anything. The key f does it, with a note.",
    "second": "No label is doubted. Agreement, Second looks, finds those that the other labels speak against.",
    "own": "You have seen all your labels in this sitting; the right arrow begins again.",
}


def draw(wb: Workbench, corpus: CorpusView, desk: Desk | ListDesk) -> None:
    if not corpus.questions:
        _say(
            "There is nothing to judge yet",
            "Nobody has asked this corpus anything. Ask, bring questions of your own, or accept questions proposed "
            "from its sentences, and what is found for them comes here.",
        )
        with st.container(horizontal=True, horizontal_alignment="center"):
            links.to("ask", "Ask a question")
            if corpus.sentences:
                links.to("data", "Propose questions", view="proposals")
            links.to("data", "Import questions")
        return
    if desk.seat.queue in queueing.REVIEWS:
        _say("Nothing to look at again", REVIEWS_EMPTY[desk.seat.queue])
        return
    job = adapting.newest_job(wb, "score", corpus.id)
    if job is None:
        job = scoring.start_scoring(wb, corpus.id)
    if job.active:
        st.fragment(_wait, run_every=POLL)(wb, job.id)
        return
    _finished(wb, corpus, desk, job)


def _wait(wb: Workbench, job_id: int) -> None:
    """Until the job ends, look whether it has brought something; then the whole page is drawn again."""
    job = adapting.job(wb, job_id)
    desk = st.session_state[KEY]
    desk = (label_list if isinstance(desk, ListDesk) else label_desk).look(wb, desk)
    if desk.item is not None or not job.active:
        st.session_state[KEY] = desk.next_turn()
        st.rerun()
    _say("Filling the queues", "The model ranks questions it has not seen, so that there is something to judge.")
    st.progress(min(1.0, job.progress), text=plain(job.message or "waiting for the worker"))


def _finished(wb: Workbench, corpus: CorpusView, desk: Desk | ListDesk, job: JobView) -> None:
    rest = (
        f" You passed over {count(len(desk.passed), 'item')}; the right arrow brings them back." if desk.passed else ""
    )
    if job.state == "done":
        # what ranks anew passes over those that were never ranked
        all_ranked = not job.result.get("questions") and not job.settings.get("again")
        more = "Every question has been ranked." if all_ranked else "There may be questions no model has ranked yet."
    else:
        all_ranked, more = False, "The job that fills the queues did not come to its end."
    _say("This queue is finished", f"Nothing is left here for you.{rest} Take another queue above. {more}")
    if job.error:
        st.error(plain(job.error), icon=":material/error:")
    with st.container(horizontal=True, horizontal_alignment="center"):
        if not all_ranked:
            st.button("Rank more questions", key="label_rank_more", icon=":material/playlist_add:", on_click=_more,
                      args=(wb, corpus.id))  # fmt: skip
        links.to("adapt", "Adapt the ranker")
        links.to("ask", "Ask something new")


@guarded
def _more(wb: Workbench, corpus_id: int) -> None:
    scoring.start_scoring(wb, corpus_id)


def _say(title: str, text: str) -> None:
    """`text` is ours."""
    st.html(f'<div class="as2-item as2-done" data-testid="as2-finished"><h2>{title}</h2><p>{text}</p></div>')
