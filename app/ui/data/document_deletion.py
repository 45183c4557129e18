"""Deleting documents: the one that is shown, by a button behind a button, or several at once, by a dialog."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from app.corpora import documents
from app.corpora.documents import DocumentView
from app.ui import url
from app.ui.data.choice import Choice
from app.ui.data.progress import show_progress
from app.ui.errors import catch_errors, guard
from app.ui.page import Frame, announce
from app.ui.text import plain
from as2core.messages import count, name_some

ACT = "delete documents"
DELETION = Choice("data_documents_delete")  # of DocumentViews


def draw_one(frame: Frame, document: DocumentView) -> None:
    why = frame.explain_refusal(ACT)
    with st.popover("Delete", type="tertiary", icon=":material/delete:", key="data_document_delete", disabled=bool(why),
                    help=why):  # fmt: skip
        labels = documents.count_labels(frame.wb, [document.id])
        name = plain(document.title or document.external_id)
        st.caption(f"{name} will be deleted from the corpus. {_describe_labels(labels)}")
        st.button("Delete this document", key="data_document_gone", on_click=_delete, args=(frame, document, labels))


def choose_several(frame: Frame) -> bool:
    """Whether rows are selected to be deleted, and not one to be read."""
    why = frame.explain_refusal(ACT)
    return st.toggle("Select several to delete", key="data_documents_several", disabled=bool(why), help=why)


def draw_several(frame: Frame, selection: Sequence[DocumentView], search: str) -> None:
    """Buttons for those that are selected, and for all that a `search` finds."""
    if not selection and not search:
        st.info("Select the documents to delete.", icon=":material/checklist:")
        return
    with st.container(horizontal=True):
        what = count(len(selection), "selected document") if selection else "the selected"
        _offer(frame, "selected", what, partial(list, selection))
        if search:
            find = partial(documents.list_documents, frame.wb, frame.corpus.id, search=search, limit=None)
            _offer(frame, "matching", f"all that match “{plain(search)}”", find)


def _offer(frame: Frame, which: str, what: str, find: Callable[[], list[DocumentView]]) -> None:
    why = frame.explain_refusal(ACT) or ("Select rows first" if which == "selected" and not find() else None)
    st.button(f"Delete {what} …", key=f"data_documents_delete_{which}", icon=":material/delete:", disabled=bool(why),
              help=why, on_click=lambda: DELETION.store(frame, find()))  # fmt: skip


def draw_dialog(frame: Frame) -> None:
    """The confirmation for a clicked button; called once, at the end of the page."""
    if views := DELETION.read(frame):
        _confirm(frame, views)


@st.dialog("Delete documents", on_dismiss=DELETION.close)
def _confirm(frame: Frame, views: Sequence[DocumentView]) -> None:
    DELETION.rerun_if_closed()
    labels = documents.count_labels(frame.wb, [v.id for v in views])
    names = name_some([v.title or v.external_id for v in views])
    st.markdown(
        f"{count(len(views), 'document')} will be deleted from **{plain(frame.corpus.name)}**: {plain(names)}. "
        f"{_describe_labels(labels, their=len(views) > 1)}"
    )
    if DELETION.draw_buttons("Delete", None, keep="Keep them"):
        _delete_several(frame, views)


def _delete_several(frame: Frame, views: Sequence[DocumentView]) -> None:
    """An interruption leaves those that were not deleted yet."""
    is_done = False
    with catch_errors(), show_progress(f"Deleting {count(len(views), 'document')} …") as on_progress:
        ids = [v.id for v in views]
        documents.delete_documents(frame.wb, frame.corpus.id, ids, by=frame.annotator.id, on_progress=on_progress)
        is_done = True
    if is_done:
        DELETION.close()
        url.put(doc=None)
        announce(f"{count(len(views), 'document was', 'documents were')} deleted.")
        st.rerun()


def _describe_labels(labels: int, *, their: bool = False) -> str:
    """What becomes of the labels of a deleted document, or of several."""
    whose = "Their" if their else "Its"
    if not labels:
        return f"None of {whose.lower()} sentences is labelled."
    is_one = labels == 1
    return (
        f"{_name_labels(labels, whose)}, and still count{'s' * is_one} in retrains, comparisons, exports and the "
        f"number of labelled pairs. Ask and Label no longer show {'it' if is_one else 'them'}, until you add the "
        f"document{'s' * their} again."
    )


def _name_labels(labels: int, whose: str) -> str:
    """`Its 3 labelled pairs stay`: several people may have labelled one."""
    return f"{whose} labelled pair stays" if labels == 1 else f"{whose} {labels:,} labelled pairs stay"


@guard
def _delete(frame: Frame, document: DocumentView, labels: int) -> None:
    documents.delete_document(frame.wb, document.id, by=frame.annotator.id)
    url.put(doc=None)
    rest = f" {_name_labels(labels, 'Its')}." if labels else ""
    st.toast(f"“{plain(document.title or document.external_id)}” was deleted.{rest}", icon=":material/delete:")
