"""Who computes next: as many requests at a time as there are turns, a slice of its documents a turn.

Weighted fair queueing (Demers, Keshav and Shenker 1989) over requests. Each has a virtual time at which it began, that
of the schedule when it came; the next turn is of the one whose slice would end first in virtual time. So a short
request overtakes long ones, and no long one waits for ever, since those that come later begin later. A slice of one
client counts as often as it has requests here, so that many requests get it no larger a share than one; it also counts
(1 + priority) times.

A cascade keeps a long request's states between its slices (128 tokens of 384 float32: 0.2 MB a document), so only so
many of them begin: those of a client that have MAX_CLIENT_PAIRS together, in the order of their virtual times. The
others count for nothing until they begin. What other clients do delays none.

Where we differ: virtual time goes on by the work that was done over the clients that share it, not by a clock. A turn
is not taken away, so a request waits for the slice that is being computed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from as2core.errors import As2Error, Cancelled
from as2core.system.cores import count_cores
from as2core.system.pauses import SLICE_PAIRS, handle_pauses

MAX_REQUESTS = 256  # here at once
MAX_CLIENT_REQUESTS = 128  # of one client
MAX_CLIENT_PAIRS = 10_000  # of one client's requests that have begun and are longer than a slice
NOBODY_WAITS = "nobody waits for the answer any more"


class TooManyRequests(As2Error):
    """A client has as many requests here as it may."""


class Overloaded(As2Error):
    """The queue is full."""


@dataclass(eq=False)
class Ticket:
    """A request in the queue. `start` is in virtual time, `slice` the work of its next turn in pairs; `pairs` are those
    that it keeps between its turns, 0 if one slice is all of it."""

    client: str
    factor: int  # 1 + priority
    slice: int
    pairs: int = 0
    start: float = 0.0
    has_begun: bool = False
    is_first: bool = True  # its first slice was counted when it came
    is_cancelled: bool = False


class Schedule:
    """The order of turns, of which there are `turns` at a time. Those in `running` have theirs."""

    def __init__(self, turns: int = 1, max_client_pairs: int = MAX_CLIENT_PAIRS) -> None:
        self.turns, self.max_client_pairs = turns, max_client_pairs
        self.tickets: list[Ticket] = []  # in the order in which they came
        self.waiting: list[Ticket] = []
        self.running: list[Ticket] = []
        self._clock = 0.0  # virtual

    def add(self, ticket: Ticket) -> None:
        ticket.start = self._clock
        self.tickets.append(ticket)
        self._begin(ticket.client)

    def remove(self, ticket: Ticket) -> None:
        self._end_turn(ticket)
        self.tickets.remove(ticket)
        if ticket in self.waiting:
            self.waiting.remove(ticket)
        self._begin(ticket.client)
        self._grant()

    def ask(self, ticket: Ticket, pairs: int) -> None:
        """For a turn to do so much in; the one it has, if it has one, is over."""
        self._end_turn(ticket)
        ticket.slice = pairs
        self.waiting.append(ticket)
        self._grant()

    def _begin(self, client: str) -> None:
        """As many of its requests as may: all of one slice, and the next in order of the longer ones that have room."""
        tickets = [t for t in self.tickets if t.client == client]
        pairs = sum(t.pairs for t in tickets if t.has_begun)
        for ticket in sorted((t for t in tickets if not t.has_begun), key=lambda t: t.start + t.slice * t.factor):
            if ticket.pairs and pairs and pairs + ticket.pairs > self.max_client_pairs:
                pairs = self.max_client_pairs  # those behind it wait, too
                continue
            pairs += ticket.pairs
            ticket.has_begun, ticket.start = True, self._clock

    def _end_turn(self, ticket: Ticket) -> None:
        if ticket in self.running:
            active = [t for t in self.tickets if t.has_begun]
            clients = Counter(t.client for t in active)
            ticket.start += ticket.slice * ticket.factor * clients[ticket.client]
            self._clock += ticket.slice / sum(1 / (t.factor * clients[t.client]) for t in active)
            self.running.remove(ticket)

    def _grant(self) -> None:
        clients = Counter(t.client for t in self.tickets if t.has_begun)
        while len(self.running) < self.turns and (ready := [t for t in self.waiting if t.has_begun]):
            next_ = min(ready, key=lambda t: t.start + t.slice * t.factor * clients[t.client])
            self.waiting.remove(next_)
            self.running.append(next_)


class FairQueue:
    """The schedule for threads. A request of a few documents keeps one core busy, so there are as many turns at a time
    as cores, and one: the next request's products go on while another's scores are read. `slice_pairs`: the most work
    of a turn; of what does not pause, the longest request."""

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
        self._lock = threading.RLock()
        self._changed = dict[Ticket, threading.Condition]()  # one each: of many that wait, one has the next turn
        self.schedule = Schedule(turns or count_cores() + 1)

    def __len__(self) -> int:
        return len(self.schedule.tickets)

    def enter(self, client: str, pairs: int, priority: int = 0) -> Ticket:
        """A place in the queue, to be given back by `leave`. Raises TooManyRequests, Overloaded."""
        states = pairs if pairs > self.slice_pairs else 0
        ticket = Ticket(client, 1 + priority, min(pairs, self.slice_pairs), states)
        with self._lock:
            if len(self) >= self.max_requests:
                raise Overloaded(f"{self.max_requests} requests are waiting already: try again later")
            if sum(t.client == client for t in self.schedule.tickets) >= self.max_client_requests:
                raise TooManyRequests(f"at most {self.max_client_requests} requests of a client at once: wait for one")
            self.schedule.add(ticket)
            self._changed[ticket] = threading.Condition(self._lock)
        return ticket

    def leave(self, ticket: Ticket) -> None:
        with self._lock:
            self.schedule.remove(ticket)
            del self._changed[ticket]
            self._wake_running()

    def cancel(self, ticket: Ticket) -> None:
        """Nobody waits for the result any more: its next pause ends it."""
        with self._lock:
            ticket.is_cancelled = True
            if ticket in self._changed:  # it may have left meanwhile
                self._changed[ticket].notify()

    @contextmanager
    def turns(self, ticket: Ticket) -> Iterator[None]:
        """Wait for the first turn; within, `as2core.system.pauses.pause` lets others go first. Raises Cancelled."""

        def wait_for_next(pairs: int) -> None:
            if ticket.is_first and not ticket.is_cancelled:  # it has its turn
                ticket.is_first = False
                return
            with self._lock:
                self._wait(ticket, pairs)

        with self._lock:
            self._wait(ticket, ticket.slice)
        with handle_pauses(wait_for_next):
            yield

    def _wait(self, ticket: Ticket, pairs: int) -> None:
        self.schedule.ask(ticket, pairs)
        self._wake_running()
        while ticket not in self.schedule.running or ticket.is_cancelled:
            if ticket.is_cancelled:
                raise Cancelled(NOBODY_WAITS)
            self._changed[ticket].wait()

    def _wake_running(self) -> None:
        for ticket in self.schedule.running:
            self._changed[ticket].notify()
