"""The queue "Decide A or B": from the form to the conclusion."""

import re

import stored
from app_pages import markup, open_page, texts

from app.compare import deciding
from app.compare.deciding import DecisionRequest
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.labels import annotation, leasing
from app.ui import keys
from app.workbench import people
from app.worker import RUNNERS
from as2core.deciding.decision import Decision
from as2core.deciding.powered import PoweredMean


def start(wb):
    at = open_page("label", {"queue": "decide"})
    assert "label_mode" not in at.session_state  # a decision asks for one sentence at a time
    at.selectbox(key="label_decide_a").set_value("bm25")
    at.selectbox(key="label_decide_b").set_value("rr")
    return at.button(key="label_decide_start").click().run()


def test_two_rankers_are_chosen_rank_the_questions_and_are_decided_by_labels(wb, me, monkeypatch):
    spoken = []
    monkeypatch.setattr(keys, "listen_to_keys", lambda *, data, **_: spoken.append(data["say"]))
    at = start(wb)
    assert set(spoken) == {""}
    [job] = queue.list_jobs(wb, kind="decide")
    assert at.query_params["job"] == str(job.id) and job.settings["a"] == "bm25"
    assert "as2-decision" not in markup(at)
    run_queued(wb, RUNNERS)
    at = open_page("label", {"queue": "decide"})  # the newest one is found without its number
    assert "Candidates left in this queue" not in markup(at) and "Everyone’s" in markup(at)
    assert "Not decided yet: at most" in markup(at) and "so its label can change the conclusion" in markup(at)
    assert at.button(key="label_skip").disabled and at.button(key="label_remove").disabled
    first = at.session_state["_label_desk"].pair
    at = at.button(key="label_correct").click().run()
    assert "1 label given." in markup(at)
    assert re.match(r"Correct\. Not decided yet: at most \d+ more labels?\. .*Candidate: ", spoken[-1])
    at = at.button(key="label_undo").click().run()
    assert at.session_state["_label_desk"].pair == first and "0 labels given." in markup(at)
    for _ in range(20):
        if at.session_state["_label_desk"].item is None:
            break
        at = at.button(key="label_incorrect").click().run()
    assert "nothing more to label" in texts(at)
    assert "No difference above 0.02" in markup(at) and "No difference above 0.02" in spoken[-1]
    acts = annotation.list_acts(wb, me.id, stored.TOWERS)
    assert acts and all(act.label == "incorrect" for act in acts)


def test_the_conclusion_says_what_other_questions_would_show(wb, monkeypatch):
    start(wb)
    run_queued(wb, RUNNERS)
    assert "other questions like these" not in markup(open_page("label", {"queue": "decide"}))  # too few are known
    monkeypatch.setattr(Decision, "estimate_for_others", lambda _: PoweredMean(0.15, -0.02, 0.31))
    at = open_page("label", {"queue": "decide"})
    assert "On other questions like these: +0.150 (−0.02 to +0.31, if you look once)." in markup(at)


def test_another_pair_can_be_chosen_and_a_link_names_one(wb):
    start(wb)
    run_queued(wb, RUNNERS)
    at = open_page("label", {"queue": "decide", "a": "rr", "b": "starter-2"})
    assert at.selectbox(key="label_decide_a").value == "rr"
    assert [s.label for s in at.selectbox if "Ranker" in s.label] == ["Ranker A: rr", "Ranker B: starter-2"]
    assert at.selectbox(key="label_decide_b").value == "starter-2"
    at.selectbox(key="label_decide_b").set_value("rr")
    at = at.button(key="label_decide_start").click().run()
    assert "rr twice" in texts(at)
    assert len(queue.list_jobs(wb, kind="decide")) == 1


def test_a_word_that_is_no_ranker_is_told_below_its_field_with_the_nearest_one_to_take(wb):
    at = open_page("label", {"queue": "decide", "a": "bm52"})
    assert "No ranker 'bm52'; did you mean bm25?" in texts(at) and at.button(key="label_decide_start").disabled
    at = at.button(key="label_decide_a_use_bm25").click().run()
    assert at.selectbox(key="label_decide_a").value == "bm25" and at.selectbox(key="label_decide_b").value == "bm25"
    assert not at.error and at.button(key="label_decide_start").disabled
    assert "Choose two different rankers." in texts(at)
    at = at.selectbox(key="label_decide_b").set_value("rr").run()
    assert "two different" not in texts(at) and not at.button(key="label_decide_start").disabled


def test_a_ranker_from_elsewhere_is_refused_to_who_is_no_admin_before_the_start(wb, me):
    at = open_page("label", {"queue": "decide", "b": "onnx:model=DIR"})
    assert not at.error and not at.button(key="label_decide_start").disabled
    people.set_role(wb, people.sign_in(wb, "ann").id, people.ADMIN, by=None)
    people.set_role(wb, me.id, people.ANNOTATOR, by=None)
    at = open_page("label", {"queue": "decide", "b": "onnx:model=DIR"})
    assert "onnx:model=DIR is not of this workbench, so only an admin can choose it" in texts(at)
    assert at.button(key="label_decide_start").disabled


def test_two_sessions_get_different_candidates_and_see_what_the_other_labelled(wb):
    start(wb)
    run_queued(wb, RUNNERS)
    mine, theirs = (open_page("label", {"queue": "decide"}) for _ in range(2))
    pairs = [at.session_state["_label_desk"].pair for at in (mine, theirs)]
    assert pairs[0] != pairs[1] and "0 labels given." in markup(theirs)
    assert not theirs.button(key="label_correct").disabled
    mine.button(key="label_incorrect").click().run()
    assert "1 label given." in markup(theirs.run())
    assert theirs.session_state["_label_desk"].pair == pairs[1]  # what is being read stays


def test_another_persons_new_decision_does_not_take_the_page_from_who_labels(wb):
    start(wb)
    run_queued(wb, RUNNERS)
    at = open_page("label", {"queue": "decide"})
    pair = at.session_state["_label_desk"].pair
    other = deciding.start_decision(wb, stored.TOWERS, DecisionRequest("bm25", "jaccard"))
    at = at.run()
    assert at.session_state["_label_desk"].pair == pair and "Not decided" in markup(at)
    run_queued(wb, RUNNERS)
    assert open_page("label", {"queue": "decide"}).session_state["_label_desk"].job_id == other.id
    assert at.run().session_state["_label_desk"].job_id != other.id


def test_who_has_nothing_to_label_because_others_have_it_all_is_told_so_and_not_that_it_is_decided(wb, monkeypatch):
    monkeypatch.setattr(deciding, "MAX_PEOPLE", 1)
    start(wb)
    run_queued(wb, RUNNERS)
    mine, theirs = (open_page("label", {"queue": "decide"}) for _ in range(2))
    assert "Others are labelling the candidates that the conclusion depends on." in texts(theirs)
    assert "label_correct" not in [b.key for b in theirs.button] and "Not decided" in markup(theirs)
    desk = mine.session_state["_label_desk"]
    leasing.leave(wb, desk.seat)
    assert theirs.run().session_state["_label_desk"].pair == desk.pair
