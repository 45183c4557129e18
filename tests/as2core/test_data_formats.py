"""Every format of labels: what is read, what is refused with its line, and that writing gives it back."""

import csv
import gzip
import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from as2core.data import beir, csv_ratings, jsonl, pairs, qrels, squad, trecqa, wikiqa
from as2core.errors import BadSetting, UnreadableFile
from as2core.types import Candidate, Question

QUESTION = Question(
    "q1",
    "how long is it ?",
    (
        Candidate("D1-0", "It is long .", 0, "A river"),
        Candidate("D1-1", 'It is 6,650 km "long" .', 1, "A river"),
        Candidate("D1-2", "Nobody knows — really…", None, "A river"),
    ),
)

IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@st.composite
def question_lists(draw, ids=IDS, texts=TEXTS, labels=(0, 1, None), smallest=0):
    made = []
    for qid in draw(st.lists(ids, unique=True, max_size=4)):
        names = draw(st.lists(ids, unique=True, min_size=smallest, max_size=4))
        candidates = tuple(Candidate(n, draw(texts), draw(st.sampled_from(labels)), draw(texts)) for n in names)
        made.append(Question(qid, draw(texts), candidates))
    return made


# JSONL


@settings(deadline=None)
@given(question_lists())
def test_jsonl_gives_back_what_was_written(questions):
    assert jsonl.read(jsonl.dumps(questions).encode()) == (questions, [])


def test_jsonl_keeps_a_kind_and_reads_from_a_gzipped_path(tmp_path):
    asked = [Question("q", "Who?", QUESTION.candidates, "who")]
    (tmp_path / "q.jsonl.gz").write_bytes(gzip.compress(jsonl.dumps(asked).encode()))
    assert jsonl.read(tmp_path / "q.jsonl.gz")[0] == asked
    jsonl.write(asked, tmp_path / "q.jsonl")
    assert jsonl.read(tmp_path / "q.jsonl")[0] == asked


def line(**changes):
    record = {"qid": "q", "question": "Who?", "candidates": [{"id": "a", "text": "A", "label": 1}]} | changes
    return json.dumps({k: v for k, v in record.items() if v is not ...})


BAD_LINES = {
    "{": "not JSON",
    "[]": "not a JSON object",
    line(candidates=...): '"candidates" is not a list',
    line(qid=...): '"qid" is missing',
    line(qid=["x"]): '"qid" is not a string',
    line(question=None): '"question" is missing',
    line(candidates=[3]): "candidate 1: not a JSON object",
    line(candidates=[{"id": "a", "text": "A", "label": 2}]): "candidate 1: label 2 is not 0, 1 or null",
    line(candidates=[{"id": "a", "text": "A", "label": True}]): "candidate 1: label True is not 0, 1 or null",
    line(candidates=[{"id": "a", "text": 5}]): 'candidate 1: "text" is not a string',
    line(candidates=[{"id": "a", "text": "A"}, {"id": "a", "text": "B"}]): "two candidates have the same id",
    line(question="half \ud800"): "half a character",
}


@pytest.mark.parametrize("bad", BAD_LINES)
def test_a_bad_line_of_jsonl_is_told_by_number_and_the_others_are_read(bad):
    content = f"{line(qid='first')}\n\n{bad}\n{line(qid='last')}\n".encode()
    questions, problems = jsonl.read(content)
    assert [q.qid for q in questions] == ["first", "last"]
    (problem,) = problems
    assert (
        problem.startswith(f"line 3: {BAD_LINES[bad]}") and problem.line == 3 and problem == f"line 3: {problem.reason}"
    )
    with pytest.raises(UnreadableFile, match="the data given: line 3: "):
        jsonl.read(content, strict=True)


def test_a_question_that_comes_twice_is_told_with_its_first_line():
    _, problems = jsonl.read(f"{line()}\n{line()}\n".encode())
    assert problems == ["line 2: question 'q' stands already at line 1"]


def test_a_file_that_is_missing_or_no_text_is_named(tmp_path):
    with pytest.raises(UnreadableFile, match=r"nope\.jsonl: cannot be read \(No such file"):
        jsonl.read(tmp_path / "nope.jsonl")
    (tmp_path / "x.jsonl").write_bytes(b"{\xff}")
    with pytest.raises(UnreadableFile, match=r"x\.jsonl: not UTF-8 text \(byte 1\)"):
        jsonl.read(tmp_path / "x.jsonl")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"x" * 1000)[:20])
    with pytest.raises(UnreadableFile, match=r"cut\.gz: cannot be read"):
        jsonl.read(tmp_path / "cut.gz")


# WikiQA

HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
WIKIQA = (
    HEADER
    + "q1\thow long is it ?\tD1\tA river\tD1-0\tIt is long .\t0\n"
    + 'q1\thow long is it ?\tD1\tA river\tD1-1\tIt is 6,650 km "long" .\t1\n'
    + "q1\thow long is it ?\tD1\tA river\tD1-2\tNobody knows — really…\t\n"
)


def test_wikiqa_is_read_without_minding_quotes_and_written_to_the_same_bytes(tmp_path):
    assert wikiqa.read(WIKIQA.encode()) == ([QUESTION], [])
    wikiqa.write([QUESTION], tmp_path / "w.tsv")
    assert (tmp_path / "w.tsv").read_bytes() == WIKIQA.encode()


PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=12)


@settings(deadline=None)
@given(question_lists(ids=PLAIN.filter(bool), texts=PLAIN, smallest=1))
def test_wikiqa_gives_back_what_fits_its_columns(questions):
    assert wikiqa.read(wikiqa.dumps(questions).encode()) == (questions, [])


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("q1\thow", "2 columns instead of 7"),
        ("q1\thow long is it ?\tD1\t\tD1-9\tText\tyes", "label 'yes' is not 0 or 1"),
        ("q1\tanother text\tD1\t\tD1-9\tText\t0", "question 'q1' has another text than above"),
        ("q1\thow long is it ?\tD1\t\tD1-0\tText\t0", "sentence 'D1-0' stands twice for question 'q1'"),
        ("\twhat\tD1\t\tD1-0\tText\t0", "QuestionID is empty"),
    ],
)
def test_a_bad_row_of_wikiqa_is_told_by_number(row, reason):
    questions, problems = wikiqa.read((WIKIQA + row + "\n").encode())
    assert questions == [QUESTION] and problems == [f"line 5: {reason}"]


def test_a_tsv_without_the_header_is_not_wikiqa():
    with pytest.raises(UnreadableFile, match="no WikiQA header"):
        wikiqa.read(WIKIQA.removeprefix(HEADER).encode())


# TREC-QA

TRECQA = """<QApairs id='7.1'>
<question>
Who\twrote\tit\t?
WP\tVBD\tPRP\t.
</question>
<positive>
``\tHart\twrote\tit\t''\t-LRB-\t1990\t-RRB-\t.
``\tNNP\tVBD\tPRP\t''\t-LRB-\tCD\t-RRB-\t.
</positive>
<positive>
Hart\tdid\t.
</positive>
<negative>
Nobody\tread\tit\t.
NN\tVBD\tPRP\t.
</negative>
</QApairs>
"""


def test_trecqa_gives_words_quotes_and_brackets_as_written():
    (question,), problems = trecqa.read(TRECQA.encode())
    assert (question.qid, question.text, problems) == ("7.1", "Who wrote it ?", [])
    assert {(c.id, c.text, c.label) for c in question.candidates} == {
        ("7.1-0", '" Hart wrote it " ( 1990 ) .', 1),
        ("7.1-1", "Hart did .", 1),
        ("7.1-2", "Nobody read it .", 0),
    }


def test_trecqa_does_not_keep_the_positives_in_front():
    many = "".join(
        f"<QApairs id='{i}'>\n<question>\nWho\n</question>\n"
        + "<positive>\nyes\n</positive>\n<negative>\nno\n</negative>\n" * 1
        + "</QApairs>\n"
        for i in range(200)
    )
    questions, _ = trecqa.read(many.encode())
    first = sum(q.candidates[0].label for q in questions)
    assert 70 < first < 130  # a fair coin's 200 throws, four standard deviations wide
    assert trecqa.read(many.encode())[0] == questions


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("</QApairs>\n", "", 1, "question '7.1' is not closed"),
        ("</negative>\n", "", 13, "<negative> is not closed"),
        ("<question>\nWho\twrote\tit\t?\nWP\tVBD\tPRP\t.\n</question>\n", "", 1, "question '7.1' has no text"),
        ("<positive>\nHart\tdid\t.\n", "<positive>\n", 10, "<positive> has no words"),
        ("</QApairs>\n", "</QApairs>\nstray\n", 18, "outside any <QApairs>"),
        ("<negative>\n", "stray\n<negative>\n", 13, "outside any block"),
    ],
)
def test_a_broken_block_of_trecqa_is_told_by_number(old, new, line, reason):
    _, problems = trecqa.read(TRECQA.replace(old, new, 1).encode())
    assert any(p.line == line and p.reason.startswith(reason) for p in problems)


# qrels and runs


@settings(deadline=None)
@given(question_lists(texts=st.just(""), labels=(0, 1), smallest=1))
def test_qrels_give_back_ids_and_labels_white_space_and_all(questions):
    plain = [Question(q.qid, "", tuple(Candidate(c.id, "", c.label) for c in q.candidates)) for q in questions]
    assert qrels.read(qrels.dumps(questions).encode()) == (plain, [])


def test_qrels_are_written_as_trec_eval_wants_them_without_the_unjudged():
    assert qrels.dumps([QUESTION]) == "q1 0 D1-0 0\nq1 0 D1-1 1\n"


def test_graded_relevance_above_nought_is_correct():
    (question,), _ = qrels.read(b"q 0 a 3\nq 0 b -1\nq\t0\tc\t0\n")
    assert [c.label for c in question.candidates] == [1, 0, 0]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("q 0 a", "3 columns instead of 4"),
        ("q 0 z x", "relevance 'x' is not"),
        ("q 0 a 1", "document 'a' stands twice"),
    ],
)
def test_a_bad_line_of_qrels_is_told_by_number(bad, reason):
    (question,), (problem,) = qrels.read(f"q 0 a 1\n{bad}\n".encode())
    assert question.positives == 1 and problem.startswith(f"line 2: {reason}")


@settings(deadline=None)
@given(question_lists(texts=st.just(""), smallest=1), st.data())
def test_a_run_gives_back_distinct_scores_exactly(questions, data):
    numbers = st.floats(-1e6, 1e6, width=32)
    scores = {
        q.qid: np.array(
            data.draw(st.lists(numbers, unique=True, min_size=len(q.candidates), max_size=len(q.candidates))),
            np.float32,
        )
        for q in questions
    }
    scores = {qid: given + 0.0 for qid, given in scores.items()}  # -0.0 equals 0.0
    found, problems = qrels.read_run(qrels.dumps_run(questions, scores, tag="my tag").encode())
    assert problems == []
    for q in questions:
        assert found[q.qid] == {c.id: float(s) for c, s in zip(q.candidates, scores[q.qid], strict=True)}
        assert list(found[q.qid].values()) == sorted(found[q.qid].values(), reverse=True)


def test_ties_in_a_run_are_broken_in_writing_for_trec_eval_would_do_so_by_name():
    written = qrels.dumps_run([QUESTION], {"q1": np.array([0.5, 0.5, 0.9])}, tag="wo")
    assert written.splitlines() == ["q1 Q0 D1-2 1 3.0 wo", "q1 Q0 D1-0 2 2.0 wo", "q1 Q0 D1-1 3 1.0 wo"]


def test_bad_lines_of_a_run_are_told_and_wrong_scores_refused():
    found, problems = qrels.read_run(b"q Q0 a 1 0.5 t\nq Q0 b 2 nan t\nq Q0 c 3\nq Q0 a 4 0.1 t\n")
    assert found == {"q": {"a": 0.5}} and [p.line for p in problems] == [2, 3, 4]
    with pytest.raises(BadSetting, match="2 scores for 3 candidates"):
        qrels.dumps_run([QUESTION], {"q1": np.zeros(2)}, tag="t")


# CSV ratings


@settings(deadline=None)
@given(question_lists(ids=IDS, texts=TEXTS.filter(str.strip), labels=(0, 1), smallest=1))
def test_ratings_give_back_queries_ids_and_labels(questions):
    by_text = {q.text: q for q in questions}
    read, problems = csv_ratings.read(csv_ratings.dumps(by_text.values()).encode())
    assert problems == []
    assert [(q.text, [(c.id, c.label) for c in q.candidates]) for q in read] == [
        (text, [(c.id, c.label) for c in q.candidates]) for text, q in by_text.items()
    ]


def test_ratings_are_a_plain_csv_and_a_question_has_the_same_id_in_every_file():
    rows = list(csv.DictReader(io.StringIO(csv_ratings.dumps([QUESTION]))))
    assert rows[1] == {"query": "how long is it ?", "docid": "D1-1", "rating": "1"} and len(rows) == 2
    ids = {csv_ratings.read(f"query,docid,rating\r\nWho?,{d},1\r\n".encode())[0][0].qid for d in "ab"}
    assert len(ids) == 1


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("Who?,a", "2 fields instead of 3"),
        (",a,1", "query or docid is empty"),
        ("Who?,b,good", "rating 'good' is not"),
        ("Who?,a,0", "document 'a' stands twice"),
    ],
)
def test_a_bad_rating_is_told_by_number_after_a_field_of_two_lines(bad, reason):
    content = f'query,docid,rating\nWho?,a,3\n"Where\nto?",a,0\n{bad}\n'.encode()
    questions, (problem,) = csv_ratings.read(content)
    assert [q.text for q in questions] == ["Who?", "Where\nto?"] and problem.startswith(f"line 5: {reason}")


def test_a_csv_with_other_columns_is_refused():
    with pytest.raises(UnreadableFile, match="must be query,docid,rating, not a,b"):
        csv_ratings.read(b"a,b\n")


# BEIR


@settings(deadline=None, max_examples=50)
@given(question_lists(ids=PLAIN.filter(bool), labels=(0, 1), smallest=1))
def test_beir_gives_back_labels_and_texts_even_where_ids_are_reused(tmp_path_factory, questions):
    folder = tmp_path_factory.mktemp("beir")
    beir.write(questions, folder, split="dev")
    read, problems = beir.read(folder, split="dev")
    assert problems == [] and [(q.qid, q.text) for q in read] == [(q.qid, q.text) for q in questions]
    for ours, theirs in zip(questions, read, strict=True):
        shape = [[(c.text, c.label, c.title) for c in q.candidates] for q in (ours, theirs)]
        assert shape[0] == shape[1]


def test_beirs_three_files_look_as_beir_has_them():
    files = beir.dumps([QUESTION])
    assert set(files) == {"corpus.jsonl", "queries.jsonl", "qrels/test.tsv"}
    assert json.loads(files["corpus.jsonl"].splitlines()[0]) == {
        "_id": "D1-0",
        "title": "A river",
        "text": "It is long .",
    }
    assert json.loads(files["queries.jsonl"]) == {"_id": "q1", "text": "how long is it ?", "metadata": {}}
    assert files["qrels/test.tsv"] == "query-id\tcorpus-id\tscore\nq1\tD1-0\t0\nq1\tD1-1\t1\n"


def test_a_beir_folder_tells_what_is_missing_or_wrong(tmp_path):
    beir.write([QUESTION], tmp_path)
    with pytest.raises(UnreadableFile, match=r"qrels.dev\.tsv is missing"):
        beir.read(tmp_path, split="dev")
    with (tmp_path / "qrels" / "test.tsv").open("a") as file:
        file.write("q1\tnowhere\t1\nbad\n")
    _, problems = beir.read(tmp_path)
    assert problems == [
        "line 4: no 'nowhere' in corpus",
        "line 5: not a query id, a corpus id and a whole number, divided by tabs",
    ]


# sentence-transformers


def test_pairs_and_triplets_hold_the_judged_sentences():
    labelled = [json.loads(row) for row in pairs.dumps_pairs([QUESTION]).splitlines()]
    assert labelled[1] == {"sentence1": "how long is it ?", "sentence2": 'It is 6,650 km "long" .', "label": 1}
    assert len(labelled) == 2
    assert [json.loads(row) for row in pairs.dumps_triplets([QUESTION]).splitlines()] == [
        {"anchor": "how long is it ?", "positive": 'It is 6,650 km "long" .', "negative": "It is long ."}
    ]


# SQuAD-sent

CONTEXT = "Dr. Hart was born in Basel. She moved to Ulm in 1901. Ulm was small, and Hart wrote there until 1950."


def squad_file(*questions):
    qas = [
        {"id": str(i), "question": q, "answers": [{"text": a, "answer_start": CONTEXT.find(a) if at is None else at}]}
        for i, (q, a, at) in enumerate(questions)
    ]
    return json.dumps({"data": [{"title": "Ada_Hart", "paragraphs": [{"context": CONTEXT, "qas": qas}]}]}).encode()


def test_the_sentence_that_holds_the_span_is_correct():
    (question,), problems = squad.read(squad_file((" Where was she born? ", "Basel", None)))
    assert (question.qid, question.text, problems) == ("0", "Where was she born?", [])
    assert question.candidates == (
        Candidate("Ada_Hart-0-0", "Dr. Hart was born in Basel.", 1, "Ada Hart"),
        Candidate("Ada_Hart-0-1", "She moved to Ulm in 1901.", 0, "Ada Hart"),
        Candidate("Ada_Hart-0-2", "Ulm was small, and Hart wrote there until 1950.", 0, "Ada Hart"),
    )


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("Ulm", False),  # stands in two sentences
        ("small", True),
        ("ulm in 1901", False),  # not there in this spelling: told as a problem
        ("1901. Ulm", False),  # runs over a sentence's end
        ("art", True),  # the span is within "Hart", and no sentence has the word
    ],
)
def test_an_answer_that_does_not_point_to_one_sentence_is_dropped(answer, kept):
    questions, _ = squad.read(squad_file(("Where?", answer, None)))
    assert bool(questions) == kept


def test_a_span_a_little_off_is_found_and_one_that_is_nowhere_is_told():
    questions, problems = squad.read(squad_file(("When?", "1950", 3), ("When?", "1666", 5)))
    assert [q.candidates[2].label for q in questions] == [1]
    assert problems == ["question 2: the answer '1666' is not in its paragraph"]


def test_a_gzipped_squad_file_is_read_and_another_json_refused(tmp_path):
    (tmp_path / "s.json.gz").write_bytes(gzip.compress(squad_file(("Where?", "Basel", None))))
    assert len(squad.read(tmp_path / "s.json.gz")[0]) == 1
    with pytest.raises(UnreadableFile, match="not SQuAD's JSON"):
        squad.read(b'{"rows": []}')
