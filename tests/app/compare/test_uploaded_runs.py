"""Rankings that people upload, from the file to a comparison and a decision."""

import csv
import gzip
import io
import json
import time
from dataclasses import replace

import pytest
import thing_questions
from label_files import import_labels

from app.compare import comparison, comparison_job, deciding, exports, question_sets
from app.compare.deciding import DecisionRequest
from app.compare.rankers import list_choices, list_rankers
from app.jobs import attempt, queue
from app.jobs.attempt import run_queued
from app.versions import loading, uploaded_runs
from app.workbench import people
from app.workbench.people import NotAllowed
from app.worker import RUNNERS
from as2core.data import jsonl
from as2core.data.run_matching import describe_candidates, describe_match
from as2core.errors import BadSetting, UnknownRanker, UnreadableFile

QUESTIONS = [replace(q, candidates=q.candidates[:3]) for q in thing_questions.QUESTIONS]


def write_run(questions, order=(1, 0, 2)):
    """Candidates in this order: with the first one, the right one is first."""
    lines = [
        f"{q.qid} Q0 {q.candidates[c].id} {rank} {9 - rank} theirs\n"
        for q in questions
        for rank, c in enumerate(order, 1)
    ]
    return "".join(lines).encode()


@pytest.fixture
def data(wb):
    import_labels(wb, None, "things.jsonl", jsonl.dumps(QUESTIONS).encode())
    return "labels:things"


@pytest.fixture
def bob(wb, ann):
    """No admin."""
    person = people.sign_in(wb, "Bob")
    people.set_role(wb, person.id, people.ANNOTATOR, by=None)
    return person


def compare(wb, rankers, data, **more):
    job = comparison_job.start_compare(wb, rankers, data, **more)
    run_queued(wb, RUNNERS)
    done = queue.load_job(wb, job.id)
    assert done.state == "done", done.error
    return comparison.load_comparison(wb, job.id)


def test_an_annotator_uploads_a_ranking_and_it_is_compared_by_the_name_of_its_file(wb, data, bob):
    name = uploaded_runs.add_run(wb, "C:\\runs\\My engine (v2).txt.gz", gzip.compress(write_run(QUESTIONS)), by=bob.id)
    assert name == "My-engine-v2.run" and name in list_choices(wb) and name not in list_rankers(wb)
    view = compare(wb, ["rr", name], data, by=bob.id)
    [rr, theirs] = view.results
    assert (theirs.ranker, theirs.figures["AP"].value, rr.figures["AP"].value) == (name, 1.0, 0.5)
    assert theirs.seconds is None and rr.seconds is not None  # it was ranked elsewhere
    assert view.notes == () and name in exports.export_html(view)
    assert json.loads(exports.export_json(view))["rankers"][1]["seconds_per_question"] is None
    uploaded_runs.delete_run(wb, name, by=bob.id)
    assert [r.ranker for r in comparison.load_comparison(wb, queue.list_jobs(wb)[0].id).results] == ["rr", name]
    with pytest.raises(UnknownRanker):
        comparison_job.start_compare(wb, ["rr", name], data)


def test_a_ranking_is_uploaded_as_the_json_of_ranx_and_as_the_set_s_own_table_with_scores(wb, data):
    scores = {q.qid: {c.id: 9.0 - rank for rank, c in enumerate(q.candidates)} for q in QUESTIONS}
    rows = list(csv.DictReader(io.StringIO(exports.export_candidates(QUESTIONS))))
    table = io.StringIO()
    writer = csv.DictWriter(table, [*rows[0], "score"])
    writer.writeheader()
    writer.writerows({**r, "score": scores[r["question_id"]][r["candidate_id"]]} for r in rows)
    names = [
        uploaded_runs.add_run(wb, "a.json.gz", gzip.compress(json.dumps(scores).encode())),
        uploaded_runs.add_run(wb, "b.csv", table.getvalue().encode()),
    ]
    assert names == ["a.run", "b.run"]
    view = compare(wb, ["rr", *names], data)
    assert [r.figures["AP"].value for r in view.results] == [0.5] * 3 and view.questions == 6


def test_questions_that_a_ranking_lacks_are_left_out_for_all_and_its_missing_candidates_come_last(wb, data):
    content = write_run(QUESTIONS[1:4]) + write_run(QUESTIONS[4:], order=(2, 0))
    name = uploaded_runs.add_run(wb, "theirs.run", content)
    view = compare(wb, ["rr", name], data)
    assert view.questions == 5 and "q0" not in view.by_id
    [rr, theirs] = view.results
    assert theirs.figures["AP"].value == pytest.approx((3 * 1 + 2 / 3) / 5) and rr.figures["AP"].value == 0.5
    assert view.notes == (
        f"{name} has no candidate of 1 of the 6 questions, such as “What does the tower do?”: it is left out for every "
        "ranker. If its search engine found nothing for it, its figures are too high.",
        f"{name}: candidates that are not in the run and come last: 2; trec_eval counts them as not retrieved",
    )


def test_a_ranking_of_other_questions_is_refused_with_ids_of_both(wb, data):
    name = uploaded_runs.add_run(wb, "other.run", b"17 Q0 doc5 1 0.5 t\n")
    with pytest.raises(BadSetting, match=r"other\.run has no candidate .* '17' and 'doc5', .* 'q0' and 'tower-0'"):
        comparison_job.start_compare(wb, ["rr", name], data)
    assert queue.list_jobs(wb, kind="compare") == []


def test_what_a_ranking_has_of_the_questions_is_told_in_words(wb):
    texts = []
    for content in (write_run(QUESTIONS), write_run(QUESTIONS, order=(1,))):
        match = uploaded_runs.count_matches(wb, uploaded_runs.add_run(wb, "a.run", content), QUESTIONS)
        texts.append(describe_match("a.run", match, QUESTIONS))
        texts.append(describe_candidates(match))
    assert texts == [
        "a.run matches all 6 questions.",
        "It ranks all their 18 candidates.",
        "a.run matches all 6 questions.",
        "It ranks 6 of their 18 candidates; the others come last.",
    ]


def test_the_ids_that_a_ranking_needs_are_a_file_without_labels():
    rows = exports.export_candidates(QUESTIONS[:1]).splitlines()
    assert rows[:2] == [
        "question_id,candidate_id,question,candidate",
        "q0,tower-0,What does the tower do?,It rained all day.",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"q1 Q0 d1 1 0.5 t\nq1 Q0 d2 2\n",
            r"x\.run: line 2: 4 columns instead of 6 \(qid, Q0, docid, rank, score, tag\)$",
        ),
        (b"q1 Q0 d1 1 high t\n", r"x\.run: line 1: the score 'high' is not a number"),
        (b"q1 Q0 d1 1 2 t\nq1 Q0 d1 2 1 t\n", r"line 2: document 'd1' appears twice"),
        (b"q1 0 d1 1\nq1 0 d2 0\n", r"line 1: it looks like qrels, which hold labels"),
        (
            b'{"q1": {"d1": "high"}}',
            r"x\.run: not JSON .*question 'q1', candidate 'd1': the score \"high\" is not a number",
        ),
        (b"qid,docno,score\nq1,d1,high\n", r"x\.run: line 2: the score 'high' is not a number"),
        (b"qid,docno,score\n", r"x\.run: it ranks no candidate$"),
        (b"PAR1....", r"x\.run: it is Parquet: save it as JSON, in ranx with run\.save"),
        (b"\x1f\x8bno gzip", r"x\.run: cannot be read"),
        (b"", r"x\.run: it is empty"),
    ],
)
def test_a_bad_file_is_refused_with_its_line_and_what_to_do_and_nothing_is_stored(wb, content, message):
    with pytest.raises(UnreadableFile, match=message):
        uploaded_runs.add_run(wb, "x.run", content)
    assert uploaded_runs.list_runs(wb) == []


def test_a_name_never_gets_another_content_and_the_same_content_is_stored_once(wb, monkeypatch):
    first, second = write_run(QUESTIONS), write_run(QUESTIONS[:2])
    names = [uploaded_runs.add_run(wb, "a.run", content) for content in (first, second, second, first)]
    assert names == ["a.run", "a-2.run", "a-2.run", "a.run"]
    assert sorted(uploaded_runs.list_runs(wb)) == ["a-2.run", "a.run"]
    monkeypatch.setattr(uploaded_runs, "MAX_RUNS", 2)
    with pytest.raises(BadSetting, match="delete some"):
        uploaded_runs.add_run(wb, "b.run", first)
    monkeypatch.setattr(uploaded_runs, "MAX_RUN_BYTES", 10)
    with pytest.raises(BadSetting, match="100 candidates"):
        uploaded_runs.add_run(wb, "b.run", first)


def test_a_viewer_uploads_and_deletes_nothing_and_no_name_leads_out_of_the_folder(wb, bob):
    name = uploaded_runs.add_run(wb, "../../theirs.run", write_run(QUESTIONS))
    assert name == "theirs.run" and (wb.settings.rankings_dir / name).is_file()
    (wb.settings.home / "secret.run").write_bytes(write_run(QUESTIONS))
    assert uploaded_runs.find_run(wb, "../secret.run") is None and uploaded_runs.find_run(wb, ".theirs.run") is None
    people.set_role(wb, bob.id, people.VIEWER, by=None)
    for act in (
        lambda: uploaded_runs.add_run(wb, "b.run", write_run(QUESTIONS), by=bob.id),
        lambda: uploaded_runs.delete_run(wb, name, by=bob.id),
    ):
        with pytest.raises(NotAllowed):
            act()
    assert uploaded_runs.list_runs(wb) == [name] and loading.load_ranker(wb, name).name == name


@pytest.mark.parametrize("spec", ["run:file=pyproject.toml", "sequential:stages=run:file=pyproject.toml@1+rr"])
def test_only_an_admin_names_a_run_of_the_machine_also_one_beside_the_program(wb, data, bob, spec):
    with pytest.raises(NotAllowed, match="takes an admin"):
        comparison_job.start_compare(wb, ["rr", spec], data, by=bob.id)


def test_a_decision_takes_an_uploaded_ranking_and_the_questions_that_it_has(wb, data, bob):
    [corpus_id] = {c.id for c in [question_sets.get_own_corpus(wb, data)]}
    name = uploaded_runs.add_run(wb, "theirs.run", write_run(QUESTIONS[1:], order=(1, 0)))
    job = deciding.start_decision(wb, corpus_id, DecisionRequest(name, "rr"), by=bob.id)
    run_queued(wb, RUNNERS)
    course = deciding.open_decision(wb, job.id)
    assert course.conclusion == f"{name} is better on these 5 questions, whatever the missing labels are."
    omission, gap = queue.load_job(wb, job.id).result["notes"]
    assert "left out for every ranker" in omission and "not in the run and come last: 5" in gap


def test_the_result_is_there_before_the_times_are_measured(wb, data, monkeypatch):
    views, time_in_turns = [], comparison_job.time_in_turns
    monkeypatch.setattr(attempt, "HEARTBEAT_SECONDS", 0.01)

    def look(*arguments, **more):
        while not (job := queue.list_jobs(wb)[0]).result:  # it is written with the heartbeat
            time.sleep(0.01)
        assert job.state == "running"
        views.append(comparison.load_comparison(wb, job.id))
        return time_in_turns(*arguments, **more)

    monkeypatch.setattr(comparison_job, "time_in_turns", look)
    last = compare(wb, ["rr", "bm25"], data)
    [first] = views
    for before, after in zip(first.results, last.results, strict=True):
        assert before.figures == after.figures and before.seconds is None and after.seconds is not None
    assert first.paired["AP"] == last.paired["AP"]
