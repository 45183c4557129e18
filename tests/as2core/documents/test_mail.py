"""Mails as documents: subject, sender, which part of the body is read, and what is refused."""

import base64
import random
import re
from email.message import EmailMessage

import pytest
from document_files import one

from as2core.documents.mail import mail_blocks
from as2core.documents.reading import read_documents
from as2core.errors import UnreadableFile

HEAD = b"From: Anna Hill <anna@acme.example>\r\nDate: Mon, 2 Mar 2026 10:15:00 +0100\r\nMIME-Version: 1.0\r\n"
QUOTED = b"Content-Transfer-Encoding: quoted-printable\r\n"
TABLE = "<table><tr><th>Part</th><th>Price</th></tr><tr><td>P4</td><td>12 euros</td></tr></table>"


def read_mail(body: bytes, subject: bytes = b"Prices", kind: bytes = b"text/plain; charset=utf-8", more: bytes = b""):
    return one("a.eml", HEAD + b"Subject: " + subject + b"\r\nContent-Type: " + kind + b"\r\n" + more + b"\r\n" + body)


def make_mail(text: str = "", page: str = "", subject: str = "Prices") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["Subject"] = "anna@acme.example", subject
    if text or not page:
        message.set_content(text)
        if page:
            message.add_alternative(page, subtype="html")
    else:
        message.set_content(page, subtype="html")
    return message


def test_subject_sender_and_date_are_no_sentences():
    document = read_mail(b"It costs 12 euros.")
    assert (document.id, document.title, document.text) == ("a", "Prices", "It costs 12 euros.")
    assert document.meta == {"from": "Anna Hill <anna@acme.example>", "date": "2026-03-02T10:15:00+01:00"}


@pytest.mark.parametrize(
    ("subject", "title"),
    [
        (b"Re: AW: Fwd: Prices", "Prices"),
        (b"RE[2]: [EXTERNAL] WG: Prices", "Prices"),
        (b"Regarding: prices", "Regarding: prices"),
        (b"Prices re: parts", "Prices re: parts"),
        (b"=?utf-8?q?Stra=C3=9Fe?= =?iso-8859-15?q?_kostet_=A4?=", "Straße kostet €"),
        (b"=?utf-8?b?UmU6IFByZWlzZQ==?=", "Preise"),
        (b"=?x-unknown?q?Gr=FC=DFe?=", "Grüße"),
        ("Grüße".encode(), "Grüße"),
        ("Grüße".encode("cp1252"), "Grüße"),
        (b"Prices of\r\n all parts", "Prices of all parts"),
        (b"Re:", "a"),
        (b"", "a"),
    ],
)
def test_the_subject_is_the_title_decoded_and_without_what_answers_put_before_it(subject, title):
    assert read_mail(b"Text.", subject).title == title


def test_a_mail_without_a_date_or_with_a_broken_one_is_read():
    assert one("a.eml", "From: anna@acme.example\n\nText.").meta == {"from": "anna@acme.example"}
    assert one("a.eml", "From: a\nDate: tomorrow\n\nText.").meta == {"from": "a"}


@pytest.mark.parametrize(
    ("kind", "more", "body"),
    [
        (b"text/plain; charset=utf-8", b"", "Grüße – 5 €.".encode()),
        (b"text/plain; charset=windows-1252", b"", "Grüße – 5 €.".encode("cp1252")),
        (b"text/plain; charset=iso-8859-1", b"", "Grüße – 5 €.".encode("cp1252")),
        (b"text/plain; charset=x-unheard-of", b"", "Grüße – 5 €.".encode("cp1252")),
        (b"text/plain; charset=hex", b"", "Grüße – 5 €.".encode()),
        (b"text/plain; charset=us-ascii", b"", "Grüße – 5 €.".encode()),
        (b"text/plain; charset=utf-8", b"", "Grüße – 5 €.".encode("cp1252")),
        (b"text/plain; charset=utf-16", b"Content-Transfer-Encoding: base64\r\n", None),
        (b"text/plain; charset=utf-8", QUOTED, b"Gr=C3=BC=C3=9Fe =E2=80=93 5=\r\n =E2=82=AC."),
        (b"text/html; charset=utf-8", b"", "<p>Grüße – 5 €.</p>".encode()),
        (b"text/html; charset=cp1252", b"", '<meta charset="utf-8"><p>Grüße – 5 €.</p>'.encode("cp1252")),
    ],
)  # fmt: skip
def test_encodings_and_charsets_that_are_right_wrong_or_unknown(kind, more, body):
    if body is None:
        body = base64.encodebytes("Grüße – 5 €.".encode("utf-16"))
    assert read_mail(body, kind=kind, more=more).text == "Grüße – 5 €."


def test_iso_8859_15_has_the_euro():
    assert read_mail(b"5 \xa4.", kind=b"text/plain; charset=iso-8859-15").text == "5 €."


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_line_ends_of_either_kind(line_end):
    content = (HEAD + b"Subject: Re: Prices\r\n\r\nOne line.\r\n\r\nAnother.\r\n").replace(b"\r\n", line_end)
    assert one("a.eml", content).text == "One line.\n\nAnother."


def test_flowed_lines_are_joined_to_their_paragraphs():
    body = b"It costs \r\ntwelve euros.\r\n\r\n> Is it \r\n> dear?\r\n\r\n No.\r\n-- \r\nAnna\r\n"
    assert read_mail(body, kind=b"text/plain; format=flowed").text == "It costs twelve euros.\n\nIs it dear?\n\nNo."
    assert read_mail(b"A wo \r\nrd.", kind=b"text/plain; format=flowed; delsp=yes").text == "A word."


def test_a_text_is_read_as_a_text_file_is():
    assert read_mail(b"We are recep-\ntive. It is receptive.\n=====\nMore.").text == (
        "We are receptive.\nIt is receptive.\n\nMore."
    )


@pytest.mark.parametrize(
    ("text", "page", "expected"),
    [
        ("Part Price\nP4 12 euros", f"<p>Prices:</p>{TABLE}", "Prices:\n\nPart: P4 | Price: 12 euros"),
        ("\n", "<p>It is open.</p>", "It is open."),
        ("It is open, and closed on Mondays.", "<p>See our site.</p>", "It is open, and closed on Mondays."),
        ("It is open.", "<img src='x'>", "It is open."),
        ("", f"<p>Prices:</p>{TABLE}", "Prices:\n\nPart: P4 | Price: 12 euros"),
        ("See https://acme.example/a/b/c/d/e/f/g/h\nIt opens.", "<p>See here. It opens.</p>", "See here. It opens."),
    ],
    ids=["table", "empty text", "page without the text", "picture", "page alone", "addresses"],
)  # fmt: skip
def test_the_page_is_read_unless_it_lacks_some_of_the_text(text, page, expected):
    assert one("a.eml", make_mail(text, page).as_bytes()).text == expected


def test_a_long_page_is_read_whole():
    parts = "".join(f"<h2>Part {i}</h2><p>Sentence {i} is a short one.</p>" for i in range(80))
    assert one("a.eml", make_mail(page=parts).as_bytes()).text.count("Sentence") == 80


def test_the_heading_that_repeats_the_subject_is_not_repeated():
    document = one("a.eml", make_mail(page="<h1>Prices</h1><p>Twelve.</p><h2>Fees</h2><p>None.</p>").as_bytes())
    assert document.text == "Twelve.\n\nFees\n\nNone."
    assert [document.text[h.start : h.end] for h in document.headings] == ["Fees"]


def test_attachments_and_calendars_are_left_out():
    message = make_mail("It is open.", "<p>It is open.</p>")
    message.add_attachment("Secret.", filename="notes.txt")
    message.add_attachment("Secret.", subtype="html", filename="page.html", disposition="inline")
    message.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename="Preisübersicht.pdf")
    message.add_attachment("BEGIN:VCALENDAR", subtype="calendar", disposition="inline")
    assert one("a.eml", message.as_bytes()).text == "It is open."


def test_the_pictures_of_a_page_do_not_hide_it():
    message = make_mail("Open.", "<p>It is open.</p><img src='cid:x'>")
    message.get_payload()[1].add_related(b"x", "image", "png", cid="<x>")
    assert one("a.eml", message.as_bytes()).text == "It is open."


@pytest.mark.parametrize("disposition", ["attachment", "inline"])
def test_a_mail_that_is_forwarded_as_a_part_belongs_to_the_text(disposition):
    inner = make_mail("The canteen is closed.", subject="Re: Canteen")
    message = make_mail("Please note.", subject="Fwd: News")
    message.add_attachment(inner, disposition=disposition)
    document = one("a.eml", message.as_bytes())
    assert (document.title, document.text) == ("News", "Please note.\n\nCanteen\n\nThe canteen is closed.")
    assert [document.text[h.start : h.end] for h in document.headings] == ["Canteen"]


def test_parts_nested_in_parts_are_read_in_order():
    body = b"--a\n\nOne.\n--a\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nTwo.\n--b--\n--a\n\nThree.\n--a--\n"
    assert read_mail(body, kind=b"multipart/mixed; boundary=a").text == "One.\n\nTwo.\n\nThree."
    assert read_mail(b"No boundary.", kind=b"multipart/mixed").text == "No boundary."


def test_links_that_outlook_writes_into_a_text_are_left_out_and_others_stay():
    body = b"Book here<https://acme.example/b>. [cid:image001.png]\nOr at https://acme.example."
    assert re.sub(r"\s+", " ", read_mail(body).text) == "Book here. Or at https://acme.example."


def test_a_large_attachment_does_no_harm():
    message = make_mail("It is open.")
    content = random.Random(1).randbytes(5_000_000)
    message.add_attachment(content, maintype="application", subtype="zip", filename="a.zip")
    assert one("a.eml", message.as_bytes()).text == "It is open."


def nest(depth: int) -> bytes:
    inner = b"Content-Type: text/plain\n\nDeep.\n"
    for i in range(depth):
        inner = b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n%b\n--b%d--\n" % (i, i, inner, i)
    return HEAD + inner


def test_deep_nesting_is_read_or_refused():
    assert one("a.eml", nest(20)).text == "Deep."
    with pytest.raises(UnreadableFile, match=r"^a\.eml: nested too deeply to read$"):
        one("a.eml", nest(3000))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"Hello,\n\nThis is a text.", "not a mail (it begins without sender, date or subject); if it is text, name"),
        (b" ", "not a mail"),
        (b"<html><body>From: Anna</body></html>", "not a mail"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "not a mail"),
        (HEAD, "there is no text in the mail"),
        (HEAD + b"\r\n\r\n \r\n", "there is no text in the mail"),
        (make_mail(page="<img src='x'>").as_bytes(), "there is no text in the mail"),
        (HEAD + b"Content-Type: application/pdf\r\n\r\n%PDF", "only attachments; save them and add them"),
        (HEAD + b"Content-Type: application/pkcs7-mime\r\n\r\nabc", "the mail is encrypted; save its text as .txt"),
    ],
    ids=["text", "white space", "page", "Outlook", "headers", "blank", "picture", "attachment", "encrypted"],
)  # fmt: skip
def test_what_has_no_text_or_is_no_mail_is_refused_with_a_reason(content, reason):
    with pytest.raises(UnreadableFile) as error:
        list(read_documents("a.eml", content))
    assert str(error.value).startswith("a.eml: ") and reason in str(error.value)


def test_outlooks_own_mails_have_a_remedy():
    with pytest.raises(UnreadableFile, match=r"save the mail as \.eml"):
        list(read_documents("a.msg", b"x"))


def test_a_mail_of_marks_that_never_close_is_read_in_a_moment():
    title, blocks, _ = mail_blocks(b"From: ann@lab.example\nSubject: Marks\n\nIt is here. " + b"[cid:" * 300_000)
    assert title == "Marks" and blocks[0].text.startswith("It is here. [cid:")


def test_lines_of_capitals_below_a_closing_are_told_from_names_in_a_moment():
    """A pattern that tried each way to divide them into four names took seconds for each."""
    lines = f"Regards,\n{'A' * 190}1\n\nIt is there.\n\n" * 100
    _, blocks, _ = mail_blocks(f"From: ann@lab.example\nSubject: s\n\nIt is here.\n\n{lines}".encode())
    assert blocks[0].text == "It is here."
