"""Turns: by whom, in which order, and for how many at once."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest

from as2core.errors import Cancelled
from as2core.serving import fair_queue
from as2core.serving.fair_queue import FairQueue, Overloaded, Schedule, Ticket, TooManyRequests
from as2core.system.pauses import SLICE_PAIRS, pause


def run(schedule, work, *, newcomers=None, turns=10_000):
    """Who had the turns: `work` {ticket: its slices} is done slice by slice; `newcomers()` may add to it."""
    order = []
    for ticket in work:
        schedule.add(ticket)
        schedule.ask(ticket, work[ticket][0])
    while schedule.running and len(order) < turns:
        ticket = schedule.running[0]
        order.append(ticket)
        work[ticket].pop(0)
        for new, slices in (newcomers or dict)().items():
            work[new] = slices
            schedule.add(new)
            schedule.ask(new, slices[0])
        if work[ticket]:
            schedule.ask(ticket, work[ticket][0])
        else:
            schedule.remove(ticket)
    return order


def ticket(client, *slices, priority=0):
    return Ticket(client, 1 + priority, slices[0]), [*slices]


def test_a_short_request_goes_before_the_next_slice_of_every_long_one():
    schedule = Schedule()
    long = dict(ticket(f"client {i}", *[64] * 50) for i in range(5))
    short, slices = ticket("other", 2)
    waiting = [short]
    order = run(schedule, long, newcomers=lambda: {waiting.pop(): slices} if waiting else {})
    assert order[1] is short


def test_a_long_request_is_not_starved_by_short_ones():
    schedule = Schedule()
    long, slices = ticket("a", *[64] * 10)
    first, one = ticket("b", 2)

    def another():
        new, slice_ = ticket("b", 2)
        return {new: slice_}

    order = run(schedule, {long: slices, first: one}, newcomers=another, turns=1000)
    assert order.count(long) == 10


def test_clients_share_alike_however_many_requests_they_send():
    schedule = Schedule()
    work = dict(ticket("many", *[64] * 100) for _ in range(10)) | dict([ticket("one", *[64] * 100)])
    turns = Counter(t.client for t in run(schedule, work, turns=100))
    assert abs(turns["many"] - turns["one"]) <= 10


def test_a_lower_priority_has_a_smaller_share():
    schedule = Schedule()
    work = dict([ticket("a", *[64] * 100), ticket("b", *[64] * 100, priority=3)])
    turns = Counter(t.client for t in run(schedule, work, turns=100))
    assert turns == {"a": 80, "b": 20}


def test_as_many_requests_compute_at_a_time_as_there_are_turns():
    schedule = Schedule(turns=2)
    (a, _), (b, _), (c, _) = (ticket(client, 64, 64) for client in "abc")
    for each in (a, b, c):
        schedule.add(each)
        schedule.ask(each, 64)
    assert (schedule.running, schedule.waiting) == ([a, b], [c])
    schedule.ask(a, 64)  # its slice is done, and who waited is before its next one
    assert (schedule.running, schedule.waiting) == ([b, c], [a])
    schedule.remove(b)
    assert (schedule.running, schedule.waiting) == ([c, a], [])


def test_clients_share_two_turns_alike():
    schedule = Schedule(turns=2)
    work = dict(ticket("many", *[64] * 100) for _ in range(10)) | dict([ticket("one", *[64] * 100)])
    turns = Counter(t.client for t in run(schedule, work, turns=100))
    assert abs(turns["many"] - turns["one"]) <= 10


def test_of_a_clients_long_requests_only_so_many_documents_begin_and_the_next_in_order_when_one_ends():
    schedule = Schedule(max_client_pairs=100)
    first, second, third, larger, others = (
        Ticket(c, 1, 8, n) for c, n in zip("aaaab", (60, 60, 30, 500, 60), strict=True)
    )
    short = Ticket("a", 1, 2)
    for each in (first, second, third, larger, others, short):
        schedule.add(each)
        schedule.ask(each, each.slice)
    assert [t.has_begun for t in (first, second, third, others, short)] == [True, False, False, True, True]
    schedule.remove(first)
    assert (second.has_begun, third.has_begun, larger.has_begun) == (True, True, False)
    schedule.remove(second)
    assert not larger.has_begun
    schedule.remove(third)
    assert larger.has_begun  # alone, though it has more than may begin together
    while schedule.tickets:
        schedule.remove(schedule.running[0])


def test_clients_share_alike_whatever_of_theirs_has_not_begun():
    schedule = Schedule(max_client_pairs=6400)
    slices = [64] * 100
    work = {Ticket(client, 1, 64, 6400): [*slices] for client in ["many"] * 10 + ["one"]}
    turns = Counter(t.client for t in run(schedule, work, turns=100))
    assert abs(turns["many"] - turns["one"]) <= 2


def test_on_one_core_two_threads_have_their_turns_at_the_same_time(monkeypatch):
    monkeypatch.setattr(fair_queue, "count_cores", lambda: 1)
    queue, meeting = FairQueue(), threading.Barrier(2, timeout=30)

    def compute(client):
        place = queue.enter(client, 2)
        with queue.turns(place):
            meeting.wait()  # with one turn at a time, nobody would come
        queue.leave(place)

    threads = [threading.Thread(target=compute, args=(client,)) for client in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not meeting.broken and len(queue) == 0


def test_a_pause_lets_the_short_request_of_another_thread_go_first():
    queue, order, has_begun = FairQueue(turns=1), [], threading.Event()

    def rank_long():
        place = queue.enter("a", 200)
        with queue.turns(place):
            for slice_ in range(4):
                pause(50)
                order.append(f"long {slice_}")
                has_begun.set()
                while slice_ == 0 and not queue.schedule.waiting:
                    time.sleep(0.01)
        queue.leave(place)

    long = threading.Thread(target=rank_long)
    long.start()
    has_begun.wait()
    place = queue.enter("b", 2)
    with queue.turns(place):
        order.append("short")
    queue.leave(place)
    long.join()
    assert order == ["long 0", "short", "long 1", "long 2", "long 3"] and len(queue) == 0


def test_a_request_whose_client_is_gone_ends_at_its_next_pause_or_while_it_waits():
    queue = FairQueue(turns=1)
    running, waiting = queue.enter("a", 200), queue.enter("b", 200)
    with pytest.raises(Cancelled), queue.turns(running):
        pause(50)
        queue.cancel(waiting)
        with pytest.raises(Cancelled), queue.turns(waiting):
            pass
        queue.leave(waiting)
        queue.cancel(running)
        pause(50)
    queue.leave(running)
    assert len(queue) == 0


def test_what_is_too_much_is_refused():
    queue = FairQueue(max_requests=3, max_client_requests=2)
    places = [queue.enter("a", 1), queue.enter("a", 1)]
    with pytest.raises(TooManyRequests, match="at most 2 requests"):
        queue.enter("a", 1)
    queue.enter("b", 1)
    with pytest.raises(Overloaded, match="try again later"):
        queue.enter("c", 1)
    queue.leave(places[0])
    queue.enter("c", 1)


def test_a_turn_is_for_a_slice_or_for_a_whole_request_where_none_pauses():
    assert FairQueue().enter("a", 500).slice == SLICE_PAIRS
    assert FairQueue(slice_pairs=10_000).enter("a", 500).slice == 500


def test_only_what_is_longer_than_a_turn_keeps_anything_between_two():
    assert [FairQueue().enter("a", n).pairs for n in (SLICE_PAIRS, SLICE_PAIRS + 1)] == [0, SLICE_PAIRS + 1]
    assert FairQueue(slice_pairs=10_000).enter("a", 10_000).pairs == 0
