"""Documents by their names and lines, tables of documents, and files that are none."""

import json

import pytest
from document_files import one, pdf
from workbook_files import make_book

from as2core.documents.office_files import OLD_FORMAT
from as2core.documents.reading import MAX_COLUMNS, MAX_TITLE_CHARS, SUFFIXES, read_documents
from as2core.errors import UnreadableFile


def test_old_encodings_are_understood():
    assert one("a.txt", "Café — naïve".encode("cp1252")).text == "Café — naïve"
    assert one("a.txt", "Café".encode("utf-16")).text == "Café"
    assert one("a.txt", "Café".encode("utf-8-sig")).text == "Café"


@pytest.mark.parametrize("name", ["a.html", "a.txt", "a.csv"])
def test_broken_utf_16_is_refused_with_the_byte(name):
    with pytest.raises(UnreadableFile, match="marked as UTF-16, but its byte 33 is not"):
        one(name, b"\xff\xfe" + b"text\n<p>The sea is deep.</p>one")


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("directions.txt", "How to find us\n=====\n\nTake the bus.", "How to find us"),
        ("pool_rules.txt", "Rules for the hydrotherapy pool\n1. Take a shower.", "Rules for the hydrotherapy pool"),
        ("complaints.txt", "How to complain\n\nTalk to us first.", "How to complain"),
        ("old/scan 12 (3).txt", "Fire drill\n\nWalk out.", "Fire drill"),
        ("fees_2026.txt", "Greenfield Clinic\n14 Mill Lane\n\nA visit costs 48 pounds.", "fees 2026"),
        ("boiler.txt", "The boiler failed again.\n\nPlease wait.", "boiler"),
        ("boiler.txt", "the boiler\nfailed again.", "boiler"),
        ("boiler.txt", "Boiler", "boiler"),
    ],
)
def test_the_first_line_of_a_text_is_its_title_where_the_name_or_a_rule_confirms_it(name, text, title):
    assert one(name, text).title == title


def test_a_table_gives_a_document_a_row():
    data = 'ID;Title;Text;year\n7;Ulm;"It is old.\nVery old.";854\n;;"A ""new"" one.";\n'
    first, second = read_documents("towns.csv", data.encode())
    assert (first.id, first.title, first.text, first.meta) == ("7", "Ulm", "It is old.\nVery old.", {"year": "854"})
    assert (second.id, second.text) == ("towns-4", 'A "new" one.')


@pytest.mark.parametrize("first", ["sep=;\r\n", '"sep=;"\n', "SEP=;;;\n"])
@pytest.mark.parametrize("name", ["towns.csv", "towns.tsv"])
def test_the_line_for_excel_that_names_the_delimiter_is_no_row_of_a_table_and_counts_as_a_line(first, name):
    content = f"\ufeff{first}Title;Text\nUlm;It is old, and large.\nUlm;\n".encode()
    problems = []
    [document] = read_documents(name, content, on_problem=problems.append)
    assert (document.id, document.title, document.text) == ("towns-3", "Ulm", "It is old, and large.")
    assert [str(p) for p in problems] == ["line 4: 'text' holds no text"]


@pytest.mark.parametrize("name", ["Article", "subject", "Name", "question"])
def test_a_table_s_title_may_have_another_name(name):
    document = one("faq.csv", f"{name};Body;Owner\nReturns;Keep the receipt.;Ann\n")
    assert (document.title, document.text, document.meta) == ("Returns", "Keep the receipt.", {"owner": "Ann"})


def test_lines_of_our_own_beir_and_medquad_records():
    rows = [
        {"id": 5, "title": "Own", "text": "A."},
        {"_id": "b", "title": "Beir", "text": "B.", "metadata": {"x": 1}},
        {"id": "1-1", "focus": "Flu", "source": "CDC", "type": "causes", "question": "Why?", "answer": "C."},
        {"text": "No id."},
        {"_id": None, "id": 0, "text": "D."},
    ]
    found = list(read_documents("d.jsonl", "\n".join(map(json.dumps, rows)).encode()))
    assert [(d.id, d.title, d.text) for d in found] == [
        ("5", "Own", "A."),
        ("b", "Beir", "B."),
        ("CDC-1-1", "Flu", "C."),
        ("d-4", "", "No id."),
        ("0", "", "D."),
    ]
    assert found[1].meta == {"metadata": '{"x": 1}'}
    assert found[2].meta == {"source": "CDC", "type": "causes", "question": "Why?"}


def test_an_id_that_comes_again_is_numbered_so_that_nothing_is_lost():
    data = b'{"id": "a", "text": "1"}\n{"id": "a", "text": "2"}\n{"id": "a", "text": "3"}\n'
    assert [(d.id, d.text) for d in read_documents("d.jsonl", data)] == [("a", "1"), ("a~2", "2"), ("a~3", "3")]


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("a a a~2", ["a", "a~2", "a~2~2"]),
        ("a~2 a a", ["a~2", "a", "a~3"]),
        ("a a~2 a a", ["a", "a~2", "a~3", "a~4"]),
    ],
)
def test_an_id_is_numbered_on_until_it_is_free(given, made):
    lines = "".join(json.dumps({"id": i, "text": "x"}) + "\n" for i in given.split())
    assert [d.id for d in read_documents("a.jsonl", lines.encode())] == made


def test_a_bad_line_is_told_and_the_others_are_read():
    data = b'{"text": "A"}\n{bad}\n[1]\n{"text": " "}\n{"candidates": []}\n{"titel": "x"}\n{"text": "B"}\n'
    told = []
    assert [d.text for d in read_documents("d.jsonl", data, on_problem=told.append)] == ["A", "B"]
    assert [p.line for p in told] == [2, 3, 4, 5, 6]
    assert "import the file as labels" in told[3] and told[2].endswith("'text' holds no text")
    with pytest.raises(UnreadableFile, match=r"^d\.jsonl: line 2: not JSON"):
        list(read_documents("d.jsonl", data))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "x", "m": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply to read"),
        ('{"text": "x", "n": ' + "1" * 5000 + "}", "Exceeds the limit (4300 digits)"),
    ],
    ids=["brackets", "digits"],
)
def test_a_line_too_deep_or_of_too_long_a_number_is_told_like_any_bad_one(line, reason):
    told = []
    data = f'{{"text": "A"}}\n{line}\n{{"text": "B"}}\n'.encode()
    assert [d.text for d in read_documents("d.jsonl", data, on_problem=told.append)] == ["A", "B"]
    assert [p.line for p in told] == [2] and told[0].reason.startswith(reason)


def test_a_file_name_that_is_not_utf8_is_read_as_an_old_one_and_two_stay_two(tmp_path):
    for raw in (b"B\xe4che.txt", b"B\xfcche.txt"):
        name = raw.decode("utf-8", "surrogateescape")  # as a listing of a folder gives it
        document = one(name, "Text.")
        expected = raw.decode("cp1252")
        assert (document.id, document.title, document.source) == (expected[:-4], expected[:-4], expected)
    with pytest.raises(UnreadableFile, match=r"^B\?che\.txt: the file is empty"):
        list(read_documents("B\ud800che.txt", b""))


def test_no_half_character_reaches_a_database():
    document = one("d.jsonl", '{"text": "half \\ud800 and nul \\u0000."}')
    assert document.text == "half ? and nul ." and document.text.encode()


UNREADABLE = {
    "x.odt": (b"PK", "not a supported kind of document; save it as Word (.docx)"),
    "x.epub": (b"PK", "not a supported kind of document; save it as PDF"),
    "x.ODP": (b"PK", "not a supported kind of document; save it as PowerPoint (.pptx)"),
    "x.msg": (b"From: a", "not a supported kind of document; save the mail as .eml"),
    "w.docx": (b"PK", "not a Word document that can be read"),
    "x.ods": (b"PK", "not a supported kind of document; save it as Excel workbook (.xlsx)"),
    "w.xlsx": (b"PK", "not an Excel workbook that can be read"),
    "w.xlsm": (b"PK", "not an Excel workbook that can be read"),
    "p.PPTX": (b"PK", "not a presentation that can be read"),
    "e.eml": (b"From: a", "there is no text in the mail"),
    "none": (b"text", "not a supported kind of document; save it as text (.txt), PDF or Word (.docx)"),
    "e.txt": (b" \n ", "there is no text in it"),
    "b.txt": (b"\xff\x00\x01", "bytes that are not text"),
    "zeros.md": (bytes(100), "no text in it"),
    "e.jsonl": (b"\n\n", "there is no document in it"),
    "e.md": (b"---\ntitle: T\n---\n", "there is no text in it"),
    "c.csv": (
        b"a,b\n1,2\n",
        "The sentences must be in a column named text (or answer, content, body). Its columns are: a, b. Rename one",
    ),
    "m.csv": (b"id,text\n1,x,y\n", "line 2: more fields than the 2 columns"),
    "e.html": (b" ", "not a web page"),
    "0.csv": (b"", "the file is empty"),
    "0.docx": (b"", "the file is empty"),
    "0.pdf": (b"", "the file is empty"),
    "p.txt": (pdf("Text."), "by its content it is a PDF: name it .pdf"),
    "p.html": (pdf("Text."), "by its content it is a PDF: name it .pdf"),
    "o.md": (OLD_FORMAT, "by its content it is of an old version of Office or locked with a password"),
    "w.html": (
        make_book([["text"], ["Some words."]]),
        "a Word, PowerPoint or Excel file or a zip archive: name it",
    ),
    "x.docx": (make_book([["text"], ["Some words."]]), "by its content it is an Excel workbook: name it .xlsx"),
    "t.tsv": (b"Text\ttitle\ttext\na\tb\tc\n", "two of its columns are named text. Rename one"),
    "t.xlsx": (make_book([["title", "text", "Text"], ["a", "b", "c"]]), "two columns of a sheet are named text"),
    "e.htm": (b"<html><body><script>x</script></body></html>", "there is no text in it"),
    "d.pdf": (b"%PDF-1.4 nothing", "not a PDF that can be read"),
    "t.pdf": (b"plain text", "not a PDF that can be read"),
    "s.pdf": (pdf("", ""), "only pictures"),
    "p.pdf": (pdf("Secret.", password="x"), "locked with a password"),
    "c.pdf": (pdf("Secret.", password="x").replace(b"/Standard", b"/Adobe.PK"), "not a PDF that can be read"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_cannot_be_read_is_told_by_name_and_reason(name):
    data, reason = UNREADABLE[name]
    with pytest.raises(UnreadableFile) as told:
        list(read_documents(name, data))
    assert str(told.value).startswith(f"{name}: ") and reason in str(told.value)
    assert str(told.value).count(name) == 1


PAGE = "<html><head><title>Tea</title></head><body><p>Tea is hot.</p></body></html>"


@pytest.mark.parametrize(
    "data",
    [
        f"<!DOCTYPE html>\n{PAGE}".encode(),
        f"\ufeff \n<!doctype HTML PUBLIC '-//W3C//DTD HTML 4.01//EN'>{PAGE}".encode(),
        PAGE.replace("<html>", "<HTML lang=en>").encode("cp1252"),
        f"<?xml version='1.0'?><!-- saved --><!-- twice -->\n{PAGE}".encode(),
        PAGE.encode("utf-16"),
    ],
)
def test_a_web_page_named_txt_is_read_as_a_page_and_said_to_be_one(data):
    notes: list[str] = []
    (document,) = read_documents("tea.txt", data, on_note=notes.append)
    assert (document.id, document.source, document.title, document.text) == ("tea", "tea.txt", "Tea", "Tea is hot.")
    assert notes == ["is a web page by its content, and was read as one"]


@pytest.mark.parametrize(
    "text",
    [
        f"A page is written so: {PAGE}",
        "<htmlx> is no tag.",
        "<p>It is bold.</p>",
        "<!-- a note --> <!doctype book> Text.",
        "<!---->" * 500 + "Text.",  # of which a pattern that tried each division would try 2^499
    ],
)
def test_a_text_that_has_tags_but_does_not_begin_as_a_page_stays_text(text):
    notes: list[str] = []
    (document,) = read_documents("tea.txt", text.encode(), on_note=notes.append)
    assert (document.text, notes) == (text, [])


def test_a_path_is_read_by_its_name_and_a_missing_one_told(tmp_path):
    (tmp_path / "a.TXT").write_text("Text.")
    (document,) = read_documents(tmp_path / "a.TXT")
    assert (document.id, document.source) == ("a", "a.TXT")
    with pytest.raises(UnreadableFile, match=r"^gone\.txt: cannot be read"):
        list(read_documents(tmp_path / "gone.txt"))


def test_every_suffix_is_tried_here():
    tried = {"." + name.rpartition(".")[2].lower() for name in UNREADABLE} | {".markdown", ".tsv"}
    assert set(SUFFIXES) <= tried
    assert one("x.markdown", "# T\n\nText.").text == "Text."
    assert one("x.tsv", "text\tid\nA, b.\t1\n").text == "A, b."


def test_a_name_of_many_digits_is_told_from_one_that_says_nothing_at_once():
    """A pattern that tried each way to divide the digits would need 2^59 steps."""
    digits = "1" * 60
    assert one(f"{digits}z.txt", "Fire drill\n\nWalk out.").title == f"{digits}z"
    assert one(f"{digits} v{digits}.txt", "Fire drill\n\nWalk out.").title == "Fire drill"


def test_a_first_line_of_tabs_is_read_at_once():
    with pytest.raises(UnreadableFile, match="it has 300,001 columns"):
        one("a.csv", "sep=;" + "\t" * 300_000 + "x\n")


def test_the_text_of_a_long_title_is_read_below_its_beginning_and_a_long_name_is_refused():
    document = one("a.csv", f"title,text\n{'T' * 5000},Some text.\n")
    assert (document.title, document.text) == ("T" * MAX_TITLE_CHARS, "Some text.")
    assert len(one("a.md", f"---\ntitle: {'T' * 5000}\n---\nSome text.\n").title) == MAX_TITLE_CHARS
    with pytest.raises(UnreadableFile, match="its id has more than 1,000 characters"):
        one("a.csv", f"id,text\n{'i' * 5000},Some text.\n")
    with pytest.raises(UnreadableFile, match="its name has 5,004 characters"):
        one("n" * 5000 + ".txt", "Some text.")


def test_a_table_of_more_columns_than_a_spreadsheet_has_is_refused():
    columns = ",".join(f"c{n}" for n in range(MAX_COLUMNS))
    with pytest.raises(UnreadableFile, match="it has 16,385 columns"):
        one("a.csv", f"text,{columns}\nSome text.\n")
