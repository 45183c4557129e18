"""Who did what is written down, refusals included, and stays as it was written."""

import ast
import re
from pathlib import Path

import pytest
from fake_models import write_version
from label_files import import_labels
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.ask import proposals, questions, stored_questions
from app.compare import comparison_job
from app.corpora import corpora, documents, ingestion
from app.corpora.corpora import STARTER
from app.exchange import exports
from app.exchange.starter import bring_back, ensure_starter
from app.jobs import queue, retrain_rule
from app.jobs.kinds import JobKind
from app.labels import annotation, conflicts, guidelines, rules
from app.ranking import synonym_proposals, synonyms
from app.versions import management, promotion
from app.workbench import audit, audit_log, people
from app.workbench.people import NotAllowed
from db.errors import DbError
from db.repositories import proposals as proposals_rows

ROOT = Path(__file__).resolve().parents[3]
SET = b'{"qid": "q", "question": "Who?", "candidates": [{"id": "a", "text": "She.", "label": 1}]}'


@pytest.fixture
def eve(wb, ann):
    """Who may look."""
    people.set_role(wb, people.sign_in(wb, "eve").id, "viewer", by=ann.id)
    return people.sign_in(wb, "eve")


@pytest.fixture
def starter(wb, settings):
    folder = settings.corpora_dir / STARTER / "articles"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("The tower was finished in 1889.")
    return ensure_starter(wb)


def label(wb, asked, who, place=0, label="correct"):
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[place].sentence_id}
    annotation.give_label(wb, **pair, annotator_id=who.id, label=label)


def read(wb, **which):
    return [(e.actor, e.act, e.target, e.outcome) for e in audit_log.list_events(wb, by=None, **which)]


def test_acts_of_authority_are_recorded_with_who_what_and_on_what(wb, towers, asked, ann, bob):
    people.set_role(wb, bob.id, "viewer", by=ann.id)
    label(wb, asked, ann)
    exports.export_labels(wb, towers.id, "csv", by=ann.id)
    made = import_labels(wb, None, "set.jsonl", SET, by=ann.id)
    document = documents.list_documents(wb, towers.id)[0]
    documents.delete_document(wb, document.id, by=ann.id)
    stored_questions.delete_question(wb, asked.question_id, labels=1, by=ann.id)
    corpora.delete_corpus(wb, made.corpus_id, by=None)
    assert read(wb)[::-1] == [
        ("ann", "become the first admin", "ann", "done"),
        ("ann", "change the labelling rules", "towers", "done"),  # of the corpus's fixture
        ("ann", "change a role", "bob", "done"),
        ("ann", "export labels", "towers", "done"),
        ("ann", "import labels", "set", "done"),
        ("ann", "delete a document", document.external_id, "done"),
        ("ann", "delete a question", asked.question, "done"),
        ("command line", "delete a corpus", "set", "done"),
    ]
    details = {e.act: e.detail for e in audit_log.list_events(wb, by=None)}
    assert details["delete a document"] == "of towers; 1 labelled pair kept"
    assert details["delete a question"] == "of towers; 1 label"
    assert details["delete a corpus"] == "1 document, 1 labelled pair"
    assert {e.created for e in audit_log.list_events(wb, by=None)} == {wb.clock()}


def test_who_made_a_corpus_added_documents_and_started_a_retrain_is_recorded(wb, ann):
    corpus = corpora.create_corpus(wb, "mine", by=ann.id)
    files = [("a.txt", b"Towers are high. Bridges are long."), ("b.txt", b"Rivers are wide.")]
    ingestion.ingest(wb, corpus.id, files, by=ann.id)
    ingestion.ingest(wb, corpus.id, files, by=ann.id)  # nothing new
    ingestion.ingest(wb, corpus.id, [("a.txt", b"Towers are high. Bridges are short.")], by=ann.id)
    ingestion.ingest(wb, corpus.id, [("c.txt", b"Lakes are deep.")])  # the program
    job = queue.enqueue(wb, JobKind.RETRAIN, {}, corpus_id=corpus.id, by=ann.id)
    queue.cancel(wb, job.id, by=ann.id)
    queue.enqueue(wb, JobKind.RETRAIN, {}, corpus_id=corpus.id)  # by the rule
    events = [(e.actor, e.act, e.target, e.detail) for e in audit_log.list_events(wb, by=None)][::-1]
    assert events[1:] == [  # after ann's first
        ("ann", "create a corpus", "mine", ""),
        ("ann", "add documents", "mine", "2 new, 0 changed: a.txt, b.txt"),
        ("ann", "add documents", "mine", "0 new, 1 changed: a.txt"),
        ("ann", "start a retrain", f"job {job.id}", ""),
        ("ann", "cancel a job", f"retrain, job {job.id}", ""),
    ]


def test_a_change_of_the_labelling_rules_is_recorded_with_what_it_was_and_one_that_changes_nothing_is_not(
    wb, towers, ann
):
    rules.set_rules(wb, towers.id, by=ann.id, overlap=2, control=0.25, target=100)
    rules.set_rules(wb, towers.id, by=ann.id, overlap=2, target=100)
    event, *others = audit_log.list_events(wb, by=None, act="rules")
    of_fixture = ["random share 0.1 to 0, share without ranks 0.5 to 0"]
    assert [e.detail for e in others] == of_fixture
    assert (event.actor, event.act, event.target) == ("ann", "change the labelling rules", "towers")
    assert event.detail == "people per pair 1 to 2, random share 0 to 0.25, target none to 100"


def test_what_changes_a_corpus_for_everybody_is_recorded_and_what_changes_nothing_is_not(wb, towers, asked, ann):
    by, pair = {"by": ann.id}, {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    label(wb, asked, ann)
    start = len(read(wb))
    for _ in range(2):
        guidelines.write_guidelines(wb, towers.id, "Be kind.", **by)
        synonyms.write_synonyms(wb, towers.id, "NYC => New York", **by)
        retrain_rule.set_rule(wb, towers.id, after=100, at_night=True, **by)
        questions.add_questions(wb, towers.id, ["Who built the bridge?"], **by)
        stored_questions.set_queued(wb, [asked.question_id], queued=False, **by)
    synonyms.write_synonyms(wb, towers.id, "LA => Los Angeles", **by)
    retrain_rule.set_rule(wb, towers.id, after=None, at_night=False, **by)
    for verdict in ("incorrect", None):
        conflicts.adjudicate(wb, **pair, annotator_id=ann.id, label=verdict)
    events = [(e.actor, e.act, e.target, e.detail) for e in audit_log.list_events(wb, by=None)][::-1][start:]
    sentence = asked.candidates[0].text
    assert events == [
        ("ann", "write guidelines", "towers", "version 1"),
        ("ann", "change the synonyms", "towers", "added NYC => New York"),
        ("ann", "configure automatic retraining", "towers", "after 100 new labels, at night"),
        ("ann", "add questions", "towers", "1 new"),
        ("ann", "change the label queues", asked.question, "taken out of the label queues"),
        ("ann", "change the synonyms", "towers", "added LA => Los Angeles; removed NYC => New York"),
        ("ann", "configure automatic retraining", "towers", "off"),
        ("ann", "settle a conflict", asked.question, f"incorrect: {sentence}"),
        ("ann", "settle a conflict", asked.question, f"opened again: {sentence}"),
    ]


def test_what_is_made_of_proposals_is_recorded(wb, towers, asked, ann):
    with wb.write() as s:
        for text in ("Who built it?", "When was it built?"):
            proposals_rows.add_proposal(
                s, towers.id, asked.candidates[0].sentence_id, text, log_p=0.0, place=1, now=wb.clock()
            )
    first, second = proposals.list_waiting(wb, towers.id).page
    start = len(read(wb))
    proposals.accept(wb, first.id, annotator_id=ann.id, text="Who built the tower?")
    proposals.reject(wb, second.id, annotator_id=ann.id)
    for _ in range(2):  # the second changes nothing
        synonym_proposals.dismiss_proposals(wb, towers.id, ["NYC"], by=ann.id)
    events = [(e.actor, e.act, e.target, e.detail) for e in audit_log.list_events(wb, by=None)][::-1][start:]
    assert events == [
        ("ann", "accept a proposal", "Who built the tower?", f"of towers; proposed: {first.text}"),
        ("ann", "reject a proposal", second.text, "of towers"),
        ("ann", "change the synonyms", "towers", "dismissed the proposals for nyc"),
    ]


def test_many_questions_put_in_the_queues_at_once_are_one_act(wb, towers, asked, ann):
    questions.add_questions(wb, towers.id, ["Who built it?", "When was it built?"], by=ann.id)
    ids = [q.id for q in stored_questions.list_questions(wb, towers.id, limit=9).page if q.text != asked.question]
    for _ in range(2):  # the second changes nothing
        stored_questions.set_queued(wb, ids, queued=False, by=ann.id)
    [event] = audit_log.list_events(wb, by=None, act="queues")
    assert (event.target, event.detail) == (
        "towers",
        "2 questions taken out of the label queues: Who built it?; When was it built?",
    )


def test_what_is_done_to_versions_is_recorded(wb, ann, settings, monkeypatch):
    by = {"by": ann.id}
    monkeypatch.setattr(management, "import_ranker", lambda folder: (None, {}))
    monkeypatch.setattr(management, "save_version", lambda ranker, path, card, weights: write_version(path))
    made = management.import_version(wb, settings.models_dir / "cascade", name="other", **by)
    promotion.promote(wb, made.name, "to try it", **by)
    promotion.roll_back(wb, **by)
    for _ in range(2):  # the second changes nothing
        management.set_note(wb, made.name, "of Monday", **by)
    promotion.reject(wb, made.name, **by)
    management.rename(wb, made.name, "the other", **by)
    management.delete(wb, "the other", **by)
    events = [(e.act, e.target, e.detail) for e in audit_log.list_events(wb, by=None, act="version")][::-1]
    assert events == [
        ("import a version", "other", f"from {settings.models_dir / 'cascade'}"),
        ("promote a version", "other", "to try it"),
        ("roll back a version", "other", ""),
        ("annotate a version", "other", "of Monday"),
        ("reject a version", "other", ""),
        ("rename a version", "the other", "from other"),
        ("delete a version", "the other", ""),
    ]


def test_a_refusal_is_recorded_although_its_transaction_is_undone_and_once_a_minute(wb, towers, ann, bob, eve):
    for _ in range(3):
        with pytest.raises(NotAllowed):
            corpora.delete_corpus(wb, towers.id, by=bob.id)
    with pytest.raises(NotAllowed):
        ingestion.ingest(wb, towers.id, [("a.txt", b"One.")], by=eve.id)  # asked in a transaction that only reads
    [eves, bobs] = audit_log.list_events(wb, by=None, limit=2)
    assert (bobs.actor, bobs.what) == ("bob", "delete a corpus (refused)")
    assert (eves.actor, eves.what) == ("eve", "add documents (refused)")
    assert "takes an admin" in bobs.detail


@pytest.mark.parametrize("statement", ["UPDATE audit_event SET actor = 'bob'", "DELETE FROM audit_event"])
def test_the_database_refuses_to_change_the_log(wb, ann, statement):
    before = read(wb)
    with pytest.raises((DbError, DBAPIError), match="append-only"), wb.database.write() as s:
        s.execute(text(statement))
    assert read(wb) == before == [("ann", "become the first admin", "ann", "done")]


def test_only_an_admin_reads_the_log(wb, ann, bob):
    with pytest.raises(NotAllowed, match="takes an admin"):
        audit_log.list_events(wb, by=bob.id)
    assert audit_log.list_events(wb, by=ann.id, actor="bob")[0].what == "read the audit log (refused)"


def test_the_log_is_read_by_person_by_act_and_from_a_day_on(wb, ann, bob, clock):
    people.set_role(wb, bob.id, "viewer", by=ann.id)
    clock.advance(days=1)
    people.set_role(wb, bob.id, "annotator", by=None)
    assert [e.detail for e in audit_log.list_events(wb, by=None, act="ROLE")] == [
        "viewer to annotator",
        "annotator to viewer",
    ]
    assert len(read(wb, actor="ann")) == 2
    assert read(wb, since=wb.clock()) == [("command line", "change a role", "bob", "done")]


def test_a_viewer_does_not_bring_back_a_corpus_that_an_admin_deleted(wb, starter, ann, bob, eve):
    corpora.delete_corpus(wb, starter.id, by=ann.id)
    with pytest.raises(NotAllowed, match="eve is a viewer"):
        bring_back(wb, STARTER, by=eve.id)
    assert corpora.list_corpora(wb) == [] and ensure_starter(wb) is None
    assert bring_back(wb, STARTER, by=bob.id).name == STARTER
    assert read(wb, limit=1) == [("bob", "bring back a shipped corpus", STARTER, "done")]


@pytest.mark.parametrize("act", [queue.cancel, queue.pause, queue.resume, queue.retry])
def test_a_viewer_controls_no_job_of_others(wb, towers, ann, bob, eve, act):
    job = queue.enqueue(wb, "embed", {}, corpus_id=towers.id, by=bob.id)
    if act is queue.retry:
        queue.cancel(wb, job.id)
    before = queue.load_job(wb, job.id)
    with pytest.raises(NotAllowed, match="eve is a viewer"):
        act(wb, job.id, by=eve.id)
    assert queue.load_job(wb, job.id) == before and not queue.may_control(before, eve)
    assert queue.may_control(before, ann) and act(wb, job.id, by=ann.id).id == job.id
    assert read(wb, limit=1) == [("ann", audit_log.list_events(wb, by=None)[0].act, f"embed, job {job.id}", "done")]


def test_a_viewer_cancels_the_comparison_that_they_started(wb, towers, asked, ann, eve):
    label(wb, asked, ann)
    label(wb, asked, ann, place=1, label="incorrect")
    job = comparison_job.start_compare(wb, ["bm25", "wo"], "labels:towers", by=eve.id)
    assert queue.may_control(job, eve)
    assert queue.cancel(wb, job.id, by=eve.id).state == "cancelled"
    events = audit_log.list_events(wb, by=None, limit=2)[::-1]
    assert [(e.actor, e.act, e.target, e.detail) for e in events] == [
        ("eve", "start a comparison", f"job {job.id}", "bm25, wo on labels:towers"),
        ("eve", "cancel a job", f"compare, job {job.id}", ""),
    ]


def test_a_long_detail_is_cut(wb, ann):
    audit.write(wb, ann.id, "test", detail="x" * 10_000)
    assert len(audit_log.list_events(wb, by=None)[0].detail) == audit.MAX_DETAIL_CHARS


def list_recorded_acts():
    """What the calls of `audit.record` and `audit.write` name as a text, or by a constant of their module."""
    for path in sorted((ROOT / "app").rglob("*.py")):
        tree = ast.parse(path.read_text())
        constants = {
            node.targets[0].id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("audit.record", "audit.write"):
                act = node.args[3 if node.func.attr == "record" else 2]
                if text := act.value if isinstance(act, ast.Constant) else constants.get(act.id):
                    yield text


def test_the_docs_name_what_is_recorded():
    [paragraph] = [p for p in (ROOT / "docs/labelling.md").read_text().split("\n\n") if p.startswith("An audit log")]
    acts = {*list_recorded_acts(), *queue.STARTS.values()}
    assert {"start a retrain", "create a corpus", "add documents"} < acts
    for act in acts:
        verb, *_, what = act.split()
        assert re.search(rf"\b{verb[:2]}", paragraph) and re.search(rf"\b{what.rstrip('s')}", paragraph), act
