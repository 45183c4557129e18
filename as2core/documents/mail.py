"""A mail (.eml) as plain text: the subject as the title, and the body without what stands around it.

The message is read by Python's `email`, the page in it as a web page is, but whole. Of a text and a page that say the
same, the page is read unless it lacks some of the text: it has the tables, and no broken lines. Attachments are not
read, but for mails: a mail that forwards another holds it as a part.
"""

import codecs
import email
import re
from collections.abc import Iterator, Sequence
from email import policy
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import EmailMessage, Message
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from as2core.documents.blocks import Block, BlockKind, drop_title
from as2core.documents.html import html_blocks
from as2core.documents.mail_quotes import (
    MAX_DEPTH,
    Item,
    Quote,
    count_words,
    divide_mail,
    divide_marked,
    join_mail,
    tidy_mail,
)
from as2core.errors import UnreadableFile

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MIN_PAGE_SHARE = 0.8  # of the text's words, that the page beside it has
MAX_HEADER_CHARS = 10_000
_HEADERS = ("from", "date", "subject", "to", "received", "message-id", "mime-version", "return-path")
_FORWARD_PREFIX = re.compile(r"(?:\[[^\]]*\]\s*)?(?:fwd?|wg|tr|rv|vb)\s*:", re.IGNORECASE)
_PREFIXES = re.compile(
    r"(?:\s*(?:re|aw|antw|antwort|sv|vs|fwd?|wg|tr|rv|vb|odp)\s*(?:\[\d+\]|\(\d+\))?\s*:|\s*\[(?:external|extern|ext)\])+",
    re.IGNORECASE,
)
_WIDER_CHARSETS = {"iso8859-1": "cp1252", "ascii": "utf-8", "gb2312": "gb18030"}  # as browsers read them
_LINK_TARGETS = re.compile(  # Outlook's
    r"(?<=\S)<(?:https?|mailto|tel):[^<>\s]*>|\[cid:[^\[\]\s]*\]|\[image: [^\[\]]*\]"
)
_QUOTING_CLASSES = ("gmail_quote", "yahoo_quoted", "protonmail_quote", "moz-forward-container")
_UNREAD_CLASSES = ("gmail_signature", "gmail_signature_prefix", "moz-signature", "moz-cite-prefix")
_CLASS = "contains(concat(' ', normalize-space(@class), ' '), ' {} ')"
_QUOTES = f".//blockquote[@type='cite'] | .//*[{' or '.join(map(_CLASS.format, _QUOTING_CLASSES))}]"
_UNREAD = f".//*[{' or '.join(map(_CLASS.format, _UNREAD_CLASSES))} or @id='Signature']"
_MARK = "\ue000quote {}"  # stands where a quotation stood; the character is nobody's


def mail_blocks(content: bytes) -> tuple[str, list[Block], dict[str, str]]:
    """`(subject or "", blocks, its sender and date)`. Raises UnreadableFile when it is no mail or has no text."""
    try:
        message = email.message_from_bytes(content.lstrip(b"\xef\xbb\xbf\r\n\t "), policy=policy.default)
        if not any(name in message for name in _HEADERS):
            raise UnreadableFile("not a mail (it begins without sender, date or subject); if it is text, name it .txt")
        subject = _read_header(message, "subject")
        is_forward = _FORWARD_PREFIX.match(subject) is not None
        reader = _Reader(is_forward=is_forward)
        blocks = join_mail(reader.read(message)) or join_mail(
            _Reader(is_forward=is_forward, is_whole=True).read(message)
        )
    except (UnreadableFile, MemoryError):
        raise
    except RecursionError as error:
        raise UnreadableFile("nested too deeply to read") from error
    except Exception as error:  # `email` raises whatever it meets in a damaged header
        reason = str(error) or type(error).__name__
        raise UnreadableFile(f"not a mail that can be read ({reason}); save it as .eml anew") from error
    if not blocks:
        raise UnreadableFile(reader.explain_no_text())
    title = _drop_prefixes(subject)
    return title, drop_title(title, blocks), _read_meta(message)


def _drop_prefixes(subject: str) -> str:
    match = _PREFIXES.match(subject)
    return subject[match.end() :].strip() if match else subject


class _Reader:
    """Reads the parts of one message. `is_whole`: also what stands around its text, for a mail of nothing else."""

    def __init__(self, *, is_forward: bool, is_whole: bool = False) -> None:
        self._is_forward, self._is_whole = is_forward, is_whole
        self._attachments = 0
        self._is_encrypted = False

    def explain_no_text(self) -> str:
        if self._is_encrypted:
            return "the mail is encrypted; save its text as .txt"
        rest = ", only attachments; save them and add them" if self._attachments else ""
        return f"there is no text in the mail{rest}"

    def read(self, part: Message) -> list[Item]:
        kind = part.get_content_type()
        if kind == "message/rfc822":
            return [Quote(self._read_forwarded(part), is_forward=True)]
        if part.is_multipart():
            return self._read_parts(kind, part.get_payload())  # type: ignore[arg-type]
        if kind.startswith("multipart/"):  # and has none
            kind = "text/plain"
        is_attachment = part.get_content_disposition() == "attachment" or part.get_filename() is not None
        if is_attachment or kind not in ("text/plain", "text/html"):
            self._attachments += 1
            self._is_encrypted |= kind in ("application/pkcs7-mime", "application/pgp-encrypted")
            return []
        text = _decode(part.get_payload(decode=True) or b"", part.get_content_charset() or "ascii")  # type: ignore[arg-type]
        if kind == "text/html":
            return self._tidy(_read_page(text, is_whole=self._is_whole), is_plain=False)
        if part.get_param("format") == "flowed":
            text = _join_flowed(text, drops_space=str(part.get_param("delsp")).lower() == "yes")
        return self._tidy([Block(line) for line in _LINK_TARGETS.sub("", text).split("\n")], is_plain=True)

    def _tidy(self, items: Sequence[Item], *, is_plain: bool) -> list[Item]:
        divided = divide_mail(divide_marked(items), is_forward=self._is_forward)
        return tidy_mail(divided, is_plain=is_plain, is_whole=self._is_whole)

    def _read_parts(self, kind: str, parts: Sequence[Message]) -> list[Item]:
        if kind == "multipart/related":
            return self.read(parts[0]) if parts else []  # the others are its pictures
        readings = [self.read(part) for part in parts]
        if kind != "multipart/alternative":
            return [item for items in readings for item in items]
        sizes = [sum(map(count_words, items)) for items in readings]
        enough = [items for items, size in zip(readings, sizes, strict=True) if size >= MIN_PAGE_SHARE * max(sizes)]
        return enough[-1] if enough else []

    def _read_forwarded(self, part: Message) -> list[Item]:
        items: list[Item] = []
        for message in part.get_payload():
            if isinstance(message, Message):
                subject = _drop_prefixes(_read_header(message, "subject"))
                items += [Block(subject, BlockKind.HEADING, 1)] if subject else []
                items += join_mail(self.read(message), is_forward=True)
        return items


def _read_page(text: str, *, is_whole: bool, depth: int = 0) -> list[Item]:
    """With the quotations that elements mark. A page that cannot be read is empty: a text may stand beside it."""
    quotes: list[str] = []

    def prepare(page: "HtmlElement") -> None:
        for element in page.xpath(_UNREAD) if not is_whole else ():
            element.drop_tree()
        if depth < MAX_DEPTH:
            quotes.extend(_take_quotes(page))

    page = text if "<body" in text.lower() else f"<html><body>{text}</body></html>"
    try:
        _, blocks = html_blocks(page.encode("utf-8", "replace"), prepare_mail=prepare)
    except UnreadableFile:
        return []
    marks = {_MARK.format(i): quote for i, quote in enumerate(quotes)}
    return [
        Quote(_read_page(marks[block.text], is_whole=is_whole, depth=depth + 1)) if block.text in marks else block
        for block in blocks
    ]


def _take_quotes(page: "HtmlElement") -> Iterator[str]:
    """The quotations that are in no other; a mark stands in the place of each."""
    from lxml import html

    elements = page.xpath(_QUOTES)
    places = set(elements)
    outer = [element for element in elements if places.isdisjoint(element.iterancestors())]
    for number, element in enumerate(outer):
        mark = element.makeelement("div")
        mark.text, mark.tail = _MARK.format(number), element.tail
        element.getparent().replace(element, mark)
        element.tag, element.tail = "div", None
        element.attrib.clear()
        yield html.tostring(element, encoding="unicode")


def _decode(content: bytes, charset: str) -> str:
    """Line ends as "\\n". A charset that is not known, or not that of the text, is UTF-8 or else Windows-1252."""
    for name in (charset, "utf-8"):
        try:
            name = codecs.lookup(name).name
            text = content.decode(_WIDER_CHARSETS.get(name, name))
            break
        except (LookupError, ValueError):
            continue
    else:
        text = content.decode("cp1252", "replace")
    return re.sub(r"\r\n?", "\n", text).replace("\x00", "")


def _join_flowed(text: str, *, drops_space: bool) -> str:
    """RFC 3676: a line that ends with a space goes on in the next one that is quoted as often."""
    lines: list[str] = []
    marks = ""
    is_open = False
    for line in text.split("\n"):
        inner = line.lstrip(">")
        own_marks = line[: len(line) - len(inner)]
        inner = inner.removeprefix(" ")
        if is_open and own_marks == marks and inner != "-- ":
            lines[-1] += inner
        else:
            lines.append(f"{own_marks} {inner}" if own_marks else inner)
        marks, is_open = own_marks, inner.endswith(" ") and inner != "-- "
        if is_open and drops_space:
            lines[-1] = lines[-1][:-1]
    return "\n".join(lines)


def _read_meta(message: EmailMessage) -> dict[str, str]:
    meta = {"from": _read_header(message, "from")}
    try:
        meta["date"] = parsedate_to_datetime(_read_header(message, "date")).isoformat()
    except (ValueError, IndexError, OverflowError):
        meta["date"] = ""
    return {name: value for name, value in meta.items() if value}


def _read_header(message: Message, name: str) -> str:
    """The first of that name, on one line, decoded."""
    value = next((str(v) for k, v in message.raw_items() if k.lower() == name), "")[:MAX_HEADER_CHARS]
    line = _decode(value.encode("utf-8", "surrogateescape"), "utf-8")
    try:
        pieces = [p if isinstance(p, str) else _decode(p, charset or "latin-1") for p, charset in decode_header(line)]
    except (ValueError, HeaderParseError):
        pieces = [line]
    return " ".join("".join(pieces).split())
