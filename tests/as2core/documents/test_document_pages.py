"""Web pages: what is the text, and what is around it."""

import pytest
from document_files import one

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
