"""What is stored of a retrain: the job's settings, its result, and the version's card."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from app.adapt.label_selection import LabelSelection
from app.adapt.report import (
    Baseline,
    BeforeAfter,
    ExcludedLabel,
    ExcludedLabels,
    LabelCounts,
    QuestionChange,
    RetrainReport,
    TopSentence,
)
from app.adapt.settings import RetrainSettings, rename_version
from app.versions.evaluations import ReliabilityBin
from as2core.errors import BadSetting, DamagedModel
from as2core.metrics import PairedTest

REPORT = RetrainReport(
    version="spring",
    before={"AP": 0.7},
    after={"AP": 0.75},
    paired=PairedTest(0.05, 0.01, 0.09, 0.02, 9, 2, 4),
    base="cascade",
    kind="cascade",
    intervals=BeforeAfter({"AP": (0.6, 0.8)}, {"AP": (0.65, 0.85)}),
    per_question=(QuestionChange("q1", "Who?", 0.5, 1.0, TopSentence("It rained.", False), TopSentence("Ann.", True)),),
    per_exit=BeforeAfter({"2": 0.6}, {"2": 0.65}),
    reliability=BeforeAfter((), (ReliabilityBin(0.3, 0.25, 40),)),
    baselines=(
        Baseline("retrieval", {"AP": 0.4}),
        Baseline("shipped", {"AP": 0.65}, PairedTest(0.1, 0.02, 0.2, 0.01, 8, 1, 6)),
    ),
    frozen=BeforeAfter({"AP": 0.81}, {"AP": 0.8}),
    frozen_others={"wikiqa-dev": BeforeAfter({"AP": 0.7}, {"AP": 0.71})},
    labels=LabelCounts(questions=9, correct=12, incorrect=30, origins={"asked": 9}, givers={"ann": 42}),
    left_out=ExcludedLabels(0.2, 3, 1, (ExcludedLabel("Who?", "It rained.", True),)),
    choice=LabelSelection(annotators=("ann",), presumed=2),
    settings={"epochs": 3, "learning_rate": 6e-5, "seed": 0},
    snapshot="340a832e",
    seconds=90.5,
)


def to_json_and_back(document):
    return json.loads(json.dumps(document, allow_nan=False))


def test_settings_come_back_from_where_they_are_stored():
    settings = RetrainSettings("generative", choice=LabelSelection(since="2024-05-01"), epochs=3, note="spring")
    assert RetrainSettings.from_json(to_json_and_back(settings.to_json())) == settings


def test_a_retrain_that_waits_follows_a_renamed_version_also_inside_its_base():
    for base, renamed in (("spring", "summer"), ("fusion:rankers=spring+bm25", "fusion:rankers=summer+bm25")):
        job = SimpleNamespace(state="queued", settings={"base": base})
        rename_version(job, "spring", "summer")
        assert job.settings == {"base": renamed}


def test_settings_of_an_older_program_have_defaults_and_mixed_in_nothing():
    assert RetrainSettings.from_json({"base": "cascade", "choice": None}) == RetrainSettings(replay=0.0, base="cascade")
    assert RetrainSettings.from_json({}).kind == "cascade"


def test_what_is_fitted_at_once_has_no_replay_and_no_epochs():
    assert RetrainSettings("calibration", replay=0.5).replay == 0.0
    assert RetrainSettings("calibration").version_kind == "cascade"
    with pytest.raises(BadSetting, match="no epochs"):
        RetrainSettings("fusion", epochs=3)


@pytest.mark.parametrize("report", [REPORT, replace(REPORT, frozen=None, left_out=None, weights={"bm25": 0.5})])
def test_a_report_comes_back_from_the_job_s_result_and_from_the_card(report):
    assert RetrainReport.from_json(to_json_and_back(report.to_json())) == report
    card = to_json_and_back(report.to_card() | {"name": "spring", "job": 3})
    assert RetrainReport.from_card(card) == report
    del card["retrain_kind"]  # as on a card of before
    assert RetrainReport.from_card(card) == replace(report, kind="")


def test_a_stored_report_has_the_keys_of_earlier_ones_and_no_number_that_json_lacks():
    document = to_json_and_back(
        replace(REPORT, frozen=None, left_out=None, per_exit=BeforeAfter({}, {"2": math.nan})).to_json()
    )
    assert (document["frozen"], document["left_out"], document["per_exit"]["after"]) == ({}, {}, {"2": None})
    assert document["intervals"]["before"] == {"AP": [0.6, 0.8]}
    assert document["reliability"]["after"] == [{"confidence": 0.3, "frequency": 0.25, "candidates": 40}]
    assert REPORT.to_card()["data"] == {"sha256": "340a832e", **to_json_and_back(REPORT.to_json())["labels"]}


def test_an_older_card_is_read_with_defaults_and_a_shipped_one_has_no_report():
    paired = {"difference": 0.05, "low": 0.01, "high": 0.09, "p": 0.02, "wins": 9, "losses": 2, "ties": 4}
    card = {"name": "old", "metrics": {"AP": 0.75}, "before": {"AP": 0.7}, "paired": paired, "left_out": {}}
    report = RetrainReport.from_card(card | {"data": {"sha256": "ab", "questions": 9}})
    assert (report.after["AP"], report.snapshot, report.labels) == (0.75, "ab", LabelCounts(questions=9))
    assert (report.baselines, report.detectable_difference) == ((), None)
    assert (report.left_out, report.benchmarks, report.choice) == (None, {}, LabelSelection(presumed=0))
    assert RetrainReport.from_card({"metrics": {"AP": 0.75}}) is None
    with pytest.raises(DamagedModel, match="old"):
        RetrainReport.from_card(card | {"metrics": "good"})
