"""The library's commands: their results against hand counts and against pytrec_eval."""

from __future__ import annotations

import json
import math
import os
import threading

import pytest

from as2core import cli, lookup


@pytest.fixture
def questions(tmp_path):
    """Two good questions, one without a correct candidate, one with nothing else, to be counted by hand."""

    def record(qid, question, *candidates):
        rows = [{"id": f"{qid}-{i}", "text": t, "label": label} for i, (t, label) in enumerate(candidates)]
        return json.dumps({"qid": qid, "question": question, "candidates": rows})

    path = tmp_path / "questions.jsonl"
    lines = [
        record("tower", "built tower paris", ("bread", 0), ("paris", 1), ("tower built paris", 0), ("rain", 0)),
        record("river", "long river", ("long river", 1), ("river", 0), ("snow", 1)),
        record("none", "deep sea", ("deep", 0), ("sea", 0)),
        record("all", "high hill", ("high", 1), ("hill", 1)),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_shared_words_decide_the_order_and_the_earlier_line_their_ties(as2_json, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text("bread\nthe paris metro\nrain\nparis tower\n")
    document = as2_json("rank", "built tower paris", "--candidates", texts, "--ranker", "wo-rr")
    assert [(r["rank"], r["id"], r["corpus_id"], r["score"]) for r in document["results"]] == [
        (1, "3", 3, 2.125),
        (2, "1", 1, 1.25),
        (3, "0", 0, 0.5),
        (4, "2", 2, pytest.approx(1 / 6)),
    ]
    assert document["question"] == "built tower paris" and document["ranker"] == "wo-rr"


def test_top_n_cuts_the_list_and_ids_come_from_the_file(as2_json, tmp_path):
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"id": "a7", "text": "rain"}\n"paris"\n{"id": null, "text": "paris tower"}\n')
    document = as2_json("rank", "tower paris", "--candidates", texts, "--ranker", "wo", "--top-n", "2")
    assert [(r["id"], r["text"]) for r in document["results"]] == [("2", "paris tower"), ("1", "paris")]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", "\n \n", "no candidates"),
        ("a.jsonl", '{"text": "fine"}\n{"txt": "not"}\n', 'line 2: "text" is missing'),
        ("a.jsonl", '{"text": "fine"\n', "line 1: not JSON"),
        ("a.jsonl", '{"x": ' + "[" * 100_000, "line 1: not JSON"),
        ("a.jsonl", '{"text": 7}\n', 'line 1: "text" is missing'),
        ("a.txt", '{"text": "fine"}\n{"text": "broken\n', "line 2: not JSON"),
        ("a.txt", 'fine\n{"text": "fine"}\n', "line 1: not JSON"),
    ],
)
def test_candidates_that_cannot_be_read_are_told_by_line(capsys, tmp_path, name, content, reason):
    (tmp_path / name).write_text(content)
    assert cli.main(["rank", "Why?", "--candidates", str(tmp_path / name), "--ranker", "wo"]) == 1
    err = capsys.readouterr().err
    assert reason in err and name in err


def test_a_brace_or_a_quotation_mark_makes_no_plain_text_json(as2_json, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text('{tower} paris\n"Why?" she asked.\nrain\n')
    results = as2_json("rank", "tower paris", "--candidates", texts, "--ranker", "wo")["results"]
    assert (results[0]["id"], results[0]["text"], len(results)) == ("0", "{tower} paris", 3)


def test_no_text_gets_the_id_of_another(as2_json, tmp_path):
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"id": 1, "text": "rain"}\n{"text": "paris"}\n{"text": "tower"}\n')
    results = as2_json("rank", "tower paris", "--candidates", texts, "--ranker", "rr")["results"]
    assert [r["id"] for r in results] == ["1", "1~", "2"]


def test_eval_gives_the_figures_counted_by_hand(as2_json, questions):
    # tower: the only correct one stands second: AP 1/2. river: first and last of three: (1 + 2/3) / 2 = 5/6.
    document = as2_json("eval", "wo", questions)
    assert document["AP"] == pytest.approx((1 / 2 + 5 / 6) / 2)
    assert document["RR"] == pytest.approx((1 / 2 + 1) / 2)
    assert document["P@1"] == pytest.approx(1 / 2)
    ideal = 1 + 1 / math.log2(3)
    assert document["nDCG@10"] == pytest.approx((1 / math.log2(3) + (1 + 1 / math.log2(4)) / ideal) / 2)
    assert {k: document[k] for k in ("ranker", "setting", "questions", "relative_cost")} == {
        "ranker": "wo",
        "setting": "clean",
        "questions": 2,
        "relative_cost": None,
    }
    assert document["data"] == str(questions) and document["version"] and document["seconds"] >= 0


@pytest.mark.parametrize(("setting", "count"), [("raw", 4), ("no-all-neg", 3), ("clean", 2)])
def test_the_setting_decides_which_questions_count(as2_json, questions, setting, count):
    assert as2_json("eval", "rr", questions, "--setting", setting)["questions"] == count


def test_eval_reads_questions_with_the_synonyms_of_a_file(as2_json, tmp_path):
    said, meant = {"id": "a", "text": "The whale.", "label": 0}, {"id": "b", "text": "A belt of VX-90.", "label": 1}
    question = {"qid": "q", "question": "whale", "candidates": [said, meant]}
    (tmp_path / "q.jsonl").write_text(json.dumps(question) + "\n")
    (tmp_path / "house.txt").write_text("whale => VX-90")
    assert as2_json("eval", "wo", tmp_path / "q.jsonl")["AP"] == 0.5
    document = as2_json("eval", "wo", tmp_path / "q.jsonl", "--synonyms", tmp_path / "house.txt")
    assert (document["AP"], document["synonyms"]) == (1.0, "house.txt")


def test_limit_takes_the_first_of_the_questions_that_count(as2_json, questions):
    assert as2_json("eval", "wo", questions, "--limit", "1")["AP"] == pytest.approx(1 / 2)


@pytest.mark.parametrize("ranker", ["rr", "wo", "jaccard", "bm25"])
@pytest.mark.parametrize("data", ["starter-dev", "questions"])
def test_eval_agrees_with_pytrec_eval_on_the_files_it_writes(as2_json, questions, tmp_path, ranker, data):
    import pytrec_eval

    data = questions if data == "questions" else data
    run_file, qrels_file = tmp_path / "run.txt", tmp_path / "qrels.txt"
    document = as2_json("eval", ranker, data, "--setting", "raw", "--run", run_file, "--qrels", qrels_file)
    qrels = pytrec_eval.parse_qrel(qrels_file.open())
    run = pytrec_eval.parse_run(run_file.open())
    found = pytrec_eval.RelevanceEvaluator(qrels, {"map", "recip_rank", "P_1", "ndcg_cut_10"}).evaluate(run)
    assert len(found) == document["questions"] > 1
    for ours, theirs in (("AP", "map"), ("RR", "recip_rank"), ("P@1", "P_1"), ("nDCG@10", "ndcg_cut_10")):
        mean = sum(q[theirs] for q in found.values()) / len(found)
        assert document[ours] == pytest.approx(mean, abs=1e-6), ours


def test_data_without_a_question_left_says_what_to_try(capsys, tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text('{"qid": "1", "question": "Why?", "candidates": [{"id": "a", "text": "So.", "label": 0}]}\n')
    assert cli.main(["eval", "wo", str(path)]) == 1
    assert "--setting raw" in capsys.readouterr().err


def test_a_line_that_is_no_question_is_told_and_the_others_count(capsys, questions):
    questions.write_text(questions.read_text() + "not json\n")
    assert cli.main(["eval", "wo", str(questions), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["questions"] == 2
    assert "1 line left out" in err and "line 5" in err


def test_rankers_lists_every_technique_with_its_paper_its_settings_and_whether_it_trains(as2_json):
    listed = {r["name"]: r for r in as2_json("rankers")["rankers"]}
    names = "rr wo wo-rr jaccard bm25 bi-encoder rel-cnn cosinet compare-aggregate cross-encoder sequential cascade"
    assert set(listed) >= {*names.split(), "generative", "fusion"}
    assert listed["bm25"]["settings"] == {"k1": 1.2, "b": 0.75} and not listed["bm25"]["trains"]
    assert listed["cascade"]["trains"] and listed["cascade"]["paper"] == "Soldaini and Moschitti 2020"
    assert listed["sequential"]["settings"] == {"stages": "jaccard@100+cascade"}
    assert all(r["paper"] and r["what"] for r in listed.values())


def test_a_version_is_found_by_the_name_its_home_gives_it(monkeypatch, tmp_path):
    version = tmp_path / "tuned"
    version.mkdir()
    (version / "card.json").write_text('{"name": "tuned", "sha256": "ab12"}')
    monkeypatch.setattr(lookup, "list_versions", lambda: {"tuned": version})
    assert lookup.cite("tuned") == lookup.cite(str(version)) == {"version": "tuned", "weights": "ab12"}
    assert lookup.cite("bm25") == {"version": f"as2core {lookup.__version__}", "weights": None}


def test_a_version_is_cited_by_its_name_here_and_not_by_its_folder_s(monkeypatch, tmp_path):
    folder = tmp_path / "manuals-job-3"
    folder.mkdir()
    (folder / "card.json").write_text('{"name": "manuals-job-3", "sha256": "ab12"}')
    monkeypatch.setattr(lookup, "list_versions", lambda: {lookup.ACTIVE: folder, "manuals-1": folder})
    for spec in ("manuals-1", "manuals-1:drop_ratio=0", lookup.ACTIVE, str(folder)):
        assert lookup.cite(spec) == {"version": "manuals-1", "weights": "ab12"}
    monkeypatch.setattr(lookup, "list_versions", lambda: {lookup.ACTIVE: folder})
    assert lookup.cite(lookup.ACTIVE)["version"] == "manuals-job-3"


def test_transfer_lists_its_recipes(as2_json):
    assert {"default", "tiny"} <= {r["recipe"] for r in as2_json("transfer", "--list")["recipes"]}


@pytest.mark.parametrize(
    ("stage", "stages"),
    [(None, ("generative", "cascade")), ("cascade", ("cascade",)), ("generative", ("generative",))],
)
def test_transfer_runs_the_stages_asked_for_and_gives_the_cards_of_what_was_made(
    as2_json, monkeypatch, tmp_path, stage, stages
):
    from as2core.training import recipe_run

    def run_recipe(name, data_dir, out, *, stages, on_event, on_progress):
        asked.append((name, data_dir, stages))
        on_event({"kind": "eval", "step": 1, "steps": 1, "dev_ap": {"6": 0.5}})
        for stage in stages:
            (out / stage).mkdir(parents=True)
            (out / stage / "card.json").write_text(json.dumps({"name": stage}))
        return [out / stage for stage in stages]

    asked = []
    monkeypatch.setattr(recipe_run, "run_recipe", run_recipe)
    given = ["--stage", stage] if stage else []
    document = as2_json("transfer", "--data-dir", tmp_path, "--recipe", "tiny", "--out", tmp_path / "out", *given)
    assert asked == [("tiny", tmp_path, stages)]
    assert document["recipe"] == "tiny"
    assert [v["card"]["name"] for v in document["versions"]] == list(stages)


@pytest.mark.parametrize(
    ("spec", "trained"),
    [
        ("cascade", True),
        ("cascade:drop_ratio=0", True),
        ("cross-encoder", True),
        ("cross-encoder:pool=mean", True),
        ("cross-encoder:pool=cls", False),
        ("cross-encoder:backbone=somewhere", False),
        ("generative:backbone=somewhere", False),
        ("bm25", False),
    ],
)
def test_only_a_shipped_model_is_cited_by_its_weights(spec, trained):
    told = lookup.cite(spec)
    assert (told["weights"] is not None, told["version"].startswith("as2core ")) == (trained, not trained)


def test_an_empty_question_is_refused(as2, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text("rain\n")
    code, _, err = as2("rank", " ", "--candidates", texts, "--ranker", "wo")
    assert code == 1 and "the question is empty" in err


def test_a_pipe_holds_candidates_but_no_questions(as2, as2_json, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code, _, err = as2("eval", "wo", pipe)
    assert code == 1 and "write it to a file first" in err
    writer = threading.Thread(target=pipe.write_text, args=("rain\nparis\n",), daemon=True)
    writer.start()
    document = as2_json("rank", "paris", "--candidates", pipe, "--ranker", "wo")
    writer.join(10)
    assert [r["text"] for r in document["results"]] == ["paris", "rain"]


@pytest.mark.parametrize(("name", "message"), [("empty", "holds no config.json"), ("old.run", "there is no run file")])
def test_a_ranker_that_is_a_path_is_missed_as_one(as2, questions, tmp_path, name, message):
    (tmp_path / "empty").mkdir()
    code, _, err = as2("eval", tmp_path / name, questions)
    assert code == 1 and message in err and "known:" not in err


@pytest.mark.parametrize("spec", ["cascade:drop_ratio=0.5", "sequential:stages=bm25@20+cascade"])
def test_a_shipped_model_was_trained_on_the_train_questions_and_not_on_the_test_ones(spec):
    train, test = ([q.text for q in lookup.read_questions(f"starter-{part}")] for part in ("train", "test"))
    [note] = lookup.note_trained_on(spec, [*train[:3], *test])
    assert f"was trained on 3 of these {3 + len(test)} questions" in note
    assert lookup.note_trained_on(spec, test) == lookup.note_trained_on("bm25", train) == []
    assert lookup.note_trained_on("cross-encoder:pool=cls", train) == []  # untrained


@pytest.mark.parametrize("card", ["card.json", "as2_card.json"])
def test_a_version_and_its_export_tell_what_they_were_trained_on(tmp_path, card):
    (tmp_path / card).write_text(json.dumps({"trained_on": ["Why?"]}))
    [note] = lookup.note_trained_on(str(tmp_path), ["Why?", "How?"])
    assert note.startswith(f"{tmp_path} was trained on 1 of these 2 questions, so its figures here are too high")
    (tmp_path / card).write_text(json.dumps({"trained_on": ["Why?"], "validated_on": ["Why?", "How?"]}))
    _, note = lookup.note_trained_on(str(tmp_path), ["Why?", "How?", "When?"])
    assert note.startswith(f"{tmp_path} was validated on 1 of these 3 questions: they chose when its training ended")
    (tmp_path / card).write_text("[]")
    assert lookup.note_trained_on(str(tmp_path), ["Why?"]) == []


def test_short_lists_bring_a_note_that_the_figures_are_too_high(as2_json, questions):
    [note] = as2_json("eval", "rr", questions)["notes"]
    assert "only 3.5 candidates a question" in note and "all figures are too high" in note


def test_data_whose_labels_are_too_few_for_the_setting_says_so(capsys, tmp_path):
    path = tmp_path / "unl.jsonl"
    rows = [{"id": "a", "text": "So.", "label": 1}, {"id": "b", "text": "No."}]
    path.write_text(json.dumps({"qid": "1", "question": "Why?", "candidates": rows}) + "\n")
    assert cli.main(["eval", "wo", str(path)]) == 1
    err = capsys.readouterr().err
    assert "takes a candidate labelled correct and one labelled incorrect: 1 question lack" in err
    assert "--setting raw" in err and cli.main(["eval", "wo", str(path), "--setting", "raw"]) == 0
    path.write_text('{"qid": "1", "question": "Why?", "candidates": [{"id": 1}]}\n')
    assert cli.main(["eval", "wo", str(path)]) == 1
    assert "holds no question that can be read" in capsys.readouterr().err
