"""Sets that come in parts: train, dev and test, each a file, together one corpus."""

import pytest
from label_files import import_labels

from app.adapt import readiness, snapshot
from app.adapt.settings import RetrainSettings
from app.exchange import exports
from as2core.data import jsonl
from as2core.errors import BadSetting
from as2core.types import Candidate, Question
from db.repositories import people as people_rows
from db.repositories import questions as rows


def a_part(first: int, questions: int, about: str) -> bytes:
    """Questions numbered from `first`, each with a correct and an incorrect sentence of its own."""
    return jsonl.dumps(
        [
            Question(
                f"Q{n}",
                f"{about} a{n} b{n} c{n} d{n}?",  # none nearly repeats another
                (Candidate(f"D{n}-0", f"The {about} {n} it is.", 1), Candidate(f"D{n}-1", f"No {about} {n}.", 0)),
            )
            for n in range(first, first + questions)
        ]
    ).encode()


def split_of(wb, corpus_id: int) -> dict[str, str]:
    with wb.read() as s:
        return {q.external_id: q.split for q in rows.list_questions(s, corpus_id)}


@pytest.fixture
def corpus_id(wb):
    corpus = import_labels(wb, None, "set-train.jsonl", a_part(1, 12, "oak"), split="train").corpus_id
    import_labels(wb, corpus, "set-dev.jsonl", a_part(21, 5, "ash"), split="dev")
    import_labels(wb, corpus, "set-test.jsonl", a_part(31, 4, "elm"), split="test")
    return corpus


def test_a_retrain_trains_on_train_validates_on_dev_and_is_measured_on_test(wb, corpus_id):
    parts = snapshot.compose(wb, corpus_id, RetrainSettings(replay=0.0)).parts
    asked = {side: {q.text.split()[0] for q in getattr(parts, side)} for side in ("train", "dev", "held_out")}
    assert asked == {"train": {"oak"}, "dev": {"ash"}, "held_out": {"elm"}}
    assert (len(parts.train), len(parts.dev), len(parts.held_out)) == (12, 5, 4)
    assert readiness.check_readiness(wb, corpus_id).heldout_questions == 4


def test_the_part_may_be_told_of_questions_that_are_here_and_stays_where_it_is_not_told(wb, corpus_id):
    again = import_labels(wb, corpus_id, "set-test.jsonl", a_part(31, 4, "elm"))
    assert (again.new, again.same) == (0, 8) and split_of(wb, corpus_id)["Q31"] == "test"
    assert again.moved == () and again.describe_moved() == ""
    moved = import_labels(wb, corpus_id, "set-test.jsonl", a_part(31, 4, "elm"), split="train")
    assert moved.moved == (("test", "train", 4),) and moved.describe_moved() == "moved from test to train: 4"
    assert split_of(wb, corpus_id)["Q31"] == "train"


def test_two_parts_that_number_their_questions_alike_both_go_in_once(wb):
    corpus = import_labels(wb, None, "train.jsonl", a_part(1, 3, "oak"), split="train").corpus_id
    for new, same in ((6, 0), (0, 6)):
        done = import_labels(wb, corpus, "dev.jsonl", a_part(1, 3, "ash"), split="dev")
        assert (done.new, done.same, done.malformed) == (new, same, ())
    assert split_of(wb, corpus) == {
        "Q1": "train", "Q2": "train", "Q3": "train", "Q1-2": "dev", "Q2-2": "dev", "Q3-2": "dev"
    }  # fmt: skip
    texts = {c.text for q in exports.load_labelled_questions(wb, corpus) for c in q.candidates}
    assert {"The oak 1 it is.", "The ash 1 it is."} <= texts


def test_an_unknown_part_is_named_with_those_there_are(wb):
    with pytest.raises(BadSetting, match="no split 'nope'; known: train, dev, test"):
        import_labels(wb, None, "set.jsonl", a_part(1, 2, "oak"), split="nope")


def test_a_number_behind_an_id_is_none_that_the_file_gives_itself(wb):
    corpus = import_labels(wb, None, "train.jsonl", a_part(1, 1, "oak")).corpus_id
    clashing = a_part(1, 1, "ash") + a_part(2, 1, "elm").replace(b'"Q2"', b'"Q1-2"')
    for new, same in ((4, 0), (0, 4)):
        done = import_labels(wb, corpus, "dev.jsonl", clashing)
        assert (done.new, done.same, done.malformed) == (new, same, ())
    with wb.read() as s:
        texts = {q.external_id: q.text.split()[0] for q in rows.list_questions(s, corpus)}
    assert texts == {"Q1": "oak", "Q1-2": "elm", "Q1-3": "ash"}


def test_an_exported_set_comes_back_divided_as_it_was(wb, corpus_id):
    content = exports.export_labels(wb, corpus_id, "jsonl")
    again = import_labels(wb, None, "again.jsonl", content)
    assert split_of(wb, again.corpus_id) == split_of(wb, corpus_id)
    assert readiness.check_readiness(wb, again.corpus_id).heldout_questions == 4
    import_labels(wb, again.corpus_id, "again.jsonl", content, split="train")  # what is said outranks the file
    assert set(split_of(wb, again.corpus_id).values()) == {"train"}


def test_a_split_that_is_none_is_a_malformed_line(wb):
    content = a_part(1, 1, "oak").replace(b'"candidates"', b'"split": "tests", "candidates"')
    report = import_labels(wb, None, "set.jsonl", content + a_part(2, 1, "oak"))
    assert "'tests' is not train, dev, test" in report.malformed[0][1] and report.questions == 1


def test_labels_that_came_with_the_corpus_are_the_same_when_they_come_back_unsigned(wb):
    part = a_part(1, 3, "oak")
    corpus = import_labels(wb, None, "set.jsonl", part, annotator="curator").corpus_id
    with wb.write() as s:
        people_rows.find_annotator(s, name="curator").imported = True  # as the annotator of a shipped corpus
    again = import_labels(wb, corpus, "set.csv", exports.export_labels(wb, corpus, "csv"))
    assert (again.new, again.same) == (0, 6)
    changed = exports.export_labels(wb, corpus, "csv").replace(b",1", b",0")
    assert import_labels(wb, corpus, "set.csv", changed).conflicting == 3
