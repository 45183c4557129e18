"""Presentations as documents: what a title, a list, a table, a note or a footer becomes, and what is refused."""

import io
import zipfile

import pytest
from document_files import one
from pptx import Presentation
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Cm

from as2core.documents.reading import read_documents
from as2core.errors import UnreadableFile
from as2core.sources import unpacking

TITLE_SLIDE, BULLETS, COMPARISON, TITLE_ONLY, BLANK = 0, 1, 4, 5, 6
SVG_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000000301010018dd8db0"
    "0000000049454e44ae426082"
)


class Deck:
    """A presentation in the making."""

    def __init__(self):
        self.presentation = Presentation()
        self.presentation.core_properties.title = "PowerPoint Presentation"

    def add(self, title="", *texts, layout=BULLETS):
        slide = self.presentation.slides.add_slide(self.presentation.slide_layouts[layout])
        if title:
            slide.shapes.title.text = title
        if texts:
            slide.placeholders[1].text = "\n".join(texts)
        return slide

    def write(self):
        file = io.BytesIO()
        self.presentation.save(file)
        return file.getvalue()

    def read(self, name="rules_1.pptx"):
        return one(name, self.write())


def add_box(parent, text, left=1, top=1, width=8, height=1):
    box = parent.shapes.add_textbox(Cm(left), Cm(top), Cm(width), Cm(height))
    box.text_frame.text = text
    return box


def read_slide(draw, title="Prices"):
    """The text of a slide below its title."""
    deck = Deck()
    draw(deck.add(title, layout=TITLE_ONLY))
    return deck.read().text


def list_headings(document):
    return [(document.text[h.start : h.end], h.level) for h in document.headings]


def test_the_first_slides_title_is_the_documents_and_the_others_are_headings():
    deck = Deck()
    deck.add("House rules", "For tenants", layout=TITLE_SLIDE)
    deck.add("Pumps", "Oil them.", "Not too often.")
    deck.add("Bins", "Empty them.")
    document = deck.read()
    assert document.title == "House rules"
    assert document.text == "For tenants\n\nPumps\n\n- Oil them.\n- Not too often.\n\nBins\n\n- Empty them."
    assert list_headings(document) == [("Pumps", 2), ("Bins", 2)]


@pytest.mark.parametrize(
    ("properties", "title"),
    [
        ("House rules", "House rules"),
        ("PowerPoint Presentation", "rules 1"),
        ("PowerPoint-Präsentation", "rules 1"),
        ("old.pptx", "rules 1"),
        ("", "rules 1"),
    ],
)
def test_without_a_title_on_the_first_slide_it_is_that_of_the_properties_or_the_files_name(properties, title):
    deck = Deck()
    deck.presentation.core_properties.title = properties
    deck.add("", "Oil them.")
    deck.add("Bins", "Empty them.")
    assert deck.read().title == title


def test_a_vertical_tab_ends_a_line():
    deck = Deck()
    deck.add("House\vrules", "In Ulm\vMill Lane")
    document = deck.read()
    assert (document.title, document.text) == ("House rules", "- In Ulm\n- Mill Lane")


def test_levels_of_a_list_are_items_in_order_and_a_paragraph_without_a_bullet_is_none():
    def draw(slide):
        frame = add_box(slide, "These are ours:", top=5).text_frame
        for text, level in (("Pumps", 1), ("P4", 2), ("Valves", 1)):
            paragraph = frame.add_paragraph()
            paragraph.text, paragraph.level = text, level
        frame.add_paragraph().text = "All are old."

    assert read_slide(draw) == "These are ours:\n\n- Pumps\n- P4\n- Valves\n\nAll are old."


def test_shapes_are_read_from_top_to_bottom_in_whatever_order_they_were_drawn():
    def draw(slide):
        add_box(slide, "Last.", top=15)
        add_box(slide, "First.", top=5)
        add_box(slide, "Second.", top=10)

    assert read_slide(draw) == "First.\n\nSecond.\n\nLast."


def test_columns_are_read_one_after_the_other_below_what_stands_over_both():
    def draw(slide):
        add_box(slide, "One desk.", left=1, top=10)
        add_box(slide, "Two desks.", left=12, top=10)
        add_box(slide, "Premium.", left=12, top=8)
        add_box(slide, "Basic.", left=1, top=8)
        add_box(slide, "Both are new.", left=1, top=5, width=20)
        add_box(slide, "Ask us.", left=1, top=15, width=20)

    text = read_slide(draw)
    assert text == "Both are new.\n\nBasic.\n\nOne desk.\n\nPremium.\n\nTwo desks.\n\nAsk us."


def test_the_layout_for_comparisons_is_read_side_by_side_with_the_heads_as_headings():
    deck = Deck()
    slide = deck.add("Offers", layout=COMPARISON)
    for place, text in zip(list(slide.placeholders)[1:], ["Basic", "One desk.", "Premium", "Two desks."], strict=True):
        place.text = text
    document = deck.read()
    assert document.text == "Basic\n\n- One desk.\n\nPremium\n\n- Two desks."
    assert list_headings(document) == [("Basic", 3), ("Premium", 3)]


def test_a_group_is_read_at_its_place():
    def draw(slide):
        add_box(slide, "Last.", top=15)
        inner = slide.shapes.add_group_shape().shapes.add_group_shape()
        add_box(inner, "Second.", top=8)
        add_box(inner, "First.", top=5)

    assert read_slide(draw) == "First.\n\nSecond.\n\nLast."


def test_the_cells_of_a_table_get_the_names_of_their_columns():
    def draw(slide):
        table = slide.shapes.add_table(3, 3, Cm(1), Cm(5), Cm(9), Cm(3)).table
        for row, texts in enumerate([["Store", "Day", "Hours"], ["Ulm", "Monday", "9-17"], ["", "Sunday", "11\v-12"]]):
            for column, text in enumerate(texts):
                table.cell(row, column).text = text
        table.cell(1, 0).merge(table.cell(2, 0))

    assert read_slide(draw) == "Store: Ulm | Day: Monday | Hours: 9-17\n\nStore: Ulm | Day: Sunday | Hours: 11 -12"


def test_a_table_without_a_header_has_its_cells_alone_and_a_cell_over_all_columns_is_a_row():
    def draw(slide):
        table = slide.shapes.add_table(3, 2, Cm(1), Cm(5), Cm(9), Cm(3)).table
        table.first_row = False
        for row, texts in enumerate([["P4", "12"], ["Old parts", ""], ["P5", "14"]]):
            for column, text in enumerate(texts):
                table.cell(row, column).text = text
        table.cell(1, 0).merge(table.cell(1, 1))

    assert read_slide(draw) == "P4 | 12\n\nOld parts\n\nP5 | 14"


def test_a_slides_notes_follow_it():
    deck = Deck()
    deck.add("House rules", "Oil them.").notes_slide.notes_text_frame.text = "Any oil will do.\nAsk Tom."
    deck.add("Bins", "Empty them.").notes_slide.notes_text_frame.text = ""
    assert deck.read().text == "- Oil them.\n\nAny oil will do.\n\nAsk Tom.\n\nBins\n\n- Empty them."


def test_hidden_slides_and_shapes_are_not_read():
    deck = Deck()
    add_box(deck.add("House rules", "Oil them."), "Secret.")._element._nvXxPr.cNvPr.set("hidden", "1")
    deck.add("Old rules", "Secret.")._element.set("show", "0")
    assert (deck.read().title, deck.read().text) == ("House rules", "- Oil them.")


def test_placeholders_without_text_and_slide_numbers_dates_and_footers_are_not_read():
    deck = Deck()
    slide = deck.add("House rules", layout=BULLETS)
    for place in deck.presentation.slide_layouts[BULLETS].placeholders:
        if place.placeholder_format.idx >= 10:
            slide.shapes.clone_placeholder(place)
    around = [p for p in slide.placeholders if p.placeholder_format.idx >= 10]
    for place in around:
        place.text = "Acme 2026"
    add_box(slide, "Oil them.", top=5)
    assert len(around) == 3 and deck.read().text == "Oil them."


def test_what_stands_at_the_same_place_of_the_slides_is_read_once():
    deck = Deck()
    for number in range(4):
        slide = deck.add(f"Rule {number}", f"Text {number}.")
        add_box(slide, "Acme, call 4711", top=17)
        add_box(slide, "Note that.", top=12 + number)
    text = deck.read().text
    assert text.startswith("- Text 0.\n\nNote that.\n\nAcme, call 4711\n\nRule 1")
    assert (text.count("4711"), text.count("Note that.")) == (1, 4)


def test_two_slides_have_nothing_that_repeats():
    deck = Deck()
    for number in range(2):
        add_box(deck.add(f"Rule {number}", f"Text {number}."), "Acme, call 4711", top=17)
    assert deck.read().text.count("4711") == 2


@pytest.mark.parametrize(
    ("first", "heading"), [("Bins", "Bins"), ("Empty them.", ""), ("x" * 101, ""), ("2026", "")],
    ids=["line", "sentence", "long", "number"],
)  # fmt: skip
def test_a_short_line_at_the_top_is_the_title_of_a_slide_that_has_none(first, heading):
    deck = Deck()
    deck.add("House rules", "Oil them.")
    slide = deck.add(layout=BLANK)
    add_box(slide, "They are green.", top=9)
    add_box(slide, first, top=2)
    document = deck.read()
    assert document.text == f"- Oil them.\n\n{first}\n\nThey are green."
    assert list_headings(document) == ([(heading, 2)] if heading else [])


def test_a_charts_title_and_values_are_read():
    def draw(slide):
        data = CategoryChartData()
        data.categories = ["Ulm", "Lund"]
        data.add_series("Sales", (1.1000000001, None))
        data.add_series("Costs", (2, 1234567))
        place = Cm(1), Cm(5), Cm(9), Cm(5)
        chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *place, data).chart
        chart.has_title = True
        chart.chart_title.text_frame.text = "Sales by store"

    assert read_slide(draw) == "Sales by store\n\nUlm | Sales: 1.1 | Costs: 2\n\nLund | Costs: 1234567"


def test_of_a_chart_without_categories_the_title_is_read_and_a_chart_that_is_not_known_does_no_harm():
    def draw(slide):
        data = XyChartData()
        data.add_series("Sales").add_data_point(1, 2)
        chart = slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, Cm(1), Cm(5), Cm(9), Cm(5), data).chart
        chart.has_title = True
        chart.chart_title.text_frame.text = "Sales"
        other = slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, Cm(1), Cm(12), Cm(9), Cm(5), data).chart
        scatter = other._chartSpace.chart.plotArea[-3]
        other._chartSpace.chart.plotArea.remove(scatter)

    assert read_slide(draw) == "Sales"


def add_part(content: bytes, changes: dict[str, bytes]) -> bytes:
    """The archive with some of its parts changed, or with new ones."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()} | changes
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return file.getvalue()


SMART_ART = """<p:graphicFrame xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"
 xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><p:nvGraphicFramePr><p:cNvPr id="9" name="D"/>
<p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr><p:xfrm><a:off x="900000" y="6900000"/>
<a:ext cx="900000" cy="9"/></p:xfrm>
<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/diagram"><dgm:relIds
 xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"
 xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:dm="rId99"/></a:graphicData>
</a:graphic></p:graphicFrame></p:spTree>"""
DIAGRAM = b"""<dgm:dataModel xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"
 xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><dgm:ptLst><dgm:pt modelId="1"><dgm:t><a:bodyPr/>
<a:p><a:r><a:t>Order </a:t></a:r><a:r><a:t>it</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt modelId="2"><dgm:t><a:p><a:r>
<a:t>Get it</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>"""


def test_the_texts_of_a_smartart_are_read():
    deck = Deck()
    deck.add("Steps", "These are two.")
    content = deck.write()
    slide, relations = "ppt/slides/slide1.xml", "ppt/slides/_rels/slide1.xml.rels"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        xml, links = archive.read(slide).decode(), archive.read(relations).decode()
    link = (
        '<Relationship Id="rId99" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData"'
        ' Target="../diagrams/data1.xml"/></Relationships>'
    )
    changes = {
        slide: xml.replace("</p:spTree>", SMART_ART).encode(),
        relations: links.replace("</Relationships>", link).encode(),
        "ppt/diagrams/data1.xml": DIAGRAM,
    }
    assert one("a.pptx", add_part(content, changes)).text == "- These are two.\n\nOrder it\n\nGet it"


def make_deck(text="Text."):
    deck = Deck()
    deck.add("", text)
    return deck.write()


def make_pictures():
    deck = Deck()
    for _ in range(3):
        deck.add(layout=BLANK).shapes.add_picture(io.BytesIO(SVG_PIXEL), 0, 0)
    return deck.write()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"PK", "not a presentation that can be read"),
        (b"plain text", "not a presentation that can be read"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "locked with a password; save it as .pptx without one"),
        (make_deck()[:-40], "not a presentation that can be read"),
        (add_part(make_deck(), {"ppt/slides/slide1.xml": b"<broken"}), "not a presentation that can be read"),
        (make_pictures(), "no text in it, only pictures; save it as PDF and run text recognition on it"),
        (Deck().write(), "no text in it"),
    ],
    ids=["no zip", "text", "old", "cut", "bad XML", "pictures", "no slide"],
)
def test_what_cannot_be_read_is_refused_with_a_reason(content, reason):
    with pytest.raises(UnreadableFile) as error:
        list(read_documents("a.pptx", content))
    assert str(error.value).startswith("a.pptx: ") and reason in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("part", ["ppt/more.xml", "ppt/media/a.bmp"])
def test_a_deck_that_unpacks_to_far_too_much_is_refused(part, monkeypatch):
    monkeypatch.setattr(unpacking, "RATIO_FREE_BYTES", 2_000_000)
    assert one("a.pptx", add_part(make_deck(), {part: bytes(1_000_000)})).text == "- Text."
    with pytest.raises(UnreadableFile, match=r"^a\.pptx: it unpacks to more than 200 times its size"):
        list(read_documents("a.pptx", add_part(make_deck(), {part: bytes(10_000_000)})))


def test_an_entity_that_grows_is_refused():
    bomb = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 20}">' for i in range(8))
    with zipfile.ZipFile(io.BytesIO(make_deck())) as archive:
        xml = archive.read("ppt/slides/slide1.xml").decode()
    evil = xml.replace("<p:sld ", f'<!DOCTYPE d [<!ENTITY e0 "lol">{bomb}]><p:sld ', 1).replace("Text.", "&e8;")
    with pytest.raises(UnreadableFile, match="not a presentation that can be read"):
        one("a.pptx", add_part(make_deck(), {"ppt/slides/slide1.xml": evil.encode()}))


def test_other_presentations_have_a_remedy():
    for name in ("a.ppt", "a.odp", "a.key", "a.pptm"):
        with pytest.raises(UnreadableFile, match=r"save it as PowerPoint \(\.pptx\)"):
            list(read_documents(name, b"x"))
