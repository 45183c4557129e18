"""A progress bar for a call that reports `as2core.types.Progress`; it disappears when the call ends."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from app.ui.text import plain
from as2core.types import OnProgress, Progress

MIN_UPDATE_SECONDS = 0.1  # each update is a message to the browser


@contextmanager
def show_progress(title: str) -> Iterator[OnProgress]:
    """`with show_progress("Reading 3 files …") as on_progress: ingest(..., on_progress=on_progress)`."""
    slot = st.empty()
    bar = slot.progress(0.0, text=plain(title))
    last = 0.0

    def on_progress(p: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < MIN_UPDATE_SECONDS and p.done < p.total:
            return
        last = now
        amount = f"{p.done:,} of {p.total:,}" if p.total else f"{p.done:,}"
        bar.progress(p.share, text=plain(f"{title} {p.stage} ({amount})" if p.stage else f"{title} {amount}"))

    try:
        yield on_progress
    finally:
        slot.empty()
