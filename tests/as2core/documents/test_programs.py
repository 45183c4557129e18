"""Commands, code and their output in documents: read as written, behind what announces them."""

import time

import pytest
from document_files import one, split

from as2core.documents.programs import find_shell_sessions, has_sentences
from as2core.documents.sections import split_document

COMMANDS = "git fetch origin. --all\ngit merge v2.5..v2.6"


@pytest.mark.parametrize(
    "block",
    [
        f"<pre><code>{COMMANDS}</code></pre>",
        f"<pre><code class='language-sh'>{COMMANDS}\n</code></pre>",
        f"<pre class='screen'>\n{COMMANDS}\n</pre>",
        f"<pre class='programlisting'>{COMMANDS.replace(chr(10), '<br>')}</pre>",
        f"<div class='highlight-sh notranslate'><div class='highlight'><pre><span></span>{COMMANDS}</pre></div></div>",
        f"<div class='listingblock'><div class='content'><pre>{COMMANDS}</pre></div></div>",
        f"<pre class='brush: bash'>{COMMANDS.replace('v2.5', '<b>v2</b>.5')}</pre>",
    ],
)
def test_a_program_of_a_page_is_one_sentence_with_its_lead_in_and_keeps_its_lines(block):
    document = one("a.html", f"<h1>Git</h1><p>To update, run:</p>{block}<p>Then push it. It is done.</p>")
    assert [s.text for s in split_document(document)] == [
        "To update, run: git fetch origin. --all git merge v2.5..v2.6",
        "Then push it.",
        "It is done.",
    ]
    assert [document.text[start:end] for start, end in document.verbatim] == [COMMANDS]


def test_what_else_stands_in_pre_is_read_as_before():
    mail = "<pre>Hello Ben. The key is with Ann.\n\nAsk her.</pre>"
    assert split("a.html", f"<h1>Keys</h1><p>She wrote:</p>{mail}") == [
        "She wrote: Hello Ben.",
        "The key is with Ann.",
        "Ask her.",
    ]
    assert not one("a.html", f"<p>She wrote:</p>{mail}").verbatim


def test_a_program_in_a_list_divides_it_and_one_in_a_table_is_a_cell():
    items = "".join(f"<li><p>To {x}, run:</p><pre class='screen'>- {x}. now</pre></li>" for x in ("add", "drop"))
    assert split("a.html", f"<h1>Git</h1><ul>{items}</ul>") == ["To add, run: - add. now", "To drop, run: - drop. now"]
    row = "<table><tr><td>Add</td><td><pre class='screen'>git add .</pre></td></tr></table>"
    assert split("a.html", f"<h1>Git</h1>{row}") == ["Add | git add ."]


@pytest.mark.parametrize(
    ("words", "sentences"),
    [
        ("You can use", ["You can use: $ git log"]),
        ("For example,", ["For example: $ git log"]),
        ("Run it as follows.", ["Run it as follows.", "$ git log"]),
        ("w " * 150, ["w " * 149 + "w: $ git log"]),
        ("w " * 250, [("w " * 250).strip(), "$ git log"]),
    ],
)
def test_words_before_a_program_that_are_no_whole_sentence_stand_before_it(words, sentences):
    assert split("a.html", f"<h1>Git</h1><p>{words}</p><pre class='screen'>$ git log</pre>") == sentences
    assert split("a.md", f"# Git\n\n{words}\n\n```\n$ git log\n```\n") == sentences


@pytest.mark.parametrize("program", ["- name: web\n  port:", "Is it on?", "def run():", "1. one"])
def test_a_program_is_no_list_no_question_and_no_lead_in(program):
    text = f"# Set up\n\nFirst part.\n\n```\n{program}\n```\n\nThe second part is here.\n"
    assert split("a.md", text) == ["First part.", " ".join(program.split()), "The second part is here."]


def test_a_long_program_is_a_sentence_a_thousand_characters():
    lines = "".join(f"value_{n} = compute. Again? {n}\n" for n in range(300))
    assert (
        len(split("a.html", f"<p>The values are these:</p><pre class='screen'>{lines}</pre>")) == len(lines) // 1000 + 1
    )


def test_an_indented_paragraph_of_markdown_is_a_program_unless_it_has_sentences():
    assert split("a.md", "# A\n\nRun this:\n\n    cd v1.2 Now\n    make .\n\nDone.") == [
        "Run this: cd v1.2 Now make .",
        "Done.",
    ]
    prose = "# A\n\nShe wrote:\n\n    The key is with Ann. Ask her.\n    She is in.\n"
    assert split("a.md", prose) == ["She wrote: The key is with Ann.", "Ask her.", "She is in."]


def test_an_indented_paragraph_of_a_text_with_a_prompt_is_a_program():
    text = (
        "Install it in this way.\n\n    $ dpkg -i foo.deb. Bar\n    $ dpkg -a\n\nThe fees are these:\n\n    $ 5 a day\n"
    )
    assert split("a.txt", text) == [
        "Install it in this way.",
        "$ dpkg -i foo.deb. Bar $ dpkg -a",
        "The fees are these: $ 5 a day",
    ]
    document = one("a.txt", text)
    assert [document.text[start:end].split() for start, end in document.verbatim] == [
        "$ dpkg -i foo.deb. Bar $ dpkg -a".split()
    ]


@pytest.mark.parametrize(
    "part", ["    a b c d e f\n", "     $ a\n", "ab. ", "ab.\n\n", " ", "\t", "    \n", "\n    $ a"]
)
def test_text_of_any_form_is_looked_through_at_once(part):
    """A pattern for indented paragraphs took exponential time where a line behind them was not indented."""
    started = time.process_time()
    for text in (part * 20_000, part * 20_000 + "b", f"a:\n\n{part * 20_000}b"):
        find_shell_sessions(text)
        has_sentences(text)
    assert time.process_time() - started < 5
