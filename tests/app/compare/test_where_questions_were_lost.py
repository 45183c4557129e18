"""Which questions a ranker lost where, what they share, and which ones are to be labelled."""

import pytest
from label_files import import_labels
from sqlalchemy import select, update

from app.compare import comparison, comparison_job, findings
from app.compare.findings import ANSWERED, DROP, RANKER, SEARCH, UNKNOWN
from app.corpora.corpora import find_corpus
from app.jobs.attempt import run_queued
from app.worker import RUNNERS
from as2core.data import jsonl
from as2core.types import Candidate, Question
from db.models import Candidate as CandidateRow
from db.models import Question as QuestionRow
from db.repositories.candidates import list_hits

RIGHT, TOP, LOW, NONE = "Who made the tower?", "When did it open?", "When was the bridge made?", "Why?"


def ask(qid, text, *labels):
    return Question(qid, text, tuple(Candidate(f"{qid}{i}", f"{qid} text {i}.", y) for i, y in enumerate(labels)))


QUESTIONS = [ask("a", RIGHT, 1, 0, 0), ask("b", TOP, 0, 1, 0), ask("c", LOW, 0, 0, 1), ask("d", NONE, 0, 0, 0)]
SPECS = ["rr", "sequential:stages=rr@2+rr", "sequential:stages=rr@1+rr"]


@pytest.fixture
def view(wb):
    import_labels(wb, None, "things.jsonl", jsonl.dumps(QUESTIONS).encode())
    job = comparison_job.start_compare(wb, SPECS, "labels:things", "raw")
    run_queued(wb, RUNNERS)
    return comparison.load_comparison(wb, job.id)


def lose(wb, view, ranker):
    texts = dict(view.per_question[["qid", "question"]].values)
    return {loss.kind: {texts[qid] for qid in loss.qids} for loss in findings.find_losses(wb, view, ranker)}


def test_each_question_is_lost_by_the_first_thing_that_went_wrong(wb, view):
    none = {UNKNOWN: {NONE}, SEARCH: set(), ANSWERED: {RIGHT}}
    assert lose(wb, view, SPECS[0]) == none | {DROP: set(), RANKER: {TOP, LOW}}
    assert lose(wb, view, SPECS[1]) == none | {DROP: {LOW}, RANKER: {TOP}}
    assert lose(wb, view, SPECS[2]) == none | {DROP: {TOP, LOW}, RANKER: set()}
    with wb.write() as s:  # TOP and LOW were searched for; the correct sentence of TOP was not found
        for text, ordinals in ((TOP, (0, 2)), (LOW, (1, 2))):
            question_id = s.scalar(select(QuestionRow.id).where(QuestionRow.text == text))
            rows = s.scalars(select(CandidateRow.id).where(CandidateRow.question_id == question_id)).all()
            ids = [sorted(rows)[i] for i in ordinals]
            s.execute(update(CandidateRow).where(CandidateRow.id.in_(ids)).values(retrieval_rank=1))
    assert lose(wb, view, SPECS[2]) == none | {SEARCH: {TOP}, DROP: {LOW}, RANKER: set()}
    with wb.read() as s:  # of the retrieved candidates only those that are asked for become rows
        rows = list_hits(s, find_corpus(wb, "things").id, [RIGHT, TOP, LOW], {"b text 1.", "c text 2."})
    assert {(r.question, r.text) for r in rows} == {(TOP, None), (LOW, None), (LOW, "c text 2.")}


def test_of_a_ranker_that_was_not_compared_nothing_is_said(wb, view):
    assert all(loss.qids == () for loss in findings.find_losses(wb, view, "bm25"))


def test_a_slice_has_its_share_with_wilson_s_interval_and_its_errors(view):
    slices = {(r.group, r.name): r for r in findings.measure_slices(view, "rr")}
    when = slices["kind", "when"]
    assert (when.questions, when.share, set(when.errors)) == (2, 0.0, {"b", "c"})
    z = 1.959964
    assert (when.low, when.high) == pytest.approx((0.0, z**2 / (2 + z**2)), abs=1e-6)  # Wilson's for 0 of n
    assert slices["kind", "who"].share == 1.0 and slices["kind", "who"].errors == ()
    assert [r.name for r in slices.values() if r.group == "kind"][-1] == "who"  # the worst first


def test_the_questions_to_label_are_those_of_the_corpus_with_the_same_text(wb, view, monkeypatch):
    things = find_corpus(wb, "things")
    assert findings.find_target_corpus(wb, view, 1).id == things.id
    texts = findings.list_texts(view, ["c", "b", "nothing"])
    assert texts == [LOW, TOP]
    ids = findings.find_question_ids(wb, things.id, set(texts))
    with wb.read() as s:
        assert {s.get(QuestionRow, i).text for i in ids} == {LOW, TOP}
    monkeypatch.setattr(findings, "MAX_TARGETS", 1)
    assert findings.find_question_ids(wb, things.id, set(texts)) == ids[:1]
    assert findings.find_question_ids(wb, things.id, {"Another?"}) == ()
