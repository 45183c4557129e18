"""What an import tells of every line, and of files that it cannot read."""

import csv
import io
import json
import zipfile

import pytest
from exchanged import QUESTIONS, WIKIQA, import_new, import_tower, ratings, settle_pair
from label_files import import_labels

from app.corpora import corpora
from app.exchange import exports
from app.labels import consensus
from as2core.data import jsonl
from as2core.errors import UnreadableFile


def zip_files(*names):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, "{}")
    return packed.getvalue()


def test_every_line_of_an_import_says_what_became_of_it(wb):
    rows = ["tower-0,1", "tower-1,0", "tower-2,1", "tower-99,1", "tower-3,perhaps"]
    first = import_labels(wb, import_tower(wb), "a.csv", ratings(*rows[:2]))
    assert [(x.line, x.outcome) for x in first.lines] == [(2, "new"), (3, "new")]
    again = import_labels(wb, first.corpus_id, "b.csv", ratings("tower-0,1", "tower-1,1", *rows[2:]))
    assert [(x.line, x.outcome) for x in again.lines] == [
        (2, "same"), (3, "conflicting"), (4, "new"), (5, "malformed"), (6, "malformed"),
    ]  # fmt: skip
    assert "tower-99" in again.lines[3].what


def test_the_good_lines_of_a_bad_file_go_in_and_the_others_are_named(wb):
    bad = WIKIQA + "Q3\ttoo few columns\n" + "Q4\twho\tD4\tT\tD4-0\tText .\tperhaps\n"
    done = import_new(wb, "bad.tsv", bad)
    assert done.new == 5
    assert [line for line, _ in done.malformed] == [7, 8]
    assert "perhaps" in done.malformed[1][1]


@pytest.mark.parametrize(
    ("fmt", "lines"),
    [
        ("jsonl", [jsonl.dumps([q]).strip() for q in QUESTIONS[:2]]),
        ("qrels", ["q-1 0 t-0 0", "q-1 0 t-1 1"]),
        ("csv", ["query,docid,rating", "Who painted it?,odd id,1", "Who painted it?,t-0,0"]),
        ("wikiqa", WIKIQA.splitlines()),
    ],
)
def test_a_line_that_is_not_utf_8_is_named_and_the_others_go_in(wb, fmt, lines):
    corpus = import_new(wb, "set.jsonl", jsonl.dumps(QUESTIONS)).corpus_id
    *before, last = (x.encode() for x in lines)
    done = import_labels(wb, corpus, "set", b"\n".join([*before, b"caf\xe9", last]), fmt)
    assert [(number, "not UTF-8" in reason) for number, reason in done.malformed] == [(len(lines), True)]
    assert {x.line for x in done.lines if x.outcome in ("new", "same")} >= {len(lines) - 1, len(lines) + 1}


@pytest.mark.parametrize(
    ("name", "content", "at"),
    [
        ("x.qrels", "q-1 0 t-0 0\nq-1 0 nobody%20has 1\nnew%20one 0 t-0 1\n", [2, 3]),
        ("x.csv", 'query,docid,rating\nHow high is the tower?,t-0,0\n"Not\nasked?",t-9,1\n', [3]),
    ],
)
def test_an_id_in_escapes_and_a_row_of_several_lines_are_told_where_they_stand(wb, name, content, at):
    corpus = import_new(wb, "set.jsonl", jsonl.dumps(QUESTIONS)).corpus_id
    done = import_labels(wb, corpus, name, content.encode())
    assert [line for line, _ in done.malformed] == at


TABLE = "question;sentence;label\nWas kostet das?;Das kostet 19 € für jede Tür.;correct\n"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
@pytest.mark.parametrize("name", ["mine.csv", "mine.tsv", "unicode.txt"])
def test_a_csv_of_an_older_spreadsheet_is_read_as_documents_are(wb, name, encoding):
    done = import_new(wb, name, TABLE.encode(encoding))
    assert (done.new, done.malformed) == (1, ())
    [question] = exports.load_labelled_questions(wb, done.corpus_id)
    assert question.candidates[0].text == "Das kostet 19 € für jede Tür."


def test_a_tool_s_file_saved_as_utf_16_is_read(wb):
    records = json.dumps([{"question": "Wie?", "text": "Für 19 €.", "label": ["yes"]}], ensure_ascii=False)
    done = import_new(wb, "doccano.json", records.encode("utf-16"))
    assert (done.format, done.new, done.malformed, done.unit) == ("records", 1, (), "record")
    assert done.notes == ("text read as the sentence",)


def test_a_csv_in_utf_8_with_a_damaged_line_is_not_taken_for_windows_1252(wb):
    done = import_new(wb, "mine.csv", TABLE.encode() + "Wie?;Für sich.;correct\n".encode("cp1252"))
    assert done.new == 1
    assert [(line, "not UTF-8" in reason) for line, reason in done.malformed] == [(3, True)]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("letter.txt", b"Dear Sir, this is a letter.", "unknown format"),
        ("mine.csv", b"question,label\nWho?,1\n", "query,docid,rating or question,sentence,label, not question,label"),
        ("mine.csv", b"\xef\xbb\xbfQuestion\r\nWho?\r\n", "add them under Data, Questions"),
        ("log.csv", b"date,query\n1.1.,Who?\n", "add them under Data, Questions"),
        ("mine.txt", b"Who?\nWhat is it?\n", "add them under Data, Questions"),
        ("scores.run", b"q1 Q0 d1 1 0.5 tag\n", "import the qrels instead"),
        ("empty.jsonl", b" \n", "the file is empty"),
        ("cut.zip", b"PK\x03\x04 cut short", "cannot be unpacked"),
        ("latin.json", '{"data": "é"}'.encode("latin-1"), "UTF-8"),
        ("none.json", b"[]\n", "no labelled question in it"),
        ("labels.parquet", b"PAR1\x15\x04", "it is Parquet; save it as JSON: to_json of datasets, or of pandas"),
        ("book.xlsx", zip_files("[Content_Types].xml", "xl/workbook.xml"), "not an Excel workbook that can be read"),
        ("book.ods", zip_files("mimetype", "content.xml"), "it is a spreadsheet; save it as Excel workbook"),
        (
            "export.zip",
            zip_files("ann.jsonl", "bob.jsonl"),
            "holds no BEIR set .*; unpack it and import the files in it",
        ),
        ("half.zip", zip_files("s/corpus.jsonl", "s/qrels/test.tsv"), "^half.zip: the archive holds no BEIR set"),
        ("deep.json", b'{"data": ' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_is_none_of_the_formats_is_named_with_the_remedy(wb, name, content, said):
    with pytest.raises(UnreadableFile, match=said) as told:
        import_new(wb, name, content)
    assert str(told.value).startswith(name)
    assert corpora.list_corpora(wb) == []


@pytest.mark.parametrize("into", ["a corpus of its own", "the corpus"])
def test_a_file_of_nothing_but_malformed_lines_is_reported_line_by_line(wb, towers, into):
    lines = ["{", '{"qid": "q", "candidates": ' + "[" * 100_000, '{"qid": "q", "question": "Who?"}']
    corpus_id = towers.id if into == "the corpus" else None
    done = import_labels(wb, corpus_id, "bad.jsonl", "\n".join(lines).encode(), fmt="jsonl")
    assert [line for line, _ in done.malformed] == [1, 2, 3]
    assert [reason for _, reason in done.malformed][1:] == [
        "nested too deeply to read",
        jsonl.NO_CANDIDATES,
    ]
    assert [(x.line, x.outcome) for x in done.lines] == [(n, "malformed") for n in (1, 2, 3)]
    assert (done.new, done.questions, done.corpus_id) == (0, 0, corpus_id)
    assert [c.name for c in corpora.list_corpora(wb)] == ["towers"]


def damage_archive(how):
    """A BEIR archive with one damage that `zipfile` does not tell as its own error."""
    content = bytearray(beir_zip({"test": ["q0\ta\t1"]}))
    directory = content.index(b"PK\x01\x02")
    if how == "data":  # no deflate stream begins so
        content[8:10] = content[directory + 10 : directory + 12] = b"\x08\x00"
        content[content.index(b"{")] = 0xFF
    elif how == "size":  # more than the file holds
        content[directory + 20 : directory + 24] = (len(content) * 2).to_bytes(4, "little")
        content[directory + 24 : directory + 28] = (len(content) * 2).to_bytes(4, "little")
    else:  # a name that says it is UTF-8
        content[directory + 9] |= 0x08
        content[directory + 46] = 0xFF
    return bytes(content)


@pytest.mark.parametrize("how", ["data", "size", "name"])
def test_a_damaged_archive_is_named_and_nothing_is_stored(wb, how):
    with pytest.raises(UnreadableFile, match=r"^set\.zip: the archive cannot be unpacked"):
        import_new(wb, "set.zip", damage_archive(how))
    assert corpora.list_corpora(wb) == []


def test_a_rating_whose_query_is_too_long_is_reported_and_the_rest_goes_in(wb, towers):
    csv.field_size_limit(131_072)  # Python's own; another test may have raised it
    content = f"query,docid,rating\nHow old?,tower-0,1\n{'long ' * 30_000},tower-1,1\nHow old?,tower-2,0\n".encode()
    done = import_labels(wb, towers.id, "ratings.csv", content)
    assert (done.new, done.malformed) == (2, ((3, "field larger than field limit (131072)"),))
    assert [(x.line, x.outcome) for x in done.lines] == [(2, "new"), (3, "malformed"), (4, "new")]
    with pytest.raises(UnreadableFile, match=r"^wide\.csv: line 1: field larger"):
        import_labels(wb, towers.id, "wide.csv", b"query,docid,rating" + b" " * 200_000)


def test_asnqs_rows_are_recognised_and_only_label_four_is_correct(wb):
    rows = b"who built it\tIt is tall .\t1\nwho built it\tEiffel built it .\t4\nwho built it\tno label\t9\n"
    done = import_new(wb, "dev.tsv", rows)
    assert (done.format, done.new, done.malformed) == ("asnq", 2, ((3, "label '9' is not 1, 2, 3, 4"),))
    (question,) = exports.load_labelled_questions(wb, done.corpus_id)
    assert [(c.text, c.label) for c in question.candidates] == [("It is tall .", 0), ("Eiffel built it .", 1)]


def test_a_set_of_several_files_is_sent_to_the_command_that_makes_one(wb):
    with pytest.raises(
        UnreadableFile, match=r"test\.encoded: insuranceqa consists of several files; .*as2 data convert"
    ):
        import_new(wb, "test.encoded", b"life\tidx_1 idx_2\t18\t7 18\n")


def test_a_text_that_is_longer_than_any_question_or_sentence_is_left_out_with_its_line(wb):
    rows = ["question,sentence,label,title", "Who?,Ann.,correct," + "T" * 5000, f"Who?,{'x' * 100_001},incorrect,",
            f"{'y' * 100_007},Ben.,correct,"]  # fmt: skip
    done = import_new(wb, "mine.csv", "\n".join(rows).encode())
    assert done.malformed == (
        (3, "the sentence or its id is 1 character too long"),
        (4, "the question or its id is 7 characters too long"),
    )
    (question,) = exports.load_labelled_questions(wb, done.corpus_id)
    assert [(c.text, len(c.title)) for c in question.candidates] == [("Ann.", 1000)]


def test_a_pickle_is_opened_by_no_import(wb):
    with pytest.raises(UnreadableFile, match=r"env\.pkl: yahooqa is a pickle, .*as2 data convert env\.pkl"):
        import_new(wb, "env.pkl", b"\x80\x02Nr\xff\xff\xff\x7f.")


def test_a_file_on_disk_or_gzipped_is_read_alike(wb, tmp_path):
    import gzip

    (tmp_path / "a.tsv").write_text(WIKIQA)
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(WIKIQA.encode()))
    one, other = (import_labels(wb, None, p, tmp_path / p) for p in ("a.tsv", "b.tsv.gz"))
    assert exports.export_labels(wb, one.corpus_id, "jsonl") == exports.export_labels(wb, other.corpus_id, "jsonl")
    assert [c.name for c in corpora.list_corpora(wb)] == ["a", "b"]


def test_a_verdict_whose_note_is_too_long_is_reported_and_left_out(wb, towers, ann, bob, elsewhere):
    settle_pair(wb, towers, ann, bob, "incorrect", note="as agreed")
    exported = exports.export_labels(wb, towers.id, "jsonl").replace(
        b"as agreed", b"a" * (consensus.MAX_NOTE_CHARS + 1)
    )
    done = import_new(elsewhere, "set.jsonl", exported)
    assert (done.new, done.verdicts) == (2, 0)
    assert [(line, "at most 500 characters, not 501" in reason) for line, reason in done.malformed] == [(1, True)]


def beir_zip(qrels: dict[str, list[str]], corpus=({"_id": "a", "text": "It is tall."}, {"_id": "b", "text": "No."})):
    out = io.BytesIO()
    queries = [{"_id": f"q{i}", "text": f"How tall, says {i}?"} for i in range(3)]
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("set/corpus.jsonl", "\n".join(map(json.dumps, corpus)))
        archive.writestr("set/queries.jsonl", "\n".join(map(json.dumps, queries)))
        for split, rows in qrels.items():
            archive.writestr(f"set/qrels/{split}.tsv", "\n".join(["query-id\tcorpus-id\tscore", *rows]))
    return out.getvalue()


def test_a_beir_record_without_a_text_is_reported_and_the_rest_goes_in(wb):
    content = beir_zip({"test": ["q0\ta\t1", "q0\tb\t0"]}, [{"_id": "a", "text": "It is tall."}, {"_id": "b"}])
    done = import_new(wb, "set.zip", content)
    assert (done.format, done.new) == ("beir", 1)
    assert done.malformed == ((2, "of corpus.jsonl: not a BEIR record (no 'text')"), (3, "no 'b' in corpus"))


def test_every_split_of_a_beir_archive_is_imported_and_told_by_its_line(wb):
    splits = {"dev": ["q0\ta\t1"], "test": ["q1\ta\t0", "q1\tb\t1"], "train": ["q2\tb\t2"], "._test": ["\0"]}
    done = import_new(wb, "set.zip", beir_zip(splits))
    assert (done.new, done.questions, done.malformed) == (4, 3, ())
    assert [(x.line, x.outcome, x.what) for x in done.lines] == [
        (2, "new", "in dev.tsv: q0 a"),
        (2, "new", "in test.tsv: q1 a"),
        (2, "new", "in train.tsv: q2 b"),
        (3, "new", "in test.tsv: q1 b"),
    ]


def test_a_beir_archive_of_one_split_is_reported_line_by_line(wb):
    first = import_new(wb, "set.zip", beir_zip({"test": ["q0\ta\t1"]}))
    again = import_labels(wb, first.corpus_id, "set.zip", beir_zip({"test": ["q0\ta\t0", "q0\tb\t0"]}))
    assert [(x.line, x.outcome, x.what) for x in again.lines] == [(2, "conflicting", "q0 a"), (3, "new", "q0 b")]


def test_a_line_of_a_report_has_the_texts_of_its_question_and_its_first_sentence(wb):
    texts = {"a": "It was opened in 1889.", "b": "Tall " * 50, "c": "It is made of iron."}
    question = {"qid": "q0", "question": "When was it opened?", "candidates": [
        {"id": name, "text": text, "label": int(name == "a")} for name, text in texts.items()]}  # fmt: skip
    done = import_new(wb, "set.jsonl", json.dumps(question).encode())
    assert [x.text for x in done.lines] == ["When was it opened? · It was opened in 1889., and 2 more"]
    labels = b"question,sentence,label\nWhen was it opened?," + texts["b"].encode() + b",correct\n,,\n"
    lines = import_labels(wb, done.corpus_id, "more.csv", labels).lines
    assert [x.outcome for x in lines] == ["conflicting", "malformed"] and lines[1].text == ""
    assert lines[0].text.startswith("When was it opened? · Tall Tall") and len(lines[0].text) < 150
