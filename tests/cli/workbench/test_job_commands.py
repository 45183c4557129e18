"""Background jobs: listing, indexing, proposals."""

from __future__ import annotations

import contextlib

import pytest


def test_background_jobs_are_listed_and_cancelled(as2, as2_json, articles):
    as2("ingest", articles)
    jobs = as2_json("jobs")["jobs"]
    assert [(j["kind"], j["state"]) for j in jobs] == [("embed", "queued")]
    assert as2_json("jobs", "cancel", jobs[0]["id"])["state"] == "cancelled"
    assert as2_json("jobs", "retry", jobs[0]["id"])["state"] == "queued"
    assert as2_json("jobs", "show", jobs[0]["id"])["kind"] == "embed"


@pytest.mark.parametrize("act", ["cancel", "pause", "resume"])
def test_a_job_that_is_over_is_said_to_be_so(as2, as2_json, articles, act):
    as2("ingest", articles)
    job = as2_json("jobs")["jobs"][0]["id"]
    as2_json("jobs", "cancel", job)
    code, out, err = as2("jobs", act, job, "--json")
    assert (code, out) == (1, "") and f"job {job} is over already: cancelled before it ran" in err
    assert len(as2_json("audit", "--act", "cancel")["events"]) == 1


@pytest.mark.parametrize(("act", "message"), [("cancel", "failed: the disk is full"), ("pause", "failed: the disk")])
def test_a_job_that_ends_before_it_is_reached_is_said_to_be_over(as2, articles, monkeypatch, act, message):
    from dataclasses import replace

    from app.jobs import queue

    as2("ingest", articles)
    monkeypatch.setattr(
        queue, act, lambda wb, job: replace(queue.load_job(wb, job), state="failed", error="the disk is full")
    )
    code, _, err = as2("jobs", act, "1")
    assert code == 1 and f"job 1 is over already: {message}" in err


def test_an_index_that_was_lost_is_built_anew(as2, as2_json, articles, home):
    as2("ingest", articles)
    for file in (home / "index").iterdir():
        file.unlink()
    assert as2_json("reindex")["documents"] == 2
    event = as2_json("audit", "--limit", 1)["events"][0]
    assert (event["act"], event["detail"]) == ("rebuild a search index", "2 documents")


def test_propose_shows_what_the_worker_kept(as2, as2_json, tmp_path, monkeypatch):
    from app.ask import proposals
    from app.cli import propose as command
    from app.jobs import queue
    from app.jobs.attempt import run_queued
    from app.worker import RUNNERS

    (tmp_path / "tower.txt").write_text("Kestrel Tower was finished in the year 1889 by masons. Rain stops nobody.\n")
    assert as2("ingest", tmp_path / "tower.txt", "--corpus", "towers")[0] == 0

    def follow(wb, job):
        run_queued(wb, RUNNERS)  # the worker's part, here
        return queue.load_job(wb, job.id)

    monkeypatch.setattr(command, "follow", follow)
    monkeypatch.setattr(proposals, "load_writer", lambda *_: lambda some, _each: [[] for _ in some])
    out = as2("propose", "--corpus", "towers")[1]
    assert out.startswith("0 questions proposed from ") and out.endswith("; 0 waiting for review\n")
    monkeypatch.setattr(proposals, "load_writer", lambda *_: lambda some, _each: [[(f"{p[:-1]}?", -1.0)] for p in some])
    told = as2_json("propose", "--corpus", "towers", "--number", "3", "--seed", "1")
    assert (told["corpus"], told["proposed"], told["tried"], told["waiting"]) == ("towers", 1, 1, 1)
    assert told["proposals"][0]["text"] == "Kestrel Tower was finished in the year 1889 by masons?"


def test_propose_goes_on_with_the_job_of_a_command_that_was_killed(as2, home, tmp_path, monkeypatch):
    from app import bootstrap
    from app.cli import propose as command
    from app.jobs import queue
    from as2core.errors import As2Error

    (tmp_path / "tower.txt").write_text("Kestrel Tower was finished in the year 1889 by masons.\n")
    assert as2("ingest", tmp_path / "tower.txt", "--corpus", "towers")[0] == 0
    ids = []

    def die(_wb, job):
        ids.append(job.id)
        raise As2Error("killed")

    monkeypatch.setattr(command, "follow", die)
    as2("propose", "--corpus", "towers")
    said = as2("propose", "--corpus", "towers")[2]
    assert f"job {ids[0]} already does this: following it to its end" in said
    as2("propose", "--corpus", "towers", "--number", "3")
    as2("propose", "--corpus", "towers", "--seed", "7")
    with contextlib.closing(bootstrap.open()) as wb:
        for job_id in (ids[0], ids[3]):
            queue.cancel(wb, job_id)
    as2("propose", "--corpus", "towers")
    assert ids[0] == ids[1] and len(set(ids)) == 4
