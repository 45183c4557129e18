"""Web pages as help centers, wikis and office programs write them: what is around the text is not read, the text is."""

import pytest

from as2core.documents.reading import read_documents
from as2core.documents.sections import split_document

STORY = [f"<p>Sentence {i} tells of the river, its boats and its {i * 7} mills.</p>" for i in range(60)]


def read_page(body: str, head: str = ""):
    (document,) = read_documents("page.html", f"<html><head>{head}</head>{body}</html>".encode())
    return document


def split_page(body: str, head: str = "") -> list[str]:
    return [s.text for s in split_document(read_page(body, head))]


@pytest.mark.parametrize("story", ["", "".join(STORY)], ids=["short", "long"])
@pytest.mark.parametrize(
    "part",
    [
        "<div class='article-author'><a href='/m'>Mary</a><ul><li>9 months ago</li><li>Updated</li></ul></div>",
        "<div class='article-more-questions'>Have you more? <a href='/r'>Write</a></div>",
        "<section class='comments'><h2>Comments</h2><ul class='comment-list'><li>It broke!</li></ul></section>",
        "<div id='comments'><h3>Comments</h3><p>It broke!</p></div>",
        "<div class='pageSection group'><h2 id='attachments'>Attachments:</h2><div>plan.pdf (40 kB)</div></div>",
        "<div class='toc'><h2>Contents</h2><ul><li><a href='#a'>1 Boxes</a></li></ul></div>",
        "<div role='navigation'><h3>Navigation</h3><p>next</p></div>",
        "<div role='contentinfo'>Made by Acme</div>",
        "<div id='footer'>Version 1.0</div>",
        "<ul role='tablist'><li>npm</li><li>yarn</li></ul>",
        "<div id='cookie-notice'><span>They are small files.</span><a href='#'>Fine</a></div>",
        "<div class='printfooter'>Retrieved from \"<a href='/x'>here</a>\"</div>",
        "<div class='note'><p>\U0001f4a1</p></div>",
    ],
)
def test_a_part_that_a_tool_puts_around_the_text_is_not_read(part, story):
    text = f"<p>We send you another box.</p>{part}{story}<p>It takes three days.</p>"
    read = split_page(f"<body><main><h1>Boxes</h1>{text}</main></body>")
    assert [s for s in read if "Sentence" not in s] == ["We send you another box.", "It takes three days."]


@pytest.mark.parametrize(
    "part",
    [
        "<div class='cookie-policy'><p>They are small files.</p></div>",
        "<div class='has-cookie-banner'><div><h1>page</h1></div><p>They are small files.</p></div>",
        "<p class='label'>They are small files.</p>",
        "<div class='toctree-wrapper'><section><p>They are small files.</p></section></div>",  # Sphinx, singlehtml
        "<p><span class='token comment'>They are small files.</span></p>",
        "<pre class='linenos'><code>They are small files.</code></pre>",
        "<aside class='footnote' role='doc-footnote'><span class='label'>[1]</span>"
        "<p>They are small files.</p></aside>",
        "<p>They are <sup><a href='#n'>small</a></sup> files.</p>",
    ],
)
def test_a_part_of_nearly_the_same_name_is_read(part):
    assert split_page(f"<body>{part}<p>We send one.</p></body>") == ["They are small files.", "We send one."]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("It is deep.<sup><a href='#cite_note-1'>[1]</a></sup> It is long.", "It is deep. It is long."),
        ("It is deep.<a href='#_ftn1'><span>[1]</span></a> It is long.", "It is deep. It is long."),
        ("<a href='#cite_ref-1'>\u2191</a> A plan of 1990.", "A plan of 1990."),
        ("Version <span class='label'>3</span>, 10<sup>2</sup> m, <a href='#x'>3</a>", "Version 3, 102 m, 3"),
    ],
)
def test_the_marks_of_notes_are_no_text(text, read):
    assert read_page(f"<body><p>{text}</p></body>").text == read


def test_the_links_to_edit_a_section_and_to_its_source_are_no_part_of_its_heading():
    edit = "<span class='mw-editsection'>[<a href='/e'>edit</a>]</span>"
    source = "<a href='/s'><span class='viewcode-link'>[source]</span></a>"
    page = f"<body><h2>Ink{edit}</h2><p>It lasts.</p><dl><dt>load(path){source}</dt><dd>Loads it.</dd></dl></body>"
    assert split_page(page) == ["Ink: It lasts.", "load(path): Loads it."]


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        ("How to pay : Acme", "<div><h1>Acme</h1></div><h2>How to pay</h2>", "How to pay"),
        ("How to pay : Acme", "<h1>Acme</h1><h2>Cards</h2>", "Acme"),
        ("IT : VPN", "<h1><span id='title-text'>IT : VPN</span></h1>", "VPN"),
        ("", "<p class='MsoTitle'>VPN</p><h1>Use</h1>", "VPN"),
    ],
)
def test_the_title_is_the_pages_own(head, body, title):
    assert read_page(f"<body>{body}<p>Use a card.</p></body>", f"<title>{head}</title>").title == title


@pytest.mark.parametrize(
    "contents",
    [
        "<p><b>Table of contents</b></p><ul><li><a href='#a'>Boxes</a></li><li><a href='#b'>Post</a></li></ul>",
        "<p>Contents:</p><ol><li><a href='#a'>Boxes</a></li></ol>",
        "<p>Contents</p><p><a href='#a'>Boxes</a>&nbsp;<a href='#a'>1</a></p>"
        "<p><a href='#b'>Post <span>2</span></a></p>",
        "<div><a href='#s'>Boxes</a></div>",
    ],
)
def test_a_table_of_contents_is_not_read_whatever_it_is_made_of(contents):
    boxes = "<div id='s'><h2 id='a'>Boxes</h2><p>One is sent.</p></div>"
    post = "<h2><a name='b'></a>Post</h2><p>It is slow.</p>"
    assert split_page(f"<body>{contents}{boxes}{post}</body>") == ["Boxes: One is sent.", "Post: It is slow."]


@pytest.mark.parametrize(
    "text",
    [
        "<p><a href='#answer1'>May I send it back?</a></p><div id='answer1'><p>Yes, for 30 days.</p></div>",
        "<div><a href='#'>May I send it back?</a></div><p>Yes, for 30 days.</p>",
    ],
)
def test_a_question_that_opens_its_answer_is_read(text):
    assert split_page(f"<body><h2 id='a'>Boxes</h2>{text}</body>") == ["Boxes: May I send it back? Yes, for 30 days."]


def test_a_list_of_links_that_ends_a_sentence_is_read():
    links = "<ul><li><a href='/h'>HTTP requests</a></li><li><a href='/z'>zlib streams</a></li></ul>"
    assert split_page(f"<body><p>It is fast.</p><p>Streams that can be written to:</p>{links}</body>") == [
        "It is fast.",
        "Streams that can be written to: HTTP requests; zlib streams",
    ]
    assert split_page(f"<body><p>It is fast.</p><p>More:</p>{links}</body>") == ["It is fast.", "More:"]


def test_a_rule_of_a_grammar_is_read_though_its_names_are_links():
    rule = "<div><a href='/i'>Items</a> : <a href='/p'>Pat</a> , | <a href='/r'>Rest</a></div>"
    assert split_page(f"<body><p>It is short.</p>{rule}</body>") == ["It is short.", "Items : Pat , | Rest"]


def test_links_after_a_label_such_as_related_articles_go_with_it_and_a_sentence_ends_them():
    links = "<div><a href='/1'>Remove a person</a></div><div><a href='/2'>Roles</a></div>"
    related = f"<div><p>Related Articles</p></div>{links}<p>Write to <a href='/d'>the desk</a>.</p>"
    assert split_page(f"<body><p>Press Invite.</p>{related}</body>") == ["Press Invite.", "Write to the desk."]
    read = split_page("<body><p>Press Invite.</p><p>See also</p><p>the plan of the house.</p></body>")
    assert read == ["Press Invite.", "See also: the plan of the house."]


@pytest.mark.parametrize(
    ("rows", "read"),
    [
        ("<tr><td><p>Oslo</p></td><td><div><p>osl.example</p></div></td></tr>", "Oslo | osl.example"),
        ("<tr><td><b>Site</b><td><p><strong>Server</strong></p><tr><td>Oslo<td>osl", "Site: Oslo | Server: osl"),
        ("<tr><td><b>Site</b><td>Oslo<tr><td><b>Server</b><td>osl", "Site | Oslo\n\nServer | osl"),
        ("<tr><td><p>Oslo</p><td><p>&nbsp;</p><td>", "Oslo"),
        ("<tr><td>Stop<td><pre><code>a.stop()</code></pre>", "Stop | a.stop()"),
        ("<tr><td class='linenos'><pre>1</pre><td><div><pre>a.stop()</pre></div>", "a.stop()"),
        ("<tr><td>Oslo<td><td>osl", "Oslo | osl"),
        ("<tr><td>Oslo<td>&nbsp;<td><p> </p><td>osl<td>", "Oslo | osl"),
        ("<tr><td colspan=2><b>Site</b><td><b>Server</b><tr><td>Oslo<td><td>osl", "Site | Server\n\nOslo | osl"),
        ("<tr><td><ul><li>Oslo</li><li>Bergen</li></ul></td></tr>", "- Oslo\n- Bergen"),
    ],
)
def test_a_row_stays_one_where_its_cells_are_paragraphs_and_a_bold_first_row_names_the_columns(rows, read):
    assert read_page(f"<body><table>{rows}</table></body>").text == read


def test_a_page_of_google_docs_has_its_title_its_bold_header_and_no_comments():
    style = "<style>.c1{color:#000;font-weight:700}.c2{font-weight:400}</style>"
    table = "<tr><td><p><span class='c1'>Door</span></p><td><p><span class='c1'>Key</span></p><tr><td><p>Lab<td><p>K7"
    comment = "<div class='c9'><p><a href='#cmnt_ref1' id='cmnt1'>[a]</a><span>Still right?</span></p></div>"
    note = "<div><p><a href='#ftnt_ref1' id='ftnt1'>[1]</a><span class='c2'>&nbsp;In writing.</span></p></div>"
    mark = "<sup><a href='#cmnt1' id='cmnt_ref1'>[a]</a></sup>"
    text = f"<p class='c7 title'>Handbook</p><h1>Keys</h1><p>They hang{mark} here.</p><table>{table}</table>"
    document = read_page(f"<body class='c3 doc-content'>{text}{note}{comment}</body>", style)
    assert document.title == "Handbook"
    assert [s.text for s in split_document(document)] == [
        "Keys: They hang here.",
        "Keys: Door: Lab | Key: K7",
        "In writing.",
    ]


def test_a_page_that_libreoffice_saved_is_read_without_its_title_its_heads_and_feet():
    note = "<sup><a name='sdfootnote1anc' href='#sdfootnote1sym'><sup>1</sup></a></sup>"
    text = f"<p><font size='6'><b>Fire</b></font></p><h1>Alarms</h1><p>Leave{note} the house.</p>"
    text += "<div id='sdfootnote1'><p><a href='#sdfootnote1anc'>1</a> As of 2024.</p></div>"
    page = f"<div title='header'><p>Acme</p></div>{text}<div title='footer'><p>Page 1</p></div>"
    assert split_page(f"<body>{page}</body>", "<title>Fire</title>") == ["Alarms: Leave the house.", "As of 2024."]


def test_a_page_that_word_saved_is_read_without_its_table_of_contents_and_its_feet():
    contents = (
        "<p class=MsoTocHeading>Contents</p><p class=MsoToc1><a href='#a'>Alarms<span>. </span><span>2</span></a></p>"
    )
    body = f"{contents}<h1>Alarms</h1><p class=MsoNormal>Leave the house.</p><p class=MsoFooter>Page 1</p>"
    assert split_page(f"<body>{body}</body>", "<title>Fire</title>") == ["Alarms: Leave the house."]
