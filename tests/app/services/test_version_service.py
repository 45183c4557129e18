import json
from datetime import timedelta

import pytest
from fake_models import write_version
from sqlalchemy import select

from app import jobs, services
from app.running import run_queued
from app.services import asking, corpora, labelling, queueing, version_care, versions
from app.services.versions import NothingToRollBack, UnknownVersion
from as2core.errors import As2Error, BadSetting, DamagedModel
from db.models import Candidate, ModelVersion, Run
from db.repositories import versions as rows


@pytest.fixture
def made(wb):
    """Two candidates, older first."""
    for name in ("towers-1", "towers-2"):
        path = write_version(wb.settings.versions_dir / name, parent="cascade")
        with wb.write() as s:
            rows.add_version(
                s, name, kind="cascade", path=str(path), state="candidate", parent="cascade", now=wb.clock()
            )
    return "towers-1", "towers-2"


def states(wb):
    return {v.name: v.state for v in versions.list_versions(wb)}


def test_the_shipped_versions_are_there_from_the_start(wb):
    assert [v.name for v in versions.list_versions(wb)] == ["cascade"]
    assert [v.name for v in versions.list_versions(wb, kind="generative")] == ["generative"]
    assert versions.active(wb).state == "active"
    assert versions.active(wb).metrics == {"AP": 0.7}
    assert versions.active(wb).problem == ""


def test_promoting_and_rolling_back_walk_the_same_way(wb, made):
    versions.promote(wb, "towers-1")
    versions.promote(wb, "towers-2", "better on held-out questions")
    assert versions.active(wb).name == "towers-2"
    assert states(wb) == {"cascade": "shipped", "towers-1": "former", "towers-2": "active"}
    assert versions.roll_back(wb).name == "towers-1"
    assert versions.roll_back(wb).name == "cascade"
    with pytest.raises(NothingToRollBack):
        versions.roll_back(wb)
    assert states(wb) == {"cascade": "active", "towers-1": "former", "towers-2": "former"}


def test_one_can_go_to_any_earlier_version_and_back_from_there(wb, made):
    versions.promote(wb, "towers-1")
    versions.promote(wb, "towers-2")
    versions.promote(wb, "cascade")
    assert versions.active(wb).name == "cascade"
    assert versions.roll_back(wb).name == "towers-2"


def test_promoting_the_active_one_again_is_no_step(wb, made):
    versions.promote(wb, "towers-1")
    versions.promote(wb, "towers-1")
    assert versions.roll_back(wb).name == "cascade"


def test_the_only_version_of_a_kind_stays_when_there_is_none_to_go_back_to(wb):
    path = write_version(wb.settings.versions_dir / "crossed", "cross-encoder")
    with wb.write() as s:
        rows.add_version(s, "crossed", kind="cross-encoder", path=str(path), state="candidate", now=wb.clock())
    versions.promote(wb, "crossed")
    with pytest.raises(NothingToRollBack, match="no cross-encoder version answered before"):
        versions.roll_back(wb, "cross-encoder")
    assert versions.active(wb, "cross-encoder").name == "crossed"


def test_a_rejected_version_is_put_aside_and_may_still_be_promoted(wb, made):
    assert versions.reject(wb, "towers-1").state == "rejected"
    assert versions.promote(wb, "towers-1").state == "active"


@pytest.mark.parametrize("name", ["cascade", "towers-2"])
def test_the_shipped_and_the_active_version_cannot_be_rejected(wb, made, name):
    versions.promote(wb, "towers-2")
    with pytest.raises(As2Error):
        versions.reject(wb, name)


def test_a_damaged_version_cannot_be_promoted(wb, made):
    (wb.settings.versions_dir / "towers-1" / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(DamagedModel, match="damaged"):
        versions.promote(wb, "towers-1")
    assert versions.active(wb).name == "cascade"


def test_a_missing_directory_is_said_and_the_shipped_version_stands_in(wb, made):
    versions.promote(wb, "towers-1")
    (wb.settings.versions_dir / "towers-1").rename(wb.settings.home / "elsewhere")
    assert "missing" in versions.active(wb).problem
    chosen = versions.choose(wb)
    assert chosen.name == "cascade"
    assert "towers-1 cannot be used" in chosen.note


def test_a_damaged_shipped_version_is_an_error_with_its_remedy(wb):
    (wb.settings.models_dir / "cascade" / "model.safetensors").unlink()
    with pytest.raises(DamagedModel, match="restore"):
        versions.choose(wb)


def test_without_any_model_the_missing_folder_is_named(settings, models, tmp_path):
    bare = settings.model_copy(update={"models_dir": tmp_path / "nothing"})
    wb = services.open(bare, models)
    with pytest.raises(DamagedModel, match="nothing"):
        versions.active(wb)
    wb.close()


def test_moved_models_are_followed(settings, models, wb, tmp_path):
    (tmp_path / "models").rename(tmp_path / "moved")
    again = services.open(settings.model_copy(update={"models_dir": tmp_path / "moved"}), models)
    assert versions.active(again).path == str(tmp_path / "moved" / "cascade")
    assert len(versions.list_versions(again)) == 1
    again.close()


def updated(wb, settings, models, **card):
    """The workbench of a program whose cascade is another."""
    described = {"name": "cascade", "metrics": {"AP": 0.8}, "sha256": "b", **card}
    (settings.models_dir / "cascade" / "card.json").write_text(json.dumps(described))
    wb.clock.pass_(hours=1)
    return services.open(settings, models, wb.clock)


def test_an_update_that_brings_other_weights_has_their_numbers_and_ranks_open_questions_anew(
    wb, settings, models, towers, ann
):
    run_queued(wb)  # the vectors
    asked = asking.ask(wb, towers.id, "When was the tower finished?")
    closed = asking.ask(wb, towers.id, "Who built the bridge?")
    for c in closed.candidates:
        labelling.give_label(
            wb, question_id=closed.question_id, sentence_id=c.sentence_id, annotator_id=ann.id, label="incorrect"
        )
    there = updated(wb, settings, models, note="from spring")
    now = versions.active(there)
    assert (now.name, now.state, now.metrics, now.note) == ("cascade", "active", {"AP": 0.8}, "from spring")
    run_queued(there)
    assert [(j.corpus_id, j.result) for j in jobs.listed(there, "score")] == [(towers.id, {"questions": 1})]
    with there.read() as s:
        begun = dict(s.execute(select(Candidate.question_id, Run.created).join(Run, Run.id == Candidate.run_id)).all())
    assert begun == {asked.question_id: there.clock(), closed.question_id: there.clock() - timedelta(hours=1)}
    pair = {"question_id": closed.question_id, "sentence_id": closed.candidates[0].sentence_id}
    item = queueing.item_at(there, **pair, annotator_id=ann.id)
    assert (item.version, item.label) == ("cascade", "incorrect")
    assert item.rank is not None  # what was said of it once can still be read
    assert labelling.labels_of(there, closed.question_id).keys() == {c.sentence_id for c in closed.candidates}
    there.close()


@pytest.mark.parametrize(("sums", "jobs_then"), [({}, []), ({"config_sha256": "c"}, ["queued"])])
def test_an_update_is_noticed_once_and_by_weights_and_configuration_alone(
    wb, settings, models, towers, sums, jobs_then
):
    asking.ask(wb, towers.id, "When was the tower finished?")
    first = updated(wb, settings, models)  # the row knew no sum: it is from an older program
    assert [j.state for j in jobs.listed(first, "score")] == ["queued"]
    run_queued(first)
    again = updated(wb, settings, models, licence="another line of the card", **sums)
    assert [j.state for j in jobs.listed(again, "score")] == [*jobs_then, "done"]
    for there in (first, again):
        there.close()


def test_an_update_of_the_version_behind_the_one_in_force_ranks_nothing_until_it_is_in_force_again(
    wb, settings, models, made, towers
):
    run_queued(wb)  # the vectors
    asked = asking.ask(wb, towers.id, "When was the tower finished?")
    versions.promote(wb, "towers-1")
    run_queued(wb)
    there = updated(wb, settings, models)
    assert versions.get_version(there, "cascade").metrics == {"AP": 0.8}
    assert [j.state for j in jobs.listed(there, "score")] == ["done"]
    versions.roll_back(there)
    assert followed(there, asked) == {"towers-1"}  # not the scores that the old weights gave
    run_queued(there)
    assert jobs.listed(there, "score")[0].result == {"questions": 1}
    assert followed(there, asked) == {"cascade"}
    there.close()


def test_a_note_given_here_stays_where_the_new_card_has_none(wb, settings, models):
    version_care.set_note(wb, "cascade", "good enough")
    there = updated(wb, settings, models)
    assert versions.active(there).note == "good enough"
    there.close()


def test_an_unknown_version_is_answered_with_the_known_ones(wb, made):
    with pytest.raises(UnknownVersion, match="towers-2, towers-1"):
        versions.promote(wb, "towers-9")


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
    versions.promote(wb, "towers-1")
    assert versions.base_for(wb, "active", "fusion").card["trained_on"] == ["When?"]
    assert versions.base_for(wb, "both", "fusion").card["trained_on"] == ["When?", "Who?"]
    nested = "fusion:rankers=[fusion:rankers=towers-1+bm25]+wo"
    assert versions.base_for(wb, nested, "fusion").card["trained_on"] == ["When?"]


def test_another_version_in_force_ranks_open_questions_anew_in_the_background(wb, made, towers, ann):
    run_queued(wb)  # the vectors
    asked = asking.ask(wb, towers.id, "When was the tower finished?")
    closed = asking.ask(wb, towers.id, "Who built the bridge?")
    for c in closed.candidates:
        labelling.give_label(
            wb, question_id=closed.question_id, sentence_id=c.sentence_id, annotator_id=ann.id, label="incorrect"
        )
    versions.promote(wb, "towers-1")
    versions.promote(wb, "towers-2")
    [job] = jobs.listed(wb, "score")
    assert (job.state, job.corpus_id) == ("queued", towers.id)
    run_queued(wb)
    assert jobs.get(wb, job.id).result == {"questions": 1}
    with wb.read() as s:
        ranked = s.scalars(select(Run.question_id).where(Run.version_id == versions.active(wb).id))
        assert list(ranked) == [asked.question_id]
    versions.roll_back(wb)
    assert [j.state for j in jobs.listed(wb, "score")] == ["queued", "done"]
    run_queued(wb)
    versions.promote(wb, "towers-2")  # it has ranked them
    assert followed(wb, asked) == {"towers-2"}
    run_queued(wb)
    assert jobs.listed(wb, "score")[0].result == {"questions": 0}


def followed(wb, asked):
    """The versions whose scores the queues go by."""
    with wb.read() as s:
        of = select(Run.version_id).join(Candidate).where(Candidate.question_id == asked.question_id)
        return set(s.scalars(select(ModelVersion.name).where(ModelVersion.id.in_(of))))


def cut(wb, asked):
    found = select(Candidate.id, Candidate.cut_layer, Candidate.cut_rank, Candidate.cut_kept, Candidate.cut_margin)
    with wb.read() as s:
        return s.execute(found.where(Candidate.question_id == asked.question_id).order_by(Candidate.id)).all()


def test_the_queues_follow_the_version_before_again_after_a_roll_back(wb, made, towers, ann):
    run_queued(wb)  # the vectors
    asked = asking.ask(wb, towers.id, "When was the tower finished?")
    before = cut(wb, asked)
    versions.promote(wb, "towers-1")
    run_queued(wb)
    assert followed(wb, asked) == {"towers-1"}
    versions.roll_back(wb)
    assert followed(wb, asked) == {"cascade"}
    assert queueing.next_item(wb, towers.id, ann.id, "uncertain").version == "cascade"
    assert queueing.next_item(wb, towers.id, ann.id, "dropped") is None  # where towers-1 cut is not where it does
    run_queued(wb)
    assert [c[:4] for c in cut(wb, asked)] == [c[:4] for c in before]
    assert [c.cut_margin for c in cut(wb, asked)] == pytest.approx([c.cut_margin for c in before])
    version_care.delete(wb, "towers-1")
    assert followed(wb, asked) == {"cascade"}


def test_what_only_a_deleted_version_ranked_is_ranked_by_the_one_in_force(wb, made, towers, ann):
    versions.promote(wb, "towers-1")
    asked = asking.ask(wb, towers.id, "When was the tower finished?")
    versions.roll_back(wb)
    version_care.delete(wb, "towers-1")
    assert queueing.next_item(wb, towers.id, ann.id, "uncertain") is None
    run_queued(wb)
    assert followed(wb, asked) == {"cascade"}
    assert queueing.next_item(wb, towers.id, ann.id, "uncertain").version == "cascade"


@pytest.fixture
def outdated(wb, made, towers):
    """A question that a version ranked with more sentences than the one before it, which is in force again."""
    asked = asking.ask(wb, towers.id, "When was the tower finished?")
    versions.promote(wb, "towers-1")
    corpora.ingest(wb, towers.id, [("more.txt", b"The tower was finished late. It cost much to finish the tower.")])
    run_queued(wb)
    versions.roll_back(wb)
    return asked


def test_what_only_a_deleted_version_found_is_ranked_by_an_older_one_in_force_again(wb, outdated):
    version_care.delete(wb, "towers-1")
    run_queued(wb)
    with wb.read() as s:
        unranked = select(Candidate.id).where(Candidate.question_id == outdated.question_id, Candidate.run_id.is_(None))
        assert s.scalars(unranked).all() == []


def test_what_came_in_since_a_version_ranked_is_ranked_by_it_too(wb, outdated):
    assert followed(wb, outdated) == {"cascade", "towers-1"}
    run_queued(wb)
    assert followed(wb, outdated) == {"cascade"}
    versions.promote(wb, "towers-1")
    versions.promote(wb, "cascade")
    assert followed(wb, outdated) == {"cascade"}


def test_the_newest_scores_stay_where_the_version_in_force_has_none(wb, made, towers, ann):
    asked = asking.ask(wb, towers.id, "When was the tower finished?")
    versions.promote(wb, "towers-1")
    assert followed(wb, asked) == {"cascade"}
    assert queueing.next_item(wb, towers.id, ann.id, "uncertain").version == "cascade"


def test_the_card_is_read_from_the_directory(wb, made):
    assert versions.card(wb, "towers-1")["parent"] == "cascade"
    assert versions.card(wb, "active")["name"] == "cascade"


def test_nested_metrics_are_flattened():
    told = {"AP": 0.5, "per exit": {"2": 0.4, "note": "x"}, "ok": True}
    assert versions.numbers(told) == {"AP": 0.5, "per exit 2": 0.4}
