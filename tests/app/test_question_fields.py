"""What makes a question of a question keeps every field of it that it is not about, also those that are added later."""

from dataclasses import fields, replace

import pytest
from label_files import import_labels

from app.adapt import label_selection
from app.adapt.label_selection import LabelSelection, presume_incorrect
from app.adapt.snapshot import sample_replay, sample_validation
from app.adapt.splitting import Split
from app.exchange import exports
from app.labels import consensus
from app.labels.consensus import LabelRequest, drop_unlabelled
from app.versions.evaluations import hash_questions
from as2core.data import jsonl
from as2core.data.catalog import open_questions
from as2core.data.lazy_questions import LazyQuestions
from as2core.export.parity import replace_texts
from as2core.questions.synonyms import Synonyms
from as2core.types import Candidate, Question, Verdict

ANNOTATIONS = (("ann", "correct"), ("bob", "incorrect"))
CANDIDATES = (
    Candidate("a", "Yes.", 1, "Tower", 4, ANNOTATIONS, Verdict("cy", "correct", "read it again")),
    Candidate("b", "No.", 0, "Tower", 1, (("ann", "incorrect"),)),
)
QUESTION = Question("q1", "Is it high?", CANDIDATES, kind="polar", split="test")


def list_values(record, *but: str) -> dict[str, object]:
    return {f.name: getattr(record, f.name) for f in fields(record) if f.name not in but}


def test_the_question_of_these_tests_has_every_field_set():
    assert all(list_values(QUESTION).values()) and all(list_values(CANDIDATES[0]).values())
    assert all(list_values(CANDIDATES[0].verdict).values())


@pytest.mark.parametrize(
    "rebuild",
    [
        Question.drop_titles,
        drop_unlabelled,
        lambda q: presume_incorrect(q, 3),
        lambda q: sample_validation([q], 0)[0],
        lambda q: sample_replay([q], Split((), (), ()), 1.0, 0)[0],
        lambda q: replace_texts(q, ["Tower: yes.", "Tower: no."]),
        lambda q: Synonyms.parse("high => tall").expand_all([q])[0],
        lambda q: jsonl.from_record(jsonl.to_record(q)),
    ],
    ids="titles unlabelled presumed validation replay texts synonyms jsonl".split(),
)
def test_every_other_field_is_kept(rebuild):
    rebuilt = rebuild(QUESTION)
    assert list_values(rebuilt, "qid", "text", "candidates") == list_values(QUESTION, "qid", "text", "candidates")
    for after, before in zip(rebuilt.candidates, CANDIDATES, strict=True):
        assert list_values(after, "text", "title") == list_values(before, "text", "title")


def test_a_set_that_stays_in_its_file_is_that_of_a_file_read_whole(tmp_path):
    jsonl.write([QUESTION], tmp_path / "set.jsonl")
    lazy, _ = open_questions(tmp_path / "set.jsonl", min_bytes=0)
    assert isinstance(lazy, LazyQuestions)
    assert lazy[0] == open_questions(tmp_path / "set.jsonl")[0][0] == QUESTION
    jsonl.write(lazy, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "set.jsonl").read_bytes()


def test_an_imported_question_is_exported_with_all_that_it_had(wb):
    corpus = import_labels(wb, None, "set.jsonl", jsonl.dumps([QUESTION]).encode())
    [exported] = exports.load_labelled_questions(wb, corpus.corpus_id, LabelRequest(signed=True))
    assert list_values(exported, "candidates") == list_values(QUESTION, "candidates")
    for after, before in zip(exported.candidates, CANDIDATES, strict=True):
        assert list_values(after, "grade") == list_values(before, "grade")  # a person's label has none


def test_the_split_is_of_the_question_wherever_labels_are_loaded(wb):
    corpus = import_labels(wb, None, "set.jsonl", jsonl.dumps([QUESTION]).encode()).corpus_id
    [loaded], [selected] = consensus.load_questions(wb, corpus), label_selection.load(wb, corpus, LabelSelection())
    assert {(x.question.kind, x.question.split) for x in (loaded, selected)} == {("polar", "test")}
    [unsigned] = exports.load_labelled_questions(wb, corpus)
    assert (unsigned.kind, unsigned.split) == ("polar", "")


def test_what_is_stored_of_a_ranker_holds_whatever_part_of_a_set_its_questions_are():
    assert hash_questions([QUESTION]) == hash_questions([replace(QUESTION, split="")])
    assert hash_questions([QUESTION]) != hash_questions([replace(QUESTION, kind="")])
