"""A progress bar for a call that reports `as2core.types.Progress`; gone when the call is over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from app.components.text import plain
from as2core.types import OnProgress, Progress

AT_MOST_EVERY = 0.1  # seconds: each update is a message to the browser


@contextmanager
def reporter(doing: str) -> Iterator[OnProgress]:
    """`with reporter("Reading 3 files …") as tell: ingest(..., on_progress=tell)`."""
    slot = st.empty()
    bar = slot.progress(0.0, text=plain(doing))
    last = 0.0

    def tell(p: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < AT_MOST_EVERY and p.done < p.total:
            return
        last = now
        share = min(1.0, p.done / p.total) if p.total else 0.0
        where = f"{p.done:,} of {p.total:,}" if p.total else f"{p.done:,}"
        bar.progress(share, text=plain(f"{doing} {p.what} ({where})" if p.what else f"{doing} {where}"))

    try:
        yield tell
    finally:
        slot.empty()
