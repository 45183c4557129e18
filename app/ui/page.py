"""The frame of every page: log-in, side bar, and the objects that the page works with.

    frame = open_page("Label", "One key, one label, next.")
    item = leasing.find_next_item(frame.wb, Seat(frame.corpus.id, frame.annotator.id, queue))

The corpus is in the address (`?corpus=<name>`), so links keep it; without one, it is the browser's last. The annotator
is not (see `signin`): a link must not sign labels with someone else's name. Both stay when the page changes.
"""

import gc
import logging
import threading
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.ask import asking
from app.bootstrap import open as open_workbench
from app.corpora import corpora
from app.corpora.corpora import CorpusView, UnknownCorpus
from app.exchange import starter
from app.jobs.supervisor import start_supervisor
from app.ui import errors, navigation, page_keys, signin, url
from app.ui.job import WAIT_SECONDS
from app.ui.landing import shipped
from app.ui.landing.glossary import draw_glossary
from app.ui.session.restart import show_lost_click
from app.ui.signin import fragment
from app.ui.text import plain
from app.ui.wording import describe_vectors_of, name_version_state
from app.versions import registry
from app.workbench.people import ADMIN, VIEWER, AnnotatorView
from app.workbench.workbench import OUTAGE_TEXT, DatabaseOutage, DatabaseTrouble, Workbench
from as2core.messages import count
from as2core.types import Progress

log = logging.getLogger(__name__)

_NO_CORPUS = "There is no corpus called “{}” here."
_READING_STARTER = "Reading the starter corpus, which comes with the program"
_CORPUS_BOX, _MODEL_BOX = "as2_corpus", "as2_model"  # keys in the side bar
_CORPUS = "_as2_corpus"  # of the session: the name of the corpus that the last run showed
_REQUEST = "_as2_use"  # of the session: the name of the corpus that the next run is to show
MODEL_BOX_CHARS = 26  # of the box in the side bar; a longer name is cut in it, and stands below in full


@dataclass(frozen=True, slots=True)
class Frame:
    """What a page gets. `version`: the chosen model's name if the page offers a choice, else the active one's. `sizes`:
    where the side bar says how large the corpus is. `missing`: the name of a corpus that is not here, which `corpus`
    stands in for until somebody chooses one; "" elsewhere, and on pages that need a corpus."""

    wb: Workbench
    corpus: CorpusView  # None only if the page does not need one
    annotator: AnnotatorView
    version: str
    sizes: DeltaGenerator
    missing: str = ""

    @property
    def is_admin(self) -> bool:
        return self.annotator.role == ADMIN

    def explain_refusal(self, act: str = "label") -> str | None:
        """Why this person's role may not do this, as the text of a disabled button; None for annotators and admins."""
        if self.annotator.role != VIEWER:
            return None
        return f"Viewers cannot {act}. An admin can change your role on the page Agreement."

    def refresh_sizes(self) -> None:
        """For a fragment in which labels are given: its runs do not draw the side bar."""
        _draw_sizes(self.sizes, corpora.get_corpus(self.wb, self.corpus.id))


@st.cache_resource(show_spinner="Opening the workbench …")
def open_workbench_once() -> Workbench:
    """The one Workbench of this process: database, settings, loaded models. Raises DatabaseOutage."""
    try:
        wb = open_workbench()
    except DatabaseTrouble as e:
        if not e.is_outage:
            raise
        log.error("%s", e)
        raise DatabaseOutage(OUTAGE_TEXT) from e
    start_supervisor(wb)
    return wb


@st.cache_resource(show_spinner=False)
def _gate() -> tuple[threading.Lock, threading.Event]:
    return threading.Lock(), threading.Event()


def open_page(
    title: str,
    subtitle: str = "",
    *,
    tab: str = "",
    choose_model: bool = False,
    needs_corpus: bool = True,
    focus_field: bool = False,
) -> Frame:
    """Draw the frame and return what the page works with. Stops the run with a message if the page needs a corpus and
    there is none.

    `title` and `subtitle` are Markdown: never pass foreign text. `tab`: what the browser's tab says, if not the title.
    `focus_field`: the page's main field has the focus when the page opens.
    """
    st.set_page_config(page_title=f"{tab or title} · AS2 Workbench")
    st.title(title, anchor=False)
    if subtitle:
        st.caption(subtitle)
    signin.require_login()
    show_lost_click()
    errors.show_pending()
    if (name := navigation.get_current()) != "label":
        page_keys.listen(name, focus=focus_field)
    wb = open_workbench_once()
    signin.admit(wb)
    _read_starter(wb)
    views = corpora.list_corpora(wb)
    if not views and needs_corpus:
        st.info("There is no corpus yet. Open **Data** and add documents.", icon=":material/folder_open:")
        st.stop()
    with st.sidebar:
        corpus = _choose_corpus(wb, views) if views else None
        sizes = st.empty()
        if corpus is not None:
            _draw_sizes(sizes, corpus)
            if corpus.vectors_done < corpus.vectors_total:
                fragment(run_every=WAIT_SECONDS)(_draw_vectors)(wb, corpus.id)
        version = _choose_version(wb) if choose_model else _show_version(wb)
        annotator = signin.find_person(wb)
        draw_glossary()
    missing = _get_missing(_CORPUS_BOX) if corpus is not None else ""
    frame = Frame(wb, cast(CorpusView, corpus), annotator, version, sizes, missing)
    if needs_corpus and missing:
        draw_missing(frame)
        st.stop()
    if message := st.session_state.pop("_as2_message", ""):
        st.toast(plain(message), icon=":material/check:")
    return frame


def draw_missing(frame: Frame) -> None:
    """Say that `frame.missing` is not here, and offer the corpus that stands in for it."""
    wb, name, instead = frame.wb, frame.missing, frame.corpus.name
    if shipped.draw_reading(wb, name):
        return
    failure = plain(shipped.explain_failure(wb, name))
    st.warning(failure or _NO_CORPUS.format(plain(name)), icon=":material/folder_off:")
    st.button(f"Use {plain(instead)}", key="as2_go_on", on_click=_accept_corpus)


def announce(message: str) -> None:
    """Show it for some seconds in the run that follows."""
    st.session_state["_as2_message"] = message


def _read_starter(wb: Workbench) -> None:
    """Once per process: load the starter corpus, also one that an upgrade changed, then the models and the handbook in
    a thread. Other sessions wait until the starter corpus is there."""
    lock, loaded = _gate()
    slot = st.empty()  # in every run, or all that follows would move by one place and be drawn anew
    if loaded.is_set():
        return

    def report(p: Progress) -> None:
        stage = f": {plain(p.stage)}" if p.stage else ""
        bar.progress(p.share, text=f"{_READING_STARTER}{stage} …")

    with slot.container():
        bar = st.progress(0.0, text=f"{_READING_STARTER} …")
        with lock:
            if not loaded.is_set():
                starter.ensure_starter(wb, on_progress=report)
                loaded.set()
                args = (wb, shipped.get_failures())
                threading.Thread(target=_preload, args=args, name="preload", daemon=True).start()
    slot.empty()


def _preload(wb: Workbench, failures: dict[str, str]) -> None:
    """Load the models, then the second shipped corpus, and exclude the models' half million objects from garbage
    collection."""
    asking.preload(wb)
    shipped.read_handbook(wb, failures)
    gc.collect()
    gc.freeze()


def use_corpus(name: str) -> None:
    """Choose the corpus of the next run."""
    st.session_state[_REQUEST] = name


def forget_corpus() -> None:
    """After the corpus of this run was deleted: the next one does not look for it."""
    st.session_state.pop(_CORPUS, None)


def _switch_corpus() -> None:
    """Questions that a link chose are those of the corpus before, and so is a retrain or a comparison. A run that was
    overtaken before it drew the box leaves no choice behind: the browser's value is only the one it had; and so it is
    where a click came before the browser had drawn the choice made for it."""
    if _CORPUS_BOX not in st.session_state or _get_overdue_corpus():
        return
    _accept_corpus()
    url.put(only=None)
    if navigation.get_current() in ("adapt", "compare"):
        url.put(job=None)


def _get_overdue_corpus() -> str | None:
    """The corpus chosen for the browser, where both its box and its address still show the one before."""
    if st.session_state.get(_CORPUS_BOX) != url.get("corpus"):
        return None
    return st.session_state.get(_REQUEST) or url.get_overdue("corpus")


def _accept_corpus() -> None:
    """What the box shows is the person's choice, no longer only what stands in for a corpus that is not here."""
    _forget_missing(_CORPUS_BOX)
    st.session_state.pop(_REQUEST, None)
    url.put(corpus=st.session_state[_CORPUS_BOX])


def _choose_corpus(wb: Workbench, views: list[CorpusView]) -> CorpusView:
    """Every run passes the choice as the default, because a later run may overtake the one that made the box before the
    browser has drawn it. Only a run that changes the choice sets the state instead: a default would not change it."""
    by_name = {c.name: c for c in views}
    names, state = list(by_name), st.session_state
    is_moved, current = url.has_moved("corpus"), state.get(_CORPUS_BOX)
    renamings = _follow_renamings(views)
    late = _get_missing(_CORPUS_BOX)  # it may have been asked for while it was being read
    request = state.get(_REQUEST) or _get_overdue_corpus() or renamings.get(current or "") or late
    request = renamings.get(request, request)
    is_followed = is_moved and url.get("corpus") in by_name
    if request in by_name or is_followed:
        _forget_missing(_CORPUS_BOX)
    last = signin.read_cookie(signin.CORPUS)  # it may be another home's
    target = url.get("corpus") or state.get(_CORPUS) or (last if last in by_name else "")
    target = request if request in by_name else target
    absent = _get_missing(_CORPUS_BOX) or target
    is_late = absent not in by_name and shipped.is_being_read(wb, absent)
    _report_missing(_CORPUS_BOX, target, by_name, shipped.READING_MESSAGE if is_late else _NO_CORPUS)
    index = names.index(target) if target in by_name else 0
    if request in by_name or (current is not None and (is_followed or current not in by_name)):
        state[_CORPUS_BOX] = request if request in by_name else names[index]
        index = 0
    elif current is not None:
        index = names.index(current)
    name = st.selectbox("Corpus", names, index, key=_CORPUS_BOX, on_change=_switch_corpus)
    corpus = by_name[name]
    state[_CORPUS] = name
    missing = _get_missing(_CORPUS_BOX)
    url.put(corpus=missing or name)  # an old link stays what it was
    state.pop(_REQUEST, None)  # no earlier: a click may end this run before the address has it
    if not missing:  # or it is only what stands in for another
        signin.remember(signin.CORPUS, name)
    return corpus


def _follow_renamings(views: list[CorpusView]) -> dict[str, str]:
    """By the name that a corpus had earlier in this session, its name now: somebody else may have changed it. The
    corpus in use and the address follow; a box has to be set by whoever draws it."""
    state = st.session_state
    ids: dict[str, int] = state.setdefault("_as2_corpus_ids", {})
    names = {c.id: c.name for c in views}
    renamings = {name: names[i] for name, i in ids.items() if names.get(i, name) != name}
    ids.update({c.name: c.id for c in views})
    if new := renamings.get(old := state.get(_CORPUS, "")):
        state[_CORPUS] = new
        announce(f"The corpus “{old}” is now called “{new}”.")
    if new := renamings.get(url.get("corpus")):
        url.put(corpus=new)
    return renamings


def _draw_sizes(slot: DeltaGenerator, corpus: CorpusView) -> None:
    parts = [count(corpus.documents, "document"), count(corpus.sentences, "sentence")]
    if corpus.labels:
        parts.append(count(corpus.labels, "labelled pair"))
    slot.caption(" · ".join(parts))


def _draw_vectors(wb: Workbench, corpus_id: int) -> None:
    """How far search by meaning is; nothing when it is ready, or the corpus was deleted meanwhile."""
    with suppress(UnknownCorpus):
        corpus = corpora.get_corpus(wb, corpus_id)
        if corpus.vectors_done < corpus.vectors_total:
            st.caption(describe_vectors_of(wb, corpus))


def _show_version(wb: Workbench) -> str:
    active = registry.get_active(wb).name
    st.caption(f"Ranker: {plain(active)}")
    return active


def _choose_version(wb: Workbench) -> str:
    active = registry.get_active(wb).name
    states = {v.name: v.state for v in registry.list_versions(wb) if not v.problem}
    names = list(states) if active in states else [active, *states]
    target = url.get("model") or active
    _report_missing(_MODEL_BOX, target, names, "There is no ranker called “{}” any more. This is the one in use.")
    start = target if target in names else active
    index = 0 if _set_model(names, start, active) else names.index(start)

    def label(version: str) -> str:
        return f"{version} ({name_version_state('active' if version == active else states[version])})"

    name = st.selectbox(
        "Ranker",
        names,
        index=index,
        key=_MODEL_BOX,
        on_change=_forget_missing,
        args=(_MODEL_BOX,),
        format_func=label,
    )
    if len(label(name)) > MODEL_BOX_CHARS:
        st.caption(plain(label(name)))
    url.put(model=None if name == active else name)
    return name


def _set_model(names: list[str], start: str, active: str) -> bool:
    """Set the box to `start` if another version was promoted or its choice was deleted; returns whether it was set.
    Without an explicit choice it follows the active version. A default would not change what the browser shows."""
    state = st.session_state
    was_promoted = state.get("_as2_active", active) != active
    state["_as2_active"] = active
    current = state.get(_MODEL_BOX)
    if current is None or (current in names and not was_promoted):
        return False
    state[_MODEL_BOX] = current if current in names and url.get("model") else start
    return True


def _report_missing(key: str, target: str, names: Collection[str], text: str) -> None:
    """Show that nothing has the name `target`, until something else is chosen. The session keeps the name: the
    address of a model is corrected at once."""
    if target and target not in names:
        st.session_state[f"_{key}_missing"] = target
    if missing := _get_missing(key):
        st.caption(text.format(plain(missing)))


def _get_missing(key: str) -> str:
    return st.session_state.get(f"_{key}_missing", "")


def _forget_missing(key: str) -> None:
    st.session_state.pop(f"_{key}_missing", None)
