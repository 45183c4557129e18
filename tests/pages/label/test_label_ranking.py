"""Questions that are ranked while people label."""

import pytest
import stored
from app_pages import markup, open_page, texts
from label_desk import FIRST, STEEL, add_unranked, front, label, leave, open_label, press, score_jobs

from app.ask import asking, stored_questions
from app.corpora import documents, ingestion
from app.labels import leasing
from app.labels.seats import Seat
from app.ui.label import actions
from app.versions import registry
from db.repositories import questions


def test_an_empty_queue_is_filled_by_a_job_that_a_button_starts_and_no_visit(wb, ann):
    leave(wb, ann)
    add_unranked(wb)
    at = open_label()
    assert score_jobs(wb) == []
    at = at.button(key="label_rank_more").click().run()
    assert score_jobs(wb) == ["queued"]
    assert "Filling the queues" in markup(at)


@pytest.mark.parametrize("mode", ["one", "list"])
def test_the_first_queue_ranks_a_question_when_its_turn_comes_and_starts_no_job(wb, ann, mode):
    while item := leasing.find_next_item(wb, Seat(stored.TOWERS, ann.id, "unlabelled")):
        label(wb, ann, (item.question_id, item.sentence_id))
    add_unranked(wb, "When was the bridge opened?")
    at = open_page("label", {"mode": mode})
    assert "When was the bridge opened?" in markup(at)
    assert "<small>Questions left in this queue</small><b>1</b>" in markup(at)
    assert score_jobs(wb) == []
    label(wb, ann, front(at))
    assert "This queue is finished" in markup(open_page("label", {"mode": mode}))


def test_that_others_came_first_is_not_told_any_more_once_the_question_is_there(wb, ann, monkeypatch):
    rank = actions.rank_next_question

    def wait_and_rank(wb, seat, on_wait):
        on_wait(2)
        return rank(wb, seat, on_wait)

    monkeypatch.setattr(actions, "rank_next_question", wait_and_rank)
    while item := leasing.find_next_item(wb, Seat(stored.TOWERS, ann.id, "unlabelled")):
        label(wb, ann, (item.question_id, item.sentence_id))
    add_unranked(wb, "When was the bridge opened?")
    at = open_page("label")
    assert "When was the bridge opened?" in markup(at) and "of other people" not in texts(at)


def test_a_list_that_nobody_began_is_ranked_again_when_it_is_opened_after_the_documents_changed(wb, ann, clock):
    at = open_page("label")
    clock.advance(minutes=1)
    ingestion.ingest(wb, stored.TOWERS, [("lift.txt", b"The lift of the tower and of the bridge was new. It is red.")])
    before = at.session_state["_label_desk"].showing
    at.run()
    assert "lift" in {r.title for r in at.session_state["_label_desk"].rows}
    assert at.session_state["_label_desk"].showing != before
    assert any("ranked again" in toast.value for toast in at.toast)
    press(at, "correct")
    clock.advance(minutes=1)
    ingestion.ingest(wb, stored.TOWERS, [("gate.txt", b"The gate of the tower and of the bridge is old.")])
    at.run()
    assert "gate" not in {r.title for r in at.session_state["_label_desk"].rows}


def test_a_question_in_front_alone_is_ranked_again_too(wb, ann, clock):
    at = open_page("label", {"mode": "one"})
    clock.advance(minutes=1)
    ingestion.ingest(wb, stored.TOWERS, [("lift.txt", b"The lift of the tower and of the bridge was new. It is red.")])
    assert any("ranked again" in toast.value for toast in at.run().toast)
    assert not at.run().toast
    before = at.session_state["_label_desk"].item.question_id
    press(at, "skip")
    assert at.session_state["_label_desk"].item.question_id != before  # it was ranked again, too
    assert not at.toast


def test_a_list_stays_in_front_as_it_was_where_it_cannot_be_ranked_again(wb, ann, clock):
    at = open_page("label")
    before = at.session_state["_label_desk"].rows
    clock.advance(minutes=1)
    for document in documents.list_documents(wb, stored.TOWERS):
        documents.delete_document(wb, document.id, by=ann.id)
    at.run()
    assert not at.error and not at.exception and at.session_state["_label_desk"].rows == before


def test_a_list_whose_run_was_interrupted_while_it_was_ranked_is_opened_again_in_the_next(wb, ann):
    at = open_page("label")
    before = at.session_state["_label_desk"]
    at.session_state["_label_renewed"] = before.item.question_id
    assert any("ranked again" in toast.value for toast in at.run().toast)
    assert at.session_state["_label_desk"].showing != before.showing
    assert not at.run().toast


def test_a_question_that_has_a_label_is_not_ranked_to_be_labelled(wb, ann):
    while item := leasing.find_next_item(wb, Seat(stored.TOWERS, ann.id, "unlabelled")):
        label(wb, ann, (item.question_id, item.sentence_id))
    add_unranked(wb)
    with wb.read() as s:
        [new] = questions.list_unranked_questions(s, stored.TOWERS, registry.get_active(wb).id, 2)
    label(wb, ann, (new.id, STEEL))
    assert "This queue is finished" in markup(open_page("label"))
    with wb.read() as s:
        assert len(questions.list_unranked_questions(s, stored.TOWERS, registry.get_active(wb).id, 2)) == 1


def test_ranking_is_cancelled_where_it_was_started(wb, ann):
    leave(wb, ann)
    add_unranked(wb)
    at = open_label().button(key="label_rank_more").click().run()
    at = at.button(key="label_rank_cancel").click().run()
    assert score_jobs(wb) == ["cancelled"]
    assert "Ranking was cancelled. What is ranked already stays." in markup(at)
    assert at.button(key="label_rank_more").label == "Rank more questions"


def test_ranking_that_goes_on_beside_an_item_shows_how_far_it_is_and_is_cancelled_there(wb):
    stored.put_job(wb, "score", progress=0.3, message="12 of 40 questions ranked, 20 to 35 s left")
    at = open_label()
    assert front(at) == FIRST
    assert "12 of 40 questions ranked, 20 to 35 s left" in [p.proto.text for p in at.get("progress")]
    at = at.button(key="label_rank_cancel").click().run()
    assert stored.jobs(wb)[-1].cancelling
    assert at.button(key="label_rank_cancel").disabled
    assert front(at) == FIRST


def test_a_viewer_cancels_only_the_ranking_that_they_started(wb, ann):
    stored.set_role(wb, "viewer")
    leave(wb, ann)
    add_unranked(wb)
    stored.put_job(wb, "score", "queued")
    assert open_label().button(key="label_rank_cancel").disabled
    stored.change_job(wb, stored.jobs(wb)[-1].id, state="done", result={"questions": 40})
    at = open_label().button(key="label_rank_more").click().run()
    assert not at.button(key="label_rank_cancel").disabled


def test_more_questions_can_be_ranked_when_a_queue_runs_out(wb, ann):
    leave(wb, ann)
    add_unranked(wb)
    stored.put_job(wb, "score", "done", result={"questions": 40})
    open_label().button(key="label_rank_more").click().run()
    assert score_jobs(wb) == ["done", "queued"]


@pytest.mark.parametrize(("result", "again", "offered"), [(0, False, False), (0, True, True), (7, False, True)])
def test_more_can_be_ranked_unless_a_job_found_nothing_unranked(wb, ann, result, again, offered):
    leave(wb, ann)
    if offered:
        add_unranked(wb)
    settings = {"again": True} if again else {}
    stored.put_job(wb, "score", "done", result={"questions": result}, settings=settings)
    at = open_label()
    assert ("label_rank_more" in [b.key for b in at.button]) is offered


def test_what_a_job_has_ranked_comes_to_the_desk_that_waits_for_it(wb, ann):
    leave(wb, ann)
    stored.put_job(wb, "score")
    at = open_label()
    assert front(at) is None
    question = asking.ask(wb, stored.TOWERS, "When was the bridge opened?").question_id
    stored_questions.set_queued(wb, [question], queued=True, by=ann.id)
    assert front(at.run())[0] == question


def test_questions_that_a_link_names_and_no_model_has_ranked_are_ranked_by_a_click(wb):
    with wb.write() as s:
        added = questions.add_question(
            s, stored.TOWERS, "Who paid for it?", external_id="new", origin="imported", now=wb.clock()
        )
        question_id = added.id
    at = open_label({"queue": "tops", "only": str(question_id)})
    assert "1 of them is not ranked yet. Rank them to see their candidates here." in markup(at)
    at = at.button(key="label_rank_these").click().run()
    [job] = [j for j in stored.jobs(wb) if j.kind == "score"]
    assert job.settings["questions"] == [question_id]
    assert "Filling the queues" in markup(at)
