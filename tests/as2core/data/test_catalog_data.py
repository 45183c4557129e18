"""Label sets by name, their settings, and the counts the papers print."""

import gzip
import io
import json
import pickle
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from workbook_files import make_book

from as2core.data import asnq, beir, jsonl, pairs, qrels, trecqa, wikiqa
from as2core.data.catalog import (
    SHIPPED_SETS,
    STREAMS,
    TOOLS,
    WRITERS,
    apply_setting,
    load_questions,
    sniff,
    stream_questions,
)
from as2core.data.label_files import csv_ratings, question_table
from as2core.data.source import read_all
from as2core.documents.office_files import OLD_FORMAT
from as2core.errors import BadSetting, UnknownData, UnreadableFile
from as2core.types import Candidate, Question

REPO = Path(__file__).parents[3]
SHARED = REPO.parent / "shared" / "data"
QUESTION = Question("q-1", "Who?", (Candidate("d-0", "She did.", 1), Candidate("d-1", "He slept.", 0)))
TRECQA = "<QApairs id='q-1'>\n<question>\nWho?\n</question>\n<positive>\nShe\tdid.\n</positive>\n</QApairs>\n"
SQUAD = {"data": [{"title": "T", "paragraphs": [{"context": "She did. He slept.", "qas": []}]}]}


def find_shared(name):
    if not (SHARED / name).is_file():
        pytest.skip(f"{name} is not at hand (it belongs into ../shared/data)")
    return SHARED / name


SNIFFED = [
    ("a.jsonl", jsonl.dumps([QUESTION]), "jsonl"),
    ("a.tsv", "".join(wikiqa.to_lines([QUESTION])), "wikiqa"),
    ("a.xml", TRECQA, "trecqa"),
    ("a.json", json.dumps(SQUAD), "squad"),
    ("a.tsv", "".join(asnq.to_lines([QUESTION])), "asnq"),
    ("a.tsv", "who is\tshe\t1\nwho is\the\t1\n", "asnq"),
    ("a.tsv", "who is\tshe\t1\nwho is\the\t0\n", "selqa-tsv"),
    ("a.tsv", "who is\tshe\nwho is\the\t3\nwho is\tit\t1\n", "asnq"),  # a malformed line is for the reader
    ("a.tsv", "QID\tQuestion\tDocumentID\tDocumentName\tRelevantPassages\r\n", "wikipassageqa"),
    ("a.encoded", "life\tidx_1 idx_2\t18\t7 18\n", "insuranceqa"),
    ("a.json", json.dumps([{"question": "?", "candidates": ["A"], "answers": [0]}]), "selqa"),
    ("a.jsonl", json.dumps({"paragraph_text": "A.", "sentence_starts": [0]}), "qed"),
    ("a.jsonl", json.dumps({"document_text": "<P> A </P> " * 9000, "question_text": "?"}), "natural-questions"),
    ("a.jsonl", json.dumps({"document_html": "<p>A</p>", "question_text": "?"}), "natural-questions"),
    ("a.csv", "".join(csv_ratings.to_lines([QUESTION])), "csv"),
    ("a.qrels", "".join(qrels.to_lines([QUESTION])), "qrels"),
    ("a.run", "".join(qrels.run_to_lines([QUESTION], {"q-1": [1.0, 2.0]}, tag="t")), "run"),
    ("a.jsonl", "".join(pairs.to_pair_lines([QUESTION])), "pairs"),
    ("a.jsonl", "".join(pairs.to_triplet_lines([QUESTION])), "triplets"),
    ("a.csv", "".join(question_table.to_lines([QUESTION])), "table"),
    ("a.csv", "Label;Query;Note;Text\n1;who;;she\n", "table"),
    ("a.tsv", "question\tanswer\tlabel\nwho is\tshe\t1\nwho is\the\t0\n", "table"),
    ("a.jsonl", '{"query": "who", "text": "she", "relevance": 1}\n', "records"),
    ("a.json", '[{"label": ["yes"],\n"question": "who",\n"text": "she"}]', "records"),
    ("a.json", '[{"text": "she", "label": "yes", "meta": {"question": "who"}, "answer": "accept"}]', None),
    *[("a.json", "".join(WRITERS[tool]([QUESTION])), tool) for tool in TOOLS],
    ("a.json", '{"data": [{"paragraphs": [{"context": "Me.", "qas": [{"predictions": []}]}]}]}', "squad"),
    ("a.json", '[{"data": "Just some prose.", "annotations": []}]', None),
    ("a.csv", "question,sentence\nwho,she\n", None),
    ("a.txt", "Just some prose.", None),
    ("a.json", '{"rows": []}', None),
    ("a.txt", "", None),
    ("a.txt", "One\ttwo\tthree\nfour\tfive\tsix\n", None),
]


@pytest.mark.parametrize(("name", "text", "format"), SNIFFED)
def test_a_format_is_known_by_its_content(tmp_path, name, text, format):
    (tmp_path / name).write_text(text)
    assert sniff(tmp_path / name) == sniff(text.encode()) == format


def test_a_byte_order_mark_and_a_line_longer_than_what_is_looked_at_do_not_hide_a_format():
    assert sniff(b"\xef\xbb\xbf" + jsonl.dumps([QUESTION]).encode()) == "jsonl"
    long = Question("q", "é" * 40_000, QUESTION.candidates)  # two bytes each: one may be cut in half
    assert sniff(b" " + "".join(wikiqa.to_lines([long])).encode()) == "wikiqa"
    assert sniff(json.dumps({"document_text": "é" * 50_000}, ensure_ascii=False).encode()) == "natural-questions"
    assert sniff(json.dumps({"document_text": " é" * 50_000}, ensure_ascii=False).encode()) == "natural-questions"


def test_every_format_that_is_streamed_is_known_by_its_content():
    assert set(STREAMS) <= {format for _, _, format in SNIFFED} | {"yahooqa"}
    assert sniff(pickle.dumps({"test": {}})) == "yahooqa"


def test_a_set_of_several_files_is_loaded_by_its_question_file(tmp_path):
    (tmp_path / "vocabulary").write_text("idx_1\tWho\nidx_2\tShe\n")
    (tmp_path / "InsuranceQA.label2answer.token.encoded").write_text("7\tidx_2\n")
    (tmp_path / "q.encoded.gz").write_bytes(gzip.compress(b"life\tidx_1\t7\t7\n"))
    (tmp_path / "document_passages.json").write_text('{"1": {"0": "She did."}}')
    (tmp_path / "dev.tsv").write_text("QID\tQuestion\tDocumentID\tDocumentName\tRelevantPassages\n5\tWho?\t1\tT\t0\n")
    (insurance,), (passage,) = (load_questions(tmp_path / n).questions for n in ("q.encoded.gz", "dev.tsv"))
    assert [c.text for q in (insurance, passage) for c in q.candidates] == ["She", "She did."]
    assert (insurance.text, passage.text) == ("Who", "Who?")


def test_only_sets_of_several_splits_have_one_to_choose(tmp_path):
    jsonl.write([QUESTION], tmp_path / "a.jsonl")
    with pytest.raises(BadSetting, match=r"a\.jsonl is one split"):
        load_questions(tmp_path / "a.jsonl", split="dev")
    beir.write([QUESTION], tmp_path / "b", split="dev")
    assert load_questions(tmp_path / "b", split="dev").questions == [QUESTION]


def test_a_stream_gives_questions_before_the_file_is_read_and_a_report_after(tmp_path):
    (tmp_path / "a.jsonl").write_text(jsonl.dumps([QUESTION]) + "{}\n")
    questions, report = stream_questions(tmp_path / "a.jsonl")
    assert next(questions) == QUESTION and (report.questions, report.lines) == (1, 1)
    assert list(questions) == [] and (report.lines, len(report)) == (2, 1)


@pytest.mark.parametrize("name", ["a.jsonl", "a.tsv"])
def test_any_file_with_texts_is_loaded(tmp_path, name):
    (tmp_path / name).write_text("".join({"a.jsonl": jsonl, "a.tsv": wikiqa}[name].to_lines([QUESTION])))
    assert load_questions(tmp_path / name).questions == [QUESTION]
    assert load_questions(str(tmp_path / name)).problems == []


def test_a_beir_folder_is_loaded(tmp_path):
    beir.write([QUESTION], tmp_path)
    assert load_questions(tmp_path).questions == [QUESTION]


def zip_folder(folder):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path in folder.rglob("*.*"):
            archive.write(path, path.relative_to(folder))
    return content.getvalue()


def test_what_programs_make_of_a_table_and_of_a_beir_folder_is_loaded_too(tmp_path):
    """A workbook, UTF-16, Windows-1252 and a zip hold the same questions as the CSV and the folder."""
    rows = [["question", "sentence", "label"], ["Où ?", "Là.", 1], ["Où ?", "Ici.", 0]]
    table = "".join(";".join(map(str, row)) + "\n" for row in rows)
    (tmp_path / "utf8.csv").write_text(table)
    (tmp_path / "book.xlsx").write_bytes(make_book(rows))
    (tmp_path / "excel.txt").write_bytes(table.replace(";", "\t").encode("utf-16"))
    (tmp_path / "old.csv").write_bytes(table.encode("cp1252"))
    expected = load_questions(tmp_path / "utf8.csv").questions
    assert [(c.text, c.label) for c in expected[0].candidates] == [("Là.", 1), ("Ici.", 0)]
    for name in ("book.xlsx", "excel.txt", "old.csv"):
        loaded = load_questions(tmp_path / name)
        assert (loaded.questions, loaded.problems) == (expected, []), name
    beir.write([QUESTION], tmp_path / "set")
    (tmp_path / "set.zip").write_bytes(zip_folder(tmp_path / "set"))
    assert load_questions(tmp_path / "set.zip") == load_questions(tmp_path / "set")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"Frage;Antwort;Urteil\nWer?;Sie.;1\n", "query,docid,rating or .*, not Frage;Antwort;Urteil"),
        ("a.tsv", b"\xef\xbb\xbfa\t\tc\n", r"not a\t\(empty\)\tc"),
        ("a.csv", "a;b;c\n1;2;3\n".encode("utf-16"), "not a;b;c"),
        ("a.csv", b"question,sentence,label,label\nWho?,She.,1,0\n", "two columns are named 'label'"),
        ("a.xlsx", make_book([["Frage", "Antwort"], ["Wer?", "Sie."]]), "not Frage,Antwort"),
        ("a.xls", OLD_FORMAT, "of an old version of Excel"),
        ("a.zip", zip_folder(Path(__file__).parents[1] / "rankers"), "the archive holds no BEIR set"),
    ],
)
def test_a_table_with_other_columns_names_them_and_those_that_it_needs(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnreadableFile, match=rf"\A{name}: .*{message}"):
        load_questions(tmp_path / name)


def test_problems_are_handed_on_or_raised(tmp_path):
    (tmp_path / "a.jsonl").write_text(jsonl.dumps([QUESTION]) + "{}\n")
    loaded = load_questions(tmp_path / "a.jsonl")
    assert loaded.questions == [QUESTION] and loaded.problems == [f"line 2: {jsonl.NO_CANDIDATES}"]
    with pytest.raises(UnreadableFile, match="line 2"):
        load_questions(tmp_path / "a.jsonl", strict=True)


def test_what_cannot_be_loaded_is_said_with_what_can(tmp_path):
    for missing in ("gone.qrels", "sets/gone.jsonl"):
        with pytest.raises(UnknownData, match=f"^there is no file {missing}$"):
            load_questions(missing)
    with pytest.raises(UnknownData, match=r"no data 'nothing'.*starter-train, starter-dev, starter-test"):
        load_questions("nothing")
    (tmp_path / "a.qrels").write_text("q 0 d 1\n")
    with pytest.raises(UnreadableFile, match="labels without texts; import it into a corpus"):
        load_questions(tmp_path / "a.qrels")
    (tmp_path / "a.txt").write_text("prose")
    with pytest.raises(UnreadableFile, match=r"a\.txt is in no format that as2 reads"):
        load_questions(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "a.jsonl is empty"),
        (" \n\n", "a.jsonl is empty"),
        ('{"qid": "1", "question": "Why', r"a\.jsonl: line 1: the JSON ends before it is complete"),
        ('{"qid": "1",', r"a\.jsonl: line 1: the JSON ends before it is complete"),
        ('{"qid": 1,}\n{}', r"a\.jsonl: line 1: not JSON \(.* at column \d+\)"),
        ('{"qid": "1"}', "a.jsonl is in no format that as2 reads"),
    ],
)
def test_a_file_of_no_format_is_told_to_be_empty_or_broken(tmp_path, content, message):
    (tmp_path / "a.jsonl").write_text(content)
    with pytest.raises(UnreadableFile, match=message):
        load_questions(tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    ("spec", "name"), [("starter-tset", "starter-test"), ("lables", "labels"), ("handbook-tran", "handbook-train")]
)
def test_a_name_that_is_nearly_one_is_suggested(spec, name):
    with pytest.raises(UnknownData, match=f"no data '{spec}'; did you mean {name}[?] give a file"):
        load_questions(spec)


@pytest.mark.parametrize("name", ["x" * 300, "a/" + "x" * 300, "a\0b"])
def test_a_name_that_no_system_takes_is_no_data_either(name):
    with pytest.raises(UnknownData, match="no data"):
        load_questions(name)


def test_a_device_is_told_from_a_file():
    with pytest.raises(UnknownData, match="a pipe or a device"):
        load_questions("/dev/null")


def count_labels(*labels):
    return Question("".join(map(str, labels)), "?", tuple(Candidate(str(i), "t", n) for i, n in enumerate(labels)))


def test_settings_keep_the_questions_their_names_say():
    mixed, wrong, right, half, none = (
        count_labels(0, 1),
        count_labels(0, 0),
        count_labels(1, 1),
        count_labels(1, None),
        count_labels(None),
    )
    everything = [mixed, wrong, right, half, none]
    assert apply_setting(everything, "raw") == everything
    assert apply_setting(everything, "no-all-neg") == [mixed, right, half]
    assert apply_setting(everything, "clean") == [mixed]
    with pytest.raises(BadSetting, match="no setting 'clear'"):
        apply_setting(everything, "clear")


@pytest.mark.parametrize("name", SHIPPED_SETS)
def test_a_shipped_set_is_loaded_by_name(name):
    loaded = load_questions(name)
    assert loaded.problems == [] and all(q.kind and q.candidates for q in loaded.questions)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "setting", "questions", "candidates"),
    [
        ("wikiqa/WikiQA-train.tsv", "raw", 2118, 20360),
        ("wikiqa/WikiQA-train.tsv", "no-all-neg", 873, 8672),
        ("wikiqa/WikiQA-dev.tsv", "raw", 296, 2733),
        ("wikiqa/WikiQA-dev.tsv", "no-all-neg", 126, 1130),
        ("trecqa/train-all.jsonl", "raw", 1229, 53417),
        ("trecqa/DEV.xml", "raw", 82, 1148),
        ("trecqa/DEV.xml", "clean", 65, 1117),
        ("trecqa/TRAIN.xml", "raw", 94, 4718),
        ("trecqa/dev.jsonl", "clean", 65, 1117),
        ("wikiqa/WikiQA-train.tsv", "clean", 857, 8651),
        ("selqa/dev.jsonl", "raw", 785, 9419),  # with the next, the 28,938 candidates of both
        ("selqa/test.jsonl", "raw", 1590, 28938 - 9419),
        ("qed/dev.jsonl", "raw", 1355, 5658),
    ],
)
def test_counts_are_the_published_ones(name, setting, questions, candidates):
    loaded = load_questions(find_shared(name))
    kept = apply_setting(loaded.questions, setting)
    assert loaded.problems == []
    assert (len(kept), sum(len(q.candidates) for q in kept)) == (questions, candidates)


@pytest.mark.shared
@pytest.mark.parametrize("part", ["train", "dev"])
def test_the_official_wikiqa_files_are_written_to_the_same_bytes_but_for_carriage_returns(part):
    path = find_shared(f"wikiqa/WikiQA-{part}.tsv")
    written = "".join(wikiqa.to_lines(read_all(wikiqa.stream, path)[0]))
    assert written.encode() == path.read_bytes().replace(b"\r\n", b"\n")  # the training file's lines end in both


@pytest.mark.shared
def test_the_trecqa_xml_and_its_jsonl_agree():
    (ours, _), (theirs, _) = (
        read_all(trecqa.stream, find_shared("trecqa/DEV.xml")),
        jsonl.read(find_shared("trecqa/dev.jsonl")),
    )
    by_id = {q.qid: q for q in theirs}
    for q in ours:
        other = by_id[q.qid]
        expected = {(c.id, c.text.replace("-LCB-", "{"), c.label) for c in other.candidates}
        assert q.text == other.text and {(c.id, c.text, c.label) for c in q.candidates} == expected


@pytest.mark.shared
@pytest.mark.slow
def test_most_of_squad_becomes_questions_with_one_correct_sentence():
    loaded = load_questions(find_shared("squad/train-v1.1.json.gz"))
    assert loaded.problems == [] and 70_000 < len(loaded.questions) < 87_599
    assert all(q.positives == 1 for q in loaded.questions)


def test_a_shipped_set_that_is_not_installed_is_told_of(tmp_path):
    with pytest.raises(UnknownData, match="starter-dev is part of a clone and not installed: run this in a clone"):
        load_questions("starter-dev", corpora=tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "query-id\tcorpus-id\tscore\nq1\td1\t2\nq 2\td1\t0\n",
        "qid,docno,label\nq1,d1,2\nq 2,d1,0\n",
        'sep=;\nqid;docno;"label";iteration\r\n"q1";d1;2.0;0\r\nq 2;d1;0;0\r\n',
        "\ufeffdocno\tqid\tlabel\nd1\tq1\t2\nd1\tq 2\t0\n",
        '{"q1": {"d1": 2}, "q 2": {"d1": 0}, "no hits": {}}',
        '\n  {\n  "q1": {"d1": 2}, "q 2": {"d1": 0}}',
        "q1 0 d1 2\nq%202 0 d1 0\n",
    ],
)
def test_qrels_are_read_in_each_form_that_other_programs_write(text):
    content = text.encode()
    questions, report = read_all(qrels.stream, content)
    labels = {q.qid: [(c.id, c.label, c.relevance) for c in q.candidates] for q in questions}
    assert labels == {"q1": [("d1", 1, 2)], "q 2": [("d1", 0, 0)]} and not report and report.candidates == 2


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("query-id\tcorpus-id\tscore\nq1\td1\t1\n", "qrels"),
        ('"query-id","corpus-id","score"\r\n"q1","d1","1"\r\n', "qrels"),
        ("query-id\tcorpus-id\tscore\nq1\td1\t0.5\n", "run"),
        ("qid,docno,label\nq1,d1,1\n", "qrels"),
        ("qid,docno,score\nq1,d1,1\n", "run"),
        ("query,docid,rating\nq,d,1\n", "csv"),
        ("question,sentence,label\nq,d,1\n", "table"),
        ("q1 0 d1 1\n", "qrels"),
        ('{"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 1, "d3": 1}}', "qrels"),
        ('{"q1": {"d1": 1, "d2": 1, "d3": 1.5}}', "run"),
        ('{"q1": {"d1": 3, "d2": 2, "d3": 1}}', "run"),
        ('{"q1": {"\\"d1\\": 7": 1, "d2": 1}}', "qrels"),
        ('{"q1": {"d1": 1, "d2": 1}, "' + '\\"' * 40_000 + '": {"d1": 1}}', "qrels"),
    ],
)
def test_qrels_are_told_from_runs_and_other_tables(text, kind):
    assert sniff(text.encode()) == kind


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("qid,docno,label\nq1,d1,1\nq1,d2\n", "line 3: 2 fields instead of 3"),
        ("qid,docno,label\nq1,,1\n", "line 2: the candidate has no id"),
        ("qid,docno,label\nq1,d1,1\nq1,d1,0\n", "line 3: document 'd1' appears twice for question 'q1'"),
        ("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0.5\n", "line 3: rating '0.5' is not a whole number"),
        (
            '{"q1": {"d1": 1}, "q1": {"d2": 1}}',
            "not JSON of {question: {candidate: label}} ('q1' appears twice",
        ),
        ('{"q1": {"d1": 1, "d2": 0.5}}', "label 2: rating '0.5' is not a whole number"),
        ('{"q1": {"d1": 1},', "not JSON of {question: {candidate: label}} (the JSON ends"),
    ],
)
def test_what_is_wrong_with_qrels_names_its_line(text, reason):
    with pytest.raises(UnreadableFile, match=re.escape(f"the data given: {reason}")):
        read_all(qrels.stream, text.encode(), strict=True)


MODULES = (
    "as2core, as2core.types, as2core.errors, as2core.text, as2core.cost, as2core.metrics, as2core.evaluation.rankers, "
    "as2core.data.catalog, as2core.data.starter, as2core.data.squad, as2core.data.pairs, as2core.data.statistics, "
    "as2core.data.asnq_plus, as2core.data.label_files.csv_ratings, as2core.documents.reading, as2core.documents.html, "
    "as2core.documents.pdf, as2core.documents.markdown, as2core.documents.word, as2core.documents.slides, "
    "as2core.documents.mail, as2core.documents.workbook, as2core.commands.data, as2core.retrieval.sqlite"
)


def test_importing_the_light_modules_loads_nothing_heavy():
    code = f"import sys, {MODULES}\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=REPO, check=True, capture_output=True, text=True).stdout
    heavy = {
        "torch",
        "transformers",
        "spacy",
        "scipy",
        "pandas",
        "ir_measures",
        "trafilatura",
        "lxml",
        "pypdf",
        "mammoth",
        "openpyxl",
        "pptx",
        "markdown_it",
    }
    assert heavy & set(loaded.split()) == set()
