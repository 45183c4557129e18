"""What is read of a mail that answers, quotes or forwards others, as mail programs write them."""

import pytest
from document_files import one

from as2core.documents.sections import split_document

HEAD = "From: Anna <anna@acme.example>\nDate: Mon, 2 Mar 2026 10:15:00 +0100\n"
LONG = f"{'We have thought about it for a while, all of us in the office. ' * 4}It is open."
QUESTION = "We are a shop in Ulm. Do you ship on Sundays?"
HEADERS = "From: Tom Hill\nSent: Monday, 2 March 2026 9:12\nTo: Anna\nSubject: Shipping\n"
GERMAN_HEADERS = "Von: Tom Hill\nGesendet: Montag, 2. M\u00e4rz 2026 09:12\nAn: Anna\nBetreff: Versand\n"


def read_text(text: str, subject: str = "Re: Shipping") -> str:
    return one("a.eml", f"{HEAD}Subject: {subject}\nContent-Type: text/plain; charset=utf-8\n\n{text}").text


def read_page(page: str, subject: str = "Re: Shipping") -> str:
    return one("a.eml", f"{HEAD}Subject: {subject}\nContent-Type: text/html; charset=utf-8\n\n{page}").text


def mark(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


QUOTATIONS = {
    "Gmail": f"On Sun, 1 Mar 2026 at 09:12, Tom Hill <tom@x.example>\nwrote:\n\n{mark(QUESTION)}",
    "Thunderbird": f"Am 01.03.26 um 09:12 schrieb Tom Hill:\n{mark(QUESTION)}",
    "French": f"Le 1 mars 2026 \u00e0 09:12, Tom a \u00e9crit :\n{mark(QUESTION)}",
    "Usenet": f"Tom Hill wrote:\n{mark(QUESTION)}",
    "without a line": mark(QUESTION),
    "telephone": f"On 1 Mar 2026, at 09:12, Tom Hill wrote:\n\n{QUESTION}",
    "Outlook": f"________________________________\n{HEADERS}\n{QUESTION}",
    "older Outlook": f"-----Original Message-----\n{HEADERS}\n{QUESTION}",
    "Hotmail": mark(f"Subject: Shipping\nFrom: tom@x.example\nTo: a@x.example\nDate: 1 March\n\n{QUESTION}"),
    "German Outlook": f"{GERMAN_HEADERS}\n{QUESTION}",
    "older German Outlook": f"-----Urspr\u00fcngliche Nachricht-----\n{GERMAN_HEADERS}\n{QUESTION}",
}


@pytest.mark.parametrize("kind", QUOTATIONS)
def test_of_the_mail_that_is_answered_the_question_stays_before_the_answer(kind):
    assert read_text(f"{LONG}\n\n{QUOTATIONS[kind]}") == f"Do you ship on Sundays?\n\n{LONG}"


def test_the_question_stands_before_the_first_sentence_of_the_answer():
    content = f"{HEAD}\nDear Tom,\n\n{LONG}\n\n{QUOTATIONS['Gmail']}"
    first, *_ = split_document(one("a.eml", content))
    assert first.text.startswith("Do you ship on Sundays? We have thought")


@pytest.mark.parametrize("kind", QUOTATIONS)
def test_a_mail_that_says_little_keeps_all_that_it_quotes(kind):
    text = read_text(f"Yes, of course.\n\n{QUOTATIONS[kind]}")
    assert text == "Do you ship on Sundays?\n\nYes, of course.\n\nWe are a shop in Ulm."


def test_thanks_for_an_answer_keep_the_answer():
    answer = mark(f"Restart the printer.\n\nOn Sat, 28 Feb 2026, at 10:11, Anna wrote:\n{mark('It is jammed. Why?')}")
    text = read_text(f"Thanks, that worked!\n\nOn Sun, 1 Mar 2026, at 09:12, Tom wrote:\n{answer}")
    assert text == "Thanks, that worked!\n\nWhy?\n\nRestart the printer.\n\nIt is jammed."


def test_what_an_earlier_mail_states_is_not_repeated_and_what_it_quotes_neither():
    earlier = mark(f"We close at six.\n{mark('We open at nine. Is it loud?')}")
    assert read_text(f"{LONG}\n\nTom Hill wrote:\n{earlier}") == LONG


def test_answers_between_the_lines_stand_after_what_they_answer():
    text = f"Tom wrote:\n> Do you ship on Sundays?\n\nYes.\n\n> And at night?\n\n{LONG}\n\n> Regards\n> Tom"
    assert read_text(text) == f"Do you ship on Sundays?\n\nYes.\n\nAnd at night?\n\n{LONG}"


def test_of_a_long_quotation_before_the_answer_the_questions_are_read():
    long = mark(f"{'Our shop is old and small, and it stands in Ulm. ' * 8}Do you ship on Sundays?")
    assert read_text(f"{long}\n\n{LONG}") == f"Do you ship on Sundays?\n\n{LONG}"


def test_a_quotation_alone_is_read():
    assert read_text(mark("We close at six.")) == "We close at six."


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        (f"---------- Forwarded message ---------\n{HEADERS}\n{{}}", "Fwd: Hours"),
        (f"Begin forwarded message:\n\n{HEADERS}\n{{}}", "Fwd: Hours"),
        ("-------- Weitergeleitete Nachricht --------\nBetreff: Zeiten\nVon: Tom\n\n{}", "Fwd: Hours"),
        (f"{HEADERS}\n{{}}", "FW: Hours"),
        (f"{HEADERS}\n{{}}", "[External] FW: Hours"),
        (f"{GERMAN_HEADERS}\n{{}}", "WG: Hours"),
    ],
    ids=["Gmail", "Apple", "Thunderbird", "Outlook", "Outlook with a mark", "German Outlook"],
)
def test_what_is_forwarded_is_read_whole_and_without_its_headers(text, subject):
    assert read_text(f"{LONG}\n\n{text.format('We close at six. Is it loud?')}", subject) == (
        f"{LONG}\n\nWe close at six. Is it loud?"
    )


def test_what_a_forwarded_mail_quotes_is_read():
    inner = f"{LONG}\n\nTom wrote:\n> We close at six."
    text = read_text(f"For you.\n\n---------- Forwarded message ---------\n{HEADERS}\n{inner}", "Fwd: Hours")
    assert text == f"For you.\n\n{LONG}\n\nWe close at six."


@pytest.mark.parametrize(
    "text",
    [
        "On 3 March the landlord wrote:\nThe lift is closed.",
        "From: Ulm\nWe ship from there.",
        ">From Ulm we ship everywhere.",
        "Two is > one.",
    ],
)
def test_what_only_looks_like_a_quotation_is_the_mails_own(text):
    assert read_text(f"{LONG}\n\n{text}") == f"{LONG}\n\n{text.removeprefix('>')}"


PAGES = {
    "Gmail": "<div class='gmail_quote'><div class='gmail_attr'>On Sun, Mar 1, 2026 at 9:12 AM Tom &lt;t@x.example&gt; "
    f"wrote:<br></div><blockquote class='gmail_quote'><div>Hi Anna,</div><div>{QUESTION}</div></blockquote></div>",
    "Apple": "<blockquote type='cite'><div>On 1. Mar 2026, at 09:12, Tom &lt;t@x.example&gt; wrote:</div><br>"
    f"<div>{QUESTION}</div></blockquote>",
    "Thunderbird": "<div class='moz-cite-prefix'>Am 01.03.26 um 09:12 schrieb Tom:<br></div>"
    f"<blockquote type='cite'><p>{QUESTION}</p></blockquote>",
    "Outlook": "<div style='border-top:solid #E1E1E1 1.0pt'><p><b>From:</b> Tom Hill<br><b>Sent:</b> Monday, 2 March "
    f"2026 09:12<br><b>To:</b> Anna<br><b>Subject:</b> Shipping</p></div><p>{QUESTION}</p>",
    "older Hotmail": f"<div>&gt; Subject: Shipping<br>&gt; From: Tom<br>&gt; To: Anna<br>&gt; {QUESTION}</div>",
    "Yahoo": "<div class='yahoo_quoted'><div>On Sunday, March 1, 2026 at 09:12 AM, Tom wrote:</div>"
    f"<p>{QUESTION}</p></div>",
}  # fmt: skip


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_marks_quotations_by_elements(kind):
    page = f"<html><body><p>Hello Tom,</p><p>{LONG}</p>{PAGES[kind]}</body></html>"
    assert read_page(page) == f"Do you ship on Sundays?\n\n{LONG}"
    short = read_page(f"<html><body><p>Yes.</p>{PAGES[kind]}</body></html>")
    assert short == "Do you ship on Sundays?\n\nYes.\n\nWe are a shop in Ulm."


def test_answers_between_the_quotations_of_a_page():
    page = (
        "<blockquote type='cite'><p>Does it rain?</p></blockquote><p>Yes.</p>"
        f"<blockquote type='cite'><p>And snow?</p></blockquote><p>{LONG}</p>"
    )
    assert read_page(page) == f"Does it rain?\n\nYes.\n\nAnd snow?\n\n{LONG}"


@pytest.mark.parametrize(
    "part",
    [
        "<div class='gmail_quote'><div class='gmail_attr'>---------- Forwarded message ---------<br>From: <b>Tom</b>"
        "<br>Date: Mon, Mar 2, 2026<br>Subject: Hours<br>To: Anna<br></div><br>We close at six.</div>",
        "<div class='moz-forward-container'>-------- Forwarded Message --------<table><tr><th>Subject:</th>"
        "<td>Hours</td></tr><tr><th>From:</th><td>Tom</td></tr></table><p>We close at six.</p></div>",
    ],
    ids=["Gmail", "Thunderbird"],
)
def test_a_page_that_forwards_a_mail(part):
    page = f"<html><body><p>{LONG}</p>{part}</body></html>"
    assert read_page(page, "Fwd: Hours") == f"{LONG}\n\nWe close at six."


def test_the_signature_of_a_page_is_not_read():
    page = f"<p>{LONG}</p><div class='gmail_signature'>Acme, Ulm</div><pre class='moz-signature'>-- \nAnna</pre>"
    assert read_page(page) == LONG


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is open.\n-- \nAnna Hill\nTel. 4711", "It is open."),
        ("It is open.\n\nSent from my iPhone", "It is open."),
        ("It is open.\nAnna\nVon meinem iPhone gesendet", "It is open.\nAnna"),
        ("It is open.\n\nThis e-mail and any attachments are confidential\nand may be privileged.", "It is open."),
        (f"It is open.\n{'_' * 47}\nDev mailing list\nDev@x.example", "It is open."),
        ("It is open.\n-- \nAnna\n\nTom wrote:\n> We close at six.", "It is open.\n\nWe close at six."),
        ("It is open.\n\nBest regards,\n\nAnna Hill\nAcme, Ulm", "It is open.\n\nAcme, Ulm"),
        ("It is open.\nViele Gr\u00fc\u00dfe\nAnna", "It is open."),
        ("Thanks!\n\nIt is open.", "Thanks!\n\nIt is open."),
        ("It is open.\n\nThanks!\n\nIt is late.", "It is open.\n\nIt is late."),
        ("-- \nAnna Hill\nTel. 4711", "-- \nAnna Hill\nTel. 4711"),
        ("Sent from my iPhone", "Sent from my iPhone"),
        ("Hi Tom,\n\nIt is open.\n\nHi is a word.", "It is open.\n\nHi is a word."),
        ("Dear customers, it is closed.", "Dear customers, it is closed."),
    ],
    ids=[
        "signature",
        "telephone",
        "within a paragraph",
        "disclaimer",
        "list",
        "quotation after it",
        "closing",
        "German closing",
        "thanks first",
        "thanks",
        "alone",
        "footer alone",
        "greeting",
        "no greeting",
    ],
)
def test_what_stands_around_the_text_of_every_mail_is_not_read_unless_it_is_all(text, expected):
    assert read_text(text) == expected


def test_quotations_in_quotations_without_end_are_read():
    assert read_text(f"Hi.\n{'>' * 5000} It is open.") == "Hi.\n\nIt is open."
