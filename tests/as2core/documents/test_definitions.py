"""How the sentences of a definition get the term that a web page defines."""

import pytest
from document_files import split_page

DEFAULT = "<p>Sets the memory. The default is four megabytes.</p>"


def test_each_sentence_of_a_definition_stands_behind_its_term_unless_it_has_its_words():
    more = "<p>Raise Work_Mem for large sorts. Several sorts may run at once.</p>"
    terms = f"<dt>work_mem (integer)<dd>{DEFAULT}{more}<dt>bin<dd>Old. It is empty."
    page = f"<p>Set it.</p><dl>{terms}</dl><p>That is all.</p>"
    assert split_page(page) == [
        "Set it.",
        "work_mem (integer): Sets the memory.",
        "work_mem: The default is four megabytes.",
        "Raise Work_Mem for large sorts.",
        "work_mem: Several sorts may run at once.",
        "bin: Old.",
        "bin: It is empty.",
        "That is all.",
    ]


def test_terms_that_share_a_definition_name_it_together():
    assert (
        split_page(f"<dl><dt>-a</dt><dt>--all (slow)</dt><dd>{DEFAULT}</dl>")[-1]
        == "-a, --all: The default is four megabytes."
    )


def test_a_term_too_long_for_one_line_gives_its_name_to_all_sentences():
    parameters = ", ".join(f"parameter_{i}" for i in range(9))
    page = f"<dl><dt>run({parameters})<dd>{DEFAULT}</dl>"
    assert split_page(page)[1:] == ["run: Sets the memory.", "run: The default is four megabytes."]
    assert split_page(page.replace("(", " of ", 1).replace(")", ""))[1:] == [
        "Sets the memory.",
        "The default is four megabytes.",
    ]


def test_the_innermost_term_names_a_sentence():
    inner = "<dl><dt>close()<dd><p>Ends it. Nothing is lost.</p></dl>"
    assert split_page(f"<dl><dt>class File<dd><p>A file. It is open.</p>{inner}<p>See below.</p></dl>") == [
        "class File: A file.",
        "class File: It is open.",
        "close(): Ends it.",
        "close: Nothing is lost.",
        "class File: See below.",
    ]


def test_what_announces_a_sentence_stands_between_the_term_and_it():
    page = "<dl><dt>undo<dd><p>Takes it back.</p><p>To do so, run:</p><pre><code>git reset</code></pre></dl>"
    assert split_page(page)[-1] == "undo: To do so, run: git reset"


@pytest.mark.parametrize("body", [f"<h2>Limits</h2>{DEFAULT}", f"{DEFAULT}<h2>Limits</h2><p>There are none.</p>"])
def test_a_definition_with_sections_is_none(body):
    """Its end is not marked, or it lays out the page."""
    assert not any(
        text.startswith("bin: The default") or "bin: There" in text
        for text in split_page(f"<dl><dt>bin<dd>{body}</dl>")
    )


def test_a_question_names_no_sentence():
    assert split_page(f"<dl><dt>How much?<dd>{DEFAULT}</dl>")[-1] == "The default is four megabytes."
