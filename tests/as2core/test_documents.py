"""Documents of every kind, and files that are none."""

import io
import json

import pypdf
import pytest

from as2core.data.documents import SUFFIXES, read_documents
from as2core.data.parser_process import ParserProcess
from as2core.data.sections import split_document
from as2core.errors import UnreadableFile
from as2core.text import split_sentences


def one(name, data):
    (document,) = read_documents(name, data.encode() if isinstance(data, str) else data)
    return document


def pdf(*pages, title="", password=""):
    """A PDF written by hand: each page's lines in Helvetica."""
    writer = pypdf.PdfWriter()
    font = pypdf.generic.DictionaryObject(
        {
            pypdf.generic.NameObject("/Type"): pypdf.generic.NameObject("/Font"),
            pypdf.generic.NameObject("/Subtype"): pypdf.generic.NameObject("/Type1"),
            pypdf.generic.NameObject("/BaseFont"): pypdf.generic.NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(300, 300)
        shown = "".join(f"({row}) Tj T* " for row in text.split("\n"))
        stream = pypdf.generic.DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 14 TL 20 280 Td {shown}ET".encode() if text else b"")
        page[pypdf.generic.NameObject("/Contents")] = writer._add_object(stream)
        fonts = pypdf.generic.DictionaryObject({pypdf.generic.NameObject("/F1"): font})
        page[pypdf.generic.NameObject("/Resources")] = pypdf.generic.DictionaryObject(
            {pypdf.generic.NameObject("/Font"): fonts}
        )
    if title:
        writer.add_metadata({"/Title": title})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_plain_text_is_kept_with_its_line_ends_made_one():
    document = one("notes/My_river.txt", "One.\r\nTwo.\r\r\nThree.\x0cFour.\n")
    assert (document.id, document.title, document.source) == ("notes/My_river", "My river", "notes/My_river.txt")
    assert document.text == "One.\nTwo.\n\nThree.\n\nFour."


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("within days of deliv-\r\nery. The rest\nfollows.", "within days of delivery.\nThe rest\nfollows."),
        ("of de\u00adliv\u00ad\nery, \u200ba\u00adlas", "of delivery,\nalas"),
        ("of deliv\u2010\nery", "of delivery"),
        ("from 20 De-\ncember on", "from 20 December\non"),
        ("A gizmodrome. The giz-\nmodrome\n\nNext", "A gizmodrome. The gizmodrome\n\nNext"),  # the text has it
        ("It is well-\nknown here", "It is well-known\nhere"),
        ("An e-mail. By e-\nmail, too", "An e-mail. By e-mail,\ntoo"),  # though "email" is a word
        ("Pre- or post-war. It is pre-\nand post-war.", "Pre- or post-war. It is pre-\nand post-war."),
        ("North-\nEast - \nfive-\n- six", "North-\nEast - \nfive-\n- six"),
    ],
)
def test_a_word_that_a_text_divides_at_a_line_end_is_joined_and_a_real_hyphen_stays(text, read):
    assert one("a.txt", text).text == read


def test_markdown_joins_divided_words_but_not_in_a_program():
    text = "Days of deliv-\nery. Well-\n*known* and well-\nknown.\n\n- a deliv-\n  ery\n\n```\ndeliv-\nery\n```\n"
    assert one("a.md", text).text == (
        "Days of delivery. Well-known and well-known.\n\n- a delivery\n\ndeliv-\nery"
    )  # fmt: skip


def test_a_hyphen_between_two_words_at_a_line_end_of_a_pdf_stays():
    text = one("a.pdf", pdf("It has a two-\nyear term, gizmo-\ndromes, mea-\nsured de-\nlivery.")).text
    assert " ".join(text.split()) == "It has a two-year term, gizmodromes, measured delivery."


def test_old_encodings_are_understood():
    assert one("a.txt", "Café — naïve".encode("cp1252")).text == "Café — naïve"
    assert one("a.txt", "Café".encode("utf-16")).text == "Café"
    assert one("a.txt", "Café".encode("utf-8-sig")).text == "Café"


@pytest.mark.parametrize("name", ["a.html", "a.txt", "a.csv"])
def test_broken_utf_16_is_refused_with_the_byte(name):
    with pytest.raises(UnreadableFile, match="marked as UTF-16, but its byte 33 is not"):
        one(name, b"\xff\xfe" + b"text\n<p>The sea is deep.</p>one")


MARKDOWN = """---
title: "The Danube"
field: rivers
---
# Course

The Danube *rises* in the [Black Forest](https://example.org) and
flows **east**. See `Donau` & ![a map](map.png).

- one spring
- another
  spring

1. first
2. second

| city | bank |
|------|------|
| Ulm  | left |

> Old words.

<!-- unseen -->
<div>seen</div>

```
code stays
```
"""


def test_markdown_is_read_without_its_marks():
    document = one("danube.md", MARKDOWN)
    assert (document.id, document.title, document.meta) == ("danube", "The Danube", {"field": "rivers"})
    assert document.text.split("\n\n") == [
        "The Danube rises in the Black Forest and flows east. See Donau & a map.",
        "- one spring\n- another spring",
        "1. first\n2. second",
        "city: Ulm | bank: left",
        "Old words.",
        "seen",
        "code stays",
    ]


PROGRAM = """def f(x):
    # Strip it. Then go.

    return x.strip()"""


SECTIONS = {
    "labels.md": """# Labels

Give one.

## 2.1. To undo a label. Or two

Press z. Press it again.

### Labels

Many labels.

## %s

End.
""",
    "labels.html": "<title>Labels - Manual</title><h1>Labels</h1><p>Give one.</p><div><h2><a></a>2.1. To <acronym>undo"
    "</acronym> a label. Or two</h2></div><p>Press z. Press it again.</p><h3>Labels</h3><p>Many labels.</p><h2>%s</h2>"
    "<p>End.</p>",
}


@pytest.mark.parametrize("name", SECTIONS)
def test_a_sentence_knows_the_heading_of_its_section(name):
    sentences = split_document(one(name, SECTIONS[name] % ("Prose set in large type. " * 9)))
    undo = "To undo a label. Or two"
    assert [(s.text, s.heading) for s in sentences][:4] == [
        ("Give one.", ""),
        (f"2.1. {undo}: Press z.", undo),
        ("Press it again.", undo),
        ("Many labels.", ""),
    ]
    assert [s.text for s in sentences[4:]] == [*["Prose set in large type."] * 9, "End."]  # no heading, nor one piece
    assert not any(s.heading for s in sentences[4:])


def test_a_question_stands_before_its_answer_and_one_within_a_paragraph_does_not():
    text = "Prices\n\n1. Is it free?\n\nYes, it is. Why not?\n\n2. Where is it?\n\n3. And when?\n\nAt noon.\n\nReally?"
    assert [s.text for s in split_document(one("faq.txt", text))] == [
        "Prices",
        "1. Is it free? Yes, it is.",
        "Why not?",
        "2. Where is it?",
        "3. And when? At noon.",
        "Really?",
    ]


def test_a_line_that_is_a_question_stands_before_its_answer_too():
    text = "Q: Is it free?\nA: Yes. Always.\nQ: What of the mill that they\nbuilt?\nA: It is gone."
    text += "\nWhy? Nobody\nknows. So what?"
    assert [s.text for s in split_document(one("faq.txt", text))] == [
        "Q: Is it free? A: Yes.",
        "Always.",
        "Q: What of the mill that they built? A: It is gone.",
        "Why?",
        "Nobody knows.",
        "So what?",
    ]


def test_a_short_line_between_two_sentences_of_a_text_is_a_heading_and_one_in_a_list_is_not():
    text = "The moth\n\nOverview\nIt flies at night.\n\nFood\n\nIt eats wool.\n\nRed wine\n\nBeer\n\nIt drinks.\n\nEnd"
    assert [s.text for s in split_document(one("the-moth.txt", text))] == [
        "Overview: It flies at night.",
        "Food: It eats wool.",
        "Red wine",
        "Beer",
        "It drinks.",
        "End",
    ]
    assert [s.text for s in split_document(one("the-moth.txt", "The moth"))] == ["The moth"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.md", "# X\n\n## B.3. Keys\n\n### Undo\n\nPress z.\n\n## Mouse\n\nClick.\n\n### End"),
        (
            "x.html",
            "<h2>B.3. Keys</h2><h3>Undo</h3><div><h3>Note</h3><p>Press z.</p></div>"
            "<h2>Mouse</h2><p>Click.</p><h3>End</h3>",
        ),
    ],
)
def test_a_heading_without_a_sentence_is_one_below_the_heading_above_it_and_a_note_opens_no_section(name, text):
    headings = {s.text: s.heading for s in split_document(one(name, text))}
    assert headings == {"B.3. Keys": "", "Undo: Press z.": "Undo", "Mouse: Click.": "Mouse", "End": "Mouse"}


def test_a_program_in_a_fence_is_one_block_and_one_sentence():
    document = one("x.md", f"It strips.\n\n```python\n{PROGRAM}\n```\n\nThat is all. Really.")
    assert [document.text[a:b] for a, b in document.verbatim] == [PROGRAM]
    assert [s.text for s in split_sentences(document.text, document.verbatim)] == [
        "It strips.",
        "def f(x): # Strip it. Then go. return x.strip()",
        "That is all.",
        "Really.",
    ]


@pytest.mark.parametrize("before", ["", "Mind this.\n\n", "&#32;&#32;a\n\n"])
def test_a_program_is_located_wherever_it_stands_also_when_parsed_in_a_process_of_its_own(before):
    data = f"{before}```\n  indented\n# Now. Then.\n```\n".encode()
    parser = ParserProcess()
    (document,) = read_documents("x.md", data, parse=parser.parse)
    parser.close()
    assert document == one("x.md", data)
    assert [s.text for s in split_sentences(document.text, document.verbatim)][-1] == "indented # Now. Then."


def test_a_long_program_is_cut_at_its_lines():
    program = "\n".join(f"x{i:03} = f(1, 2); y = a - b" for i in range(60))
    document = one("x.md", f"```\n{program}\n```\n")
    pieces = [s.text for s in split_sentences(document.text, document.verbatim)]
    assert len(pieces) == 2 and pieces[1].startswith("x0") and " ".join(pieces) == program.replace("\n", " ")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("One[^1]. Two[^long]: three.", "One. Two: three."),
        ("[^1]: A text.\n[^2]: Word", "A text. Word"),
        ("One[^1].\n\n[^1]: Word", "One.\n\nWord"),
        ("Match `[^a]` with it.", "Match [^a] with it."),
        ("See [this][1].\n\n[1]: http://example.org", "See this."),
        ("- [ ] open\n- [x] ready", "- open\n- ready"),
        ("- [link](http://example.org)", "- link"),
        ("| a | b |\n|---|---|", "a | b"),  # no row has the names
        ("| | Front |\n|--|--|\n| Cargo | 3 bar |\n| City | |", "Cargo | Front: 3 bar\n\nCity"),
    ],
)
def test_marks_of_footnotes_and_tasks_are_left_out(text, read):
    assert one("x.md", text).text == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("!!! warning\n    Use the cable.", "Use the cable."),
        ('??? note "Old boxes"\n    They show\n    red.', "Old boxes: They show red."),
        (":::tip\nPrint it.\n:::\n\nEnd", "Print it.\n\nEnd"),
        (":::note Printers\n\nPrint it.\n\n:::", "Printers:\n\nPrint it."),
        ("> [!NOTE]\n> Print it.", "Print it."),
        ("[[_TOC_]]\n\nEnd\n\n[TOC]", "End"),
        ("Wow !!! great: see [TOC] and\n[!it]", "Wow !!! great: see [TOC] and [!it]"),
    ],
)
def test_lines_that_say_how_a_page_is_made_are_left_out(text, read):
    assert one("x.md", text).text == read


@pytest.mark.parametrize(
    ("begun", "read"), [("- - a\n  - b", "- a\n- b"), ("1. 2. a", "2. a"), ("x\n\n- - a", "x\n\n- a")]
)
def test_a_list_that_begins_with_a_list_is_a_block_of_its_own(begun, read):
    assert one("x.md", begun).text == read


@pytest.mark.parametrize("heading", ["# A river", "A river\n======="])
def test_the_first_heading_is_the_title_where_no_front_matter_has_one(heading):
    document = one("x.md", f"{heading}\n\nIt is long.\n\n## Delta\n\nIt is wide.")
    assert (document.title, document.text) == ("A river", "It is long.\n\nDelta\n\nIt is wide.")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Rivers\n======\nThey are long.\n  * * *  \nLakes", ["Rivers", "They are long.", "Lakes"]),
        ("+----+---+\n| km | m |\n|====|===|\n| 1  | 2 |\n\u2514\u2500\u2500\u2518", ["| km | m |", "| 1  | 2 |"]),
        ("-- \nAnn\n--- a/x\nC--", ["-- \nAnn\n--- a/x\nC--"]),
    ],
)
def test_a_line_that_is_only_drawn_divides_a_text_and_is_no_word_of_it(text, read):
    assert [part.strip("\n") for part in one("x.txt", text).text.split("\n\n") if part.strip()] == read


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("It is fast.\n\n## Benchmarks\n\nIt was measured.", "x"),
        ("It is fast.\n\n## Benchmarks\n\nIt was measured.\n\n# Zip\n\nIt zips.", "Zip"),
        ("<p align=center></p>\n\n## Zip\n\nIt is fast.", "Zip"),
    ],
)
def test_the_heading_of_a_part_is_not_the_title_of_the_whole(text, title):
    assert one("x.md", text).title == title


def test_a_hashtag_is_no_heading_and_one_after_it_is():
    document = one("x.md", "#rivers are long\n\n# The Danube\n\nIt is long.")
    assert (document.title, document.text) == ("The Danube", "#rivers are long\n\nThe Danube\n\nIt is long.")


PAGE = """<!DOCTYPE html><html><head><title>Rivers &amp; lakes</title><style>p {}</style></head><body>
<nav><a href="/">Home</a></nav><h1>The Danube</h1>
<p>The Danube is a <b>river</b>.<br>It
is long.</p><ul><li>Ulm</li><li><p>Vienna</p></li></ul><script>x = "no"</script>
%s<table><tr><td>city</td><td>bank</td></tr></table><footer>Imprint</footer></body></html>"""


@pytest.mark.parametrize(
    ("rows", "read"),
    [
        ("<tr><th>Day<th>Hours:<tr><td>Mon<td>9-5<tr><td>Tue<td>", "Day: Mon | Hours: 9-5\n\nDay: Tue"),
        ("<thead><tr><td>Day<td>Hours</thead><tr><th>Mon<td><p>9-5</p><p>late</p>", "Day: Mon | Hours: 9-5 late"),
        ("<tr><td><th>Front<tr><th>City<td>3 bar", "City | Front: 3 bar"),
        ("<tr><th>Pool<tr><th>Day<th>Hours<tr><th>May<tr><td>Mon<td>9-5", "Pool\n\nMay\n\nDay: Mon | Hours: 9-5"),
        ("<tr><th>Day<th>Hours<tr><th>open<th>shut<tr><td>Mon<td>9-5", "Day | Hours\n\nopen | shut\n\nMon | 9-5"),
        ("<tr><th>Day<th>Hours<tr><td colspan=2>closed", "Day | Hours\n\nclosed"),
        ("<tr><th>Day<th colspan=2>Hours<tr><td>Mon<td>9-5", "Day | Hours\n\nMon | 9-5"),
        ("<tr><th>Day<th>Hours", "Day | Hours"),
        ("<tr><td>Day<td>Hours<tr><td>Mon<td>9-5", "Day | Hours\n\nMon | 9-5"),
        ("<tr><th>Name<td>Ann<tr><th>Role<td>Guide", "Name | Ann\n\nRole | Guide"),
    ],
)
def test_a_row_of_a_table_has_its_columns_names_and_the_header_is_no_row(rows, read):
    assert one("page.html", f"<html><body><table>{rows}</table></body></html>").text == read


@pytest.mark.parametrize(
    ("terms", "read"),
    [
        ("<dt>staff<dd><p>Adds files.</p><p>And more.</p>", "staff: Adds files.\n\nAnd more."),
        ("<dt>lp:<dd><code>lp0</code> is writable.", "lp: lp0 is writable."),
        ("<dt>bin</dt><dt>sys</dt><dd>Legacy.<dd>Old.", "bin, sys: Legacy.\n\nOld."),
        ("<div><dt>bin<dd>Legacy.</div>", "bin: Legacy."),
        ("<dt>Is it long?<dd>Yes.", "Is it long?\n\nYes."),
        ("<dt>Modes<dd><ul><li>read<li>write</ul>", "Modes\n\n- read\n- write"),
        ("<dt>bin<dd>Old.<dl><dt>a<dd>Inner.</dl><dt>last", "bin: Old.\n\na: Inner.\n\nlast"),
    ],
)
def test_a_definition_has_its_term_and_a_question_stays_apart(terms, read):
    assert one("page.html", f"<html><body><dl>{terms}</dl></body></html>").text == read


def test_a_long_page_names_its_definitions_too():
    terms = "".join(f"<dt>term{i}<dd><p>The river has boats and mills, and tells of {i}.</p>" for i in range(60))
    text = one("page.htm", f"<html><body><h1>Terms</h1><dl>{terms}</dl></body></html>").text
    assert all(f"term{i}: The river has boats and mills, and tells of {i}." in text for i in range(60))


def test_a_short_page_is_read_block_by_block_without_menu_and_footer():
    document = one("page.html", PAGE % "")
    assert document.title == "Rivers & lakes"
    assert document.text.split("\n\n") == [
        "The Danube",
        "The Danube is a river. It is long.",
        "- Ulm\n- Vienna",
        "city | bank",
    ]


MENU = '<div class="side"><ul><li><a href="/a">Billing</a><ul><li><a href="/b">Refunds</a></li></ul></li></ul></div>'


@pytest.mark.parametrize(
    "rest",
    [
        MENU,
        '<div><h3>Related articles</h3><ul><li><a href="/c">Lines</a><li><a href="/d">Fees</a></ul></div>',
        '<ol id="breadcrumbs"><li><a href="/">Support</a></li></ol>',
        "<p class='title'>Note</p>",
    ],
)
def test_a_short_page_loses_its_menus_too(rest):
    links = "<p><a href='/g'>The guide to boxes of all kinds</a> and <a href='/h'>the guide to mills</a>.</p>"
    page = f"<html><body>{rest}<div><h2>Lost boxes</h2><p>We send you another one.</p>{links}</div></body></html>"
    assert one("page.html", page).text.split("\n\n") == [
        "Lost boxes",
        "We send you another one.",
        "The guide to boxes of all kinds and the guide to mills.",
    ]


def test_a_short_page_is_read_where_it_marks_its_own_text():
    story = f"<p>We send you another box. {'It takes three days. ' * 6}</p>"
    page = f"<html><body><div>Sign in</div><div id='main-content'>{story}</div><div>Made by Acme</div></body></html>"
    text = one("page.html", page).text
    assert text.startswith("We send you") and text.endswith("three days.")


@pytest.mark.parametrize(
    "links",
    ["<a href='mailto:a@acme.example'>a@acme.example</a> <a href='tel:112'>112</a>", "<a href='/a'>Form A</a>"],
)
def test_a_page_of_addresses_or_of_links_alone_is_read(links):
    text = one("page.html", f"<html><body><h1>Write to us</h1><p>{links} {links}</p></body></html>").text
    assert "a@acme.example 112" in text or "Form A" in text


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<title>Refunds | Acme Help</title><h1>Refunds</h1>", "Refunds"),
        ("<title>Acme Help \u2013 Refunds</title><h1>Refunds</h1>", "Refunds"),
        ("<title>Refunds | Acme Help</title><h1>Acme Help</h1><h1>Refunds</h1>", "Refunds | Acme Help"),
        ("<title>Two-way radios</title><h1>Radios</h1>", "Two-way radios"),
        ("<title></title><h1>Refunds</h1>", "Refunds"),
    ],
)
def test_the_title_of_a_page_does_not_name_its_site(page, title):
    assert one("page.html", f"<html>{page}<p>We send it.</p></html>").title == title


def test_a_long_page_keeps_its_article_and_loses_the_rest():
    story = "".join(
        f"<p>Sentence <i>number</i> {i} tells of the river, its boats and its mills.</p>" for i in range(60)
    )
    menu = '<div class="menu">' + "".join(f'<a href="/{i}">Link {i}</a> ' for i in range(30)) + "</div>"
    text = one("page.htm", PAGE % (menu + story)).text
    assert all(f"Sentence number {i} tells of the river, its boats and its mills." in text for i in range(60))
    assert "Link 7" not in text and "Imprint" not in text


def test_a_long_page_keeps_the_headings_of_its_sections_and_loses_its_lists_of_links():
    heading = '<div class="titlepage"><div><div><h2 class="title"><a id="s{0}"></a>{0}. Boats</h2></div></div></div>'
    section = (
        '<div class="section">' + heading + "<p>Sentence {0} tells of the river, its boats and its mills.</p></div>"
    )
    story = "".join(section.format(i) for i in range(60))
    links = "".join(f'<dt><a href="#s{i}">Go to {i}</a></dt>' for i in range(60))
    beside = '<div id="beside"><p>Other manuals of the same house.</p></div>'
    text = one("page.htm", f'<html><body>{beside}<div class="chapter"><dl>{links}</dl>{story}</div></body></html>').text
    assert text.split("\n\n")[:2] == ["0. Boats", "Sentence 0 tells of the river, its boats and its mills."]
    assert text.count("Boats") == 60


STORY = [f"<p>Sentence {i} tells of the river, its boats and its {i * 7} mills.</p>" for i in range(60)]
LEAD = f"<p>All boats of the river are gone by now. {'Their mills went long before them. ' * 3}</p>"


@pytest.mark.parametrize(
    "page",
    [
        f"<article><h1>Boats</h1>{LEAD}<div>{''.join(STORY)}</div></article>",
        f"<main><div><h2>Boats</h2>{LEAD}</div><div><h2>Mills</h2>{''.join(STORY)}</div></main>",
        f"<article><header><h1>Boats</h1></header><script>{'x = 1;' * 99}</script>{LEAD}"
        f"<div>{''.join(STORY)}</div></article>",
    ],
)
def test_a_long_page_keeps_the_short_parts_of_its_article(page):
    text = one("page.html", f"<html><body><div><p>Other news</p></div>{page}</body></html>").text
    assert text.startswith("Boats\n\nAll boats of the river") and "Sentence 59" in text


def test_a_long_page_loses_the_comments_and_the_controls_of_its_article():
    comments = '<div class="comments"><h3>Comments</h3><p>I think that this is a great piece.</p></div>'
    controls = "<button>Copy link</button><select><option>German</select><textarea>Reply</textarea>"
    story = "".join(STORY)
    document = one("page.html", f"<html><body><article>{controls}{story}Tail.{comments}</article></body></html>")
    assert document.text.startswith("Sentence 0 ") and document.text.endswith("Tail.")


def test_the_link_of_a_heading_to_itself_is_no_text_but_its_button_and_its_anchor_are():
    heading = '<h2>Undo<a href="#undo">\u00b6</a></h2>'
    page = heading + '<p>Press z.</p><h3><button>Redo</button></h3><h3><a name="x">End</a></h3>'
    assert one("page.html", f"<title>T</title>{page}").text.split("\n\n") == ["Undo", "Press z.", "Redo", "End"]


def test_text_in_an_anchor_without_an_address_is_no_menu():
    parts = [f'<a name="s{i}">{paragraph}</a>' for i, paragraph in enumerate(STORY)]
    halves = f"<div>{''.join(parts[:30])}</div><div>{''.join(parts[30:])}</div>"
    text = one("page.html", f"<html><body>{halves}<p>End.</p></body></html>").text
    assert "Sentence 59" in text


def test_a_long_page_of_links_alone_is_read():
    links = "".join(f'<li><a href="/{i}">The form for holidays of the year {i}</a></li>' for i in range(60))
    assert "holidays of the year 59" in one("page.htm", f"<html><body><ul>{links}</ul></body></html>").text


def test_a_long_page_names_the_columns_too():
    story = "".join(f"<p>Sentence {i} tells of the river, its boats and its mills.</p>" for i in range(60))
    table = "<table><tr><th>City</th><th>Bank</th></tr><tr><td>Ulm</td><td>left</td></tr></table>"
    text = one("page.htm", f"<html><body><article>{story}{table}</article></body></html>").text
    assert text.endswith("City: Ulm | Bank: left") and "City | Bank" not in text


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("<p>Acme<br>5 Main Street<br/>Town</p>", "Acme\n\n5 Main Street\n\nTown"),
        ("<p>The river<br>is long,<br>Peter says.</p>", "The river is long, Peter says."),
        ("<p>so it is<br><br>and was</p>", "so it is\n\nand was"),
        ("<ul><li>Ulm<br>Danube</li><li>Bonn</li></ul>", "- Ulm\n- Danube\n- Bonn"),
        ("<table><tr><td>Ulm<br>Danube</td><td>left</td></tr></table>", "Ulm Danube | left"),
    ],
)
def test_a_break_ends_a_line_unless_a_sentence_goes_on_over_it(body, read):
    assert one("page.html", f"<html><body>{body}</body></html>").text == read


@pytest.mark.parametrize(
    "story", ["", "<p>Sentence of the river, its boats and its mills.</p>" * 60], ids=["short", "long"]
)
def test_what_a_page_hides_is_not_read(story):
    hidden = '<p hidden>Secret one.</p>Tail. <div style="color: red; DISPLAY:none"><p>Secret two.</p></div>'
    shown = '<p hidden="until-found">Folded text is read.</p><p style="color: red">Red text is read.</p>'
    text = one("page.html", f"<html><body style='display:none'><main>{story}{hidden}{shown}</main></body></html>").text
    assert "Secret" not in text
    assert all(part in text for part in ("Tail.", "Folded text is read.", "Red text is read."))


def test_what_nobody_sees_in_a_page_divides_no_word():
    page = "<h1>The river&shy;side</h1><p>Reha&shy;bili&shy;ta&#8203;tion.</p>"
    document = one("a.html", page)
    assert (document.title, document.text) == ("The riverside", "The riverside\n\nRehabilitation.")


def test_a_page_in_its_own_encoding_is_read():
    page = '<html><head><meta charset="iso-8859-1"></head><body><p>Fluß und Bäche.</p></body></html>'
    assert one("a.html", page.encode("iso-8859-1")).text == "Fluß und Bäche."


def test_a_pdf_is_read_over_line_and_page_ends():
    document = one(
        "r.pdf", pdf("The river was mea-\nsured by boats that", "came from the sea.", "It is long.", title="Rivers")
    )
    assert document.title == "Rivers"
    assert [s.text for s in split_sentences(document.text)] == [
        "The river was measured by boats that came from the sea.",
        "It is long.",
    ]


def test_what_the_pages_of_a_pdf_repeat_above_and_below_is_not_read():
    bodies = ("The river was measured by", "boats that came from the sea.", "It is long.\n25", "A mill stands\nthere.")
    pages = [f"Old  Rivers\n{body}\nRevision 7\n- {n} -" for n, body in enumerate(bodies, 9)]
    text = one("r.pdf", pdf(*pages)).text
    first = "The river was measured by boats that came from the sea."
    assert [" ".join(s.text.split()) for s in split_sentences(text)] == [
        "Old Rivers",
        first,
        "It is long.",
        "25",
        "A mill stands there.",
        "Revision 7",
    ]
    amounts = [f"A list {'abc'[n]}.\nTotal {n * n}.50 EUR\n{n}" for n in range(3)]
    assert one("r.pdf", pdf(*amounts)).text.count("Total") == 3  # a page's number counts the pages, an amount does not
    prose = [f"A list {'abc'[n]}.\nIt is as long\nas that of a page." for n in range(3)]
    assert one("r.pdf", pdf(*prose)).text.count("as that of a page.") == 3
    two = one("r.pdf", pdf("It is long.\n1", "It is long.\n2")).text
    assert two.split() == ["It", "is", "long.", "1", "It", "is", "long.", "2"]  # too few to tell


def test_a_head_of_two_lines_is_not_read_again_where_there_are_few_pages():
    bodies = enumerate(("It is as long", "as it was, and", "as deep."), 1)
    text = one("r.pdf", pdf(*[f"Old Rivers\nMill Lane - page {n} of 3\n{body}" for n, body in bodies])).text
    assert text == "It is as long\nas it was, and\nas deep.\n\nOld Rivers\n\nMill Lane - page 1 of 3"


def test_what_both_pages_of_a_pdf_repeat_in_words_does_not_divide_its_text():
    pages = [
        f"Old Rivers\n{body}\nRevision 7\nPage {n} of 2" for n, body in enumerate(("It is as long", "as it was."), 1)
    ]
    assert one("r.pdf", pdf(*pages)).text.split("\n") == ["Old Rivers", "It is as long", "as it was.", "", "Revision 7"]
    in_one = [
        f"Old Rivers\nPage {n} of 2 - Mill Lane\n{body}" for n, body in enumerate(("It is as long", "as it was."), 1)
    ]
    assert "long\nas it was." in one("r.pdf", pdf(*in_one)).text
    steps = one("r.pdf", pdf("Exercise 1\nLie down.", "Exercise 2\nStand up.")).text
    assert steps.split("\n") == ["Exercise 1", "Lie down.", "", "Exercise 2", "Stand up."]


@pytest.mark.parametrize(
    "lines",
    [
        ("11/29/26, 7:51 PM Refunds | Acme", "https://acme.example/refunds?x=1 {}/{}"),
        ("29.11.2026, 19:51 Refunds", "about:blank {}/{}"),
        ("Refunds https://acme.example/refunds", "{} of {} 11/29/2026, 7:51 PM"),
        ("Page {} of {}",),
    ],
)
def test_what_a_browser_prints_around_the_pages_is_not_read(lines):
    bodies = ("Mill Lane, www.acme.example\nWrite to us before you", "send it.\nAt 7:51 PM we close.")
    for pages in (bodies[:1], bodies):
        around = ["\n".join(lines).format(n, len(pages)) for n in range(1, len(pages) + 1)]
        text = "\n".join(pages)
        assert one("r.pdf", pdf(*[f"{page}\n{line}" for page, line in zip(pages, around, strict=True)])).text == text
        assert one("r.pdf", pdf(*[f"{line}\n{page}" for page, line in zip(pages, around, strict=True)])).text == text
    times = "Trains\n11/29/26, 7:51 PM Oslo\nhttps://acme.example/timetable"
    assert one("r.pdf", pdf(times)).text == times


def test_a_soft_hyphen_within_a_line_of_a_pdf_divides_no_word():
    soft = ") Tj /Span <</ActualText <FEFF00AD>>> BDC ( ) Tj EMC {} ("
    within, at_end = soft.format("10 0 Td"), soft.format("T*").replace("( )", "(-)")
    shown = f"The oper{within}ation of the mea{at_end}sured /Span river"
    assert " ".join(one("r.pdf", pdf(shown)).text.split()) == "The operation of the measured /Span river"


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


def test_a_pdf_whose_title_is_null_goes_by_its_name():
    data = pdf("The river was long.", title="Rivers").replace(b"(Rivers)", b"null    ")
    assert (one("r.pdf", data).title, one("r.pdf", data).text) == ("r", "The river was long.")


@pytest.mark.parametrize(
    ("title", "result"),
    [
        ("about:blank", "rivers 1"),
        ("Untitled", "rivers 1"),
        ("https://rivers.example/print?id=1", "rivers 1"),
        ("Microsoft Word - lease v9 clean.docx", "rivers 1"),
        ("Microsoft Word - Long rivers", "Long rivers"),
        ("About: blank pages", "About: blank pages"),
    ],
)
def test_a_pdf_whose_title_says_nothing_goes_by_its_name(title, result):
    assert one("rivers_1.pdf", pdf("The river was long.", title=title)).title == result


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
    with pytest.raises(UnreadableFile, match=r"^B\?che\.txt: there is no text"):
        list(read_documents("B\ud800che.txt", b""))


def test_no_half_character_reaches_a_database():
    document = one("d.jsonl", '{"text": "half \\ud800 and nul \\u0000."}')
    assert document.text == "half ? and nul ." and document.text.encode()


UNREADABLE = {
    "x.odt": (b"PK", "not a supported kind of document; save it as Word (.docx)"),
    "x.PPTX": (b"PK", "not a supported kind of document; save it as PDF"),
    "x.eml": (b"From: a", "not a supported kind of document; save the mail as text (.txt)"),
    "w.docx": (b"PK", "not a Word document that can be read"),
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
    "e.html": (b"", "not a web page"),
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


def test_a_path_is_read_by_its_name_and_a_missing_one_told(tmp_path):
    (tmp_path / "a.TXT").write_text("Text.")
    (document,) = read_documents(tmp_path / "a.TXT")
    assert (document.id, document.source) == ("a", "a.TXT")
    with pytest.raises(UnreadableFile, match=r"^gone\.txt: cannot be read"):
        list(read_documents(tmp_path / "gone.txt"))


def test_every_suffix_is_tried_here():
    tried = {"." + name.rpartition(".")[2] for name in UNREADABLE} | {".markdown", ".tsv"}
    assert set(SUFFIXES) <= tried
    assert one("x.markdown", "# T\n\nText.").text == "Text."
    assert one("x.tsv", "text\tid\nA, b.\t1\n").text == "A, b."
