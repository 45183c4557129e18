"""Labels that look wrong come back, until somebody has looked at them."""

import pytest

from app.adapt import second_looks
from app.ask import asking
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.labels import annotation, conflicts, leasing
from app.labels.annotation import Presentation
from app.labels.seats import Seat
from app.ranking import scoring
from app.ranking.synonyms import write_synonyms
from app.workbench import people
from app.worker import RUNNERS
from db.repositories import reviews


def test_second_looks_read_the_questions_with_the_corpus_s_synonyms(wb, towers, ann, monkeypatch):
    view = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    for c in view.candidates:
        annotation.give_label(
            wb, question_id=view.question_id, sentence_id=c.sentence_id, annotator_id=ann.id, label="correct"
        )
    write_synonyms(wb, towers.id, "finished => completed", by=ann.id)
    read, rank = [], scoring.rank
    monkeypatch.setattr(scoring, "rank", lambda *args: (read.append(args[1]), rank(*args))[1])
    second_looks.start_second_looks(wb, towers.id)
    run_queued(wb, {"doubt": RUNNERS["doubt"]})
    assert read == ["When was the Eiffel Tower finished (completed)?"]


def test_a_doubted_label_comes_back_and_rests_once_looked_at(wb, towers, ann):
    asked = [asking.ask(wb, towers.id, f"When was the Eiffel Tower finished, says {i}?") for i in "abcdefghijkl"]
    for view in asked:
        for c in view.candidates:
            right = "finished" in c.text
            label = "correct" if right != (view is asked[0] and right) else "incorrect"
            annotation.give_label(
                wb, question_id=view.question_id, sentence_id=c.sentence_id, annotator_id=ann.id, label=label
            )
    job = second_looks.start_second_looks(wb, towers.id)
    run_queued(wb, RUNNERS)
    assert queue.load_job(wb, job.id).state == "done", queue.load_job(wb, job.id).error
    assert second_looks.count_second_looks(wb, towers.id) == queue.load_job(wb, job.id).result["doubted"] >= 1
    item = leasing.find_next_item(wb, Seat(towers.id, ann.id, "second"))
    assert (item.question_id, item.label) == (asked[0].question_id, "incorrect")
    assert "labelled incorrect" in item.why
    annotation.give_label(
        wb,
        question_id=item.question_id,
        sentence_id=item.sentence_id,
        annotator_id=ann.id,
        label="incorrect",
        presentation=Presentation(queue="second"),
    )
    left = second_looks.count_second_looks(wb, towers.id)
    second_looks.start_second_looks(wb, towers.id)
    run_queued(wb, RUNNERS)
    assert second_looks.count_second_looks(wb, towers.id) == left


def test_a_search_for_suspicious_labels_makes_room_for_a_ranking_and_keeps_what_it_has(wb, towers, ann, monkeypatch):
    for word in "abcdefghijkl":
        view = asking.ask(wb, towers.id, f"When was the Eiffel Tower finished, says {word}?")
        for c in view.candidates:
            label = "correct" if "finished" in c.text else "incorrect"
            annotation.give_label(
                wb, question_id=view.question_id, sentence_id=c.sentence_id, annotator_id=ann.id, label=label
            )
    order, rank = [], scoring.rank

    def rank_and_ask(*args):
        order.append("rank")
        if order.count("rank") == 5:
            queue.enqueue(wb, "score", {})
        return rank(*args)

    monkeypatch.setattr(scoring, "rank", rank_and_ask)
    job = second_looks.start_second_looks(wb, towers.id)
    run_queued(wb, {"doubt": RUNNERS["doubt"], "score": lambda job: order.append("score")})
    done = queue.load_job(wb, job.id)
    assert (done.state, done.attempt) == ("done", 2), done.error
    assert order == 5 * ["rank"] + ["score"] + 7 * ["rank"]


def test_features_of_another_version_or_sentence_are_not_taken():
    keys = [("cascade", None, "Who?", "Me."), ("cascade", None, "Who?", "You."), ("cascade-2", None, "Who?", "Me.")]
    assert len({second_looks.make_key(*parts) for parts in [*keys, keys[0]]}) == 3


@pytest.fixture
def pair_and_verdict(wb, asked, give_signs, ann, bob):
    """A pair that ann and bob call correct and carol incorrect, and settle(label) for a verdict on it."""
    for who, sign in ((ann, "+"), (bob, "+"), (people.sign_in(wb, "carol"), "-")):
        give_signs(who, sign)
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    return tuple(pair.values()), lambda label: conflicts.adjudicate(wb, **pair, annotator_id=ann.id, label=label)


def test_a_doubt_about_what_a_verdict_overruled_waits_for_nobody(wb, towers, pair_and_verdict, ann):
    pair, settle = pair_and_verdict
    with wb.write() as s:
        reviews.put_suspicions(s, towers.id, [(pair, "correct", 0.9)], wb.clock())
    for verdict, waiting in (("incorrect", 0), ("correct", 1), ("unsure", 0), (None, 1)):
        settle(verdict)
        assert second_looks.count_second_looks(wb, towers.id) == waiting
        item = leasing.find_next_item(wb, Seat(towers.id, ann.id, "second"))
        assert (item is not None) == bool(waiting)
    assert "labelled correct" in item.why


def test_what_a_label_looks_like_is_learnt_from_the_verdict_on_it(wb, towers, pair_and_verdict, monkeypatch):
    learnt = []
    monkeypatch.setattr(
        second_looks, "find_suspicious", lambda features, labels, questions: learnt.append(labels) or []
    )
    pair_and_verdict[1]("incorrect")
    second_looks.start_second_looks(wb, towers.id)
    run_queued(wb, RUNNERS)
    assert learnt == [[0]]
