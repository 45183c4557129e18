"""Text over the line and page ends of a PDF."""

import pytest
from document_files import one, pdf

from as2core.text import split_sentences


def test_a_hyphen_between_two_words_at_a_line_end_of_a_pdf_stays():
    text = one("a.pdf", pdf("It has a two-\nyear term, gizmo-\ndromes, mea-\nsured de-\nlivery.")).text
    assert " ".join(text.split()) == "It has a two-year term, gizmodromes, measured delivery."


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
