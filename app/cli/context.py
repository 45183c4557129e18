"""What every command begins with: the workbench, the starter corpus in it, and the corpus by its name."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Annotated

from typer import Abort, Option, confirm

from as2core.errors import As2Error
from as2core.terminal import print_note, show_progress

if TYPE_CHECKING:
    from app.corpora.corpora import CorpusView
    from app.workbench.workbench import Workbench

CorpusName = Annotated[
    str | None, Option("--corpus", help="The corpus's name; your newest one if not given, or the starter corpus.")
]


class NoCorpus(As2Error):
    """There is nothing to ask or label yet."""


class NotConfirmed(As2Error):
    """The question before an act was not answered by yes."""


def ask_to_confirm(question: str, refusal: str) -> None:
    """Raises NotConfirmed with `refusal` unless the answer is yes, KeyboardInterrupt for Ctrl-C."""
    try:
        with redirect_stdout(sys.stderr):  # the last blank of the question would go to standard output
            is_confirmed = confirm(question, err=True)
    except Abort as e:  # no answer at all
        if isinstance(e.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        is_confirmed = False
    if not is_confirmed:
        raise NotConfirmed(refusal)


@contextmanager
def workbench(*, starter: bool = True) -> Iterator["Workbench"]:
    """The workbench of AS2_HOME; the first call ever imports the shipped corpora."""
    from app import bootstrap
    from app.exchange.starter import ensure_shipped

    wb = bootstrap.open()
    try:
        if starter:
            with show_progress("reading the shipped corpora") as on_progress:
                ensure_shipped(wb, on_progress=on_progress)
        yield wb
    finally:
        wb.close()


def find_corpus(wb: "Workbench", name: str | None) -> "CorpusView":
    """The corpus of that name; without one the newest that is not shipped, else the starter corpus. Raises
    UnknownCorpus, NoCorpus."""
    from app.corpora import corpora

    if name is not None:
        return corpora.find_corpus(wb, name)
    views = corpora.list_corpora(wb)
    if not views:
        raise NoCorpus("there is no corpus yet: `as2 ingest PATH...` makes one")
    own = [c for c in views if c.name not in corpora.SHIPPED_CORPORA]
    return max(own, key=lambda c: c.id) if own else views[0]


@contextmanager
def ensure_corpus(wb: "Workbench", name: str) -> Iterator["CorpusView"]:
    """The corpus of that name, created if there is none. A new one that gets no document is not left behind: it would
    be the default of every command."""
    from app.corpora import corpora
    from app.corpora.corpora import CREATE
    from app.workbench import audit

    known_corpus = None
    with suppress(corpora.UnknownCorpus):
        known_corpus = corpora.find_corpus(wb, name)
    corpus = known_corpus or corpora.create_corpus(wb, name)
    try:
        yield corpus
    finally:
        with suppress(As2Error):  # what went wrong before is to be reported
            view = corpora.get_corpus(wb, corpus.id)
            if known_corpus is None and (view.documents or view.questions):
                audit.write(wb, None, CREATE, view.name)
                print_note(f"new corpus {name!r}")
            elif known_corpus is None:
                corpora.delete_corpus(wb, corpus.id)
