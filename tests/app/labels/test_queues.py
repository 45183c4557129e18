"""What the label queues offer, in which order and why; queues narrowed to some questions."""

import re
from itertools import pairwise

import pytest
from queue_walks import iterate, label_all, pair, walk
from sql_statements import record_statements
from tower_texts import QUESTIONS

from app.ask import asking
from app.corpora import corpora, documents, ingestion
from app.labels import annotation, flags, leasing, progress, rules, seats
from app.labels.queues import QUEUES, UNLABELLED
from app.labels.seats import Seat
from db.models import Question
from db.repositories import candidates as candidate_rows
from db.repositories import questions as rows
from db.repositories import queues
from db.repositories.leases import Holder

# of these, a label takes the pair out, and no other; of "unlabelled" it takes out all of the question
CONSUMED = tuple(name for name, queue in QUEUES.items() if not queue.is_review and name != UNLABELLED)


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
def test_texts_are_read_of_the_head_of_a_queue_alone(wb, scored, ann, queue):
    with record_statements() as asked, wb.read() as s:
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


def test_nearly_the_same_text_does_not_come_twice_in_a_row(wb, ann, ask_queued):
    corpus = corpora.create_corpus(wb, "refrains")
    lines = [f"The old tower of the town stood by the river in {year} still." for year in (1901, 1902, 1903)]
    other = ["A baker sold bread.", "Ships came in spring.", "Snow fell on the tower."]
    ingestion.ingest(wb, corpus.id, [("a.txt", " ".join(lines + other).encode())])
    ask_queued(corpus.id, "Where did the old tower of the town stand?")
    met = [i.text for i in walk(wb, corpus, ann, "tops")]
    assert len(met) == 6
    assert not any(a.startswith("The old") and b.startswith("The old") for a, b in pairwise(met))


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
