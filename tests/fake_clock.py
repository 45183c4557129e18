"""A clock that tests turn."""

from datetime import UTC, datetime, timedelta


class Clock:
    """Stands still until it is advanced."""

    def __init__(self) -> None:
        self.now = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **of_time: float) -> None:
        self.now += timedelta(**of_time)
