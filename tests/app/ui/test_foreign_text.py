"""Foreign text reaches the page as text."""

from dataclasses import replace

import pytest

from app.labels.items import ListRow, QuestionItem
from app.labels.queues import Assignment
from app.labels.seats import Seat
from app.ranking.retrieval import RetrievedSentence
from app.ui import errors
from app.ui.ask.answer import render_context
from app.ui.label import rows
from app.ui.label.item import show_context
from app.ui.label.list_desk import ListDesk
from app.ui.text import WORD_JOINER, drop_announcement, escape, plain, shorten
from as2core.errors import As2Error


@pytest.mark.parametrize(
    ("neighbour", "rest"),
    [
        ("Split a commit apart: First, reset it.", "First, reset it."),
        ("Split a commit: First, reset it.", "Split a commit: First, reset it."),
        ("Another thing: First, reset it.", "Another thing: First, reset it."),
        ("Split a commit apart: Step: one | Command: reset", "Split a commit apart: Step: one | Command: reset"),
        ("", ""),
    ],
)
def test_what_announces_a_sentence_is_not_repeated_before_its_neighbours(neighbour, rest):
    text = "Split a commit apart: Now add the rest."
    assert drop_announcement(neighbour, text) == rest
    assert f'<span class="near">{rest}</span>' in show_context("git", neighbour, text, "")
    answer = render_context(RetrievedSentence(1, text, "git", 1, 2, neighbour, "", 1))
    assert (f'<span class="as2-near">{rest}</span>' in answer) is bool(rest)


def test_a_short_word_before_two_sentences_stays():
    assert drop_announcement("Note: It is hot.", "Note: It is wet.") == "Note: It is hot."


def test_markup_is_escaped_for_html():
    assert escape("<img src=x onerror='a()'> & \"b\"") == (
        "&lt;img src=x onerror=&#x27;a()&#x27;&gt; &amp; &quot;b&quot;"
    )


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("$5 and $9", r"\$5 and \$9"),
        ("a -- b --c", "a -\u2060- b --c"),  # else the browser makes a dash of it
        ("![a](b)", r"\!\[a\](b)"),
        (":red[x]", r"\:red\[x\]"),
        ("**b** _i_ `c`", r"\*\*b\*\* \_i\_ \`c\`"),
        ("# no heading", r"\# no heading"),
        ("- no list", r"\- no list"),
        ("1. no list", r"1\. no list"),
        ("1.5 km - and more", "1.5 km - and more"),
        ("https://a.b WWW.c.d", f"https\\:/{WORD_JOINER}/a.b WWW{WORD_JOINER}.c.d"),
        ("ann@lab.example @home", f"ann{WORD_JOINER}\\@lab.example {WORD_JOINER}\\@home"),
        ("two\n\nlines", "two lines"),
        (
            ":material/home: :cat: at 12:30:45",
            f"\\:{WORD_JOINER}material/home\\: \\:{WORD_JOINER}cat\\: at 12\\:30\\:45",
        ),
    ],
)
def test_markdown_is_escaped_and_the_rest_left_alone(text, markdown):
    assert plain(text) == markdown


def test_a_long_text_is_cut_at_a_word():
    assert shorten("one two three four", 12) == "one two…"
    assert shorten("short", 12) == "short"
    assert len(shorten("x" * 50, 12)) == 12


def test_a_sentence_of_a_document_without_a_title_says_so():
    sentence = RetrievedSentence(1, "It is 330 metres high.", "", 1, 2, "", "", 1)
    assert '<p class="as2-source">Untitled document <span>· sentence 3</span></p>' in render_context(sentence)
    below_heading = replace(sentence, title="Tower", heading="Size & <age>")
    assert '"as2-source">Tower › Size &amp; &lt;age&gt; <span>' in render_context(below_heading)
    row = ListRow(
        sentence_id=1,
        text=sentence.text,
        title="",
        heading="",
        rank=None,
        probability=None,
        generative_rank=None,
        model_says=None,
        label=None,
        free=True,
    )
    item = QuestionItem(1, "How high is it?", (row,), "", Assignment("tops"), False, "", "")
    desk = ListDesk(Seat(1, 1, "tops"), item)
    assert "<small>Untitled document · candidate 1</small>" in rows._row(desk, item, 0, scores=True, is_flagged=False)


def test_an_error_begins_with_a_capital_letter_unless_it_begins_with_a_name(monkeypatch):
    shown = []
    monkeypatch.setattr(errors.st, "error", lambda message, icon: shown.append(message))
    for message in ("a corpus needs a name", "line 4: no letter", "rr twice", "the-file is none"):
        errors.show(As2Error(message))
    assert [text.replace("\\", "") for text in shown] == [
        "A corpus needs a name", "Line 4: no letter", "rr twice", "the-file is none"]  # fmt: skip
