"""The queue "Decide A or B": from the form to the verdict."""

import stored
from app_pages import markup, open_page, texts

from app.jobs import queue
from app.jobs.attempt import run_queued
from app.labels import annotation
from app.worker import RUNNERS


def start(wb):
    at = open_page("label", {"queue": "decide"})
    at.selectbox(key="label_decide_a").set_value("bm25")
    at.selectbox(key="label_decide_b").set_value("rr")
    return at.button(key="label_decide_start").click().run()


def test_two_rankers_are_chosen_rank_the_questions_and_are_decided_by_labels(wb, me):
    at = start(wb)
    [job] = queue.list_jobs(wb, kind="decide")
    assert at.query_params["job"] == str(job.id) and job.settings["a"] == "bm25"
    assert "as2-decision" not in markup(at)
    run_queued(wb, RUNNERS)
    at = open_page("label", {"queue": "decide"})  # the newest one is found without its number
    assert "Not decided: at most" in markup(at) and "Its label can change the verdict" in markup(at)
    assert at.button(key="label_skip").disabled and at.button(key="label_remove").disabled
    first = at.session_state["_label_desk"].pair
    at = at.button(key="label_correct").click().run()
    assert "1 label given." in markup(at)
    at = at.button(key="label_undo").click().run()
    assert at.session_state["_label_desk"].pair == first and "0 labels given." in markup(at)
    for _ in range(20):
        if at.session_state["_label_desk"].item is None:
            break
        at = at.button(key="label_incorrect").click().run()
    assert "nothing more to label" in texts(at)
    assert "No difference above 0.02" in markup(at)
    acts = annotation.list_acts(wb, me.id, stored.TOWERS)
    assert acts and all(act.label == "incorrect" for act in acts)


def test_another_pair_can_be_chosen_and_a_link_names_one(wb):
    start(wb)
    run_queued(wb, RUNNERS)
    at = open_page("label", {"queue": "decide", "a": "rr", "b": "starter-2"})
    assert at.selectbox(key="label_decide_a").value == "rr"
    assert at.selectbox(key="label_decide_b").value == "starter-2"
    at.selectbox(key="label_decide_b").set_value("rr")
    at = at.button(key="label_decide_start").click().run()
    assert "rr twice" in texts(at)
    assert len(queue.list_jobs(wb, kind="decide")) == 1
