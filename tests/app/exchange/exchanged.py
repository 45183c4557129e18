"""Label sets of a tower, and how they come in."""

from label_files import import_labels

from app.ask import asking
from app.corpora import corpora, ingestion
from app.labels import annotation, conflicts
from as2core.types import Candidate, Question

WIKIQA = """QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel
Q1\thow high is the tower\tD1\tEiffel Tower\tD1-0\tThe tower stands in Paris .\t0
Q1\thow high is the tower\tD1\tEiffel Tower\tD1-1\tIt is 330 metres high .\t1
Q1\thow high is the tower\tD1\tEiffel Tower\tD1-2\tIt is 330 metres high .\t0
Q2\twho painted it\tD1\tEiffel Tower\tD1-1\tIt is 330 metres high .\t0
Q2\twho painted it\tD2\tPaint\tD2-0\tSixty painters painted it .\t1
"""
QUESTIONS = [
    Question(
        "q-1",
        "How high is the tower?",
        (
            Candidate("t-0", "The tower stands in Paris.", 0, "Tower"),
            Candidate("t-1", "It is 330 metres high.", 1, "Tower"),
            Candidate("t-7", "Its lifts are old.", None, "Tower"),
        ),
        kind="how-many",
    ),
    Question("q-2", "Who painted it?", (Candidate("odd id", "Sixty painters did.", 1), Candidate("t-0", "Not I.", 0))),
    Question("q-3", "Why?", (Candidate("t-1", "It is 330 metres high.", 0, "Tower"), Candidate("0", "Why not.", 0))),
    Question("q-4", "Never judged?", (Candidate("u-0", "Nobody knows.", None),)),
]


def import_new(wb, name, content, **more):
    return import_labels(wb, None, name, content if isinstance(content, bytes) else content.encode(), **more)


def ratings(*rows: str) -> bytes:
    return "\n".join(["query,docid,rating", *(f"how old?,{row}" for row in rows)]).encode()


def import_tower(wb) -> int:
    corpus = corpora.create_corpus(wb, "tower")
    text = "It is old. It is tall. It is thin. It is grey."
    ingestion.ingest(wb, corpus.id, [("tower.txt", text.encode())])
    return corpus.id


def settle_pair(wb, towers, ann, bob, label, note=""):
    """A pair on which ann and bob differ, settled by ann."""
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    for who, said in ((ann, "correct"), (bob, "incorrect")):
        annotation.give_label(wb, **pair, annotator_id=who.id, label=said)
    conflicts.adjudicate(wb, **pair, annotator_id=ann.id, label=label, note=note)
    return pair
