import pytest
from label_files import import_labels

from app.ask import stored_questions
from app.corpora import corpora, ingestion
from app.corpora.synonyms import read_synonyms
from app.labels import annotation, conflicts
from app.ranking.synonym_proposals import SENTENCES_BEFORE, dismiss_proposals, propose_from_labels
from app.ranking.synonyms import write_synonyms
from app.workbench import people
from app.workbench.people import NotAllowed
from as2core.data import jsonl
from as2core.types import Candidate, Question
from db.repositories import labels as label_rows

TYPES = {"whale": "VX-90", "clerk": "VX-60", "toaster": "DR-12"}
PARTS = ("belt", "pump", "fan", "valve")


def ask(word, kind, part):
    """The correct sentence does not name the machine: one before it does."""
    texts = [f"The {kind} has a {part}.", f"A {part} may leak.", f"Its {part} is number {len(part)}."]
    candidates = [Candidate(f"{kind}-{part}-{n}", text, int(n == 2), f"{part} page") for n, text in enumerate(texts)]
    return Question(f"{word} {part}", f"which {part} has the {word}", tuple(candidates))


@pytest.fixture
def machines(wb):
    questions = [ask(word, kind, part) for word, kind in TYPES.items() for part in PARTS]
    return import_labels(wb, None, "machines.jsonl", jsonl.dumps(questions).encode()).corpus_id


def propose(wb, corpus_id):
    return {p.word: p.meaning for p in propose_from_labels(wb, corpus_id)}


def test_labels_suggest_what_a_word_means_from_the_sentences_before_the_answer(wb, machines):
    assert SENTENCES_BEFORE == 2
    assert propose(wb, machines) == TYPES


def test_what_is_a_synonym_already_is_not_proposed(wb, machines, ann):
    write_synonyms(wb, machines, "whale => VX-90", by=ann.id)
    assert propose(wb, machines) == {word: kind for word, kind in TYPES.items() if word != "whale"}


def test_a_dismissed_word_is_not_proposed_again(wb, machines, ann):
    dismiss_proposals(wb, machines, ["Whale"], by=ann.id)
    dismiss_proposals(wb, machines, ["clerk"], by=ann.id)
    assert propose(wb, machines) == {"toaster": "DR-12"}
    write_synonyms(wb, machines, "whale => VX-90", by=ann.id)  # by hand it counts
    assert read_synonyms(wb, machines).words == ["whale"]


def test_a_viewer_dismisses_nothing(wb, machines, ann, bob):
    people.set_role(wb, bob.id, "viewer", by=ann.id)
    with pytest.raises(NotAllowed, match="viewer"):
        dismiss_proposals(wb, machines, ["whale"], by=bob.id)
    assert propose(wb, machines) == TYPES


def test_a_label_that_is_incorrect_now_suggests_nothing(wb, machines, ann):
    with wb.read() as s:
        pairs = [p for p in label_rows.list_correct_pairs(s, machines, []) if "whale" in p.question]
    assert len(pairs) == len(PARTS)
    for pair in pairs:
        place = {"question_id": pair.question_id, "sentence_id": pair.sentence_id}
        annotation.give_label(wb, **place, annotator_id=ann.id, label="incorrect")
    assert "whale" not in propose(wb, machines)


def test_they_are_made_again_only_after_something_has_changed(wb, machines, ann, clock, monkeypatch):
    calls, list_pairs = [], label_rows.list_correct_pairs
    monkeypatch.setattr(label_rows, "list_correct_pairs", lambda *args: calls.append(args) or list_pairs(*args))

    def count_calls():
        calls.clear()
        propose(wb, machines)
        propose(wb, machines)
        return len(calls)

    assert (count_calls(), count_calls()) == (1, 0)
    with wb.read() as s:
        pair = list_pairs(s, machines, [])[0]
    place = {"question_id": pair.question_id, "sentence_id": pair.sentence_id}
    annotation.give_label(wb, **place, annotator_id=ann.id, label="incorrect")
    assert count_calls() == 1
    conflicts.adjudicate(wb, **place, annotator_id=ann.id, label="correct")
    assert count_calls() == 1
    clock.advance(seconds=1)
    ingestion.ingest(wb, machines, [("new.txt", b"The WZ-1 is new.")])
    assert count_calls() == 1
    write_synonyms(wb, machines, "whale => VX-90", by=ann.id)
    assert count_calls() == 1
    stored_questions.delete_question(wb, pair.question_id, labels=len(PARTS), by=ann.id)
    assert count_calls() == 1
    dismiss_proposals(wb, machines, ["clerk"], by=ann.id)
    assert count_calls() == 0 and "clerk" not in propose(wb, machines)


def test_test_questions_suggest_nothing(wb):
    questions = [ask(word, kind, part) for word, kind in TYPES.items() for part in PARTS]
    data = jsonl.dumps(questions).encode()
    corpus = import_labels(wb, None, "machines.jsonl", data, split="test").corpus_id
    assert propose(wb, corpus) == {}


def test_a_corpus_without_labels_or_documents_suggests_nothing(wb, towers):
    assert propose(wb, towers.id) == {}
    assert propose(wb, corpora.create_corpus(wb, "empty").id) == {}
    ingestion.ingest(wb, towers.id, [("tower.txt", b"Another text. It has no labels.")])
    assert propose(wb, towers.id) == {}
