"""Which sentences of lists and sections are said of a term, and get it."""

import pytest
from document_files import split

from as2core.documents.terms import find_code_name, shorten_term


@pytest.mark.parametrize(
    ("term", "name"),
    [
        ("heapq.merge(*lines, key=None)", "heapq.merge"),
        ("push [-p | --patch]", "push"),
        ("fs.access(path[, mode])", "fs.access"),
        ("timeout {number}", "timeout"),
        ("--[no-]edit", "--[no-]edit"),
        ("int (*xRowCount)(Context*)", "int (*xRowCount)"),
        ("(optional) size", "(optional) size"),
        ("--all:", "--all"),
    ],
)
def test_a_term_is_shortened_by_its_parameters(term, name):
    assert shorten_term(term) == name


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("timeout: Seconds.", "timeout"),
        ("**red cells** – They carry oxygen.", "red cells"),
        ("`cwd` &lt;string&gt; Where it runs.", "cwd"),
        ("cwd {string|URL} Where it runs.", "cwd"),
        ("timeout (int): Seconds.", "timeout"),
    ],
)
@pytest.mark.parametrize("mark", ["-", "1."])
def test_further_sentences_of_an_item_have_the_term_that_it_begins_with(item, name, mark):
    rest = " There is a default. Nobody changes it."
    assert split("a.md", f"Use them.\n\n{mark} {item}{rest}\n{mark} A long one. It has no term.")[2:] == [
        f"{name}: There is a default.",
        f"{name}: Nobody changes it.",
        "1. A long one." if mark == "1." else "A long one.",
        "It has no term.",
    ]


@pytest.mark.parametrize(
    "item",
    [
        "Note: It is old. There is a default.",
        "A: It is old. There is a default.",
        "Go to http://a.b. There is a default.",
        "All of what you have ever set: It is old. There is a default.",
        "Old. New: There is a default.",
    ],
)
def test_a_remark_or_a_sentence_is_no_term(item):
    assert split("a.md", f"Use them.\n\n- {item}")[-1] == item.split(". ")[-1]


def test_an_item_ends_with_its_lines():
    assert split("a.md", "Use them.\n\n- size: Small. It is 3.\n\nAll have defaults. They are old.")[-2:] == [
        "All have defaults.",
        "They are old.",
    ]


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("fs.access(path[, mode], callback)", "fs.access"),
        ("connect(host)", "connect"),
        ("--env-file=config", "--env-file=config"),
        ("-C condition", "-C condition"),
        ("max_connections", "max_connections"),
        ("std::vector", "std::vector"),
        ("readableStream", "readableStream"),
        ("Static method: Buffer.from(array)", "Static method: Buffer.from"),
        ("Event: 'close'", "Event: 'close'"),
        ("GET /users/{id}", "GET /users/{id}"),
        ("Rows of tables", ""),
        ("How to use os.path well", ""),
        ("File(s) to add", ""),
        ("Version 3.11", ""),
        ("PostgreSQL", ""),
        ("Well-known names", ""),
        ("Is it free?", ""),
    ],
)
def test_a_heading_is_a_programs_name_or_prose(heading, name):
    assert find_code_name(heading) == name


def test_each_sentence_below_a_programs_name_has_it_and_so_do_its_items():
    text = (
        "# Files\n\n## fs.write(fd)\n\nWrites. It is slow.\n\n- fd {integer} Where. It is open.\n\n## More\n\nOne. Two."
    )
    assert split("a.md", text) == [
        "fs.write(fd): Writes.",
        "fs.write: It is slow.",
        "fs.write: fd {integer} Where.",
        "fs.write: fd: It is open.",
        "More: One.",
        "Two.",
    ]
