"""Mails and a presentation on their way from files to answers."""

import io

from pptx import Presentation

from app.ask import asking
from app.corpora import corpora, documents, ingestion

HEAD = "From: Ann <ann@acme.example>\r\nDate: Mon, 2 Mar 2026 10:15:00 +0100\r\nSubject: Re: "
ANSWER = (
    f"{HEAD}Crane hire\r\n\r\nDear Tom,\r\n\r\nOn Sundays the crane stays in the yard.\r\n\r\n"
    "On Sun, 1 Mar 2026, at 09:12, Tom wrote:\r\n> Can we hire the crane on Sundays?\r\n"
)


def make_slides() -> bytes:
    presentation = Presentation()
    for title, text in (("Yard rules", "Wear a helmet."), ("Parking", "Lorries park behind the shed.")):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = title, text
    file = io.BytesIO()
    presentation.save(file)
    return file.getvalue()


def test_mails_and_slides_are_added_and_answer_questions(wb):
    corpus = corpora.create_corpus(wb, "yard")
    files = [
        ("crane.eml", ANSWER.encode()),
        ("yard.pptx", make_slides()),
        ("empty.eml", HEAD.encode()),
        ("notes.eml", b"Buy milk.\n\nAnd bread."),
        ("broken.pptx", b"PK"),
    ]
    result = ingestion.ingest(wb, corpus.id, files)
    assert (result.added, result.sentences) == (2, 3)
    assert [name for name, _ in result.failed] == ["empty.eml", "notes.eml", "broken.pptx"]
    views = documents.list_documents(wb, corpus.id)
    assert [(view.title, view.source) for view in views] == [("Crane hire", "crane.eml"), ("Yard rules", "yard.pptx")]

    answer = asking.ask(wb, corpus.id, "Where do lorries park?")
    assert answer.candidates[answer.best].text == "Parking: Lorries park behind the shed."
    answer = asking.ask(wb, corpus.id, "Can we hire the crane on Sundays?")
    text = "Can we hire the crane on Sundays? On Sundays the crane stays in the yard."
    assert answer.candidates[answer.best].text == text
    assert ingestion.ingest(wb, corpus.id, files[:2]).unchanged == 2
