import json
import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from fake_models import write_version
from sqlalchemy import select

from app import bootstrap
from app.ask import asking
from app.corpora import ingestion
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.labels import annotation, consensus, leasing
from app.labels.seats import Seat
from app.versions import directory, loading, management, promotion, registry
from app.versions.outcome import Change
from app.versions.promotion import NothingToRollBack
from app.versions.registry import UnknownVersion
from app.workbench import people
from app.worker import RUNNERS
from as2core.errors import As2Error, BadSetting, DamagedModel
from db.models import Candidate, ModelVersion, Run
from db.repositories import versions as rows


@pytest.fixture
def candidates(wb):
    """Two candidates, older first."""
    for name in ("towers-1", "towers-2"):
        path = write_version(wb.settings.versions_dir / name, parent="cascade")
        with wb.write() as s:
            rows.add_version(
                s, name, kind="cascade", path=str(path), state="candidate", parent="cascade", now=wb.clock()
            )
    return "towers-1", "towers-2"


def make_version(wb, corpus_id):
    """As a retrain names and registers it; returns its name."""

    def retrain(job):
        with wb.write() as s:
            name = registry.find_next_name(s, corpus_id, "towers")
            registry.add_candidate(s, wb, name, write_version(wb.settings.versions_dir / f"job-{job.id}"))
        return {"version": name}

    job = queue.enqueue(wb, "retrain", {}, corpus_id=corpus_id)
    run_queued(wb, {**RUNNERS, "retrain": retrain})
    return queue.load_job(wb, job.id).result["version"]


def states(wb):
    return {v.name: v.state for v in registry.list_versions(wb)}


def test_the_shipped_versions_are_there_from_the_start(wb):
    assert [v.name for v in registry.list_versions(wb)] == ["cascade"]
    assert [v.name for v in registry.list_versions(wb, kind="generative")] == ["generative"]
    assert registry.get_active(wb).state == "active"
    assert registry.get_active(wb).metrics == {"AP": 0.7}
    assert registry.get_active(wb).problem == ""


def test_versions_of_a_corpus_are_numbered_in_order_and_no_name_comes_twice(wb, towers):
    queue.enqueue(wb, "score", {}, corpus_id=towers.id)  # other jobs run before and between
    assert [make_version(wb, towers.id) for _ in range(2)] == ["towers-1", "towers-2"]
    management.delete(wb, "towers-2")
    assert make_version(wb, towers.id) == "towers-3"
    management.rename(wb, "towers-3", "spring")
    assert make_version(wb, towers.id) == "towers-4"
    with wb.write() as s:  # such as an imported one
        registry.add_candidate(s, wb, "towers-7", write_version(wb.settings.versions_dir / "other"))
    assert make_version(wb, towers.id) == "towers-8"


def test_promoting_and_rolling_back_walk_the_same_way(wb, candidates):
    promotion.promote(wb, "towers-1")
    promotion.promote(wb, "towers-2", "better on held-out questions")
    assert registry.get_active(wb).name == "towers-2"
    assert states(wb) == {"cascade": "shipped", "towers-1": "former", "towers-2": "active"}
    assert promotion.roll_back(wb).name == "towers-1"
    assert promotion.roll_back(wb).name == "cascade"
    with pytest.raises(NothingToRollBack):
        promotion.roll_back(wb)
    assert states(wb) == {"cascade": "active", "towers-1": "former", "towers-2": "former"}


def test_one_can_go_to_any_earlier_version_and_back_from_there(wb, candidates):
    promotion.promote(wb, "towers-1")
    promotion.promote(wb, "towers-2")
    promotion.promote(wb, "cascade")
    assert registry.get_active(wb).name == "cascade"
    assert promotion.roll_back(wb).name == "towers-2"


def test_promoting_the_active_one_again_is_no_step(wb, candidates):
    promotion.promote(wb, "towers-1")
    promotion.promote(wb, "towers-1")
    assert promotion.roll_back(wb).name == "cascade"


def test_the_only_version_of_a_kind_stays_when_there_is_none_to_go_back_to(wb):
    path = write_version(wb.settings.versions_dir / "crossed", "cross-encoder")
    with wb.write() as s:
        rows.add_version(s, "crossed", kind="cross-encoder", path=str(path), state="candidate", now=wb.clock())
    promotion.promote(wb, "crossed")
    with pytest.raises(NothingToRollBack, match="no cross-encoder version was active before"):
        promotion.roll_back(wb, "cross-encoder")
    assert registry.get_active(wb, "cross-encoder").name == "crossed"


def test_a_rejected_version_is_put_aside_and_may_still_be_promoted(wb, candidates):
    assert promotion.reject(wb, "towers-1").state == "rejected"
    assert promotion.promote(wb, "towers-1").state == "active"
    promotion.roll_back(wb)
    assert states(wb)["towers-1"] == "former"


@pytest.mark.parametrize("name", ["cascade", "towers-2"])
def test_the_shipped_and_the_active_version_cannot_be_rejected(wb, candidates, name):
    promotion.promote(wb, "towers-2")
    with pytest.raises(As2Error):
        promotion.reject(wb, name)


def test_a_rejection_upon_a_page_that_is_out_of_date_names_who_promoted_the_version_and_when(wb, candidates):
    ada = people.sign_in(wb, "ada")
    promotion.promote(wb, "towers-2", by=ada.id)
    at = wb.clock()
    when = f"{at.day} {at:%b %Y, %H:%M} UTC"
    with pytest.raises(As2Error, match=f"^towers-2 is in use, promoted by ada on {when}: promote another version"):
        promotion.reject(wb, "towers-2", by=ada.id)
    promotion.promote(wb, "towers-1")
    with pytest.raises(As2Error, match="promoted from the command line on"):
        promotion.reject(wb, "towers-1")


def test_the_version_before_is_the_one_that_a_roll_back_brings_back(wb, candidates):
    assert promotion.find_previous(wb) is None
    for name in ("towers-1", "towers-2", "towers-1"):
        promotion.promote(wb, name)
    for before in ("towers-2", "towers-1", "cascade"):
        previous = promotion.find_previous(wb)
        assert previous is not None
        assert previous.name == before == promotion.roll_back(wb).name
    assert promotion.find_previous(wb) is None


def test_of_a_kind_without_a_shipped_version_none_is_active_until_one_is_promoted(wb):
    path = write_version(wb.settings.versions_dir / "crossed", "cross-encoder")
    with wb.write() as s:
        rows.add_version(s, "crossed", kind="cross-encoder", path=str(path), state="candidate", now=wb.clock())
    assert registry.find_active(wb, "cross-encoder") is None
    promotion.promote(wb, "crossed", "it knows our words")
    assert registry.find_active(wb, "cross-encoder") == registry.get_version(wb, "crossed")


def test_one_rolls_back_only_to_what_is_older_and_was_in_use(wb, candidates):
    for name in candidates:
        promotion.promote(wb, name)
    promotion.promote(wb, "towers-1")
    views = {v.name: v for v in registry.list_versions(wb)}
    older, newer = views["towers-1"], replace(views["towers-2"], created=views["towers-1"].created + timedelta(1))
    assert promotion.is_roll_back(older, newer) is False  # the active one is nothing to go back to
    assert promotion.is_roll_back(newer, older) is False
    assert promotion.is_roll_back(replace(older, state="former"), newer)
    assert promotion.is_roll_back(replace(older, state="shipped"), newer)
    assert not promotion.is_roll_back(replace(older, state="candidate"), newer)


def test_a_version_is_unmeasured_while_nothing_is_known_of_it_and_it_was_never_in_use(wb, candidates):
    new = registry.get_version(wb, "towers-1")
    assert new.is_unmeasured
    assert replace(new, state="rejected").is_unmeasured
    assert not replace(new, change=Change(0.5, 0.6)).is_unmeasured
    assert not any(replace(new, state=state).is_unmeasured for state in ("active", "former", "shipped"))


def test_a_damaged_version_cannot_be_promoted(wb, candidates):
    (wb.settings.versions_dir / "towers-1" / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(DamagedModel, match="damaged"):
        promotion.promote(wb, "towers-1")
    assert registry.get_active(wb).name == "cascade"


def test_a_missing_directory_is_said_and_the_shipped_version_stands_in(wb, candidates):
    promotion.promote(wb, "towers-1")
    (wb.settings.versions_dir / "towers-1").rename(wb.settings.home / "elsewhere")
    assert "missing" in registry.get_active(wb).problem
    chosen = loading.load_version(wb)
    assert chosen.name == "cascade"
    assert "towers-1 cannot be used" in chosen.note


def test_a_damaged_shipped_version_is_an_error_with_its_remedy(wb):
    (wb.settings.models_dir / "cascade" / "model.safetensors").unlink()
    with pytest.raises(DamagedModel, match="restore"):
        loading.load_version(wb)


def test_without_any_model_the_missing_folder_is_named(settings, models, tmp_path):
    bare = settings.model_copy(update={"models_dir": tmp_path / "nothing"})
    wb = bootstrap.open(bare, models)
    with pytest.raises(DamagedModel, match="nothing"):
        registry.get_active(wb)
    wb.close()


def test_moved_models_are_followed(settings, models, wb, tmp_path):
    (tmp_path / "models").rename(tmp_path / "moved")
    again = bootstrap.open(settings.model_copy(update={"models_dir": tmp_path / "moved"}), models)
    assert registry.get_active(again).path == str(tmp_path / "moved" / "cascade")
    assert len(registry.list_versions(again)) == 1
    again.close()


def open_update(wb, settings, models, **card):
    """The workbench of a program whose cascade is another."""
    described = {"name": "cascade", "metrics": {"AP": 0.8}, "sha256": "b", **card}
    (settings.models_dir / "cascade" / "card.json").write_text(json.dumps(described))
    wb.clock.advance(hours=1)
    return bootstrap.open(settings, models, wb.clock)


@pytest.fixture
def open_and_closed(wb, towers, ann, ask_queued):
    """A question without a label, and one with a label on every candidate; both are in the queues."""
    run_queued(wb, RUNNERS)  # the vectors
    asked = ask_queued(towers.id, "When was the tower finished?")
    closed = ask_queued(towers.id, "Who built the bridge?")
    for c in closed.candidates:
        annotation.give_label(
            wb, question_id=closed.question_id, sentence_id=c.sentence_id, annotator_id=ann.id, label="incorrect"
        )
    return asked, closed


def test_an_update_that_brings_other_weights_has_their_numbers_and_ranks_open_questions_anew(
    wb, settings, models, towers, ann, open_and_closed
):
    asked, closed = open_and_closed
    there = open_update(wb, settings, models, note="from spring")
    now = registry.get_active(there)
    assert (now.name, now.state, now.metrics, now.note) == ("cascade", "active", {"AP": 0.8}, "from spring")
    run_queued(there, RUNNERS)
    assert [(j.corpus_id, j.result) for j in queue.list_jobs(there, "score")] == [(towers.id, {"questions": 1})]
    with there.read() as s:
        begun = dict(s.execute(select(Candidate.question_id, Run.created).join(Run, Run.id == Candidate.run_id)).all())
    assert begun == {asked.question_id: there.clock(), closed.question_id: there.clock() - timedelta(hours=1)}
    pair = {"question_id": closed.question_id, "sentence_id": closed.candidates[0].sentence_id}
    item = leasing.open_item(there, **pair, annotator_id=ann.id)
    assert (item.version, item.label) == ("cascade", "incorrect")
    assert item.rank is not None  # what was said of it once can still be read
    assert consensus.read_labels(there, closed.question_id).keys() == {c.sentence_id for c in closed.candidates}
    there.close()


@pytest.mark.parametrize(("sums", "jobs_then"), [({}, []), ({"config_sha256": "c"}, ["queued"])])
def test_an_update_is_noticed_once_and_by_weights_and_configuration_alone(
    wb, settings, models, towers, sums, jobs_then, ask_queued
):
    run_queued(wb, RUNNERS)  # the vectors
    ask_queued(towers.id, "When was the tower finished?")
    first = open_update(wb, settings, models)  # the row knew no sum: it is from an older program
    assert [j.state for j in queue.list_jobs(first, "score")] == ["queued"]
    run_queued(first, RUNNERS)
    again = open_update(wb, settings, models, licence="another line of the card", **sums)
    assert [j.state for j in queue.list_jobs(again, "score")] == [*jobs_then, "done"]
    for there in (first, again):
        there.close()


def test_an_update_of_the_version_behind_the_one_in_force_ranks_nothing_until_it_is_in_force_again(
    wb, settings, models, candidates, towers, ask_queued
):
    run_queued(wb, RUNNERS)  # the vectors
    asked = ask_queued(towers.id, "When was the tower finished?")
    promotion.promote(wb, "towers-1")
    run_queued(wb, RUNNERS)
    there = open_update(wb, settings, models)
    assert registry.get_version(there, "cascade").metrics == {"AP": 0.8}
    assert [j.state for j in queue.list_jobs(there, "score")] == ["done"]
    promotion.roll_back(there)
    assert list_followed_versions(there, asked) == {"towers-1"}  # not the scores that the old weights gave
    run_queued(there, RUNNERS)
    assert queue.list_jobs(there, "score")[0].result == {"questions": 1}
    assert list_followed_versions(there, asked) == {"cascade"}
    there.close()


def test_a_note_given_here_stays_where_the_new_card_has_none(wb, settings, models):
    management.set_note(wb, "cascade", "good enough")
    there = open_update(wb, settings, models)
    assert registry.get_active(there).note == "good enough"
    there.close()


def test_an_unknown_version_is_answered_with_the_known_ones(wb, candidates):
    with pytest.raises(UnknownVersion, match="towers-2, towers-1"):
        promotion.promote(wb, "towers-9")


def test_a_version_that_is_no_cascade_is_not_asked(wb, towers):
    with pytest.raises(BadSetting, match="generative is a generative version: choose a cascade"):
        asking.ask(wb, towers.id, "When was the tower finished?", version="generative")


def test_a_fusion_has_learnt_what_its_parts_have(wb):
    cascade = write_version(wb.settings.versions_dir / "towers-1", parent="cascade", trained_on=["When?"])
    fused = write_version(wb.settings.versions_dir / "both", "fusion", trained_on=["Who?"])
    inside = {"rankers": [str(cascade), "bm25"]}
    (fused / "config.json").write_text(json.dumps({"ranker": "fusion", "settings": inside}))
    for name, kind, path in (("towers-1", "cascade", cascade), ("both", "fusion", fused)):
        with wb.write() as s:
            rows.add_version(s, name, kind=kind, path=str(path), state="candidate", now=wb.clock())
    promotion.promote(wb, "towers-1")
    assert loading.find_base(wb, "active", "fusion").trained_on == ("When?",)
    assert loading.find_base(wb, "both", "fusion").trained_on == ("When?", "Who?")
    nested = "fusion:rankers=[fusion:rankers=towers-1+bm25]+wo"
    assert loading.find_base(wb, nested, "fusion").trained_on == ("When?",)


def test_another_version_in_force_ranks_open_questions_anew_in_the_background(wb, candidates, towers, open_and_closed):
    asked, _ = open_and_closed
    promotion.promote(wb, "towers-1")
    promotion.promote(wb, "towers-2")
    [job] = queue.list_jobs(wb, "score")
    assert (job.state, job.corpus_id) == ("queued", towers.id)
    run_queued(wb, RUNNERS)
    assert queue.load_job(wb, job.id).result == {"questions": 1}
    with wb.read() as s:
        ranked = s.scalars(select(Run.question_id).where(Run.version_id == registry.get_active(wb).id))
        assert list(ranked) == [asked.question_id]
    promotion.roll_back(wb)
    assert [j.state for j in queue.list_jobs(wb, "score")] == ["queued", "done"]
    run_queued(wb, RUNNERS)
    promotion.promote(wb, "towers-2")  # it has ranked them
    assert list_followed_versions(wb, asked) == {"towers-2"}
    run_queued(wb, RUNNERS)
    assert queue.list_jobs(wb, "score")[0].result == {"questions": 0}


@pytest.mark.parametrize(
    ("asked_of_it", "jobs"),
    [({"again": True}, 1), ({}, 2), ({"again": True, "questions": [1]}, 2)],
    ids=["all again", "the unranked", "some again"],
)
def test_only_a_queued_job_that_ranks_all_again_saves_another_one(
    wb, candidates, towers, ask_queued, asked_of_it, jobs
):
    ask_queued(towers.id, "When was the tower finished?")
    queue.enqueue(wb, "score", {"limit": 5, **asked_of_it}, corpus_id=towers.id)
    promotion.promote(wb, "towers-1")
    assert len(queue.list_active(wb, "score", towers.id)) == jobs


@pytest.mark.parametrize("act", ["promote", "roll back"])
def test_a_kill_after_another_version_became_active_leaves_no_queue_unranked(
    wb, candidates, towers, ask_queued, monkeypatch, act
):
    ask_queued(towers.id, "When was the tower finished?")
    if act == "roll back":
        promotion.promote(wb, "towers-1")
        run_queued(wb, RUNNERS)

    def die(_wb):
        raise KeyboardInterrupt

    monkeypatch.setattr(promotion, "start_worker_if_needed", die)  # what comes first after the transaction
    with pytest.raises(KeyboardInterrupt):
        promotion.promote(wb, "towers-1") if act == "promote" else promotion.roll_back(wb)
    (job,) = queue.list_active(wb, "score", towers.id)
    assert job.settings["again"] is True


def list_followed_versions(wb, asked):
    """The versions whose scores the queues go by."""
    with wb.read() as s:
        of = select(Run.version_id).join(Candidate).where(Candidate.question_id == asked.question_id)
        return set(s.scalars(select(ModelVersion.name).where(ModelVersion.id.in_(of))))


def cut(wb, asked):
    found = select(Candidate.id, Candidate.cut_layer, Candidate.cut_rank, Candidate.cut_kept, Candidate.cut_margin)
    with wb.read() as s:
        return s.execute(found.where(Candidate.question_id == asked.question_id).order_by(Candidate.id)).all()


def test_the_queues_follow_the_version_before_again_after_a_roll_back(wb, candidates, towers, ann, ask_queued):
    run_queued(wb, RUNNERS)  # the vectors
    asked = ask_queued(towers.id, "When was the tower finished?")
    before = cut(wb, asked)
    promotion.promote(wb, "towers-1")
    run_queued(wb, RUNNERS)
    assert list_followed_versions(wb, asked) == {"towers-1"}
    promotion.roll_back(wb)
    assert list_followed_versions(wb, asked) == {"cascade"}
    assert leasing.find_next_item(wb, Seat(towers.id, ann.id, "uncertain")).version == "cascade"
    assert (
        leasing.find_next_item(wb, Seat(towers.id, ann.id, "dropped")) is None
    )  # where towers-1 cut is not where it does
    run_queued(wb, RUNNERS)
    assert [c[:4] for c in cut(wb, asked)] == [c[:4] for c in before]
    assert [c.cut_margin for c in cut(wb, asked)] == pytest.approx([c.cut_margin for c in before])
    management.delete(wb, "towers-1")
    assert list_followed_versions(wb, asked) == {"cascade"}


def test_what_only_a_deleted_version_ranked_is_ranked_by_the_one_in_force(wb, candidates, towers, ann, ask_queued):
    promotion.promote(wb, "towers-1")
    asked = ask_queued(towers.id, "When was the tower finished?")
    promotion.roll_back(wb)
    management.delete(wb, "towers-1")
    assert leasing.find_next_item(wb, Seat(towers.id, ann.id, "uncertain")) is None
    run_queued(wb, RUNNERS)
    assert list_followed_versions(wb, asked) == {"cascade"}
    assert leasing.find_next_item(wb, Seat(towers.id, ann.id, "uncertain")).version == "cascade"


@pytest.fixture
def old_question(wb, candidates, towers, ask_queued):
    """A question that a version ranked with more sentences than the one before it, which is in force again."""
    asked = ask_queued(towers.id, "When was the tower finished?")
    promotion.promote(wb, "towers-1")
    ingestion.ingest(wb, towers.id, [("more.txt", b"The tower was finished late. It cost much to finish the tower.")])
    run_queued(wb, RUNNERS)
    promotion.roll_back(wb)
    return asked


def test_what_only_a_deleted_version_found_is_ranked_by_an_older_one_in_force_again(wb, old_question):
    management.delete(wb, "towers-1")
    run_queued(wb, RUNNERS)
    with wb.read() as s:
        unranked = select(Candidate.id).where(
            Candidate.question_id == old_question.question_id, Candidate.run_id.is_(None)
        )
        assert s.scalars(unranked).all() == []


def test_what_came_in_since_a_version_ranked_is_ranked_by_it_too(wb, old_question):
    assert list_followed_versions(wb, old_question) == {"cascade", "towers-1"}
    run_queued(wb, RUNNERS)
    assert list_followed_versions(wb, old_question) == {"cascade"}
    promotion.promote(wb, "towers-1")
    promotion.promote(wb, "cascade")
    assert list_followed_versions(wb, old_question) == {"cascade"}


def test_the_newest_scores_stay_where_the_version_in_force_has_none(wb, candidates, towers, ann, ask_queued):
    asked = ask_queued(towers.id, "When was the tower finished?")
    promotion.promote(wb, "towers-1")
    assert list_followed_versions(wb, asked) == {"cascade"}
    assert leasing.find_next_item(wb, Seat(towers.id, ann.id, "uncertain")).version == "cascade"


def test_the_card_is_read_from_the_directory(wb, candidates):
    assert registry.load_card(wb, "towers-1")["parent"] == "cascade"
    assert registry.load_card(wb, "active")["name"] == "cascade"


def test_nested_metrics_are_flattened():
    told = {"AP": 0.5, "per exit": {"2": 0.4, "note": "x"}, "ok": True}
    assert directory.flatten_metrics(told) == {"AP": 0.5, "per exit 2": 0.4}


def test_two_retrains_that_end_together_take_two_names(wb):
    names, folder = [], write_version(wb.settings.versions_dir / "job-1")

    def register(meanwhile):
        with wb.write() as s:
            names.append(registry.find_next_name(s, 1, "rivers"))
            registry.add_candidate(s, wb, names[-1], folder)
            meanwhile()

    other = threading.Thread(target=register, args=(lambda: None,))

    def start_other():
        other.start()
        other.join(0.2)  # it has to wait: its name is chosen when this transaction is over

    register(start_other)
    other.join()
    assert names == ["rivers-1", "rivers-2"]
    assert {"rivers-1", "rivers-2"} <= {v.name for v in registry.list_versions(wb)}
