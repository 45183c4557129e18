"""What the server did, for Prometheus: requests by route and status, their seconds, the documents ranked.

Without the package `prometheus_client` nothing is counted, and `/metrics` says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from as2core.errors import As2Error

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)  # the histogram's bounds


class NoMetrics(As2Error):
    """The package that counts is missing."""


class Meter:
    """The counts of one application."""

    def __init__(self) -> None:
        self.is_counting = find_spec("prometheus_client") is not None
        if self.is_counting:
            from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector

            self._registry = registry = CollectorRegistry()
            ProcessCollector(registry=registry)
            self._requests = Counter("as2_requests", "Answers.", ["route", "status"], registry=registry)
            self._seconds = Histogram(
                "as2_request_seconds", "From the request to its answer.", ["route"], buckets=SECONDS, registry=registry
            )
            self._documents = Counter("as2_documents", "Documents ranked.", ["model", "key"], registry=registry)

    def count_request(self, route: str, status: int, seconds: float) -> None:
        if self.is_counting:
            self._requests.labels(route, status).inc()
            self._seconds.labels(route).observe(seconds)

    def count_documents(self, model: str, key: str, number: int) -> None:
        """`key`: the name of the key, "" without one."""
        if self.is_counting:
            self._documents.labels(model, key).inc(number)

    def watch_queue(self, length: Callable[[], float]) -> None:
        """Report the requests that are ranked or wait, by what counts them."""
        if self.is_counting:
            from prometheus_client import Gauge

            Gauge("as2_queue", "Requests that are ranked or wait.", registry=self._registry).set_function(length)

    def write(self) -> bytes:
        """In Prometheus' text format. Raises NoMetrics."""
        if not self.is_counting:
            raise NoMetrics("metrics need the package prometheus_client: install as2core with its extra `serve`")
        from prometheus_client import generate_latest

        return generate_latest(self._registry)


class CountsRequests:
    """ASGI middleware that counts every answer; a path that is no route counts as "other"."""

    def __init__(self, app: ASGIApp, meter: Meter) -> None:
        self._app, self._meter = app, meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = time.perf_counter(), 500

        async def send_and_count(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_count)
        finally:
            if scope["type"] == "http":
                routes = {getattr(route, "path", "") for route in scope["app"].routes}  # also for what was refused
                route = scope["path"] if scope["path"] in routes else "other"
                self._meter.count_request(route, status, time.perf_counter() - began)
