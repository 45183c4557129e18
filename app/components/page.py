"""The frame every page opens with: the gate, the side bar, and what the page may rely on afterwards.

    frame = page("Label", "One key, one label, next.")
    items = queueing.next_item(frame.wb, frame.corpus.id, frame.annotator.id, queue)

The corpus is in the address (`?corpus=<name>`), so links keep it; who signs is not (see `signin`): a link must not sign
labels with someone else's name. Both stay when the page changes.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Collection
from dataclasses import dataclass

import streamlit as st

from app.components import errors, signin, url
from app.components.text import count, plain
from app.services import Workbench, asking, corpora, versions
from app.services import open as open_workbench
from app.services.views import AnnotatorView, CorpusView
from as2core.types import Progress


@dataclass(frozen=True, slots=True)
class Frame:
    """What a page gets. `version`: the chosen model's name where the page offers a choice, else the active one's."""

    wb: Workbench
    corpus: CorpusView  # None only where the page said that it works without
    corpora: tuple[CorpusView, ...]
    annotator: AnnotatorView
    version: str


@st.cache_resource(show_spinner="Opening the workbench …")
def workbench() -> Workbench:
    """The one Workbench of this process: database, settings, loaded models."""
    return open_workbench()


@st.cache_resource(show_spinner=False)
def _gate() -> tuple[threading.Lock, threading.Event]:
    return threading.Lock(), threading.Event()


def page(title: str, subtitle: str = "", *, choose_model: bool = False, needs_corpus: bool = True) -> Frame:
    """Draw the frame and return what the page works with; stops the run, saying what to do, if there is no corpus
    and the page needs one.

    `title` and `subtitle` are ours and read as Markdown; never pass foreign text.
    """
    st.header(title, anchor=False)
    if subtitle:
        st.caption(subtitle)
    signin.gate()
    errors.show_pending()
    wb = workbench()
    _first_start(wb)
    known = tuple(corpora.list_corpora(wb))
    if not known and needs_corpus:
        st.info("There is no corpus yet. Open **Data** and bring in some documents.", icon=":material/folder_open:")
        st.stop()
    with st.sidebar:
        corpus = _corpus_choice(known) if known else None
        version = _version(wb, choose_model)
        annotator = signin.who(wb)
    if needs_corpus and _gone("as2_corpus"):
        st.warning(_NO_CORPUS.format(plain(_gone("as2_corpus"))), icon=":material/folder_off:")
        st.button(f"Go on with {plain(corpus.name)}", key="as2_go_on", on_click=_seen, args=("as2_corpus",))
        st.stop()
    return Frame(wb, corpus, known, annotator, version)


def _first_start(wb: Workbench) -> None:
    """Once a process: bring in the starter corpus, then load the models behind the first page's back. A session that
    comes meanwhile waits and finds it done."""
    lock, done = _gate()
    if done.is_set():
        return
    slot = st.empty()
    with slot.container():
        bar = st.progress(0.0, text="First start: reading the starter corpus …")
        with lock:
            if not done.is_set():
                corpora.ensure_starter(wb, on_progress=lambda p: bar.progress(_share(p), text=_progress_text(p)))
                done.set()
                threading.Thread(target=_warm, args=(wb,), name="warm", daemon=True).start()
    slot.empty()


def _warm(wb: Workbench) -> None:
    """Load the models, then spare the collector the half million objects that came with them and will stay."""
    asking.warm(wb)
    gc.collect()
    gc.freeze()


def _share(p: Progress) -> float:
    return min(1.0, p.done / p.total) if p.total else 0.0


def _progress_text(p: Progress) -> str:
    return f"First start: {plain(p.what) or 'reading the starter corpus'} …"


_NO_CORPUS = "There is no corpus called “{}” here."


def use_corpus(name: str) -> None:
    """The corpus that the next run's frame has chosen."""
    st.session_state["_as2_use"] = name


def _corpus_choice(known: tuple[CorpusView, ...]) -> CorpusView:
    """Every run tells the choice as the default, for a later run may overtake the one that drew the box before the
    browser has drawn it; but for the run that changes what a browser shows, which a default would not."""
    by_name = {c.name: c for c in known}
    wanted = url.get("corpus") or st.session_state.get("_as2_corpus", "")
    _say_gone("as2_corpus", wanted, by_name, _NO_CORPUS)
    names, state = list(by_name), st.session_state
    followed = url.moved("corpus") and url.get("corpus") in by_name
    used, current = state.pop("_as2_use", None), state.get("as2_corpus")
    index = names.index(wanted) if wanted in by_name else 0
    if used in by_name or (current is not None and (followed or current not in by_name)):
        state["as2_corpus"] = used if used in by_name else names[index]
        index = 0
    elif current is not None:
        index = names.index(current)
    name = st.selectbox("Corpus", names, index, key="as2_corpus", on_change=_seen, args=("as2_corpus",))
    corpus = by_name[name]
    st.session_state["_as2_corpus"] = name
    url.put(corpus=name)
    parts = [count(corpus.documents, "document"), count(corpus.sentences, "sentence")]
    if corpus.labels:
        parts.append(count(corpus.labels, "label"))
    st.caption(" · ".join(parts))
    if corpus.vectors_total and corpus.vectors_done < corpus.vectors_total:
        st.caption(f"Search by meaning: {corpus.vectors_ready} % ready; until then it goes by words.")
    return corpus


def _version(wb: Workbench, choose: bool) -> str:
    active = versions.active(wb).name
    if not choose:
        st.caption(f"Model: {plain(active)}")
        return active
    usable = [v for v in versions.list_versions(wb, kind="cascade") if not v.problem]
    names = [v.name for v in usable]
    states = {v.name: v.state for v in usable}
    if active not in names:
        names.insert(0, active)
    wanted = url.get("model") or active
    _say_gone("as2_model", wanted, names, "There is no model called “{}” here any more; this is the active one.")
    start = wanted if wanted in names else active
    index = 0 if _tell_model(names, start, active) else names.index(start)
    name = st.selectbox(
        "Model",
        names,
        index=index,
        key="as2_model",
        on_change=_seen,
        args=("as2_model",),
        format_func=lambda n: _version_label(n, active, states.get(n)),
    )
    url.put(model=None if name == active else name)
    return name


def _tell_model(names: list[str], start: str, active: str) -> bool:
    """Whether the box has to be told its choice: another version is in use, which who chose none follows, and whose
    words in the box ("active") a browser would keep."""
    state = st.session_state
    moved = state.get("_as2_active", active) != active
    state["_as2_active"] = active
    current = state.get("as2_model")
    if current is None or (current in names and not moved):
        return False
    state["as2_model"] = current if current in names and url.get("model") else start
    return True


def _say_gone(key: str, wanted: str, known: Collection[str], told: str) -> None:
    """Say that there is nothing of the name wanted, until something else is chosen: the address is mended at once, and
    a page that draws itself again would say it for a moment only."""
    if wanted and wanted not in known:
        st.session_state[f"_{key}_gone"] = wanted
    if gone := _gone(key):
        st.caption(told.format(plain(gone)))


def _gone(key: str) -> str:
    return st.session_state.get(f"_{key}_gone", "")


def _seen(key: str) -> None:
    st.session_state.pop(f"_{key}_gone", None)


def _version_label(name: str, active: str, state: str | None) -> str:
    if name == active:
        return f"{name} (active)"
    return f"{name} ({state})" if state else name
