"""What an export holds."""

import json

import pytest
import pytrec_eval
from exchanged import QUESTIONS, WIKIQA, import_new
from label_files import import_labels

from app.ask import asking
from app.corpora import corpora
from app.exchange import exports
from app.labels import annotation, rules
from app.ranking.synonyms import write_synonyms
from app.workbench import people
from as2core.data import jsonl
from as2core.errors import As2Error, BadSetting
from as2core.questions.synonyms import Synonyms
from db.repositories import candidates as candidate_rows


def test_an_export_of_somebody_without_labels_names_those_who_have_some(wb):
    corpus = import_new(wb, "w.tsv", WIKIQA, annotator="ann").corpus_id
    for i in range(10):
        import_labels(wb, corpus, "w.tsv", WIKIQA.encode(), annotator=f"p{i}")
    with pytest.raises(As2Error) as error:
        exports.export_labels(wb, corpus, "csv", annotator="nobody")
    assert str(error.value).startswith("no label by 'nobody' in 'w'; annotators with labels: ann, p0, ")
    assert str(error.value).endswith(", p8, 1 more")
    empty = corpora.create_corpus(wb, "empty")
    with pytest.raises(As2Error, match="nothing is labelled in this corpus yet"):
        exports.export_labels(wb, empty.id, "csv", annotator="nobody")


def test_a_run_ranks_every_labelled_question_by_the_active_version(wb):
    done = import_new(wb, "WikiQA-dev.tsv", WIKIQA)
    run = pytrec_eval.parse_run(exports.export_labels(wb, done.corpus_id, "run").decode().splitlines())
    assert set(run) == {"Q1", "Q2"}
    assert list(run["Q2"]) == ["D2-0", "D1-1"]


def test_a_run_ranks_with_the_synonyms_that_every_ranker_reads(wb):
    done = import_new(wb, "WikiQA-dev.tsv", WIKIQA)
    runs = []
    for synonyms in (Synonyms(), Synonyms((("it", "the fresco"),))):
        write_synonyms(wb, done.corpus_id, str(synonyms), by=None)
        runs.append(pytrec_eval.parse_run(exports.export_labels(wb, done.corpus_id, "run").decode().splitlines()))
    assert runs[1]["Q1"] == runs[0]["Q1"]  # it has no such word
    assert runs[1]["Q2"]["D2-0"] != runs[0]["Q2"]["D2-0"]


def test_pairs_are_the_judged_ones(wb):
    done = import_new(wb, "set.jsonl", jsonl.dumps(QUESTIONS))
    lines = [json.loads(x) for x in exports.export_labels(wb, done.corpus_id, "pairs").splitlines()]
    assert len(lines) == 6
    assert lines[1] == {"sentence1": "How high is the tower?", "sentence2": "It is 330 metres high.", "label": 1}


def test_unknown_formats_and_empty_exports_say_what_to_do(wb, towers):
    with pytest.raises(BadSetting, match="jsonl"):
        exports.export_labels(wb, towers.id, "xlsx")
    with pytest.raises(As2Error, match="nothing is labelled"):
        exports.export_labels(wb, towers.id, "jsonl")
    with pytest.raises(BadSetting, match="known: auto"):
        import_new(wb, "a.tsv", WIKIQA, fmt="xlsx")


def test_a_question_with_nothing_but_an_unsure_label_leaves_in_jsonl(wb, towers, ann):
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="unsure")
    exported = exports.export_labels(wb, towers.id, "jsonl", annotator="ann")
    [candidate] = json.loads(exported)["candidates"]
    assert (candidate["label"], candidate["labels"]) == (None, {"ann": "unsure"})
    with pytest.raises(As2Error, match="nothing is labelled"):
        exports.export_labels(wb, towers.id, "csv")


def test_an_export_reads_no_sentence_that_nobody_labelled(wb, towers, ann, monkeypatch):
    """A corpus may have a hundred of them for each that somebody labelled."""
    asked = [asking.ask(wb, towers.id, f"When was the {thing} finished?") for thing in ("tower", "bridge")]
    sentence_id = asked[0].candidates[1].sentence_id
    pair = {"question_id": asked[0].question_id, "sentence_id": sentence_id}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="correct")
    calls, list_rows = [], candidate_rows.list_candidate_rows

    def note_rows(*args, **kwargs):
        calls.append(list_rows(*args, **kwargs))
        return calls[-1]

    monkeypatch.setattr(candidate_rows, "list_candidate_rows", note_rows)
    exports.export_labels(wb, towers.id, "jsonl")
    pairs = [(asked[0].question_id, sentence_id), (asked[1].question_id, None)]
    assert [[(r.question_id, r.sentence_id) for r in rows] for rows in calls] == [pairs]


@pytest.mark.parametrize("fmt", ["jsonl", "csv"])
def test_an_export_tells_what_peers_said_once_a_pair_waits_no_longer_for_whoever_exports(wb, towers, ann, bob, fmt):
    rules.set_rules(wb, towers.id, by=ann.id, overlap=2)
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    pairs = [{"question_id": asked.question_id, "sentence_id": c.sentence_id} for c in asked.candidates[:3]]
    for pair, *who in zip(pairs, (ann, bob, ann), (None, ann, None), strict=True):
        for person in filter(None, who):
            annotation.give_label(wb, **pair, annotator_id=person.id, label="correct")

    def count_correct(by):
        exported = exports.export_labels(wb, towers.id, fmt, by=by)
        return exported.count(b'"label": 1') if fmt == "jsonl" else exported.count(b",1\n")

    cy = people.sign_in(wb, "cy")
    assert (count_correct(None), count_correct(ann.id), count_correct(bob.id), count_correct(cy.id)) == (3, 3, 1, 1)
    annotation.give_label(wb, **pairs[0], annotator_id=bob.id, label="correct")
    assert (count_correct(bob.id), count_correct(cy.id)) == (2, 2)


def test_an_export_says_when_all_that_is_labelled_waits_for_whoever_exports(wb, towers, ann, bob):
    rules.set_rules(wb, towers.id, by=ann.id, overlap=2)
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="correct")
    with pytest.raises(As2Error, match="are hidden until you have labelled"):
        exports.export_labels(wb, towers.id, "csv", by=bob.id)
    people.set_role(wb, bob.id, "viewer", by=ann.id)
    with pytest.raises(As2Error, match="are hidden until as many people as are wanted have labelled"):
        exports.export_labels(wb, towers.id, "csv", by=bob.id)
