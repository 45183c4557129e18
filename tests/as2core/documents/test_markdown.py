"""Markdown as READMEs, wikis, Notion and MkDocs have it."""

import pytest

from as2core.documents.reading import read_documents
from as2core.documents.sections import split_document


def read(text: str):
    (document,) = read_documents("x.md", text.encode())
    return document


def split(text: str) -> list[str]:
    return [s.text for s in split_document(read(text))]


LINKS = "- [Boxes](#boxes)\n  - [Big ones](#big)\n- [Post](post.md)\n"


@pytest.mark.parametrize(
    "part",
    [
        LINKS,
        "1. [Boxes](#boxes)\n2. [Post](#post)\n",
        "[Boxes](#boxes) | [Post](post.md) | [Fees](fees.md)\n",
        "[![Build](https://ci.example/badge.svg)](https://ci.example)\n![Size](https://img.shields.io/x)\n",
        "<p align='center'><a href='#a'>Boxes</a> \u2022 <a href='#b'>Post</a> \u2022 <a href='#c'>Fees</a></p>\n",
        f"## Table of contents\n\n{LINKS}",
        f"## Links\n\n### Ours\n\n{LINKS}\n### Others\n\n{LINKS}",
        "![Untitled](a/b.png)\n",
        "{% hint style='info' %}\n",
        "\U0001f680\n",
    ],
)
def test_a_part_that_holds_links_badges_or_marks_alone_is_not_read(part):
    assert split(f"# Acme\n\n{part}\n## Boxes\n\nOne is sent.\n") == ["Boxes: One is sent."]
    assert split(f"# Acme\n\n## Boxes\n\nOne is sent.\n\n{part}") == ["Boxes: One is sent."]


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("- [Form A](a.pdf)\n", ["Form A"]),
        ("- [Boxes](#boxes): the big ones\n- [Post](#post)\n", ["Boxes: the big ones", "Post"]),
        ("- [a@acme.example](mailto:a@acme.example)\n- [112](tel:112)\n", ["a@acme.example", "112"]),
        ("- [Boxes](#boxes)\n\n  ```\n  send\n  ```\n- [Post](#post)\n", ["Boxes: send", "Post"]),
        ("See [a](a), [b](b) and [c](c) of the guide.\n", ["See a, b and c of the guide."]),
        ("![A map of the house](map.png)\n", ["A map of the house"]),
    ],
)
def test_a_list_or_a_line_with_more_than_links_to_pages_is_read(part, text):
    assert split(f"# Acme\n\nIt opens.\n\n{part}") == ["It opens.", *text]


def test_the_table_of_contents_of_google_docs_is_not_read():
    contents = "[Boxes\t1](#boxes)\n\n[What is sent?\t2](#what-is-sent?)\n\n[Form A](#form)\n"
    text = "## **Boxes** {#boxes}\n\nOne is sent.\n\n## What is sent? {#what-is-sent?}\n\nA box.\n"
    assert split(f"# **Acme** {{#acme}}\n\n{contents}\n{text}") == [
        "Form A",
        "Boxes: One is sent.",
        "What is sent? A box.",
    ]


def test_a_list_of_links_that_ends_a_sentence_is_read():
    text = "Guides that we have so far: Boxes; Big ones; Post"
    assert split(f"# Acme\n\nIt opens.\n\nGuides that we have so far:\n\n{LINKS}") == ["It opens.", text]
    assert split(f"# Acme\n\nIt opens.\n\nGuides:\n\n{LINKS}") == ["It opens.", "Guides:"]


def test_a_heading_with_text_below_its_links_stays_and_a_page_of_links_alone_is_read():
    assert split(f"# Acme\n\n## Guides\n\n{LINKS}\nOne is sent.\n") == ["Guides: One is sent."]
    assert split(f"# Acme\n\n## Guides\n\n{LINKS}\n### Ours\n\nOne is sent.\n") == ["Guides", "Ours: One is sent."]
    assert split(f"# Acme\n\n## Contents\n\n{LINKS}\n### Ours\n\nOne is sent.\n") == ["Ours: One is sent."]
    alone = split(f"# Acme\n\n## Guides\n\n{LINKS}\n***\n\n<!-- the end -->\n\n- [Source](src)\n")
    assert alone == ["Guides: Boxes; Big ones; Post; Source"]


@pytest.mark.parametrize(
    ("html", "title", "text"),
    [
        ("<h1 align='center'>\n  <img src='a.png'>\n  Quill\n</h1>", "Quill", "It is an editor."),
        ("<h2>Quill</h2>", "Quill", "It is an editor."),
        ("<p>R&amp;D &copy; us</p>", "x", "R&D \u00a9 us\n\nIt is an editor."),
        ("<aside>\n\U0001f4a1 It is free.\n\n</aside>", "x", "\U0001f4a1 It is free.\n\nIt is an editor."),
        ("<table><tr><th>Key</th><th>Use</th></tr><tr><td>z</td><td>undo</td></tr></table>", "x", "Key: z | Use: undo"),
    ],
)
def test_html_in_markdown_is_read_as_a_page_is(html, title, text):
    document = read(f"{html}\n\nIt is an editor.\n")
    assert document.title == title and document.text.startswith(text)


def test_a_question_that_opens_its_answer_stands_before_it():
    text = "<details>\n<summary>Is it free?</summary>\n\nYes, it is.\n\n</details>\n"
    assert split(f"It is new.\n\n{text}") == ["It is new.", "Is it free? Yes, it is."]


@pytest.mark.parametrize("end", ["\n", "  \n", "<br>"])
def test_a_line_that_is_a_question_stands_before_the_answer_on_the_next(end):
    assert split(f"It is new.\n\n**Is it free?**{end}Yes, it is. Ask us.") == [
        "It is new.",
        "Is it free? Yes, it is.",
        "Ask us.",
    ]
    two = "**Is it free?**\nYes,\nit is.\n**Is it fast?**\nIt is."
    assert split(two) == ["Is it free? Yes, it is.", "Is it fast? It is."]


def test_a_list_goes_on_after_a_program_and_after_a_second_paragraph_in_it():
    text = "1. Get it:\n\n   ```sh\n   git clone x\n   ```\n\n2. Build it\n\n   with make\n3. Use it\n"
    document = read(text)
    assert [document.text[start:end] for start, end in document.verbatim] == ["git clone x"]
    assert split(text) == ["1. Get it: git clone x", "2. Build it", "with make", "3. Use it"]


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("~~Windows only.~~ It runs.", "Windows only. It runs."),
        ("It is.\n\n## Use :rocket:\n\nAt 10:30:45 :+1 a:b:c", "It is.\n\nUse\n\nAt 10:30:45 :+1 a:b:c"),
        ("It is.\n\n## Install {#install}\n\nRun it.", "It is.\n\nInstall\n\nRun it."),
        ("It is.\n{: .note }", "It is."),
        ("> [!info]+ Guests\n> They wait.", "Guests: They wait."),
        ("See [[Guest rules]] and [[rules/keys|keys]]. ![[map.png]]", "See Guest rules and keys."),
        ("```{note}\nThey *wait*.\n```\n\n```{toctree}\nkeys\nrules\n```", "They wait."),
        ("```{admonition} Guests\nThey wait.\n```", "Guests:\n\nThey wait."),
        (":::{tip}\nPrint it.\n:::", "Print it."),
        ('=== "Linux"\n\nPrint it.', "Linux:\n\nPrint it."),
        ("Never<br>on Fridays.", "Never on Fridays."),
        ("Owner: Ann\nStatus: Done", "Owner: Ann\nStatus: Done"),
        ("It is: so\nand so: it is.", "It is: so and so: it is."),
    ],
)
def test_marks_of_github_mkdocs_myst_and_notion_are_no_text(text, read_as):
    assert read(text).text == read_as


def test_a_page_whose_front_matter_says_that_it_is_about_cookies_keeps_its_sentences_on_them():
    text = "We use cookies to keep your basket.\n\nThey last a day.\n"
    assert split(f"---\ntitle: Privacy\n---\n{text}") == ["We use cookies to keep your basket.", "They last a day."]
    assert split(text) == ["They last a day."]


def test_hugos_front_matter_has_the_title():
    document = read('+++\ntitle = "Boxes"\nweight = 3\n+++\nOne is sent.')
    assert (document.title, document.text, document.meta) == ("Boxes", "One is sent.", {"weight": "3"})
