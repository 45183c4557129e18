"""What is compared: versions, directories, runs, rankers elsewhere, what they were trained on, and what is refused."""

import numpy as np
import pytest
from comparison_runs import run_comparison
from fake_models import write_version
from fake_reranker import listening, rank_by_length
from thing_questions import QUESTIONS

from app.compare import comparison_job, question_sets
from app.compare.rankers import list_rankers
from app.compare.sweeps import parse_ratio
from app.corpora import corpora
from app.versions import evaluations
from app.workbench import people
from app.workbench.people import NotAllowed
from as2core.data import jsonl, qrels
from as2core.errors import As2Error, BadSetting, UnknownData, UnknownRanker, UnreadableFile, UnsupportedBackbone
from db.repositories import versions as rows


def test_versions_are_compared_beside_techniques_and_count_their_cost(wb, data):
    view = run_comparison(wb, ["active", "bm25"], data)
    assert [r.ranker for r in view.results] == ["cascade", "bm25"]
    assert 0 < view.results[0].relative_cost < 1


def test_a_version_takes_settings_as_the_catalog_does(wb, data, tmp_path):
    trained = write_version(tmp_path / "trained")
    specs = [f"{trained}:drop_ratio=0", f"{trained}:drop_ratio=0.6", "active:drop_ratio=0.6"]
    full, half, answering = run_comparison(wb, specs, data).results
    assert half.relative_cost < full.relative_cost
    assert answering.ranker == "cascade:drop_ratio=0.6"
    assert evaluations.hash_ranker(wb, specs[-1]) != evaluations.hash_ranker(wb, str(trained))


def test_a_directory_that_a_training_wrote_is_compared_and_scored_anew_when_it_changes(wb, data, models, tmp_path):
    trained = write_version(tmp_path / "trained")
    view = run_comparison(wb, ["rr", str(trained)], data)
    assert [r.ranker for r in view.results] == ["rr", str(trained)]
    assert models.loaded == ["trained"]
    before = evaluations.hash_ranker(wb, str(trained))
    (trained / "card.json").write_text('{"name": "trained", "sha256": "another"}')
    assert evaluations.hash_ranker(wb, str(trained)) != before


def test_a_ranker_nobody_trained_says_that_its_order_is_chance(wb, data):
    inside = "sequential:stages=wo@3+[fusion:rankers=wo+rel-cnn:hidden=4]"
    view = run_comparison(wb, ["rr", "cosinet:listwise,context=birnn,hidden=4", inside], data)
    assert [note.partition(" has not been trained")[0] for note in view.notes if "as2 train" in note] == [
        "cosinet:listwise,context=birnn,hidden=4: cosinet",
        f"{inside}: rel-cnn",
    ]


def test_a_version_with_several_settings_says_once_what_it_learnt_from(wb, data):
    jsonl.write(QUESTIONS[:3], wb.settings.corpora_dir / "starter" / "train.jsonl")
    view = run_comparison(wb, ["cascade:drop_ratio=0.3", "active:drop_ratio=0.5", "bm25"], data)
    [told] = [note for note in view.notes if "was trained on" in note]
    assert view.trained_on == {"cascade:drop_ratio=0.3": 3, "cascade:drop_ratio=0.5": 3}
    assert told.startswith("cascade was trained on 3 of these 6") and "as2 versions show 'cascade'" in told


def test_a_version_that_learnt_from_the_questions_says_from_how_many(wb, data):
    learnt = [QUESTIONS[1].text, QUESTIONS[4].text, "What does nobody ask?"]
    for name, trained_on in (("tuned", learnt), ("elsewhere", ["What does nobody ask?"])):
        path = write_version(wb.settings.versions_dir / name, trained_on=trained_on)
        with wb.write() as s:
            rows.add_version(s, name, kind="cascade", path=str(path), state="candidate", now=wb.clock())
    for _ in range(2):  # the second time from what is stored
        [note] = [n for n in run_comparison(wb, ["tuned", "elsewhere", "bm25"], data).notes if "was trained on" in n]
        assert note.startswith("tuned was trained on 2 of these 6 questions")
        assert "held-out" in note


def test_a_shipped_model_says_that_it_learnt_from_the_starter_corpus_s_train_part(wb, data):
    jsonl.write(QUESTIONS[:3], wb.settings.corpora_dir / "starter" / "train.jsonl")
    asked = ["cascade", "cross-encoder", "sequential:stages=bm25@3+cascade", "bm25"]
    notes = [n for n in run_comparison(wb, asked, data).notes if "was trained on" in n]
    assert [n.partition(" was trained on 3 of these 6")[0] for n in notes] == asked[:3]


def test_a_ranker_that_cannot_be_loaded_is_left_out_and_said(wb, data, models):
    from as2core.errors import DamagedModel

    load_spec = models.load_spec

    def damaged(spec):
        if spec == "bi-encoder":
            raise DamagedModel("the backbone is damaged: install it again")
        return load_spec(spec)

    models.load_spec = damaged
    view = run_comparison(wb, ["rr", "bi-encoder"], data)
    assert [r.ranker for r in view.results] == ["rr"]
    assert "bi-encoder was left out: the backbone is damaged: install it again" in view.notes


def test_what_there_is_to_compare_is_listed(wb, data):
    assert set(list_rankers(wb)) >= {"rr", "bm25", "bi-encoder", "cascade", "generative"}
    assert question_sets.list_datasets(wb) == [data]


def test_a_run_that_another_program_wrote_is_compared_and_read_anew_when_it_changes(wb, data, tmp_path):
    questions = question_sets.load_questions(wb, data)
    file = tmp_path / "their.run"
    for best, p1 in ((1, 1.0), (2, 0.0)):
        scores = {q.qid: np.eye(4)[best] for q in questions}
        file.write_text("".join(qrels.run_to_lines(questions, scores, tag="theirs")) + "\n" * best)
        view = run_comparison(wb, ["rr", str(file), f"sequential:stages={file}@1+rr"], data)
        assert [r.figures["P@1"].value for r in view.results] == [0.0, p1, p1]
    file.write_text("other Q0 tower-1 1 2.0 x\n")
    with pytest.raises(BadSetting, match=r"their\.run has no candidate of these 6 questions"):
        comparison_job.start_compare(wb, ["rr", f"run:file={file}"], data)


def test_questions_that_a_run_of_the_machine_lacks_are_left_out_for_all_as_those_of_an_uploaded_one(wb, data, tmp_path):
    file = tmp_path / "their.run"
    file.write_text(
        "".join(f"{q.qid} Q0 {q.candidates[1].id} 1 1 t\n" for q in question_sets.load_questions(wb, data)[1:])
    )
    view = run_comparison(wb, ["rr", f"sequential:stages=run:file={file}@1+rr"], data)
    assert view.questions == 5 and "their.run has no candidate of 1 of the 6 questions" in view.notes[0]


def test_a_reranker_behind_an_address_is_asked_in_each_comparison_said_and_not_timed(wb, data):
    bodies = []
    with listening(lambda handler, body: bodies.append(body) or rank_by_length(handler, body)) as url:
        for _ in range(2):
            view = run_comparison(wb, ["rr", f"http:url={url}"], data)
    assert len(bodies) == 2 * len(QUESTIONS)
    host = url.split("/")[2]
    assert f"http:url={url}: Questions and sentences are sent to {host}: they leave this machine." in view.notes
    rr, theirs = view.results
    assert theirs.figures["P@1"].value == 1.0  # the correct sentence is the longest
    assert rr.seconds is not None and theirs.seconds is None
    assert f"http:url={url} was left out: {host} cannot be reached" in str(
        run_comparison(wb, ["rr", f"http:url={url}"], data).notes
    )


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ((["http"], "labels:things"), BadSetting, "http needs url"),
        ((["http:url=nowhere"], "labels:things"), BadSetting, "is no address"),
        ((["nothing-like-it"], "labels:things"), UnknownRanker, "bm25"),
        ((["bm25:k9=1"], "labels:things"), BadSetting, "k1, b"),
        ((["sequential:stages=wo@2+bm52"], "labels:things"), UnknownRanker, "no ranker 'bm52'"),
        ((["active:k1=2"], "labels:things"), BadSetting, "drop_ratio, keep"),
        ((["generative:drop_ratio=0.5"], "labels:things"), BadSetting, "has no setting"),
        (([], "labels:things"), BadSetting, "choose"),
        ((["rr"], "labels:nowhere"), As2Error, "things"),
        ((["rr"], "no-such-file.jsonl"), UnknownData, "no-such-file"),
        ((["rr"], "labels:things", "spotless"), BadSetting, "clean"),
        ((["rr"], "labels:things", "clean", 0), BadSetting, "at least 1"),
    ],
)
def test_what_cannot_be_compared_is_said_before_the_start(wb, data, arguments, error, said):
    with pytest.raises(error, match=said):
        comparison_job.start_compare(wb, *arguments)


@pytest.mark.parametrize(
    "outside",
    [
        {"rankers": ["bm25", "/etc"]},
        {"rankers": ["../versions/mine"]},
        {"rankers": ["~/models"]},
        {"rankers": ["classifier:model=org/name"]},
        {"rankers": ["http:url=https://example.org/"]},
        {"rankers": ["onnx:model=/srv/other"]},
        {"rankers": ["run:file=/srv/their.run"]},
        {"rankers": ["sequential:stages=bm25@20+/srv/other"]},
        {"rankers": ["docs"]},
        {"rankers": ["onnx:model=docs"]},
        {"rankers": ["classifier:model=name"]},
        {"rankers": ["bi-encoder:backbone=name"]},
        {"rankers": ["cosinet:vectors=words.txt"]},
        {"rankers": ["sequential:stages=bm25@20+docs"]},
        {"rankers": ["fusion:rankers=bm25+[sequential:stages=onnx:model=docs+rr]"]},
        {"data": "constraints.txt"},
        {"data": "/etc/passwd"},
    ],
)
def test_only_an_admin_has_the_server_read_other_folders_or_ask_the_hub(wb, data, outside, monkeypatch, tmp_path):
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path)
    ann, bob = people.sign_in(wb, "ann"), people.sign_in(wb, "bob")
    arguments = {"rankers": ["bm25", "rr"], "data": data} | outside
    with pytest.raises(NotAllowed, match="bob is an annotator, and this takes an admin"):
        comparison_job.start_compare(wb, **arguments, by=bob.id)
    with pytest.raises((UnknownRanker, UnknownData, BadSetting, UnreadableFile, UnsupportedBackbone)):
        comparison_job.start_compare(wb, **{**arguments, "rankers": ["/etc"]}, by=ann.id)  # asked, and there is none
    assert comparison_job.start_compare(wb, ["bm25", "rr"], data, by=bob.id).kind == "compare"


def test_who_is_no_admin_reads_that_a_corpus_has_no_labels_yet(wb, data):
    people.sign_in(wb, "ann")
    bob, empty = people.sign_in(wb, "bob"), corpora.create_corpus(wb, "empty")
    with pytest.raises(UnknownData, match="label more"):
        comparison_job.start_compare(wb, ["bm25", "rr"], f"labels:{empty.name}", by=bob.id)


def test_a_ratio_of_many_digits_is_read_or_refused_at_once():
    assert parse_ratio("cascade:drop_ratio=.25") == ("cascade", 0.25)
    assert parse_ratio("cascade:drop_ratio=" + "0" * 200_000) == ("cascade", 0.0)
    assert parse_ratio("cascade:drop_ratio=" + "0" * 200_000 + "x") is None
