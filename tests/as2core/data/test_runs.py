"""Runs in each form that other programs write, and how a wrong one is told."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest

from as2core.data.catalog import sniff
from as2core.data.run_matching import describe_match, keep_common, match_run
from as2core.data.runs import is_run, read_run_and_ties, read_run_scores
from as2core.errors import BadSetting, UnreadableFile
from as2core.types import Candidate, Question

SCORES = {"q1": {"a": 2.5, "b": -1.0}, "q 2": {"a": 0.25}}
TREC = b"q1 Q0 a 1 2.5 t\nq1 Q0 b 2 -1 t\nq%202 Q0 a 1 0.25 t\n"
JSON = b'{"q1": {"a": 2.5, "b": -1},\n "q 2": {"a": 0.25}}'
FRAME = pd.DataFrame([(qid, docid, score) for qid, row in SCORES.items() for docid, score in row.items()])
PYTERRIER = FRAME.set_axis(["qid", "docno", "score"], axis=1).assign(docid=7, rank=[0, 1, 0], query="what, is")


def write_csv(columns, **how):
    return FRAME.set_axis(columns, axis=1).to_csv(**how).encode()


@pytest.mark.parametrize(
    "content",
    [
        TREC,
        JSON,
        JSON.replace(b"{", b'{"no hits": {}, ', 1),
        write_csv(["qid", "docno", "score"], index=False),
        write_csv(["q_id", "doc_id", "score"]),  # with the index of pandas
        write_csv(["Question ID", "Candidate ID", "Score"], index=False, sep="\t"),
        b"sep=;\n" + write_csv(["query-id", "corpus-id", "score"], index=False, sep=";", decimal=","),
        PYTERRIER.to_csv().encode("utf-8-sig"),  # its docid is a number of the index
        PYTERRIER.to_csv().replace("0.25", "").encode() + b'3,q 2,a,0.25,7,0,"two\nlines"\n',
    ],
)
def test_the_same_run_is_read_in_each_form_by_its_content_gzipped_or_not(content, tmp_path):
    for packed in (content, gzip.compress(content)):
        assert {qid: row for qid, row in read_run_scores(packed).items() if row} == SCORES
        assert sniff(packed) == "run" and is_run(packed)
    (tmp_path / "x.json").write_bytes(content)
    assert {qid: row for qid, row in read_run_scores(tmp_path / "x.json").items() if row} == SCORES


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"q1": {"a": "high"}}', "question 'q1', candidate 'a': the score \"high\" is not a number"),
        (b'{"q1": {"a": true}}', "question 'q1', candidate 'a': the score true is not a number"),
        (b'{"q1": {"a": NaN}}', "question 'q1', candidate 'a': the score NaN is not a number"),
        (b'{"q1": {"a": 1' + b"0" * 400 + b"}}", "question 'q1', candidate 'a': the score 1000.* is not a number"),
        (b'{"q1": ["a", "b"]}', "question 'q1' has .* instead of its candidates"),
        (b'{"q1": {"a": 1.5, "a": 2.5}}', "'a' appears twice"),
        (b'{"q1": {"a": 1.5},', r"not JSON of \{question: \{candidate: score\}\} \(the JSON ends"),
        (b'{"q1": {"a": 1}, "q2": {"b": 1}}', r"look like labels \(qrels\)"),
        (b"qid,docno,score\nq1,a,high\n", "line 2: the score 'high' is not a number"),
        (b"qid,docno,score\nq1,a,inf\n", "line 2: the score inf is not a finite number"),
        (b"qid,docno,score\nq1,a,1\nq1,a,2\n", "line 3: document 'a' appears twice for question 'q1'"),
        (b"qid,docno,score\nq1,a\n", "line 2: 2 fields, and the header has at least 3"),
        (b"qid,docno,score\n,a,1\n", "line 2: the question has no id"),
        (b"qid,docno,rank\nq1,a,1\n", r"no column for the score \(score\): add it"),
        (b"query,docno,score\nhow,a,1\n", r"no column for the question's id \(qid\)"),
        (b"q1 0 a 1\n", "line 1: it looks like qrels"),
        (b"q1\ta\t0.5\n", "line 1: no ranking begins with .*; give lines of qid Q0 docid rank score tag .*ranx"),
        ("qid,docno,score\nq1,a,1\n".encode("utf-16"), "line 1: it is not UTF-8 text"),
        (b"\x04\x22\x4d\x18\x40", r"it is LZ4: save it as JSON, in ranx with run\.save\('name\.json'\)"),
        (b"PAR1\x15\x04", "it is Parquet: save it as JSON"),
    ],
)
def test_a_wrong_run_is_told_with_its_line_or_key(content, reason):
    with pytest.raises(UnreadableFile, match=f"^the data given: .*{reason}"):
        read_run_scores(content)


def test_what_is_wrong_with_a_line_of_a_trec_run_names_its_columns_once():
    with pytest.raises(UnreadableFile) as caught:
        read_run_scores(b"q Q0 a 1 0.5 t\nq Q0 b 2\n")
    assert str(caught.value).count("docid") == 1


def test_whole_numbers_are_scores_where_no_two_are_alike_or_one_is_no_label():
    assert read_run_scores(b'{"q": {"a": 3, "b": 2, "c": 1}}') == {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    assert read_run_scores(b'{"q": {"a": 9, "b": 9}}') == {"q": {"a": 9.0, "b": 9.0}}


def test_a_rank_that_pandas_wrote_with_a_decimal_point_orders_equal_scores_too():
    question = Question("q", "what", tuple(Candidate(docid, docid) for docid in "abc"))
    frame = pd.DataFrame({"qid": "q", "docno": list("abc"), "score": 1.0, "rank": [2.0, 0.0, 1.0]})
    scores, _ = read_run_and_ties(frame.to_csv(index=False).encode(), [question])
    assert np.argsort(-scores["q"]).tolist() == [1, 2, 0]


def test_equal_scores_of_a_table_go_by_its_rank_and_those_of_json_by_their_order():
    question = Question("q", "", tuple(Candidate(docid, "") for docid in "abc"))
    for content in (b"qid,docno,score,rank\nq,a,1,2\nq,b,1,0\nq,c,1,1\n", b'{"q": {"b": 7.0, "c": 7.0, "a": 7.0}}'):
        scores, ties = read_run_and_ties(content, [question])
        assert [*np.argsort(-scores["q"])] == [1, 2, 0] and ties == 3


def test_labels_as_files_of_other_formats_are_no_runs():
    for content in (
        b"question,sentence,label,score\nx,y,correct,0.5\n",
        b'{"qid": "q", "candidates": []}\n',
        b"q 0 a 1\n",
    ):
        assert sniff(content) != "run"
    with pytest.raises(UnreadableFile):
        read_run_scores(io.BytesIO(b'{"data": {"text": "x"}}\n').getvalue())


def test_questions_that_one_of_several_runs_lacks_are_left_out_and_each_run_says_how_many_of_how_many():
    questions = [Question(f"q{i}", f"what {i}", (Candidate("a", ""), Candidate("b", ""))) for i in range(4)]
    questions.append(Question("bare", "without candidates"))
    matches = {
        name: match_run("".join(f"{qid} Q0 a 1 1 t\n" for qid in qids).encode(), questions)
        for name, qids in (
            ("one", ["q0", "q1", "q2"]),
            ("two", ["q1", "q2", "q3"]),
            ("whole", ["q0", "q1", "q2", "q3"]),
        )
    }
    common, notes = keep_common(matches, questions)
    assert [q.qid for q in common] == ["q1", "q2", "bare"]
    assert [note.partition(",")[0] for note in notes] == [
        f"{name} has no candidate of 1 of the 5 questions" for name in ("one", "two")
    ]
    other = match_run(b"q9 Q0 z 1 1 t\n", questions)
    assert not other.is_usable and "like 'q9' and 'z'" in describe_match("other", other, questions)
    with pytest.raises(BadSetting, match="other has no candidate"):
        keep_common({**matches, "other": other}, questions)
