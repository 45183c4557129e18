"""What every command begins with: the workbench, the starter corpus in it, and the corpus that is meant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from as2core.errors import As2Error
from as2core.terminal import note, working

if TYPE_CHECKING:
    from app.services import Workbench
    from app.services.views import CorpusView

CorpusName = Annotated[str | None, typer.Option("--corpus", help="The corpus's name; the newest one if not given.")]


class NoCorpus(As2Error):
    """There is nothing to ask or label yet."""


@contextmanager
def workbench(*, starter: bool = True) -> Iterator[Workbench]:
    """The workbench of AS2_HOME, with the starter corpus brought in on the first call ever."""
    from app import services
    from app.services import corpora

    wb = services.open()
    try:
        if starter:
            with working("reading the starter corpus") as on_progress:
                corpora.ensure_starter(wb, on_progress=on_progress)
        yield wb
    finally:
        wb.close()


def chosen(wb: Workbench, name: str | None) -> CorpusView:
    """The corpus of that name, or the newest. Raises UnknownCorpus, NoCorpus."""
    from app.services import corpora

    if name is not None:
        return corpora.corpus_named(wb, name)
    known = corpora.list_corpora(wb)
    if not known:
        raise NoCorpus("there is no corpus yet: `as2 ingest PATH...` makes one")
    return max(known, key=lambda c: c.id)


def chosen_or_made(wb: Workbench, name: str) -> CorpusView:
    """The corpus of that name, made if there is none."""
    from app.services import corpora

    with suppress(corpora.UnknownCorpus):
        return corpora.corpus_named(wb, name)
    note(f"new corpus {name!r}")
    return corpora.create_corpus(wb, name)
