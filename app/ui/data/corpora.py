"""Corpora: list, create, rename, delete, add documents, load the shipped ones."""

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from app.corpora import corpora, documents, ingestion
from app.corpora.corpora import HANDBOOK, SHIPPED_CORPORA, STARTER, CorpusView, UnknownCorpus
from app.corpora.ingest_report import IngestView
from app.exchange import starter
from app.exchange.sentence_matching import SOURCE
from app.ui import navigation, url
from app.ui.ask import result
from app.ui.data import document_deletion, gone_labels
from app.ui.data.progress import show_progress
from app.ui.data.reasons import draw_reasons
from app.ui.errors import catch_errors
from app.ui.job import WAIT_SECONDS
from app.ui.page import Frame, announce, forget_corpus, use_corpus
from app.ui.scripts import scroll_to
from app.ui.session import acts
from app.ui.signin import fragment
from app.ui.text import format_day, plain
from app.ui.uploads import offer_upload
from app.ui.wording import describe_vectors_of
from app.workbench.workbench import Workbench
from as2core.messages import count, name_some

NEW = "_data_new"  # of the session: its `_NewCorpus`
DELETING, RENAMING = "_data_deleting", "_data_renaming"  # of the session: the id of a dialog's corpus
SCROLLING = "_data_scrolling"  # of the session: the name of a corpus whose upload is to come in sight, and until when
SCROLLING_SECONDS = 10.0  # what one run asks of the browser is lost where a second click overtakes it
READING = "_data_reading"  # of the session: the name of a corpus while files are added to it
TURN = "_data_upload_turn"  # of the session: how many uploads it has added
REPORT = "_data_report"  # of the session: the name of a corpus and what was ingested
MAX_NOTES = 5  # of an upload
ONLY_ADMIN = "Only an admin can delete a corpus: everyone's labels are deleted with it"


@dataclass(slots=True)
class _NewCorpus:
    """The form for a new corpus. `turn`: how many it made. `name`: of one that is not in use yet."""

    turn: int = 0
    name: str = ""


def draw(frame: Frame) -> None:
    views = corpora.list_corpora(frame.wb)
    for corpus in views:
        with st.container(border=True, gap="xxsmall", key=f"data_corpus_{corpus.id}"):
            _draw_row(frame, corpus)
    if not views:
        st.info("No corpus yet. Create one below, or load the starter corpus.", icon=":material/folder_open:")
    _draw_create(frame)
    if frame.corpus is not None and not frame.missing:
        _draw_ingest(frame)
    left, right = st.columns(2, gap="large")
    with left:
        _draw_starter(frame)
    with right:
        _draw_handbook(frame)


def _draw_row(frame: Frame, corpus: CorpusView) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{plain(corpus.name)}**", width="stretch")
        if frame.corpus is not None and corpus.id == frame.corpus.id and not frame.missing:
            st.badge("in use", icon=":material/check:", color="primary")
        else:
            st.button("Use", key=f"data_use_{corpus.id}", on_click=use_corpus, args=(corpus.name,))
        why = frame.explain_refusal("rename corpora")
        st.button("Rename …", key=f"data_rename_{corpus.id}", type="tertiary", disabled=bool(why) or corpus.is_shipped,
                  help=why or ("It comes with the program and keeps its name" if corpus.is_shipped else None),
                  on_click=st.session_state.__setitem__, args=(RENAMING, corpus.id))  # fmt: skip
        st.button("Delete …", key=f"data_delete_{corpus.id}", type="tertiary", disabled=not frame.is_admin,
                  help=None if frame.is_admin else ONLY_ADMIN,
                  on_click=st.session_state.__setitem__, args=(DELETING, corpus.id))  # fmt: skip
    parts = (
        count(corpus.documents, "document"),
        count(corpus.sentences, "sentence"),
        count(corpus.questions, "question"),
        count(corpus.labels, "labelled pair"),
        f"created {format_day(corpus.created)}",
    )
    st.caption(" · ".join(parts))
    if corpus.vectors_done < corpus.vectors_total:
        fragment(run_every=WAIT_SECONDS)(_draw_vectors)(frame.wb, corpus.id)


def _draw_vectors(wb: Workbench, corpus_id: int) -> None:
    """The progress of a corpus's vectors; without buttons, because a click in a fragment redraws nothing else."""
    corpus = _find_corpus(wb, corpus_id)
    if corpus is None or corpus.vectors_done >= corpus.vectors_total:
        st.rerun()
    st.progress(corpus.vectors_done / corpus.vectors_total, text=describe_vectors_of(wb, corpus))


def _find_corpus(wb: Workbench, corpus_id: int) -> CorpusView | None:
    """None if it was deleted meanwhile."""
    with suppress(UnknownCorpus):
        return corpora.get_corpus(wb, corpus_id)
    return None


def draw_dialogs(frame: Frame) -> None:
    """Open the dialog of a clicked button; called once, at the end of the page."""
    for key, draw_dialog in ((DELETING, _draw_delete), (RENAMING, _draw_rename)):
        corpus_id = st.session_state.get(key)
        if corpus_id is not None and (corpus := _find_corpus(frame.wb, corpus_id)) is not None:
            draw_dialog(frame, corpus)
            return


def _close() -> None:
    st.session_state.pop(DELETING, None)
    st.session_state.pop(RENAMING, None)


@st.dialog("Delete corpus", on_dismiss=_close)
def _draw_delete(frame: Frame, corpus: CorpusView) -> None:
    labels = count(corpus.labels, "labelled pair")
    parts = (count(corpus.documents, "document"), count(corpus.questions, "question"), labels)
    st.markdown(f"This deletes **{plain(corpus.name)}** with {', '.join(parts)}. This cannot be undone.")
    if corpus.labels:
        st.caption("To keep the labels, close this dialog and export them first, under Import and export.")
    confirmation = st.text_input("Type the corpus's name to confirm", key="data_delete_name", placeholder=corpus.name)
    if st.button("Delete permanently", type="primary", key="data_delete_confirm"):
        if confirmation.strip() != corpus.name:
            st.error("The name does not match. Type it exactly as shown above.", icon=":material/edit:")
            return
        with acts.finish(), catch_errors(), st.spinner("Deleting …"):
            corpora.delete_corpus(frame.wb, corpus.id, by=frame.annotator.id)
            _close()
            if url.get("corpus") == corpus.name:
                url.put(corpus=None)
            forget_corpus()
            announce(f"The corpus “{corpus.name}” was deleted.")
        if DELETING not in st.session_state:
            st.rerun()


@st.dialog("Rename corpus", on_dismiss=_close)
def _draw_rename(frame: Frame, corpus: CorpusView) -> None:
    st.caption("Pages that are open follow. Links and commands that have the old name no longer find the corpus.")
    with st.form("data_rename", border=False):
        name = st.text_input("New name", corpus.name, key="data_rename_name")
        if st.form_submit_button("Rename", type="primary"):
            with acts.finish(), catch_errors():
                view = corpora.rename_corpus(frame.wb, corpus.id, name, by=frame.annotator.id)
                _close()
                st.session_state.pop(REPORT, None)  # it has the old name
                announce(f"The corpus “{corpus.name}” is now called “{view.name}”.")
            if RENAMING not in st.session_state:
                st.rerun()


def _draw_create(frame: Frame) -> None:
    """The form has another key after each corpus, so that it is empty, and so that the second click of two on Create is
    for none that is there. It overtakes the run of the first; what that one made is noted without Streamlit, and taken
    into use by the run that follows."""
    why = frame.explain_refusal("create corpora")
    new: _NewCorpus = st.session_state.setdefault(NEW, _NewCorpus())
    st.header("New corpus", anchor=False)
    st.caption("Name it, then add its documents below.")
    with (
        st.form(f"data_new_{new.turn}", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        # without max_chars: Streamlit drops a pasted text that is longer, without a word
        name = st.text_input("Name", placeholder="For example: Handbooks", key=f"data_new_name_{new.turn}")
        create = st.form_submit_button("Create", icon=":material/create_new_folder:", disabled=bool(why), help=why)
    if create:
        with catch_errors():
            new.name = corpora.create_corpus(frame.wb, name, by=frame.annotator.id).name
            new.turn += 1
    if new.name:
        use_corpus(new.name)
        result.submit("")  # the question on Ask was of another corpus
        announce(f"The corpus “{new.name}” was created. Add documents to it.")
        st.session_state[SCROLLING] = new.name, time.monotonic() + SCROLLING_SECONDS
        new.name = ""
        st.rerun()


def _draw_starter(frame: Frame) -> None:
    why = frame.explain_refusal("load corpora")
    st.header("Starter corpus", anchor=False)
    st.caption("Short articles with labelled questions, to try every page. Loading it again restores what is missing.")
    icon = ":material/restart_alt:"
    if st.button("Load the starter corpus", icon=icon, key="data_starter", disabled=bool(why), help=why):
        _load(frame, STARTER, "starter corpus")


def _draw_handbook(frame: Frame) -> None:
    why = frame.explain_refusal("load corpora")
    st.header("Handbook", anchor=False)
    st.caption(
        "The service handbook of an invented company, with labelled questions in its staff's own words. No ranker "
        "knows these words, so a retrain shows here what labels bring."
    )
    icon = ":material/restart_alt:"
    if st.button("Load the handbook", icon=icon, key="data_handbook", disabled=bool(why), help=why):
        _load(frame, HANDBOOK, "handbook")


def _load(frame: Frame, name: str, title: str) -> None:
    """Bring a shipped corpus back and use it."""
    with catch_errors(), show_progress(f"Loading the {title} …") as on_progress:
        corpus = starter.bring_back(frame.wb, name, on_progress, by=frame.annotator.id)
        if corpus is None:
            st.warning(
                f"The {title} is not part of this installation, or a corpus of yours has its name.",
                icon=":material/info:",
            )
        else:
            use_corpus(corpus.name)
            announce(f"The corpus “{corpus.name}” is complete.")
            st.rerun()


def _draw_ingest(frame: Frame) -> None:
    corpus, why = frame.corpus, frame.explain_refusal("add documents")
    name = plain(corpus.name)
    with st.container(key="data_upload"):
        st.header(f"Add documents to “{name}”", anchor=False)
    created, until = st.session_state.get(SCROLLING, ("", 0.0))
    if created == corpus.name and time.monotonic() < until:
        scroll_to(".st-key-data_upload", corpus.name, block="start")
    if corpus.name in SHIPPED_CORPORA:
        st.info(
            f"“{name}” comes with the program. For your own documents, create a corpus above first.",
            icon=":material/create_new_folder:",
        )
    st.caption(
        "Accepted are PDF, Word (.docx), PowerPoint (.pptx), Excel (.xlsx), mails (.eml), text, Markdown, web pages "
        "(HTML), JSONL, and tables (CSV, TSV) with a column named text, each row a document. The shipped models read "
        "English. A file with the name of a stored one replaces it; the same content changes nothing."
    )
    _draw_divided_before(frame)
    turn = st.session_state.setdefault(TURN, 0)
    # of any type: Streamlit would refuse others by their MIME type alone, where the report says what to do
    files = offer_upload("Files", is_allowed=not why, accept_multiple_files=True, key=f"data_files_{turn}",
                         label_visibility="collapsed")  # fmt: skip
    if doubles := _find_doubles(files):
        st.warning(
            f"Several of these files have the same name: {plain(name_some(doubles))}. A corpus holds one document of a "
            "name, so the last would replace the others. Rename them, or remove all but one from the list.",
            icon=":material/file_copy:",
        )
    # keyed by the corpus: if it was deleted meanwhile, a click must not apply to the one shown in its place
    if st.button(
        f"Add {count(len(files), 'file')} to “{name}”" if files else "Choose files first",
        type="primary", disabled=not files or bool(why or doubles), icon=":material/upload_file:",
        key=f"data_ingest_{corpus.id}", help=why,
    ):  # fmt: skip
        st.session_state.pop(REPORT, None)
        with catch_errors():
            _ingest(frame, corpus, files)
            st.rerun()
    _draw_interruption()
    _draw_report(frame, corpus)


def _ingest(frame: Frame, corpus: CorpusView, files: Sequence[UploadedFile]) -> None:
    """A click on Stop, as on anything else, ends this run of the page, and the next finds READING; or REPORT where the
    click came when all was read."""
    st.session_state[READING] = corpus.name
    contents = [(f.name, f.getvalue()) for f in files]
    slot = st.empty()
    slot.button("Stop", key="data_ingest_stop", icon=":material/stop_circle:", help="What is stored by then stays")
    try:
        with show_progress(f"Reading {count(len(files), 'file')} …") as on_progress:
            report = ingestion.ingest(frame.wb, corpus.id, contents, on_progress=on_progress, by=frame.annotator.id)
            with acts.finish():
                st.session_state[REPORT] = (corpus.name, report)
                st.session_state[TURN] += 1
                del st.session_state[READING]
    except Exception:
        del st.session_state[READING]  # the error says what became of it
        raise
    finally:
        slot.empty()


def _draw_interruption() -> None:
    if name := st.session_state.pop(READING, ""):
        st.warning(
            f"Adding files to “{plain(name)}” was stopped. What was stored by then is in the corpus. Adding all "
            "again goes on with the others.",
            icon=":material/stop_circle:",
        )


def _draw_divided_before(frame: Frame) -> None:
    """After an upgrade: documents that this release would divide otherwise, and what to do."""
    if older := documents.count_divided_before(frame.wb, frame.corpus.id, without=SOURCE):
        those, files = ("1 document was", "its file") if older == 1 else (f"{older:,} documents were", "their files")
        st.info(
            f"{those} divided into sentences by an earlier release. Add {files} again to have headings, terms, lists "
            "and tables read as this release reads them. Labels stay on sentences that keep their words.",
            icon=":material/upgrade:",
        )


def _find_doubles(files: Sequence[UploadedFile]) -> list[str]:
    """Names of several files with another content each: the last one would replace the others."""
    contents: dict[str, set[bytes]] = {}
    for name, n in Counter(f.name for f in files).items():
        if n > 1:
            contents[name] = {f.getvalue() for f in files if f.name == name}
    return [name for name, different in contents.items() if len(different) > 1]


def _draw_report(frame: Frame, corpus: CorpusView) -> None:
    if REPORT not in st.session_state:
        return
    name, report = st.session_state[REPORT]
    with st.container(border=True, key="data_report"):
        st.markdown(f"**{plain(describe_ingest(name, report))}**")
        if report.failed:
            has_any = report.added or report.updated
            st.caption("What could be read was added." if has_any else "Nothing was added.")
            draw_reasons(("file", "reason"), report.failed)
        if report.documents > report.read_files:
            sizes = f"{count(report.documents, 'document')} from {count(report.read_files, 'file')}"
            st.caption(f"{sizes}: a row of a table, a line of JSONL and a sheet of a workbook are documents.")
        _draw_changes(report)
        if name == corpus.name:
            _draw_gone_labels(frame, report)
            _draw_leftovers(frame, report)
        for note, files in report.notes_by_text.items():
            for file in files[:MAX_NOTES]:
                st.caption(f":material/info: {plain(file)} {plain(note)}.")
            if (rest := len(files) - MAX_NOTES) > 0:
                st.caption(f":material/info: The same holds for {count(rest, 'other document')}.")
        with st.container(horizontal=True, vertical_alignment="center"):
            if name == corpus.name:
                if corpus.sentences:
                    navigation.to("ask", "Ask a question")
            else:
                st.button(f"Use {plain(name)}", key="data_report_use", on_click=use_corpus, args=(name,))
            st.button("Dismiss", type="tertiary", key="data_report_away", on_click=st.session_state.pop,
                      args=(REPORT, None))  # fmt: skip


def _draw_changes(report: IngestView) -> None:
    """Which documents were replaced, first those whose text was another one, and what became of labels."""
    if report.replacements:
        names = name_some(report.replacements)
        st.warning(
            f"Another document of the same name was replaced, without a sentence in common: {plain(names)}. To have "
            "both, rename one file and add it again.",
            icon=":material/swap_horiz:",
        )
    if report.updated_files:
        st.caption(f":material/edit: Updated: {plain(name_some(report.updated_names))}.")
    if report.orphans:
        st.warning(
            f"Labelled pairs whose sentence is gone: {report.orphans:,}. Exports and retrains still use them; a "
            "question with no other label is back in the queue “Unlabelled”. You can move labels to the new wording.",
            icon=":material/label_off:",
        )


def _draw_gone_labels(frame: Frame, report: IngestView) -> None:
    """The way to labels that this upload left without their sentence, and to those whose sentence it brought back in
    another document."""
    movable = gone_labels.count_movable(frame) if report.added else 0
    if movable:
        where = "here again, in another document"
        st.info(
            f"1 label whose sentence was gone has it {where}: move it there." if movable == 1 else
            f"{movable:,} labels whose sentences were gone have them {where}: move them there.",
            icon=":material/move_down:",
        )  # fmt: skip
    if movable or report.orphans:
        st.button("Show these labels", key="data_report_gone", icon=":material/label_off:", on_click=url.set_place,
                  kwargs={"view": "list", "where": "gone"})  # fmt: skip


def _draw_leftovers(frame: Frame, report: IngestView) -> None:
    """What a table brought before, and does not have any more."""
    views = documents.load_documents(frame.wb, [v.id for v in report.leftovers])
    if not views:
        return
    by_file: dict[str, list[str]] = {}
    for v in views:
        by_file.setdefault(v.source, []).append(f"“{v.title or v.external_id}”")
    for file, names in by_file.items():
        documents_before = count(len(names), "document")
        st.warning(
            f"{plain(file)} no longer has {documents_before} that it had before: {plain(name_some(names))}. "
            "What it had is still in the corpus, and still answers questions.",
            icon=":material/playlist_remove:",
        )
    why = frame.explain_refusal(document_deletion.ACT)
    st.button(f"Delete {count(len(views), 'document')} …", key="data_leftovers_delete", icon=":material/delete:",
              disabled=bool(why), help=why,
              on_click=lambda: document_deletion.DELETION.store(frame, views))  # fmt: skip


def describe_ingest(name: str, report: IngestView) -> str:
    parts = [f"{count(report.added, 'document')} added"]
    if report.updated:
        parts.append(f"{report.updated:,} updated")
    if report.unchanged:
        parts.append(f"{report.unchanged:,} unchanged")
    if report.unread_files:
        parts.append(f"{count(len(report.unread_files), 'file')} not read")
    if report.partly_read_files:
        parts.append(f"{count(len(report.partly_read_files), 'file')} read in part")
    return f"{name}: {', '.join(parts)}, in {report.seconds:.1f} s. {count(report.sentences, 'new sentence')}."
