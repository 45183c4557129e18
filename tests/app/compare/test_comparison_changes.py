"""What has changed in a corpus's labels since a comparison was made on them."""

import pytest
from comparison_runs import run_comparison, view_job
from label_files import import_labels

from app.compare import comparison_job
from app.corpora import corpora
from app.jobs import queue
from app.labels import annotation, label_list
from app.ranking.synonyms import write_synonyms
from as2core.data import jsonl
from as2core.types import Candidate, Question


@pytest.fixture
def corpus_id(wb, data):
    return corpora.find_corpus(wb, data.removeprefix("labels:")).id


def describe(wb, job_id):
    return comparison_job.describe_changes(wb, queue.load_job(wb, job_id))


def relabel(wb, corpus_id, who, label):
    """A label of a person's, which counts more than the imported one, on the correct sentence of the first question."""
    which = label_list.LabelSearch(annotator="import", search="tower", label="correct")
    [record] = label_list.list_labels(wb, corpus_id, by=who.id, which=which, limit=9).page
    pair = {"question_id": record.question_id, "sentence_id": record.sentence_id}
    annotation.give_label(wb, **pair, annotator_id=who.id, label=label)


def add_question(wb, corpus_id):
    candidates = Candidate("moon-0", "The moon shines.", 1), Candidate("moon-1", "It rained.", 0)
    new = [Question("moon", "What does the moon do?", candidates)]
    import_labels(wb, corpus_id, "things.jsonl", jsonl.dumps(new).encode())


def test_labels_questions_and_synonyms_that_changed_are_named(wb, data, corpus_id, ann):
    run_comparison(wb, ["rr", "bm25"], data)
    job_id = view_job(wb)
    assert describe(wb, job_id) == ""
    relabel(wb, corpus_id, ann, "incorrect")
    assert describe(wb, job_id) == "1 question fewer"  # it has no correct sentence any more
    relabel(wb, corpus_id, ann, "correct")
    assert describe(wb, job_id) == ""
    add_question(wb, corpus_id)
    assert describe(wb, job_id) == "1 more question"
    write_synonyms(wb, corpus_id, "tower => spire", by=ann.id)
    assert describe(wb, job_id) == "1 more question, other synonyms"
    run_comparison(wb, ["rr", "bm25"], data)
    assert describe(wb, view_job(wb)) == ""


def test_another_label_on_a_question_is_named_and_one_that_decides_nothing_is_not(wb, data, corpus_id, ann):
    run_comparison(wb, ["rr", "bm25"], data, "raw")
    relabel(wb, corpus_id, ann, "unsure")
    assert describe(wb, view_job(wb)) == ""
    relabel(wb, corpus_id, ann, "incorrect")
    assert describe(wb, view_job(wb)) == "other labels on 1 question"


def test_questions_beyond_a_sample_are_not_called_new(wb, data, corpus_id, ann):
    run_comparison(wb, ["rr", "bm25"], data, limit=3)
    add_question(wb, corpus_id)
    assert describe(wb, view_job(wb)) == ""
