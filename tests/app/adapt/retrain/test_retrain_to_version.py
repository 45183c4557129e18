"""A retrain from its start to a version: each kind of ranker, its base, its settings."""

from dataclasses import replace

import pytest
from city_questions import finish_retrain, made_up
from label_files import import_labels

from app.adapt import label_selection, readiness, retrain_job
from app.adapt.label_selection import LabelSelection
from app.adapt.report import RetrainReport
from app.adapt.settings import COPIES, RetrainSettings
from app.ask import asking
from app.compare.rankers import note_trained_on
from app.jobs import queue
from app.ui.adapt.card.outcome import describe_judges
from app.versions import loading, management, outcome, promotion, registry
from app.versions.promotion import NeedsReason
from as2core.data import jsonl
from as2core.errors import BadSetting, NotEnoughLabels
from as2core.rankers.cross_encoder import CrossEncoderRanker


def test_from_labels_to_a_promoted_version_that_answers(wb, corpus_id, cross_fitted):
    job = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=2, note="cities")).id)
    result = job.result
    ready = readiness.check_readiness(wb, corpus_id)
    assert result["version"] == "cities-1"
    assert result["labels"]["questions"] == ready.train_questions
    assert len(result["per_question"]) == ready.heldout_questions + ready.train_questions  # cross-fitted
    made = next(v for v in registry.list_versions(wb) if v.name == result["version"])
    assert (made.state, made.parent, made.note, made.problem) == ("candidate", "cascade", "cities", "")
    assert made.metrics["AP"] == pytest.approx(result["after"]["AP"])
    promotion.promote(wb, made.name, "a try")
    assert asking.ask(wb, corpus_id, "What was built in oslo?").version == made.name


def test_a_retrain_is_finished_without_the_copies_that_check_it(wb, corpus_id, cross_fitted):
    from app.adapt.retrain import run_retrain

    def finish_in_the_first_copy(job):
        report = job.progress

        def progress(share, message):
            report(share, message)
            if "part 1 of 3, step" in message:
                retrain_job.finish_without_copies(wb, job.id)

        job.progress = progress
        return run_retrain(job)

    job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=2))
    job = finish_retrain(wb, job.id, finish_in_the_first_copy)
    assert [e["kind"] for e in job.events if e["kind"] in (COPIES, "note")] == [COPIES, "note"]
    labels = job.result["labels"]
    assert labels["cross_fitted_questions"] == 0 and job.result["is_check_skipped"] is True
    assert len(job.result["per_question"]) == labels["held_out_questions"]
    assert job.result["version"] in [v.name for v in registry.list_versions(wb)]
    report = RetrainReport.from_card(registry.load_card(wb, job.result["version"]))
    assert report.version == job.result["version"]  # in its file, the card has the folder's name
    assert describe_judges(report).startswith(
        "The check on training questions was left out, because somebody pressed Finish"
    )


def test_a_retrain_that_goes_on_after_a_kill_says_too_that_its_check_was_left_out(wb, corpus_id, cross_fitted):
    """Its settings say then that there are no copies."""
    job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=2, copies=False))
    result = finish_retrain(wb, job.id).result
    assert (result["is_check_skipped"], result["labels"]["cross_fitted_questions"]) == (True, 0)


def test_a_version_made_automatically_that_forgets_is_rejected_and_answers_only_with_a_reason(
    wb, corpus_id, monkeypatch
):
    monkeypatch.setattr(outcome, "MAX_FORGOTTEN_POINTS", -200.0)  # whatever is lost is too much
    settings = RetrainSettings(epochs=1)
    by_hand = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, settings).id).result["version"]
    automatic = replace(settings, automatic=True)
    by_itself = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, automatic).id).result["version"]
    assert [registry.get_version(wb, name).state for name in (by_hand, by_itself)] == ["candidate", "rejected"]
    assert "on the frozen benchmark Starter test" in registry.get_version(wb, by_itself).objection
    with pytest.raises(NeedsReason, match="Starter test"):
        promotion.promote(wb, by_itself)
    promotion.promote(wb, by_itself, "our own field counts")
    assert registry.get_active(wb).name == by_itself


def test_calibrating_alone_leaves_the_order_and_sets_the_probabilities(wb, corpus_id):
    result = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration")).id).result
    assert result["after"] == result["before"]
    assert result["reliability"]["after"] != result["reliability"]["before"]
    made = registry.get_version(wb, result["version"])
    assert (made.kind, made.parent) == ("cascade", "cascade")
    assert loading.load_version(wb, made.name).ranker.calibration != ((1.0, 0.0),) * 5
    assert registry.load_card(wb, made.name)["retrain_kind"] == "calibration"


def test_a_cross_encoder_is_retrained_and_can_be_loaded_with_its_calibration(wb, corpus_id):
    jsonl.write(made_up(24, seed=7, prefix="shipped"), wb.settings.corpora_dir / "starter" / "dev.jsonl")
    settings = RetrainSettings(kind="cross-encoder", epochs=1)
    result = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, settings).id).result
    made = promotion.promote(wb, result["version"], "a try")
    assert (made.kind, made.problem) == ("cross-encoder", "")
    ranker = loading.load_ranker(wb, made.name)
    assert isinstance(ranker, CrossEncoderRanker) and ranker.is_calibrated and ranker.answer_calibration is not None


def test_a_version_goes_out_and_comes_back_in_as_a_candidate(wb, tmp_path):
    management.export(wb, "cascade", "as2", tmp_path / "whole")
    management.export(wb, "cascade", "hf", tmp_path / "last-exit")
    whole = management.import_version(wb, tmp_path / "whole", name="from elsewhere")
    last = management.import_version(wb, tmp_path / "last-exit")
    assert [(v.name, v.kind, v.state, v.problem) for v in (whole, last)] == [
        ("from elsewhere", "cascade", "candidate", ""),
        ("last-exit", "cross-encoder", "candidate", ""),
    ]
    assert promotion.promote(wb, "last-exit").state == "active"
    with pytest.raises(BadSetting, match="there is a version 'last-exit' already"):
        management.import_version(wb, tmp_path / "last-exit")


def test_a_fusion_s_weights_are_learnt_and_kept_by_their_kind(wb, corpus_id):
    base = "fusion:method=zscore,rankers=bm25+wo"
    result = finish_retrain(
        wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="fusion", base=base)).id
    ).result
    assert set(result["weights"]) == {"bm25", "wo"}
    made = promotion.promote(wb, result["version"], "a try")
    assert (made.kind, made.state) == ("fusion", "active")
    assert registry.get_active(wb).name == "cascade"


def test_the_generative_ranker_is_adapted_with_shipped_questions_mixed_in(wb, corpus_id):
    shipped = made_up(8, seed=7, prefix="shipped")
    jsonl.write(shipped, wb.settings.corpora_dir / "starter" / "train.jsonl")
    started = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="generative", epochs=1, replay=0.5))
    result = finish_retrain(wb, started.id).result
    assert result["labels"]["replayed_questions"] == 4
    made = registry.get_version(wb, result["version"])
    assert (made.kind, made.parent) == ("generative", "generative")
    card = registry.load_card(wb, made.name)
    assert len(card["trained_on"]) == result["labels"]["questions"] + 8
    assert {q.text for q in shipped} <= set(card["trained_on"])  # those not mixed in now taught the shipped one
    assert card["replay"] == 0.5
    assert card["settings"]["loss"] == "rll"  # MLE would make the questions of wrong sentences likely, too


def test_a_choice_narrows_what_is_learnt_and_stands_on_the_card(wb, corpus_id):
    import_labels(wb, corpus_id, "more.jsonl", jsonl.dumps(made_up(1)).encode(), annotator="bob")
    with pytest.raises(NotEnoughLabels):
        retrain_job.start_retrain(wb, corpus_id, RetrainSettings(choice=LabelSelection(annotators=("bob",))))
    choice = LabelSelection(annotators=("ann",), conflicts="latest")
    result = finish_retrain(
        wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration", choice=choice)).id
    ).result
    assert LabelSelection.from_json(registry.load_card(wb, result["version"])["choice"]) == choice


def test_a_version_narrowed_to_some_questions_is_marked_where_it_is_measured_on_them_and_no_others(wb, corpus_id):
    by_id = {x.id: x.question.text for x in label_selection.load(wb, corpus_id, LabelSelection())}
    some = tuple(sorted(by_id)[:12])
    settings = RetrainSettings(kind="calibration", choice=LabelSelection(questions=some))
    result = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, settings).id).result
    trained_on = set(registry.load_card(wb, result["version"])["trained_on"])
    assert len(trained_on) == result["labels"]["questions"] and trained_on < {by_id[i] for i in some}
    [note] = note_trained_on(wb, result["version"], list(by_id.values()))
    assert f"was trained on {len(trained_on)} of these 24 questions" in note
    assert note_trained_on(wb, result["version"], [text for i, text in by_id.items() if i not in some]) == []


def test_a_second_retrain_of_the_same_corpus_waits_for_the_first(wb, corpus_id):
    first = retrain_job.start_retrain(wb, corpus_id)
    with pytest.raises(Exception, match=f"job {first.id} .retrain. of this corpus"):
        retrain_job.start_retrain(wb, corpus_id)
    queue.pause(wb, first.id)
    for _ in range(20):
        queue.enqueue(wb, "retrain", {})
    with pytest.raises(Exception, match=f"job {first.id} .retrain. of this corpus"):
        retrain_job.start_retrain(wb, corpus_id)
    queue.cancel(wb, first.id)
    assert retrain_job.start_retrain(wb, corpus_id).state == "queued"


def test_a_retrain_can_start_from_a_retrained_version(wb, corpus_id, cross_fitted):
    first = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=1)).id).result
    second = finish_retrain(
        wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(base=first["version"], epochs=1)).id
    ).result
    assert second["base"] == first["version"]
    on_held_out = {q["qid"]: q["after"] for q in first["per_question"][: first["labels"]["held_out_questions"]]}
    assert {q["qid"]: q["before"] for q in second["per_question"]} == pytest.approx(on_held_out)
    assert second["labels"]["cross_fitted_questions"] == 0  # its base has learnt from the training questions
    made = next(v for v in registry.list_versions(wb) if v.name == second["version"])
    assert made.parent == first["version"]


def at(message, do):
    """A retrain that does something else when it comes to a message."""
    from app.adapt.retrain import run_retrain

    def run(job):
        told = job.progress

        def progress(share, said):
            told(share, said)
            if said == message:
                do()

        job.progress = progress
        return run_retrain(job)

    return run


def test_a_base_renamed_under_its_retrain_is_the_parent_by_its_new_name(wb, corpus_id):
    base = finish_retrain(wb, retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration")).id).result[
        "version"
    ]
    job = retrain_job.start_retrain(wb, corpus_id, RetrainSettings(kind="calibration", base=base))
    rename = at("saving the version", lambda: management.rename(wb, base, "spring"))
    result = finish_retrain(wb, job.id, rename).result
    assert registry.get_version(wb, result["version"]).parent == "spring"


@pytest.mark.parametrize(
    "bad",
    [
        {"epochs": 0},
        {"learning_rate": -1.0},
        {"base": "generative"},
        {"kind": "bm25"},
        {"replay": 2.0},
        {"note": "x" * 301},
    ],
)
def test_settings_that_cannot_work_are_refused_before_the_start(wb, corpus_id, bad):
    with pytest.raises(BadSetting):
        retrain_job.start_retrain(wb, corpus_id, RetrainSettings(**bad))
