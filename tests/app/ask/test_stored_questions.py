"""A question from Ask: when it enters the label queues, how it leaves them, and how it is deleted."""

import numpy as np
import pytest
from fake_models import write_version
from label_files import import_labels
from sqlalchemy import func, select
from tower_texts import QUESTIONS

from app.ask import answer_rule, asking, proposals, questions, stored_questions
from app.ask.asking import count_whole_words
from app.ask.stored_questions import LabelsChanged
from app.exchange import exports
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.labels import annotation, conflicts, flags, leasing, progress
from app.labels.annotation import Presentation
from app.labels.seats import Seat
from app.ranking.retrieval import EmptyQuestion
from app.versions import promotion
from app.workbench import audit_log, people
from app.workbench.people import Gone, NotAllowed
from app.worker import RUNNERS
from as2core.errors import As2Error
from db.models import Candidate, LabelEvent, Question, Run, Score, Verdict
from db.repositories import proposals as proposal_rows
from db.repositories import versions as version_rows

TOWER, BRIDGE, BREAD = QUESTIONS


def list_offers(wb, corpus, person, name="random"):
    """The questions of a queue."""
    met, passed = set(), []
    while item := leasing.find_next_item(wb, Seat(corpus.id, person.id, name), passed):
        passed.append((item.question_id, item.sentence_id))
        met.add(item.question)
    return met


def label(wb, view, who, label="correct", position=None, **shown):
    annotation.give_label(
        wb,
        question_id=view.question_id,
        sentence_id=view.candidates[view.best if position is None else position].sentence_id,
        annotator_id=who.id,
        label=label,
        presentation=Presentation(**shown) if shown else None,
    )


def list_rows(wb, corpus, **which):
    view = stored_questions.list_questions(wb, corpus.id, limit=50, **which)
    return [(q.text, q.origin, q.labels, q.queued) for q in view.page]


def test_questions_that_found_no_answer_when_they_were_asked_last_are_listed(wb, towers, ann, monkeypatch):
    def list_unanswered():
        return [text for text, *_ in list_rows(wb, towers, state="unanswered")]

    view = asking.ask(wb, towers.id, TOWER)
    assert view.is_answered and not list_unanswered()
    with monkeypatch.context() as low:
        low.setattr(answer_rule, "rate_logits", lambda _, logits, alone, texts: (alone, np.zeros(len(alone), bool)))
        for question in (TOWER, BREAD):
            asking.ask(wb, towers.id, question)
    questions.add_questions(wb, towers.id, [BRIDGE], by=ann.id)  # not asked
    run_queued(wb, RUNNERS)
    assert list_unanswered() == [BREAD, TOWER]
    asking.ask(wb, towers.id, BREAD)
    label(wb, view, ann)  # Ask shows it as the answer
    assert not list_unanswered()


def count(wb, table):
    with wb.read() as s:
        return s.scalar(select(func.count()).select_from(table))


def test_a_question_from_ask_is_no_label_work_until_one_of_its_candidates_is_labelled(wb, towers, ann):
    view = asking.ask(wb, towers.id, TOWER)
    assert list_offers(wb, towers, ann) == list_offers(wb, towers, ann, "unlabelled") == set()
    assert progress.measure_progress(wb, towers.id, ann.id).remaining == 0
    label(wb, view, ann, queue="ask")
    assert list_offers(wb, towers, ann) == {TOWER}
    assert progress.measure_progress(wb, towers.id, ann.id).remaining == len(view.candidates) - 1


def test_a_label_from_a_queue_does_not_bring_back_what_was_removed(wb, towers, ask_queued, ann):
    view = ask_queued(towers.id, TOWER)
    stored_questions.set_queued(wb, [view.question_id], queued=False, by=ann.id)
    label(wb, view, ann, queue="tops")
    assert not stored_questions.is_queued(wb, view.question_id)
    label(wb, view, ann, "unsure", position=0, queue="ask")
    assert stored_questions.is_queued(wb, view.question_id)


def test_a_question_is_added_and_taken_back_and_its_labels_stay(wb, towers, ann):
    view = asking.ask(wb, towers.id, TOWER)
    stored_questions.set_queued(wb, [view.question_id], queued=True, by=ann.id)
    assert list_offers(wb, towers, ann) == {TOWER}
    label(wb, view, ann, queue="tops")
    stored_questions.set_queued(wb, [view.question_id], queued=False, by=ann.id)
    assert list_offers(wb, towers, ann) == list_offers(wb, towers, ann, "own") == set()
    [exported] = exports.load_labelled_questions(wb, towers.id)
    assert [c.label for c in exported.candidates] == [1]


def test_an_added_question_that_the_active_version_ranked_is_not_ranked_again(wb, towers, ann):
    view = asking.ask(wb, towers.id, TOWER)
    run_queued(wb, RUNNERS)
    stored_questions.set_queued(wb, [view.question_id], queued=True, by=ann.id)
    run_queued(wb, RUNNERS)
    assert queue.find_newest(wb, "score", towers.id) is None
    assert count(wb, Run) == 1


def test_scoring_leaves_alone_what_was_only_asked(wb, towers, ann):
    asking.ask(wb, towers.id, TOWER)
    questions.add_questions(wb, towers.id, [BRIDGE], by=ann.id)
    run_queued(wb, RUNNERS)
    assert queue.find_newest(wb, "score", towers.id).result == {"questions": 1}
    assert list_offers(wb, towers, ann) == {BRIDGE}


def test_a_question_that_is_listed_proposed_or_imported_too_enters_the_queues(wb, towers, ann):
    views = [asking.ask(wb, towers.id, q) for q in QUESTIONS]
    report = questions.add_questions(wb, towers.id, [TOWER], by=ann.id)
    assert (report.new_count, report.existing_questions, report.queued_count) == (0, (TOWER,), 1)
    with wb.write() as s:
        sentence = views[1].candidates[views[1].best].sentence_id
        made = proposal_rows.add_proposal(s, towers.id, sentence, BRIDGE, log_p=-1, place=1, now=wb.clock()).id
    proposals.accept(wb, made, annotator_id=ann.id)
    import_labels(wb, towers.id, "m.csv", f"query,docid,rating\n{BREAD},bread-0,1\n".encode())
    assert all(queued for *_, queued in list_rows(wb, towers))


def test_a_question_without_a_word_is_refused_wherever_it_comes_from(wb, towers, ann):
    for text in ("?", "?!", "¿?", "<>", "…"):
        with pytest.raises(EmptyQuestion, match="no letter or digit: type a question in words"):
            asking.ask(wb, towers.id, text)
        with pytest.raises(As2Error, match=r"line 1: .* no letter or digit"):
            questions.add_questions(wb, towers.id, [text], by=ann.id)
    assert list_rows(wb, towers) == []
    assert asking.ask(wb, towers.id, "1889").question == "1889?"


def test_all_questions_are_listed_with_where_they_come_from_and_found_by_text_and_origin(wb, towers, ann, bob, clock):
    questions.add_questions(wb, towers.id, [BREAD], by=ann.id)
    clock.advance(minutes=1)
    import_labels(wb, towers.id, "m.csv", f"query,docid,rating\n{TOWER},tower-0,1\n".encode())
    with pytest.raises(As2Error):
        import_labels(wb, towers.id, "m.csv", b"")
    clock.advance(minutes=1)
    view = asking.ask(wb, towers.id, BRIDGE, by=ann.id)
    for who in (ann, bob):
        label(wb, view, who, queue="ask")
    label(wb, view, ann, "incorrect", position=-1, queue="ask")
    assert sorted(list_rows(wb, towers)) == sorted(
        [(BREAD, "listed", 0, True), (TOWER, "imported", 1, True), (BRIDGE, "asked", 2, True)]
    )
    assert list_rows(wb, towers)[0][0] == BRIDGE  # asked last
    assert [q[0] for q in list_rows(wb, towers, search="FORTH")] == [BRIDGE]
    assert list_rows(wb, towers, search="100 %_") == []
    assert [q[0] for q in list_rows(wb, towers, origin="imported")] == [TOWER]
    view = stored_questions.list_questions(wb, towers.id, limit=1, offset=1)
    assert (len(view.page), view.total, view.origins) == (1, 3, {"asked": 1, "imported": 1, "listed": 1})
    run_queued(wb, RUNNERS)  # ranked by a job is not asked
    asked = {q.text: q.asked_at for q in stored_questions.list_questions(wb, towers.id, limit=9).page}
    assert asked == {BREAD: None, TOWER: None, BRIDGE: clock.now}


def test_everyone_has_their_own_recent_questions_newest_first_and_each_once(wb, towers, ann, bob, clock):
    for person, text in ((ann, TOWER), (ann, BRIDGE), (bob, BREAD), (ann, TOWER), (None, BREAD)):
        clock.advance(minutes=1)
        asking.ask(wb, towers.id, text, by=person and person.id)
    assert stored_questions.list_recent(wb, towers.id, ann.id) == (TOWER, BRIDGE)
    assert stored_questions.list_recent(wb, towers.id, bob.id) == (BREAD,)
    assert stored_questions.list_recent(wb, towers.id, ann.id, 1) == (TOWER,)


def test_a_deleted_question_goes_with_all_that_belongs_to_it(wb, towers, ann, bob):
    view, other = asking.ask(wb, towers.id, TOWER, by=ann.id), asking.ask(wb, towers.id, BRIDGE)
    asking.score_generative(wb, view)
    label(wb, other, ann, queue="ask")
    label(wb, view, bob, "incorrect", queue="ask")
    label(wb, view, ann, queue="ask")
    annotation.undo_last(wb, ann.id, towers.id)
    label(wb, view, ann, queue="ask")
    sentence = view.candidates[view.best].sentence_id
    conflicts.adjudicate(wb, question_id=view.question_id, sentence_id=sentence, annotator_id=ann.id, label="correct")
    preview = stored_questions.preview_deletion(wb, view.question_id, by=ann.id)
    assert (preview.text, preview.by_name, preview.labels) == (TOWER, (("ann", 1), ("bob", 1)), 2)
    stored_questions.delete_question(wb, view.question_id, labels=2, by=ann.id)
    with wb.read() as s:
        assert s.scalars(select(Question.text)).all() == [BRIDGE]
        for table in (Candidate, Run, LabelEvent):
            assert set(s.scalars(select(table.question_id))) == {other.question_id}
        assert s.scalars(select(Verdict)).all() == []
        ids = set(s.scalars(select(Candidate.id)))
        assert set(s.scalars(select(Score.candidate_id))) == ids
    assert TOWER not in exports.export_labels(wb, towers.id, "jsonl").decode()
    with pytest.raises(Gone, match="no longer exists"):
        stored_questions.delete_question(wb, view.question_id, labels=2, by=ann.id)


def test_labels_are_never_deleted_without_having_been_told(wb, towers, ann, bob):
    view = asking.ask(wb, towers.id, TOWER)
    told = stored_questions.preview_deletion(wb, view.question_id, by=ann.id).labels
    label(wb, view, bob, queue="ask")
    with pytest.raises(LabelsChanged, match="1 label now, not 0"):
        stored_questions.delete_question(wb, view.question_id, labels=told, by=ann.id)
    assert count(wb, LabelEvent) == 1


def test_viewers_delete_nothing_and_annotators_nothing_that_others_labelled(wb, towers, ann, bob):
    view = asking.ask(wb, towers.id, TOWER)
    label(wb, view, ann, queue="ask")
    with pytest.raises(NotAllowed, match="only an admin can delete a question that others labelled, here ann"):
        stored_questions.delete_question(wb, view.question_id, labels=1, by=bob.id)
    people.set_role(wb, bob.id, "viewer", by=ann.id)
    mine = asking.ask(wb, towers.id, BRIDGE, by=bob.id)
    with pytest.raises(NotAllowed, match="viewer"):
        stored_questions.delete_question(wb, mine.question_id, labels=0, by=bob.id)
    with pytest.raises(NotAllowed, match="viewer"):
        stored_questions.set_queued(wb, [mine.question_id], queued=True, by=bob.id)
    assert len(list_rows(wb, towers)) == 2


def test_leftovers_are_what_was_typed_on_ask_and_neither_labelled_nor_queued(wb, towers, ann, bob):
    asked = [asking.ask(wb, towers.id, text, as_typed=True).question_id for text in QUESTIONS]
    questions.add_questions(wb, towers.id, ["Who paid for the bread?"], by=ann.id)
    stored_questions.set_queued(wb, asked[:1], queued=True, by=ann.id)
    assert stored_questions.list_leftovers(wb, towers.id) == tuple(asked[1:])
    flagged = asking.ask(wb, towers.id, "Is this one odd?", as_typed=True)
    sentence_id = flagged.candidates[0].sentence_id
    wb.later.finish()
    flags.add_flag(wb, question_id=flagged.question_id, sentence_id=sentence_id, annotator_id=ann.id, note="look")
    assert stored_questions.list_leftovers(wb, towers.id) == tuple(asked[1:])
    people.set_role(wb, bob.id, "viewer", by=ann.id)
    with pytest.raises(NotAllowed):
        stored_questions.delete_leftovers(wb, towers.id, asked, by=bob.id)
    assert stored_questions.delete_leftovers(wb, towers.id, asked[:2], by=ann.id) == (asked[1],)
    [event] = audit_log.list_events(wb, by=None, act=stored_questions.DELETE_LEFTOVERS, actor="ann")
    assert (event.target, event.detail) == ("towers", "typed on Ask: 1")


def test_questions_are_skipped_whole_among_the_pairs_of_others(wb, scored, ann):
    seat = Seat(scored.id, ann.id, "tops")
    first = leasing.find_next_item(wb, seat)
    second = leasing.find_next_item(wb, seat, skips=(first.question_id,))
    assert second.question != first.question
    met, passed = set(), [first.question_id, (second.question_id, second.sentence_id)]
    while item := leasing.find_next_item(wb, seat, passed):
        met.add(item.question)
        passed.append((item.question_id, item.sentence_id))
    assert met == set(QUESTIONS) - {first.question}


def test_a_promotion_ranks_the_questions_of_the_queues_anew_and_no_others(wb, towers, ask_queued):
    asking.ask(wb, towers.id, TOWER)
    queued = ask_queued(towers.id, BRIDGE)
    path = write_version(wb.settings.versions_dir / "towers-1", parent="cascade")
    with wb.write() as s:
        more = {"kind": "cascade", "state": "candidate", "parent": "cascade"}
        version_rows.add_version(s, "towers-1", path=str(path), now=wb.clock(), **more)
    promotion.promote(wb, "towers-1")
    run_queued(wb, RUNNERS)
    with wb.read() as s:
        again = s.scalars(select(Run.question_id).where(Run.settings["by"].as_string() == "job")).all()
    assert again == [queued.question_id]


def test_the_words_that_were_read_are_counted_to_the_last_whole_one():
    text = "what is a semiconductor good for"
    assert count_whole_words("what is a semi", text) == 3
    assert count_whole_words("what is a", text) == 3
    assert count_whole_words("what is a semiconductor", text) == 4


def test_a_long_question_and_one_in_another_language_say_so(wb, towers):
    assert asking.ask(wb, towers.id, TOWER).hints == ()
    long = asking.ask(wb, towers.id, "Is the tower " * 30, as_typed=True)
    assert long.hints == ("Only the first 64 words were read: the question is too long.",)
    [hint] = asking.ask(wb, towers.id, "Wann wurde der Tower fertig?", as_typed=True).hints
    assert "read English" in hint
