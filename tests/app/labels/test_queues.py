import re
import threading
from datetime import timedelta
from itertools import pairwise

import pytest
from pair_leases import find_lease
from sqlalchemy import Engine, event, select
from tower_texts import QUESTIONS

from app.ask import asking
from app.corpora import corpora, documents, ingestion
from app.jobs import queue as jobs
from app.jobs.attempt import JobRun, run_queued
from app.labels import annotation, flags, leasing, progress, rules, seats
from app.labels.queues import QUEUES, UNLABELLED
from app.labels.seats import Seat
from app.ranking import next_question, score_job
from app.workbench import people
from app.workbench.people import Gone
from app.worker import RUNNERS
from as2core.errors import BadSetting
from db.models import Question, Run
from db.repositories import candidates as candidate_rows
from db.repositories import question_lists, queues
from db.repositories import questions as rows
from db.repositories.leases import Holder

# of these, a label takes the pair out, and no other; of "unlabelled" it takes out all of the question
CONSUMED = tuple(name for name, queue in QUEUES.items() if not queue.is_review and name != UNLABELLED)


def walk(wb, corpus, who, queue, label="incorrect"):
    """Label a queue to its end; the items met, one at least."""
    met = label_all(wb, corpus, who, queue, label)
    assert met, f"the queue {queue} was empty"
    return met


def label_all(wb, corpus, who, queue, label="incorrect"):
    """Label what a queue still has; the items met."""
    met = []
    while (item := leasing.find_next_item(wb, Seat(corpus.id, who.id, queue))) is not None:
        met.append(item)
        annotation.give_label(
            wb, question_id=item.question_id, sentence_id=item.sentence_id, annotator_id=who.id, label=label
        )
    return met


def pair(item):
    return item.question_id, item.sentence_id


@pytest.mark.parametrize("queue", CONSUMED)
def test_every_queue_gives_each_pair_once_and_ends(wb, scored, ann, queue):
    left = progress.measure_progress(wb, scored.id, ann.id, queue).remaining
    met = walk(wb, scored, ann, queue)
    assert len({pair(i) for i in met}) == len(met) == left > 1
    assert leasing.find_next_item(wb, Seat(scored.id, ann.id, queue)) is None


@pytest.mark.parametrize("queue", CONSUMED)
def test_every_item_says_why_with_a_number(wb, scored, ann, queue):
    for item in walk(wb, scored, ann, queue):
        assert re.search(r"\d", item.why), item.why
        assert item.why.endswith(".")
        assert item.assignment.queue == queue


@pytest.mark.parametrize("queue", CONSUMED)
def test_who_hides_the_scores_finds_none_in_the_reason(wb, scored, ann, queue):
    for item in walk(wb, scored, ann, queue):
        again = leasing.open_item(wb, item.question_id, item.sentence_id, ann.id)
        for said in (item.why_unscored, again.why_unscored):
            assert said.endswith(".")
            assert not re.search(r"\d", said), said
        assert (item.why_unscored == QUEUES[queue].description) != item.assignment.control


def test_a_flag_s_note_is_told_to_those_who_hide_the_scores_too(wb, scored, ann):
    item = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))
    flags.add_flag(wb, question_id=item.question_id, sentence_id=item.sentence_id, annotator_id=ann.id, note="1889?")
    flagged = leasing.find_next_item(wb, Seat(scored.id, ann.id, "flagged"))
    assert flagged.why_unscored == flagged.why == "Flagged by ann: 1889?"


def test_all_who_flagged_a_pair_are_heard(wb, scored, ann, bob):
    item = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))
    pair = {"question_id": item.question_id, "sentence_id": item.sentence_id}
    for who, note in ((ann, "1889?"), (bob, "")):
        flags.add_flag(wb, **pair, annotator_id=who.id, note=note)
    assert (
        leasing.find_next_item(wb, Seat(scored.id, ann.id, "flagged")).why
        == "Flagged by ann: 1889?; by bob, without a note"
    )


def test_uncertain_begins_nearest_to_the_threshold(wb, scored, ann):
    met = walk(wb, scored, ann, "uncertain")
    distances = [abs(i.probability - 0.5) for i in met]
    assert distances == sorted(distances)
    assert f"Its own probability, {met[0].probability:.2f}, is" in met[0].why
    assert "0.50" in met[0].why


def test_disagree_begins_where_the_ranks_are_furthest_apart(wb, scored, ann):
    met = walk(wb, scored, ann, "disagree")
    ratios = [max(i.rank / i.generative_rank, i.generative_rank / i.rank) for i in met]
    assert ratios == pytest.approx(sorted(ratios, reverse=True))
    assert str(met[0].generative_rank) in met[0].why


def test_dropped_holds_only_candidates_that_met_a_cut_and_names_the_layer(wb, scored, ann):
    for item in walk(wb, scored, ann, "dropped"):
        kept, place = map(int, re.search(r"best (\d+) and ranks this one (\d+)", item.why).groups())
        assert ("dropped by" in item.why) == (place > kept)
        assert re.search(r"Layer [2345]\b", item.why)


def test_tops_begins_with_the_first_of_every_question(wb, scored, ann):
    met = walk(wb, scored, ann, "tops")
    assert [i.rank for i in met[:3]] == [1, 1, 1]
    assert {i.question for i in met[:3]} == set(QUESTIONS)


def test_random_is_shuffled_and_always_alike(wb, scored, ann):
    met = [pair(i) for i in walk(wb, scored, ann, "random")]
    assert met != sorted(met)
    while annotation.undo_last(wb, ann.id, scored.id):
        pass
    assert [pair(i) for i in walk(wb, scored, ann, "random")] == met


def test_the_first_random_picks_meet_as_many_questions_as_a_draw_does(wb, towers, ann):
    with wb.write() as s:
        sentences = [c.id for d in documents.list_documents(wb, towers.id) for c in documents.list_sentences(wb, d.id)]
        for i in range(100):
            asked = rows.add_question(s, towers.id, f"Why {i}?", external_id=f"q{i}", origin="imported", now=wb.clock())
            candidate_rows.add_candidates(
                s, [(asked.id, candidate_rows.NewCandidate(c, n)) for n, c in enumerate(sentences)]
            )
    with wb.read() as s:
        picks = queues.list_open_pairs(
            s, queues.QueueRequest(towers.id, QUEUES["random"].order, Holder(ann.id)), wb.clock(), 100
        )
    of_a_draw = 100 * (1 - (1 - 1 / 100) ** 100)  # 63.4
    assert len({r.question_id for r in picks}) == pytest.approx(of_a_draw, abs=8)


@pytest.mark.parametrize("queue", QUEUES)
def test_texts_are_read_of_the_head_of_a_queue_alone(request, wb, scored, ann, queue):
    asked = []
    listener = Engine, "before_cursor_execute", lambda *told: asked.append(told[2])
    event.listen(*listener)
    request.addfinalizer(lambda: event.remove(*listener))
    with wb.read() as s:
        queue_request = queues.QueueRequest(scored.id, QUEUES[queue].order, Holder(ann.id))
        found = queues.list_open_pairs(s, queue_request, wb.clock(), 2)
    in_order, *told = [x for x in asked if "candidate" in x]
    assert not re.search(r"\.text|title", in_order)
    assert len(told) == bool(found)
    if queue in CONSUMED:
        assert len(found) == 2


def test_an_item_comes_in_its_context_with_its_scores(wb, scored, ann):
    item = next(i for i in walk(wb, scored, ann, "tops") if i.question == QUESTIONS[0])
    assert item.text == "The Eiffel Tower was finished on 31 March 1889."
    assert (item.before, item.after, item.title) == ("", "It stands in Paris.", "tower")
    assert (item.rank, item.version, item.label) == (1, "cascade", None)
    assert 0 < item.probability < 1


def test_asking_again_gives_the_same_item_until_it_is_labelled(wb, scored, ann, clock):
    first = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))
    before = find_lease(wb, first)
    clock.advance(minutes=5)
    again = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))
    assert (pair(again), again.token) == (pair(first), first.token)
    assert find_lease(wb, again).expires - before.expires == timedelta(minutes=5)


def test_two_people_never_get_the_same_item(wb, scored, ann, bob):
    for _ in range(5):
        one, other = (leasing.find_next_item(wb, Seat(scored.id, who.id, "uncertain")) for who in (ann, bob))
        assert pair(one) != pair(other)
        for who, item in ((ann, one), (bob, other)):
            annotation.give_label(
                wb, question_id=item.question_id, sentence_id=item.sentence_id, annotator_id=who.id, label="unsure"
            )


def test_two_sessions_under_one_name_get_different_items(wb, scored, ann):
    left = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops", holder="left"))
    right = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops", holder="right"))
    assert pair(left) != pair(right)
    assert pair(leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops", holder="left"))) == pair(left)


def test_eight_people_at_once_label_every_pair_exactly_once(wb, scored):
    eight = [people.sign_in(wb, f"annotator {i}") for i in range(8)]
    met: list[tuple] = []
    threads = [
        threading.Thread(target=lambda who=who: met.extend(map(pair, label_all(wb, scored, who, "uncertain"))))
        for who in eight
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(met) == len(set(met))
    assert progress.measure_progress(wb, scored.id, eight[0].id).all == len(met)


def test_a_lease_that_ran_out_frees_the_item(wb, scored, ann, bob, clock):
    first = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))
    clock.advance(minutes=11)
    assert pair(leasing.find_next_item(wb, Seat(scored.id, bob.id, "tops"))) == pair(first)


def test_a_passed_item_goes_back_to_the_queue_for_others(wb, scored, ann, bob):
    first = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))
    second = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"), skips=[pair(first)])
    assert pair(second) != pair(first)
    assert pair(leasing.find_next_item(wb, Seat(scored.id, bob.id, "tops"))) == pair(first)


def test_after_an_undo_the_item_can_be_shown_again(wb, scored, ann):
    item = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))
    annotation.give_label(
        wb, question_id=item.question_id, sentence_id=item.sentence_id, annotator_id=ann.id, label="correct"
    )
    assert leasing.open_item(wb, *pair(item), ann.id).label == "correct"
    undone = annotation.undo_last(wb, ann.id, scored.id)
    again = leasing.open_item(wb, undone.question_id, undone.sentence_id, ann.id)
    assert (pair(again), again.label) == (pair(item), None)
    assert find_lease(wb, again).annotator_id == ann.id


def test_nearly_the_same_text_does_not_come_twice_in_a_row(wb, ann, ask_queued):
    corpus = corpora.create_corpus(wb, "refrains")
    lines = [f"The old tower of the town stood by the river in {year} still." for year in (1901, 1902, 1903)]
    other = ["A baker sold bread.", "Ships came in spring.", "Snow fell on the tower."]
    ingestion.ingest(wb, corpus.id, [("a.txt", " ".join(lines + other).encode())])
    ask_queued(corpus.id, "Where did the old tower of the town stand?")
    met = [i.text for i in walk(wb, corpus, ann, "tops")]
    assert len(met) == 6
    assert not any(a.startswith("The old") and b.startswith("The old") for a, b in pairwise(met))


def test_what_anyone_labelled_leaves_the_queue_and_comes_back_when_withdrawn(wb, scored, ann, bob):
    item = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))
    key = {"question_id": item.question_id, "sentence_id": item.sentence_id, "annotator_id": ann.id}
    annotation.give_label(wb, **key, label="unsure")
    assert pair(leasing.find_next_item(wb, Seat(scored.id, bob.id, "tops"))) != pair(item)
    annotation.withdraw(wb, **key)
    fresh = people.sign_in(wb, "carol")
    assert pair(leasing.find_next_item(wb, Seat(scored.id, fresh.id, "tops"))) == pair(item)


def test_candidates_nobody_scored_are_in_the_random_queue_only(wb, towers, ann):
    asked = asking.ask(wb, towers.id, QUESTIONS[0])
    [bread] = documents.list_documents(wb, towers.id, search="bread")
    sentence = documents.list_sentences(wb, bread.id)[0].id
    key = {"question_id": asked.question_id, "sentence_id": sentence, "annotator_id": ann.id}
    annotation.give_label(wb, **key, label="unsure")
    annotation.withdraw(wb, **key)
    rules.set_rules(wb, towers.id, by=ann.id, control=1.0)
    assert (
        leasing.find_next_item(wb, Seat(towers.id, ann.id, "disagree")) is None
    )  # no generative scores: chance adds none
    unscored = [i for i in walk(wb, towers, ann, "random") if i.rank is None]
    assert [i.sentence_id for i in unscored] == [sentence]
    assert "not ranked yet" in unscored[0].why


def test_a_scoring_job_fills_the_queues_from_questions_nobody_asked(wb, towers, ann):
    with wb.write() as s:
        for i, q in enumerate(QUESTIONS):
            rows.add_question(s, towers.id, q, external_id=f"q{i}", origin="imported", now=wb.clock())
    assert leasing.find_next_item(wb, Seat(towers.id, ann.id, "uncertain")) is None
    job = score_job.start_scoring(wb, towers.id, limit=2)
    run_queued(wb, RUNNERS)

    assert jobs.load_job(wb, job.id).result == {"questions": 2}
    assert {i.question for i in walk(wb, towers, ann, "disagree")} == set(QUESTIONS[1:])


def test_a_scoring_job_says_how_long_it_still_takes(wb, towers, monkeypatch):
    with wb.write() as s:
        for i, q in enumerate(QUESTIONS[:3]):
            rows.add_question(s, towers.id, q, external_id=f"q{i}", origin="imported", now=wb.clock())
    messages, seconds = [], iter([0.0, 0.0, 20.0, 40.0])
    monkeypatch.setattr(JobRun, "seconds", lambda job: next(seconds))
    monkeypatch.setattr(JobRun, "progress", lambda job, share, message: messages.append(message))
    score_job.start_scoring(wb, towers.id)
    run_queued(wb, RUNNERS)
    assert [m for m in messages if "ranked" in m] == [
        "0 of 3 questions ranked",
        "1 of 3 questions ranked",
        "2 of 3 questions ranked, 15 to 25 s left",  # 20 s each, a quarter less or more
    ]


def test_a_scoring_job_takes_first_what_a_retrain_learns_from_and_an_item_says_what_it_does_not(wb, towers, ann):
    with wb.write() as s:
        for i, (q, part) in enumerate(zip(QUESTIONS, ("train", "dev", "test"), strict=False)):
            question = rows.add_question(s, towers.id, q, external_id=f"q{i}", origin="imported", now=wb.clock())
            question.split = part
    score_job.start_scoring(wb, towers.id, limit=1)
    run_queued(wb, RUNNERS)
    [first] = {(i.question, i.is_non_training) for i in iterate(wb, Seat(towers.id, ann.id, "tops"))}
    assert first == (QUESTIONS[0], False)
    score_job.start_scoring(wb, towers.id, limit=2)
    run_queued(wb, RUNNERS)
    excluded = {i.question for i in iterate(wb, Seat(towers.id, ann.id, "tops")) if i.is_non_training}
    assert excluded == set(QUESTIONS[1:3])
    seat = Seat(towers.id, ann.id, "tops")
    [held_out] = [i for i in excluded if i == QUESTIONS[2]]
    with wb.read() as s:
        question = rows.find_question(s, towers.id, held_out)
    assert leasing.open_question(wb, seat, question.id).is_non_training


def test_a_scoring_job_for_some_questions_ranks_those_alone_whether_queued_or_not(wb, towers, ann):
    with wb.write() as s:
        ids = [
            rows.add_question(s, towers.id, q, external_id=f"q{i}", origin="imported", now=wb.clock()).id
            for i, q in enumerate(QUESTIONS)
        ]
        question_lists.set_queued(s, ids[:1], queued=False)
    seat = Seat(towers.id, ann.id, "tops", questions=tuple(ids[:2]))
    assert next_question.count_unranked(wb, seat) == 2
    job = score_job.start_scoring(wb, towers.id, questions=ids[:1])
    run_queued(wb, RUNNERS)
    assert jobs.load_job(wb, job.id).result == {"questions": 1}
    assert next_question.count_unranked(wb, seat) == 1


def test_a_scoring_job_ranks_what_is_new_after_another_question_was_asked(wb, towers):
    with wb.write() as s:
        rows.add_question(s, towers.id, QUESTIONS[1], external_id="q1", origin="imported", now=wb.clock())
    asking.ask(wb, towers.id, QUESTIONS[0])
    job = score_job.start_scoring(wb, towers.id)
    run_queued(wb, RUNNERS)
    assert jobs.load_job(wb, job.id).result == {"questions": 1}


def test_a_viewer_sees_items_and_keeps_them_from_nobody(wb, scored, ann, bob):
    mine = leasing.find_next_item(wb, Seat(scored.id, bob.id, "tops"))
    people.set_role(wb, bob.id, "viewer", by=ann.id)
    seen = leasing.find_next_item(wb, Seat(scored.id, bob.id, "tops"))
    assert (pair(seen), find_lease(wb, seen)) == (pair(mine), None)
    again = leasing.open_item(wb, *pair(mine), bob.id)
    assert (find_lease(wb, again), again.is_locked) == (None, False)
    assert pair(leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))) == pair(mine)


def test_of_a_version_whose_runs_end_at_several_exits_the_deepest_is_read(wb, scored):
    with wb.write() as s:
        runs = s.scalars(select(Run).order_by(Run.id)).all()
        runs[0].last_exit, runs[-1].last_exit = 12, 4
    with wb.read() as s:
        assert {last for _, _, last in queues.list_pool_versions(s, scored.id)} == {12, 0}


@pytest.mark.parametrize("is_list", [False, True], ids=["one", "list"])
@pytest.mark.parametrize("queue", QUEUES)
def test_a_queue_holds_something_as_long_as_it_gives_an_item(wb, scored, ann, queue, is_list):
    seat = Seat(scored.id, ann.id, queue)
    reviews = {"own", "flagged", "second"}
    assert seats.has_open_item(wb, seat, is_list=is_list) == (queue not in reviews)
    if queue in reviews:
        return
    label_all(wb, scored, ann, queue)
    assert not seats.has_open_item(wb, seat, is_list=True)
    assert seats.has_open_item(wb, Seat(scored.id, ann.id, "own"), is_list=is_list)


def test_unknown_queues_and_vanished_pairs_are_named(wb, scored, ann):
    with pytest.raises(BadSetting, match="uncertain"):
        leasing.find_next_item(wb, Seat(scored.id, ann.id, "newest"))
    with pytest.raises(Gone):
        leasing.open_item(wb, 999, 999, ann.id)


def test_a_queue_narrowed_to_some_questions_offers_those_alone_whether_queued_or_not(wb, scored, ann):
    every = {i.question_id for i in iterate(wb, Seat(scored.id, ann.id, "tops"))}
    first, second, *_ = sorted(every)
    narrow = Seat(scored.id, ann.id, "tops", questions=(first, second, 987654))
    leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))  # a lease from before does not lead outside
    with wb.write() as s:
        s.get_one(Question, second).queued = False
    assert {i.question_id for i in iterate(wb, narrow)} == {first, second}
    assert second not in {i.question_id for i in iterate(wb, Seat(scored.id, ann.id, "tops"))}
    left = progress.measure_progress(wb, scored.id, ann.id, "tops", questions=narrow.questions).remaining
    assert left == len(list(iterate(wb, narrow)))
    assert leasing.find_next_question(wb, narrow).question_id in (first, second)
    left = progress.measure_progress(wb, scored.id, ann.id, "unlabelled", questions=narrow.questions).remaining
    offered = {i.question_id for i in iterate(wb, Seat(scored.id, ann.id, "unlabelled", questions=narrow.questions))}
    assert left == len(offered) == 2


def test_what_is_drawn_at_random_for_estimates_is_never_narrowed(wb, scored, ann):
    everything = {pair(i) for i in iterate(wb, Seat(scored.id, ann.id, "random"))}
    one = (min(everything)[0],)
    assert {pair(i) for i in iterate(wb, Seat(scored.id, ann.id, "random", questions=one))} == everything
    rules.set_rules(wb, scored.id, by=ann.id, control=1.0)
    assert all(i.assignment.control for i in iterate(wb, Seat(scored.id, ann.id, "uncertain")))
    assert not any(i.assignment.control for i in iterate(wb, Seat(scored.id, ann.id, "uncertain", questions=one)))


def iterate(wb, seat):
    """A queue to its end, without labelling."""
    skips = []
    while (item := leasing.find_next_item(wb, seat, skips)) is not None:
        yield item
        skips.append(pair(item))


def test_with_an_overlap_a_second_person_begins_what_one_began_and_a_third_does_not(wb, scored, ann, bob):
    cy = people.sign_in(wb, "cy")
    rules.set_rules(wb, scored.id, by=ann.id, overlap=2)

    def list_rows(who):
        request = queues.QueueRequest(scored.id, QUEUES["unlabelled"].order, Holder(who.id, who.name), overlap=2)
        with wb.read() as s:
            return queues.list_open_pairs(s, request, wb.clock(), 1000)

    def offers(who, question):
        return question in {row.question_id for row in list_rows(who)}

    def give(who, row):
        annotation.give_label(
            wb, question_id=row.question_id, sentence_id=row.sentence_id, annotator_id=who.id, label="incorrect"
        )

    rows_to_label = list_rows(ann)
    question = rows_to_label[0].question_id
    give(ann, rows_to_label[0])
    assert not offers(ann, question) and offers(bob, question)
    give(bob, rows_to_label[1])
    assert not offers(bob, question) and not offers(cy, question)
    for row in {r.question_id: r for r in rows_to_label}.values():
        give(ann, row)
    assert not list_rows(ann) and list_rows(bob)
