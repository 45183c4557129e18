"""`as2 adapt`: what it says before, while and after it retrains."""

from __future__ import annotations

import contextlib
import json
from typing import get_args

import pytest
from followed_jobs import follow, state
from kestrel import QUESTION


def test_the_command_takes_every_kind_that_can_be_adapted():
    from app.adapt.settings import KINDS
    from app.cli.adapt import Kind

    assert get_args(Kind) == tuple(KINDS)


def test_too_few_labels_are_told_before_anything_starts(as2, label_file):
    as2("labels", "import", label_file)
    code, out, err = as2("adapt")
    assert (code, out) == (1, "")
    assert "needed" in err
    assert f"seed={2**70}: give a whole number from 0 to" in as2("adapt", "--seed", 2**70)[2]
    assert as2("jobs")[1].count("retrain") == 0


def test_adapt_says_beforehand_that_the_shipped_model_knows_these_questions(as2, label_file, tmp_path):
    starter = tmp_path / "no-corpora" / "starter"
    starter.mkdir(parents=True)
    (starter / "train.jsonl").write_text(json.dumps(QUESTION) + "\n")
    as2("labels", "import", label_file)
    assert "The shipped version has already learnt from all training questions here." in as2("adapt", "--dry-run")[2]


def test_a_dry_run_says_what_would_be_learnt_from(as2, as2_json, label_file):
    as2("labels", "import", label_file)
    ready = as2_json("adapt", "--dry-run")
    assert (ready["labels"], ready["correct"], ready["incorrect"]) == (2, 1, 1) and ready["problems"]
    assert as2_json("adapt", "--dry-run", "--label-kind", "people")["labels"] == 0
    code, out, err = as2("adapt", "--dry-run")
    assert (code, out) == (1, "") and ready["problems"][0] in err
    assert "already learnt" not in err
    assert "'bm25' is not one of 'cascade'" in as2("adapt", "--dry-run", "--kind", "bm25")[2]


def test_an_annotator_without_labels_is_named_and_not_taken_for_an_empty_corpus(as2, as2_json, label_file):
    as2("labels", "import", label_file)
    reason = "abel by 'nobody' in 'kestrel'; annotators with labels: import"
    code, out, err = as2("labels", "export", "-", "--annotator", "nobody")
    assert (code, out) == (1, "") and reason in err
    code, out, err = as2("adapt", "--dry-run", "--annotator", "import", "--annotator", "nobody")
    assert (code, out) == (1, "") and reason in err
    assert reason in as2_json("adapt", "--dry-run", "--annotator", "nobody")["problems"][0]
    assert reason in as2("adapt", "--annotator", "nobody")[2]


def test_a_dry_run_tells_what_becomes_of_chosen_questions(as2, as2_json, label_file, tmp_path):
    as2("labels", "import", label_file)
    file = tmp_path / "questions.txt"
    file.write_text(f"\n{QUESTION['question']}\n")
    ready = as2_json("adapt", "--dry-run", "--questions", file)
    assert (ready["narrowing"]["questions"], ready["narrowing"]["unlabelled"]) == (1, 0)
    file.write_text("Where?\n")
    assert "the first is 'Where?'" in as2("adapt", "--dry-run", "--questions", file)[2]
    file.write_text("\n")
    assert "has no question: write one a line" in as2("adapt", "--questions", file)[2]


@pytest.mark.parametrize(
    ("difference", "outcome"),
    [(0.1, "better"), (0.01, "no clear difference"), (-0.01, "no clear difference"), (-0.1, "worse")],
)
def test_adapt_and_versions_give_the_outcome_of_the_card(as2, as2_json, home, capsys, difference, outcome):
    from pathlib import Path

    from app.adapt.readiness import Readiness
    from app.adapt.report import BeforeAfter, RetrainReport
    from app.cli.adapt import print_report
    from app.cli.context import workbench
    from app.versions import registry
    from as2core.metrics import PairedTest

    test = PairedTest(difference, difference - 0.03, difference + 0.03, p=0.04, wins=9, losses=9, ties=9)
    frozen = BeforeAfter({"AP": 0.8}, {"AP": 0.75})
    report = RetrainReport("spring", {"AP": 0.7}, {"AP": 0.7 + difference}, test, frozen=frozen)
    print_report(report, Readiness(0, 0, 0, 0, 0, 0, 0, 0, (), ()))
    out = capsys.readouterr().out
    assert (
        f"{outcome.capitalize()} on 27 questions: AP {difference:+.3f} (95 %:" in out and "too few to judge" not in out
    )
    with workbench(starter=False) as wb, wb.write() as s:
        metrics = report.to_metrics()
        registry.add_candidate(s, wb, "spring", Path("gone"), is_rejected=True, parent="cascade", metrics=metrics)
    first = next(v for v in as2_json("versions")["versions"] if v["name"] == "spring")
    assert first["change"]["outcome"] == outcome
    head, *lines = as2("versions")[1].splitlines()
    line = next(x for x in lines if x.startswith("spring"))
    assert "outcome" in head.split()
    assert "rejected: " in line and "AP fell by 5.0 points on the frozen benchmark Starter test" in line
    assert (f"  {outcome}  " in line) and ("worse on 27 questions" in line) == (outcome == "worse")


def test_the_json_of_a_retrain_has_its_outcome(as2, as2_json, label_file, monkeypatch):
    from dataclasses import replace

    from app.adapt.report import RetrainReport
    from app.cli import adapt
    from as2core.metrics import PairedTest

    as2("labels", "import", label_file)
    test = PairedTest(-0.1, -0.13, -0.07, p=0.04, wins=9, losses=9, ties=9)
    result = RetrainReport("spring", {"AP": 0.7}, {"AP": 0.6}, test).to_json()
    monkeypatch.setattr(adapt, "start", lambda wb, corpus_id, settings: state("queued"))
    monkeypatch.setattr(adapt, "follow", lambda wb, job: replace(state("done"), result=result))
    told = as2_json("adapt")
    assert (told["version"], told["outcome"]) == ("spring", "worse") and told["objection"].startswith("worse on 27")
    assert "verdict" not in told


def test_a_retrain_is_followed_to_its_end_and_every_evaluation_told_once(monkeypatch, capsys):
    evaluations = [{"kind": "eval", "step": n, "steps": 2, "dev_ap": {"6": n / 4}} for n in (1, 2)]
    _, run = follow(
        monkeypatch,
        state("queued", message="waiting for the worker"),
        state("running", events=evaluations[:1], message="training, step 1 of 2"),
        state("running", events=evaluations, message="training, step 2 of 2"),
        state("done", events=evaluations),
    )
    assert run().state == "done"
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("step 1/2  dev AP 6: 0.250") == err.count("step 2/2  dev AP 6: 0.500") == 1
    assert [line for line in err.splitlines() if "job 5" in line] == [
        "job 5: waiting for the worker",
        "job 5: training",
    ]


def test_a_retrain_is_followed_though_steps_told_before_are_thinned_out(monkeypatch):
    from app.cli import adapt

    told, of = [], lambda *events: [{"kind": kind, "step": step} for kind, step in events]
    monkeypatch.setattr(
        adapt, "show_training", lambda: contextlib.nullcontext(lambda e: told.append((e["kind"], e["step"])))
    )
    _, run = follow(
        monkeypatch,
        state("running", events=of(("start", 0), ("step", 1), ("step", 2), ("step", 3), ("eval", 3))),
        state("running", events=of(("start", 0), ("step", 2), ("eval", 3), ("step", 4))),
        state("done", events=of(("start", 0), ("step", 2), ("eval", 3), ("eval", 6), ("step", 6), ("end", 6))),
    )
    run()
    assert told == [("start", 0), ("eval", 3), ("step", 3), ("step", 4), ("eval", 6), ("end", 6), ("step", 6)]


def test_a_stage_after_the_training_is_shown_with_how_far_it_is_and_not_the_last_step_again(monkeypatch):
    from app.cli import adapt

    told = []
    monkeypatch.setattr(
        adapt, "show_training", lambda: contextlib.nullcontext(lambda e: told.append(e.get("name") or e["step"]))
    )
    steps = [{"kind": "step", "step": n, "steps": 2} for n in (1, 2)]
    later = [state("running", events=steps, message=f"checking the result, {n} of 24 questions read") for n in (3, 9)]
    _, run = follow(
        monkeypatch, state("running", events=steps, message="training"), *later, state("done", events=steps)
    )
    run()
    assert told == [2, "job 5: checking the result, 9 of 24 questions read"]


def test_a_retrain_that_fails_says_why_and_how_to_go_on(monkeypatch):
    from app.cli.adapt import NotAdapted

    _, run = follow(monkeypatch, state("running"), state("failed", error="no space left on the disk"))
    with pytest.raises(NotAdapted, match=r"job 5 failed: no space left on the disk .*as2 jobs retry 5"):
        run()


def test_ctrl_c_asks_the_retrain_to_stop(monkeypatch):
    def interrupted(seconds):
        raise KeyboardInterrupt

    watched, run = follow(monkeypatch, state("running"), sleep=interrupted)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert watched.cancelled == [5]
