"""A link to a sentence in its document, on the page Data. Its address names the question and the model, so that Data
can lead back."""

from app.corpora import documents
from app.ui import navigation, url
from app.ui.page import Frame


def draw_document_link(frame: Frame, document_id: int, position: int) -> None:
    """`position` is the sentence's place in the document, from 0. Nothing for a document that was deleted."""
    document = documents.find_document(frame.wb, document_id)
    if document is not None:
        navigation.to(
            "data",
            "Open the document",
            icon=":material/article:",
            corpus=frame.corpus.name,
            view="documents",
            doc=document.external_id,
            sentence=str(position + 1),
            **url.get_present(*navigation.QUESTION),
        )
