"""Labels from and to other labelling tools, from one home to another."""

import json
import re
from math import exp

import pytest
from fake_models import FakeCascade, overlap
from label_files import import_labels

from app.ask import asking
from app.exchange import exports, file_annotators, imports, label_files
from app.labels import annotation, label_list, rules
from app.labels.consensus import LabelRequest
from app.workbench import people
from app.workbench.people import NotAllowed
from as2core.data import jsonl
from as2core.data.catalog import STREAMS, TOOLS
from as2core.data.label_files import label_studio, prodigy
from as2core.data.source import read_all
from as2core.errors import BadSetting, UnreadableFile
from as2core.types import Candidate, Question

LABELS = [("ann", 0, "correct"), ("bob", 0, "incorrect"), ("ann", 1, "unsure"), ("bob", 2, "incorrect")]


@pytest.fixture
def labelled(wb, towers, ann, bob):
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    who = {"ann": ann, "bob": bob}
    for name, i, label in LABELS:
        pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[i].sentence_id}
        annotation.give_label(wb, **pair, annotator_id=who[name].id, label=label)
    return towers.id


def list_given(wb, corpus_id):
    questions = exports.load_labelled_questions(wb, corpus_id, LabelRequest(signed=True))
    return {(q.text, c.text, c.title, c.annotations) for q in questions for c in q.candidates}


@pytest.mark.parametrize("fmt", TOOLS)
def test_labels_go_to_a_tool_and_into_another_home_as_the_same_labels_by_the_same_people(wb, labelled, fmt, elsewhere):
    exported = exports.export_labels(wb, labelled, fmt)
    done = import_labels(elsewhere, None, "labels", exported)
    assert (done.format, done.new, done.conflicting, done.malformed) == (fmt, len(LABELS), 0, ())
    assert list_given(elsewhere, done.corpus_id) == list_given(wb, labelled)
    again = import_labels(wb, labelled, "labels", exported)
    assert (again.new, again.same, again.new_sentences, again.new_questions) == (0, len(LABELS), 0, 0)
    assert {x.outcome for x in again.lines} == {"same"}
    assert not any("," in x.what for x in again.lines)  # a pair that two people labelled is named once


def test_a_tool_gets_the_probability_that_the_model_in_use_gives_each_sentence(wb, labelled):
    [tasks, records] = (json.loads(exports.export_labels(wb, labelled, fmt)) for fmt in ("label-studio", "argilla"))
    for task, record in zip(tasks, records, strict=True):
        [prediction], suggestion = task["predictions"], record["suggestions"]["label"]
        logit = 6 * overlap(task["data"]["question"], task["data"]["text"]) - 3  # as FakeCascade has it
        assert prediction["score"] == suggestion["score"] == pytest.approx(1 / (1 + exp(-logit)), abs=1e-6)
        label = "correct" if logit >= 0 else "incorrect"
        assert prediction["result"][0]["value"]["choices"] == [suggestion["value"]] == [label]
        assert prediction["model_version"] == suggestion["agent"] == "cascade"


def test_questions_are_scored_together_for_a_tool(wb, monkeypatch):
    questions = [Question(f"q-{i}", f"Who {i}?", (Candidate(f"s-{i}", f"She {i}.", 1),)) for i in range(3)]
    corpus = import_labels(wb, None, "set.jsonl", jsonl.dumps(questions).encode()).corpus_id
    sizes, trace_many = [], FakeCascade.trace_many

    def record(self, queries, schedule=None):
        sizes.append(len(queries))
        return trace_many(self, queries, schedule)

    monkeypatch.setattr(FakeCascade, "trace_many", record)
    reports = []
    tasks = json.loads(exports.export_labels(wb, corpus, "label-studio", on_progress=reports.append))
    assert (
        sizes == [3]
        and [(p.done, p.total) for p in reports] == [(0, 3)]
        and all(len(t["predictions"]) == 1 for t in tasks)
    )


def test_others_labels_of_a_pair_that_one_has_still_to_label_go_to_no_tool(wb, labelled, ann, bob):
    rules.set_rules(wb, labelled, by=ann.id, overlap=2)
    for fmt in TOOLS:
        [question] = read_all(STREAMS[fmt], exports.export_labels(wb, labelled, fmt, by=bob.id))[0]
        signed = {c.text: dict(c.annotations) for c in question.candidates}
        assert sorted(len(of_pair) for of_pair in signed.values()) == [1, 2]  # bob's own, and the one both labelled
        assert all("bob" in of_pair for of_pair in signed.values())


def test_what_is_no_label_is_counted_and_its_sentence_waits_for_one(wb):
    tasks = [
        {"text": "She did.", "meta": {"question": "Who?"}, "answer": "ignore"},
        {"text": "He did.", "meta": {"question": "Who?"}, "answer": "accept", "_annotator_id": "ann"},
    ]
    done = import_labels(wb, None, "db.jsonl", "\n".join(map(json.dumps, tasks)).encode())
    assert (done.new, done.notes, done.unit) == (1, ("1 left out, as skipped by the annotator",), "line")
    [question] = exports.load_labelled_questions(wb, done.corpus_id)
    assert [(c.text, c.label) for c in question.candidates] == [("She did.", None), ("He did.", 1)]
    assert label_list.list_labels(wb, done.corpus_id, by=people.sign_in(wb, "cy").id, limit=0).total == 1


def test_a_sentence_of_a_tool_that_has_no_title_gets_the_file_s_name(wb, towers):
    question = Question("q", "Who?", (Candidate("s", "Nobody here said so.", 1),))
    content = "".join(label_studio.to_lines([question])).encode()
    import_labels(wb, towers.id, "our_tasks.json", content)
    [stored] = exports.load_labelled_questions(wb, towers.id)
    assert stored.candidates[0].title == "our tasks"


def test_a_name_in_a_tool_s_file_is_taken_from_an_admin_only_where_it_is_known_here(wb, towers, ann, bob):
    question = Question("q", "Who?", (Candidate("s", "She did.", 1, annotations=(("ann", "correct"),)),))
    content = "".join(prodigy.to_lines([question])).encode()
    with pytest.raises(NotAllowed, match="only ann or an admin may import labels signed ann"):
        import_labels(wb, towers.id, "db.jsonl", content, by=bob.id)
    assert import_labels(wb, towers.id, "db.jsonl", content, by=ann.id).new == 1


def test_a_record_is_told_by_its_number_and_a_file_of_spans_is_refused(wb):
    good = {"data": {"question": "Who?", "text": "She."}, "annotations": []}
    good["annotations"] = [{"completed_by": 3, "result": [{"from_name": "label", "value": {"choices": ["yes"]}}]}]
    content = json.dumps([good, {"data": {"text": "He."}, "annotations": []}], indent=2).encode()
    done = import_labels(wb, None, "tasks.json", content)
    [(number, reason)] = done.malformed
    assert (done.unit, number, done.new) == ("record", 2, 1)
    assert reason.startswith("no question: it has to be in a field named question or query; the fields are 'text'")
    spans = json.dumps({"text": "Ada.", "spans": [{"start": 0, "end": 3, "label": "PER"}], "answer": "accept"})
    with pytest.raises(UnreadableFile, match=r"ner\.jsonl: line 1: it is of another task .* 'spans', not"):
        import_labels(wb, None, "ner.jsonl", spans.encode())


def test_ratings_say_which_of_them_count_as_correct(wb, towers):
    content = b"Case Name,Query Text,Doc ID,Title,Rating\nC,how old?,tower-0,T,3\nC,how old?,tower-1,T,1\n"
    for least, labels in ((1, [1, 1]), (2, [1, 0])):
        file = label_files.read_labels("case.csv", content, min_correct=least)
        assert [c.label for q in file.questions for c in q.candidates] == labels
        view = imports.store_labels(wb, towers.id, file, f"by {least}")
        assert (view.format, view.new) == ("csv", 2)
        assert view.notes == (f"a rating of {least} or more counts as correct",)


def test_who_a_tool_s_numbers_are_is_said_before_the_labels_are_stored(wb, ann):
    def task(text, *numbers):
        result = [{"from_name": "label", "type": "choices", "value": {"choices": ["correct"]}}]
        annotations = [{"completed_by": n, "result": result} for n in numbers]
        return {"data": {"question": "Who came?", "text": text}, "annotations": annotations}

    tasks = json.dumps([task("Nobody.", 3, 4), task("Some did.", 3, {"email": "bo@x.org"})])
    file = label_files.read_labels("tasks.json", tasks.encode())
    assert file_annotators.count_numbered(wb, file) == {"Label Studio user 3": 2, "Label Studio user 4": 1}
    named = file_annotators.rename_annotators(file, {"Label Studio user 3": " Ann "})
    done = imports.store_labels(wb, None, named)
    assert done.signers == ("2 annotators not known here before: Label Studio user 4, bo@x.org",)
    assert {labels for _, _, _, labels in list_given(wb, done.corpus_id)} == {
        (("Label Studio user 4", "correct"), ("ann", "correct")),
        (("ann", "correct"), ("bo@x.org", "correct")),
    }
    assert file_annotators.count_numbered(wb, named) == {}  # it is known by now that 4 has no other name


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ({"Label Studio user 5": "ann"}, "no label by 'Label Studio user 5' in it; it names Label Studio user 3, bob"),
        ({"bob": " "}, "bob needs a name"),
        ({"Label Studio user 3": "Bob"}, "two of its annotators would be Bob: give each a name of their own"),
    ],
)
def test_names_that_would_mix_up_a_file_s_annotators_are_refused(names, reason):
    labels = (("Label Studio user 3", "correct"), ("bob", "incorrect"))
    question = Question("q", "Who came?", (Candidate("a", "Nobody.", annotations=labels),))
    content = "".join(jsonl.to_lines([question])).encode()
    file = label_files.read_labels("tasks.jsonl", content)
    with pytest.raises(BadSetting, match=re.escape(reason)):
        file_annotators.rename_annotators(file, names)
    assert file_annotators.rename_annotators(file, {"bob": "bob"}) is file


def test_a_file_that_spells_a_person_in_two_ways_can_have_another_annotator_s_name_changed():
    labels = (("Bob", "correct"), ("bob", "correct"), ("Label Studio user 3", "incorrect"))
    question = Question("q", "Who came?", (Candidate("a", "Nobody.", annotations=labels),))
    file = label_files.read_labels("tasks.jsonl", "".join(jsonl.to_lines([question])).encode())
    [named] = file_annotators.rename_annotators(file, {"Label Studio user 3": "ann"}).questions
    assert {name for name, _ in named.candidates[0].annotations} == {"Bob", "bob", "ann"}
