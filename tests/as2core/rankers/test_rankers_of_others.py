"""What other programs wrote ranks here: ONNX files with their tokenizers, and the files of runs."""

import gzip
import json
import shutil

import numpy as np
import pytest
from tiny_onnx import make_onnx
from transformers import AutoTokenizer

from as2core.cli import main
from as2core.commands.train import _load_teacher
from as2core.data import jsonl, qrels
from as2core.errors import BadSetting, DamagedModel, UnknownRanker, UnreadableFile
from as2core.evaluation.rankers import evaluate
from as2core.rankers.catalog import check, get, list_run_files
from as2core.training.settings import TrainSettings
from as2core.types import Candidate, Question

QUESTION = "when was the tower built ?"
TEXTS = ["the tower was completed in 1889 .", "iron", "", "the bridge is 300 metres long and the water is high . " * 12]
CANDIDATES = [Candidate(f"d{i}", t, label=int(i == 0)) for i, t in enumerate(TEXTS)]
SET = [Question("q 1", QUESTION, tuple(CANDIDATES)), Question("q2", "why ?", tuple(CANDIDATES[1:]))]


def sum_weights(tiny, weights, length=64):
    """What the file should say of each text, from transformers' own encoding."""
    tokenizer = AutoTokenizer.from_pretrained(tiny(), model_max_length=length)
    rows = tokenizer([QUESTION] * len(TEXTS), TEXTS, truncation=True)["input_ids"]
    assert max(map(len, rows)) == length  # one is cut
    return np.array([weights[row].sum(0) for row in rows])


@pytest.mark.parametrize("at", ["model.onnx", "onnx/model.onnx"])
def test_an_onnx_file_scores_pairs_as_its_tokenizer_encodes_them(at, tiny, tmp_path):
    weights = make_onnx(tmp_path, tiny, at=at)
    for spec in (f"onnx:model={tmp_path}", f"onnx:model={tmp_path / at}", str(tmp_path), str(tmp_path / at)):
        check(spec)
        ranker = get(spec)
        np.testing.assert_allclose(
            ranker.score(QUESTION, CANDIDATES), sum_weights(tiny, weights)[:, 0], rtol=1e-4, atol=1e-4
        )
    assert ranker.score(QUESTION, []).shape == (0,)
    np.testing.assert_allclose(
        get(f"{tmp_path}:max_length=32").score(QUESTION, CANDIDATES),
        sum_weights(tiny, weights, 32)[:, 0],
        rtol=1e-4,
        atol=1e-4,
    )


def test_an_onnx_file_takes_any_question_and_a_candidate_s_neighbours_do_not_matter(tiny, tmp_path):
    make_onnx(tmp_path, tiny)
    ranker = get(tmp_path)
    for question in ("", "   ", "tower " * 2000, "\u5854 \U0001f642"):
        together = ranker.score(question, CANDIDATES)
        assert together.dtype == np.float32 and np.isfinite(together).all()
        alone = np.concatenate([ranker.score(question, [c]) for c in CANDIDATES])
        np.testing.assert_allclose(together, alone, atol=1e-4)


def test_of_several_labels_one_answers_by_its_log_odds(tiny, tmp_path):
    weights = make_onnx(tmp_path / "two", tiny, labels=2)
    p = np.exp(sum_weights(tiny, weights).astype(np.float64))
    scores = get(f"onnx:model={tmp_path / 'two'}").score(QUESTION, CANDIDATES)
    np.testing.assert_allclose(scores, np.log(p[:, 1] / p[:, 0]), rtol=1e-4, atol=1e-3)
    weights = make_onnx(tmp_path / "three", tiny, labels=3)
    p = np.exp(sum_weights(tiny, weights).astype(np.float64))
    scores = get(f"onnx:model={tmp_path / 'three'},positive=0").score(QUESTION, CANDIDATES)
    np.testing.assert_allclose(scores, np.log(p[:, 0] / (p[:, 1] + p[:, 2])), rtol=1e-4, atol=1e-3)
    with pytest.raises(BadSetting, match="labels 0 to 2: say which one answers"):
        get(f"onnx:model={tmp_path / 'three'}").score(QUESTION, CANDIDATES)


def test_what_is_no_cross_encoder_with_a_tokenizer_is_said(tiny, tmp_path):
    make_onnx(tmp_path / "whole", tiny)
    for bad, message in (
        (tmp_path / "nothing", "holds no model.onnx"),
        (tmp_path / "whole" / "tokenizer.json", "holds no model.onnx"),
    ):
        with pytest.raises(DamagedModel, match=message):
            get(f"onnx:model={bad}")
    for spec, message in (("onnx:model=5", "5 holds no"), ("run:file=5", "file=5: there is no such file")):
        with pytest.raises((BadSetting, DamagedModel), match=message):
            get(spec)
    with pytest.raises(BadSetting, match="onnx needs model: write onnx:model="):
        get("onnx")
    with pytest.raises(BadSetting, match="give 8 tokens or more"):
        get(f"onnx:model={tmp_path / 'whole'},max_length=3")
    damaged = shutil.copytree(tmp_path / "whole", tmp_path / "damaged")
    (damaged / "model.onnx").write_bytes(b"\x08\x07nothing")
    with pytest.raises(DamagedModel, match=r"model\.onnx cannot be loaded"):
        get(damaged)
    (tmp_path / "whole" / "tokenizer.json").unlink()
    with pytest.raises(DamagedModel, match=r"no tokenizer\.json beside it"):
        get(tmp_path / "whole")
    make_onnx(tmp_path / "other", tiny, inputs=("input_ids", "attention_mask", "pixel_values"))
    with pytest.raises(DamagedModel, match="reads pixel_values"):
        get(tmp_path / "other")


def test_a_directory_that_has_weights_of_torch_too_is_taken_as_those(tiny, tmp_path):
    make_onnx(tmp_path / "both", tiny, at="onnx/model.onnx")
    shutil.copytree(tiny(), tmp_path / "both", dirs_exist_ok=True)
    assert get(tmp_path / "both").name == "classifier"
    assert get(f"onnx:model={tmp_path / 'both'}").name == "onnx"


def write_run(file, scores):
    file.write_text("".join(qrels.run_to_lines(SET, scores, tag="theirs")))
    return file


def test_a_run_ranks_as_it_was_written_by_its_path_or_its_setting(tmp_path):
    scores = {"q 1": np.array([0.25, -3.0, 7.5, 1.0]), "q2": np.array([1.0, 2.0, 3.0])}
    file = write_run(tmp_path / "their.run", scores)
    for spec in (str(file), f"run:file={file}"):
        check(spec)
        result = evaluate(get(spec), SET, setting="raw")
        assert {qid: s.tolist() for qid, s in result.scores.items()} == {q: s.tolist() for q, s in scores.items()}
    assert result.per_question["RR"] == {"q 1": pytest.approx(1 / 3), "q2": 0.0}


def test_a_run_is_a_first_stage_and_what_it_lacks_comes_last(tmp_path):
    file = tmp_path / "their.trec"
    file.write_text("q%201 Q0 d1 1 9.5 x\nq%201 Q0 d0 2 9.25 x\nq2 Q0 d3 1 1 x\n")
    result = evaluate(get(file), SET, setting="raw")
    assert result.scores["q 1"].tolist() == [9.25, 9.5, 8.25, 8.25]
    staged = evaluate(get(f"sequential:stages={file}@2+jaccard"), SET, setting="raw")
    assert staged.scores["q 1"].argmax() == 0 and set(np.argsort(-staged.scores["q 1"])[:2]) == {0, 1}


def test_a_run_of_other_questions_and_a_question_outside_the_set_are_refused(tmp_path):
    file = write_run(tmp_path / "a.run", {q.qid: np.arange(len(q.candidates)) for q in SET})
    with pytest.raises(BadSetting, match=r"a\.run ranks no candidate of question 'q9'"):
        evaluate(get(file), [Question("q9", "who ?", tuple(CANDIDATES))])
    with pytest.raises(BadSetting, match=r"a\.run is a run, which ranks the questions of one set alone"):
        get(file).score(QUESTION, CANDIDATES)
    twice = [SET[0], Question("q2", QUESTION, SET[1].candidates)]
    with pytest.raises(BadSetting, match="scores candidate 'd1' of 'when was the tower built \\?' twice"):
        evaluate(get(file), twice, setting="raw")
    (tmp_path / "b.run").write_text("q Q0 d\n")
    with pytest.raises(UnreadableFile, match=r"b\.run: line 1"):
        evaluate(get(tmp_path / "b.run"), SET)
    with pytest.raises(BadSetting, match="there is no such file"):
        get(f"run:file={tmp_path / 'none.run'}")
    with pytest.raises(UnknownRanker):
        get(tmp_path / "none.run")


def test_a_run_teaches_by_its_scores_for_the_sentences_of_a_question(tiny, tmp_path):
    titled = Question("q2", "why ?", (Candidate("d8", "it is iron", 1, title="Tower"), Candidate("d9", "no", 0)))
    questions = [SET[0], titled]
    file = tmp_path / "t.run"
    scores = {"q 1": np.array([4.0, 3.0, 2.0, 1.0]), "q2": np.array([-1.0, 5.0])}
    file.write_text("".join(qrels.run_to_lines(questions, scores, tag="t")))
    base = get(f"cascade:backbone={tiny()}")
    teach = _load_teacher(str(file), base, TrainSettings(distill=1.0), questions)
    assert teach(QUESTION, [TEXTS[3], TEXTS[0]]).tolist() == [1.0, 4.0]
    assert teach("why ?", ["no", "Tower: it is iron", "something else"]).tolist() == [5.0, -1.0, -2.0]


def test_as2_eval_takes_each_of_them(tiny, tmp_path, capsys):

    data = tmp_path / "set.jsonl"
    data.write_text(jsonl.dumps(SET))
    make_onnx(tmp_path / "bag", tiny)
    run = write_run(tmp_path / "their.run", {q.qid: -np.arange(len(q.candidates)) for q in SET})
    assert main(["eval", "bm25", str(run), str(tmp_path / "bag"), str(data), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [r["ranker"] for r in printed["rankers"]] == ["bm25", str(run), str(tmp_path / "bag")]
    assert printed["rankers"][1]["P@1"] == 1.0


def write_trec(file, rows):
    file.write_text("".join(f"{qid} Q0 {docid} {rank} {score} x\n" for qid, docid, rank, score in rows))
    return str(file)


def test_equal_scores_of_a_run_are_ordered_by_its_rank_column_then_by_its_lines(tmp_path):
    zeros = [("q%201", "d3", 1, 0), ("q%201", "d0", 4, 0), ("q%201", "d2", 2, 0), ("q%201", "d1", 3, 0)]
    result = evaluate(get(write_trec(tmp_path / "a.run", zeros)), SET[:1], setting="raw")
    assert np.argsort(-result.scores["q 1"]).tolist() == [3, 2, 1, 0]
    ranked_none = [("q%201", docid, "-", 1e9) for docid in ("d2", "d0", "d3")]  # where 1 makes no difference
    result = evaluate(get(write_trec(tmp_path / "b.run", ranked_none)), SET[:1], setting="raw")
    assert np.argsort(-result.scores["q 1"]).tolist() == [2, 0, 3, 1]
    near = [("q%201", "d1", 2, 0.5), ("q%201", "d0", 1, 0.5), ("q%201", "d2", 3, 0.25), ("q%201", "d3", 4, -2)]
    scores = evaluate(get(write_trec(tmp_path / "c.run", near)), SET[:1], setting="raw").scores["q 1"]
    assert scores.tolist() == [0.5, np.nextafter(np.float32(0.5), np.float32(0)), 0.25, -2]


def test_tied_scores_of_a_run_are_counted_and_told(tmp_path, capsys):

    data = tmp_path / "set.jsonl"
    data.write_text(jsonl.dumps(SET[:1]))
    rows = [("q%201", "d0", 1, 0.5), ("q%201", "d1", 2, 0.5), ("q%201", "d2", 3, 0.25), ("q%201", "d3", 4, 0)]
    run = write_trec(tmp_path / "tie.run", rows)
    assert main(["eval", run, str(data), "--json"]) == 0
    printed = capsys.readouterr()
    note = f"{run}: 2 tied scores are ordered by their rank in the run; trec_eval orders them by document id"
    assert note in printed.err and json.loads(printed.out)["notes"] == [note]


def test_a_run_says_how_many_questions_it_lacks_and_which_score_is_no_number(tmp_path):
    spec = write_trec(tmp_path / "a.run", [("q%201", "d0", 1, 3)])
    with pytest.raises(BadSetting, match=rf"no candidate of question '.+' \({len(SET) - 1} of {len(SET)} questions"):
        evaluate(get(spec), SET, setting="raw")
    spec = write_trec(tmp_path / "a.run", [("q%201", "d0", 1, "abc")])
    with pytest.raises(UnreadableFile, match=r"a\.run: line 1: the score 'abc' is not a number"):
        evaluate(get(spec), SET[:1], setting="raw")


def test_a_question_without_candidates_has_no_line_in_a_run(tmp_path):
    spec = write_trec(tmp_path / "a.run", [("q%201", f"d{i}", i, 9 - i) for i in range(1, 4)])
    done = evaluate(get(spec), [SET[0], Question("empty", "of nothing ?", ())], setting="raw")
    assert (done.questions, list(done.per_question["AP"])) == (2, [SET[0].qid])
    spec = write_trec(tmp_path / "none.run", [])
    assert evaluate(get(spec), [Question("empty", "of nothing ?", ())], setting="raw").questions == 1


def test_a_document_that_a_run_has_twice_is_named_with_its_line(tmp_path):
    spec = write_trec(tmp_path / "a.run", [("q%201", "d0", 1, 3), ("q%201", "d1", 2, 2), ("q%201", "d0", 3, 1)])
    with pytest.raises(UnreadableFile, match=r"a\.run: line 3: document 'd0' appears twice for question 'q 1'"):
        evaluate(get(spec), SET[:1])


def test_as2_eval_says_how_many_candidates_a_run_lacks(tmp_path, capsys):

    data = tmp_path / "set.jsonl"
    data.write_text(jsonl.dumps(SET[:1]))
    run = write_trec(tmp_path / "cut.run", [("q%201", "d1", 1, 3), ("q%201", "d2", 2, 2)])
    assert main(["eval", run, str(data)]) == 0
    printed = capsys.readouterr()
    note = "candidates that are not in the run and come last: 2; trec_eval counts them as not retrieved"
    assert f"{run}: {note}" in printed.err and "AP       0.333" in printed.out
    assert main(["eval", "bm25", str(data)]) == 0
    assert note not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["theirs.json", "theirs.csv", "theirs.tsv.gz", "theirs.run"])
def test_a_run_in_any_form_is_a_ranker_by_its_path(tmp_path, name):
    table = "qid,docno,score\n" + "".join(f"q 1,d{i},{score}\n" for i, score in enumerate([0.25, -3, 7.5, 1]))
    content = '{"q 1": {"d0": 0.25, "d1": -3, "d2": 7.5, "d3": 1}}' if name.endswith((".json", ".run")) else table
    (tmp_path / name).write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    scores = evaluate(get(tmp_path / name), SET[:1], setting="raw").scores["q 1"]
    assert scores.tolist() == [0.25, -3, 7.5, 1] and list_run_files(str(tmp_path / name)) == (tmp_path / name,)


def test_a_wrong_file_in_place_of_a_run_says_what_is_wrong_with_it(tmp_path):
    (tmp_path / "a.csv").write_text("question,sentence\nx,y\n")
    with pytest.raises(UnreadableFile, match=r"a\.csv: line 1: no ranking begins with 'question,sentence'; give"):
        evaluate(get(tmp_path / "a.csv"), SET[:1])


def test_the_runs_of_a_spec_are_found_in_its_parts(tmp_path):
    file = write_run(tmp_path / "a.run", {q.qid: np.arange(len(q.candidates)) for q in SET})
    spec = f"fusion:rankers=bm25+[sequential:stages=run:file={file}@2+jaccard]+{file}"
    assert list_run_files(spec) == (file,) and list_run_files("cascade:drop_ratio=0.5") == ()


@pytest.fixture
def part_of_set(tmp_path):
    """The two questions of the set, both with a correct and an incorrect candidate, and a run of the second."""
    data = tmp_path / "set.jsonl"
    data.write_text(jsonl.dumps(SET))
    return write_trec(tmp_path / "part.run", [("q2", c.id, 1, 9 - i) for i, c in enumerate(SET[1].candidates)]), data


def test_as2_eval_leaves_out_for_all_what_a_run_lacks_and_a_gate_takes_no_part_of_the_questions(
    part_of_set, tmp_path, capsys
):
    run, data = part_of_set
    assert main(["eval", "rr", run, f"sequential:stages={run}@1+rr", str(data), "--setting", "raw", "--json"]) == 0
    printed = capsys.readouterr()
    assert [r["questions"] for r in json.loads(printed.out)["rankers"]] == [1, 1, 1]
    note = f"{run} has no candidate of 1 of the 2 questions, such as “{SET[0].text}”: it is left out for every ranker."
    assert printed.err.count(note) == 1 and any(n.startswith(note) for n in json.loads(printed.out)["notes"])
    gate = tmp_path / "gate.toml"
    gate.write_text('[[require]]\nmeasure = "AP"\nat_least = 0.1\n')
    assert main(["eval", run, str(data), "--setting", "raw", "--gate", str(gate)]) == 1
    assert "A gate is checked on all questions: rank them, or leave --gate out" in capsys.readouterr().err


def test_a_run_of_other_questions_fails_alone_in_as2_eval(part_of_set, tmp_path, capsys):
    _, data = part_of_set
    other = write_trec(tmp_path / "other.run", [("q7", "z", 1, 9)])
    assert main(["eval", "rr", other, str(data), "--setting", "raw"]) == 1
    printed = capsys.readouterr()
    assert f"{other} failed: other.run ranks no candidate of question" in printed.err
    assert "its ids are like 'q7' and 'z'" in printed.err and "2 questions" in printed.out


def test_as2_decide_takes_the_questions_that_both_runs_have(part_of_set, capsys):
    run, data = part_of_set
    assert main(["decide", run, "rr", str(data), "--simulate", "--json"]) == 0
    printed = capsys.readouterr()
    assert "has no candidate of 1 of the 2 questions" in printed.err and json.loads(printed.out)["questions"] == 1
