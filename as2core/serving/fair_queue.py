"""Who computes next: as many requests at a time as there are turns, a slice of its documents a turn.

Weighted fair queueing (Demers, Keshav and Shenker 1989) over requests. Each has a virtual time at which it began, that
of the schedule when it came; the next turn is of the one whose slice would end first in virtual time. So a short
request overtakes long ones, and no long one waits for ever, since those that come later begin later. A slice of one
client counts as often as it has requests here, so that many requests get it no larger a share than one; it also counts
(1 + priority) times.

Where we differ: virtual time goes on by the work that was done over the clients that share it, not by a clock. A turn
is not taken away, so a request waits for the slice that is being computed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from as2core.cores import count_cores
from as2core.errors import As2Error, Cancelled
from as2core.pauses import SLICE_PAIRS, handle_pauses

MAX_REQUESTS = 256  # here at once
MAX_CLIENT_REQUESTS = 128  # of one client
NOBODY_WAITS = "nobody waits for the answer any more"


class TooManyRequests(As2Error):
    """A client has as many requests here as it may."""


class Overloaded(As2Error):
    """The queue is full."""


@dataclass(eq=False)
class Ticket:
    """A request in the queue. `start` is in virtual time, `slice` the work of its next turn in pairs."""

    client: str
    factor: int  # 1 + priority
    slice: int
    start: float = 0.0
    is_first: bool = True  # its first slice was counted when it came
    is_cancelled: bool = False


class Schedule:
    """The order of turns, of which there are `turns` at a time. Those in `running` have theirs."""

    def __init__(self, turns: int = 1) -> None:
        self.turns = turns
        self.tickets: list[Ticket] = []  # in the order in which they came
        self.waiting: list[Ticket] = []
        self.running: list[Ticket] = []
        self._clock = 0.0  # virtual

    def add(self, ticket: Ticket) -> None:
        ticket.start = self._clock
        self.tickets.append(ticket)

    def remove(self, ticket: Ticket) -> None:
        self._end_turn(ticket)
        self.tickets.remove(ticket)
        if ticket in self.waiting:
            self.waiting.remove(ticket)
        self._grant()

    def ask(self, ticket: Ticket, pairs: int) -> None:
        """For a turn to do so much in; the one it has, if it has one, is over."""
        self._end_turn(ticket)
        ticket.slice = pairs
        self.waiting.append(ticket)
        self._grant()

    def _end_turn(self, ticket: Ticket) -> None:
        if ticket in self.running:
            clients = Counter(t.client for t in self.tickets)
            ticket.start += ticket.slice * ticket.factor * clients[ticket.client]
            self._clock += ticket.slice / sum(1 / (t.factor * clients[t.client]) for t in self.tickets)
            self.running.remove(ticket)

    def _grant(self) -> None:
        clients = Counter(t.client for t in self.tickets)
        while self.waiting and len(self.running) < self.turns:
            next_ = min(self.waiting, key=lambda t: t.start + t.slice * t.factor * clients[t.client])
            self.waiting.remove(next_)
            self.running.append(next_)


class FairQueue:
    """The schedule for threads. A request of a few documents keeps one core busy, so there are as many turns at a time
    as cores. `slice_pairs`: the most work of a turn; of what does not pause, the longest request."""

    def __init__(
        self,
        *,
        turns: int | None = None,
        slice_pairs: int = SLICE_PAIRS,
        max_requests: int = MAX_REQUESTS,
        max_client_requests: int = MAX_CLIENT_REQUESTS,
    ) -> None:
        self.max_requests, self.max_client_requests = max_requests, max_client_requests
        self.slice_pairs = slice_pairs
        self._changed = threading.Condition()
        self.schedule = Schedule(turns or count_cores())

    def __len__(self) -> int:
        return len(self.schedule.tickets)

    def enter(self, client: str, pairs: int, priority: int = 0) -> Ticket:
        """A place in the queue, to be given back by `leave`. Raises TooManyRequests, Overloaded."""
        ticket = Ticket(client, 1 + priority, min(pairs, self.slice_pairs))
        with self._changed:
            if len(self) >= self.max_requests:
                raise Overloaded(f"{self.max_requests} requests are waiting already: try again later")
            if sum(t.client == client for t in self.schedule.tickets) >= self.max_client_requests:
                raise TooManyRequests(f"at most {self.max_client_requests} requests of a client at once: wait for one")
            self.schedule.add(ticket)
        return ticket

    def leave(self, ticket: Ticket) -> None:
        with self._changed:
            self.schedule.remove(ticket)
            self._changed.notify_all()

    def cancel(self, ticket: Ticket) -> None:
        """Nobody waits for the result any more: its next pause ends it."""
        with self._changed:
            ticket.is_cancelled = True
            self._changed.notify_all()

    @contextmanager
    def turns(self, ticket: Ticket) -> Iterator[None]:
        """Wait for the first turn; within, `as2core.pauses.pause` lets others go first. Raises Cancelled."""

        def wait_for_next(pairs: int) -> None:
            if ticket.is_first and not ticket.is_cancelled:  # it has its turn
                ticket.is_first = False
                return
            with self._changed:
                self._wait(ticket, pairs)

        with self._changed:
            self._wait(ticket, ticket.slice)
        with handle_pauses(wait_for_next):
            yield

    def _wait(self, ticket: Ticket, pairs: int) -> None:
        self.schedule.ask(ticket, pairs)
        self._changed.notify_all()
        while ticket not in self.schedule.running or ticket.is_cancelled:
            if ticket.is_cancelled:
                raise Cancelled(NOBODY_WAITS)
            self._changed.wait()
