"""Word files as documents: what a style, a bold line, a table or a note becomes, and what is refused."""

import io
import zipfile

import pytest

from as2core.documents.reading import read_documents
from as2core.errors import UnreadableFile
from as2core.sources import unpacking
from as2core.types import Document

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
STYLES = {"Title": "Title", "H1": "heading 1", "H7": "heading 7", "Toc": "toc 1"}
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def read_word(*paragraphs: str, notes: str = "") -> Document:
    (document,) = read_documents("rules_1.docx", make_word(*paragraphs, notes=notes))
    return document


def make_word(*paragraphs: str, notes: str = "", padding: int = 0) -> bytes:
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{i}"><w:name w:val="{name}"/></w:style>' for i, name in STYLES.items()
    )
    parts = {
        "_rels/.rels": relate({"officeDocument": "d.xml"}),
        "d.xml": f"<w:document {W}><w:body>{''.join(paragraphs)}</w:body></w:document>",
        "styles.xml": f"<w:styles {W}>{styles}</w:styles>",
        "footnotes.xml": f'<w:footnotes {W}><w:footnote w:id="1">{notes}</w:footnote></w:footnotes>',
        "_rels/d.xml.rels": relate({"styles": "styles.xml", **({"footnotes": "footnotes.xml"} if notes else {})}),
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
        archive.writestr("word/more.xml", bytes(padding))
    return file.getvalue()


def relate(targets: dict[str, str]) -> str:
    lines = (f'<Relationship Id="{k}" Type="{OFFICE}/{k}" Target="{target}"/>' for k, target in targets.items())
    return f'<Relationships xmlns="{RELATIONS}">{"".join(lines)}</Relationships>'


def p(text: str, style: str = "", *, bold: bool = False) -> str:
    look = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{look}<w:r>{'<w:rPr><w:b/></w:rPr>' if bold else ''}<w:t>{text}</w:t></w:r></w:p>"


def table(*rows: list[str]) -> str:
    return f"<w:tbl>{''.join('<w:tr>' + ''.join(f'<w:tc>{c}</w:tc>' for c in row) + '</w:tr>' for row in rows)}</w:tbl>"


def test_styles_make_the_title_and_the_headings_and_a_table_of_contents_is_left_out():
    contents = p("Pumps 2", "Toc")
    document = read_word(p("House rules", "Title"), contents, p("Pumps", "H1"), p("Oil them."), p("P4", "H7"))
    assert (document.title, document.text) == ("House rules", "Pumps\n\nOil them.\n\nP4")
    assert [(document.text[h.start : h.end], h.level) for h in document.headings] == [("Pumps", 1), ("P4", 6)]


@pytest.mark.parametrize(
    ("paragraphs", "title", "text"),
    [
        ([p("Pumps", "H1"), p("Oil them.")], "Pumps", "Oil them."),
        ([p("Oil them."), p("Pumps", "H1"), p("Again.")], "rules 1", "Oil them.\n\nPumps\n\nAgain."),
        ([p("", "Title"), p("Oil them.")], "rules 1", "Oil them."),
        ([p("Only this", "Title")], "Only this", "Only this"),
    ],
    ids=["heading", "later heading", "empty title", "title alone"],
)
def test_the_title_is_also_the_heading_that_the_text_begins_with_or_else_the_name_of_the_file(paragraphs, title, text):
    document = read_word(*paragraphs)
    assert (document.title, document.text) == (title, text)


def test_a_bold_line_that_comes_again_is_a_heading_each_time():
    lines = [p("First."), p("Note", bold=True), p("At nine."), p("Rules", bold=True), p("None.")]
    document = read_word(*lines, *lines[3:])
    assert [document.text[h.start : h.end] for h in document.headings] == ["Rules", "Rules"]


def test_a_short_bold_line_is_a_heading_and_a_bold_sentence_is_not():
    lines = [p("First."), p("Opening hours", bold=True), p("At nine."), p("Never on Sundays.", bold=True)]
    half = "<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>Note</w:t></w:r><w:r><w:t> this</w:t></w:r></w:p>"
    document = read_word(*lines, half)
    assert [document.text[h.start : h.end] for h in document.headings] == ["Opening hours"]


ADDRESS = [p("Greenfield Clinic", bold=True), p("14 Mill Lane, Oxford"), p("Tel. 01865 555 012")]


@pytest.mark.parametrize(
    ("name", "paragraphs", "title"),
    [
        ("visits.docx", [*ADDRESS, p("3 March"), p("When to come", bold=True), p("At two.")], "When to come"),
        ("visits.docx", [*ADDRESS, p("Dear Ms Hill,"), p("Come at two."), p("Fees", bold=True), p("None.")], "visits"),
        ("a1.docx", [*ADDRESS, p("Hours", bold=True), p("At two."), p("Fees", bold=True), p("None.")], "a1"),
        ("a1.docx", [p("Acme, Oxford"), p("Hours", bold=True), p("At two.")], "a1"),
        ("hours.docx", [p("Acme, Oxford"), p("Our hours", bold=True), p("At two.")], "Our hours"),
        ("fees.docx", [p("Acme", bold=True), p("Our fees", bold=True), p("There are none.")], "Our fees"),
        ("a1.docx", [p("Our fees", bold=True), p("Visits", bold=True), p("They are free.")], "Our fees"),
        ("a1.docx", [p("Minutes", bold=True), p("3 March 2026"), p("14 people came")], "Minutes"),
        ("a1.docx", [p("Our fees", bold=True), p("There are 14 in 2026 alone.")], "Our fees"),
        ("a1.docx", [p("Acme", bold=True), p("12345 Town"), p("Our fees", "H1"), p("None.")], "Our fees"),
    ],
    ids=[
        "below an address",
        "letter",
        "sections",
        "plain line",
        "plain line, by name",
        "by name",
        "first",
        "date",
        "number in a sentence",
        "style",
    ],
)
def test_a_bold_line_is_the_title_unless_an_address_follows_it_or_a_later_one_has_the_files_name(
    name, paragraphs, title
):
    (document,) = read_documents(name, make_word(*paragraphs))
    assert document.title == title
    assert ("Mill Lane" in document.text) == (ADDRESS[1] in paragraphs)


def test_cells_get_the_names_of_their_columns_where_the_first_row_is_bold():
    rows = [[p("P4"), p("12")], [p("P5"), p("14")]]
    bold = table([p("Part", bold=True), p("Price", bold=True)], *rows)
    assert read_word(bold).text == "Part: P4 | Price: 12\n\nPart: P5 | Price: 14"
    assert read_word(table([p("Part"), p("Price")], *rows)).text == "Part | Price\n\nP4 | 12\n\nP5 | 14"


def test_a_note_stands_at_the_end_without_its_marks():
    mark = '<w:p><w:r><w:t>Oil them</w:t></w:r><w:r><w:footnoteReference w:id="1"/></w:r><w:r><w:t>.</w:t></w:r></w:p>'
    assert read_word(mark, notes=p("Any oil.")).text == "Oil them.\n\n- Any oil."


def test_what_tracked_changes_deleted_is_not_read_and_what_they_inserted_is():
    change = "<w:p><w:del><w:r><w:delText>Old.</w:delText></w:r></w:del><w:ins><w:r><w:t>New.</w:t></w:r></w:ins></w:p>"
    assert read_word(change).text == "New."


def test_a_long_document_is_read_whole():
    """trafilatura, which looks for the article of a web page, would leave some of it out."""
    parts = [line for i in range(80) for line in (p(f"Part {i}", "H1"), p(f"Sentence {i} is a short one."))]
    assert read_word(*parts).text.count("Sentence") == 80


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "locked with a password; save it as .docx without one"),
        (make_word(p("Text."))[:-40], "not a Word document that can be read"),
        (make_word(p("Text.")).replace(b"d.xml", b"e.xml"), "not a Word document that can be read"),
        (make_word(p("<broken>")), "not a Word document that can be read"),
        (make_word(p("")), "there is no text in it"),
    ],
    ids=["old", "cut", "no part", "bad XML", "empty"],
)
def test_what_cannot_be_read_is_refused_with_a_reason(content, reason):
    with pytest.raises(UnreadableFile, match=rf"^a\.docx: .*{reason}"):
        list(read_documents("a.docx", content))


def test_a_document_that_unpacks_to_far_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(unpacking, "RATIO_FREE_BYTES", 200_000)
    (document,) = read_documents("a.docx", make_word(p("Text."), padding=100_000))
    assert document.text == "Text."
    with pytest.raises(UnreadableFile, match=r"^a\.docx: it unpacks to more than 200 times its size"):
        list(read_documents("a.docx", make_word(p("Text."), padding=1_000_000)))


def test_an_entity_that_grows_is_refused():
    bomb = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 20}">' for i in range(8))
    content = make_word(p("&e8;"))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["d.xml"] = f'<!DOCTYPE d [<!ENTITY e0 "lol">{bomb}]>'.encode() + parts["d.xml"]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    with pytest.raises(UnreadableFile, match="not a Word document that can be read"):
        list(read_documents("a.docx", file.getvalue()))
