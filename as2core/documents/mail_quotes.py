"""The text of a mail and what it quotes of earlier mails, told apart, and how much of that is read (decision 99).

Mail programs mark quotations each in its own way: ">" before the lines, a line "On ... wrote:", a block "From: ...
Sent: ...", an element of the page. A forwarded mail is what its sender wants to be read, and is no quotation.
"""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias, TypeGuard

from as2core.documents.blocks import Block, BlockKind
from as2core.documents.boilerplate import drop_disclaimers, drop_mail_footers, is_greeting
from as2core.documents.line_ends import join_divided_words
from as2core.documents.rule_lines import drop_rule_lines
from as2core.text import tokenize

MIN_OWN_WORDS = 40  # a mail with fewer, as "Thanks, that worked!", says little without what it quotes
MAX_PASSAGE_WORDS = 60  # of a quotation that an answer follows; of a longer one, its questions are read
MAX_DEPTH = 10  # of quotations in quotations; deeper ones are not told apart
MAX_HEADER_LINES, MIN_HEADER_NAMES = 12, 3  # of the block "From: ... Sent: ... To: ... Subject: ..."
MAX_ATTRIBUTION_LINES, MAX_ATTRIBUTION_CHARS = 3, 300
MAX_HEADING_LEVEL = 6
_SENDER_NAMES = r"(?:from|von|de|da|van|fr\u00e5n|fra|od)"
_HEADER_NAMES = (
    rf"(?:{_SENDER_NAMES}|sent|date|to|subject|reply-to|cc|gesendet|datum|an|betreff|kopie|envoy\u00e9|\u00e0|objet|"
    r"enviado|fecha|para|asunto|inviato|data|a|oggetto|verzonden|aan|onderwerp|skickat|till|\u00e4mne)"
)
_SENDER = re.compile(rf"\W*{_SENDER_NAMES}\*?\s?:\W*\w", re.IGNORECASE)
_HEADER = re.compile(rf"\W*{_HEADER_NAMES}\*?\s?:(?!//)", re.IGNORECASE)
_FORWARD = re.compile(
    r"[-\s]*(?:begin forwarded message|forwarded message|forwarded by .{1,80}|weitergeleitete nachricht|"
    r"anfang der weitergeleiteten nachricht|message transf\u00e9r\u00e9|mensaje reenviado|messaggio inoltrato)"
    rf"[-:\s]*(?:{_HEADER_NAMES}\s?:.*)?",
    re.IGNORECASE,
)
_ORIGINAL = re.compile(
    r"[-_\s]*(?:original message|original-nachricht|urspr\u00fcngliche nachricht|original appointment|"
    r"message d'origine|mensaje original|messaggio originale|oorspronkelijk bericht)"
    rf"[-_:\s]*(?:{_HEADER_NAMES}\s?:.*)?",
    re.IGNORECASE,
)
_WROTE = (
    r"(?:wrote|writes|schrieb\b.{0,120}|a \u00e9crit|escribi\u00f3|ha scritto|schreef\b.{0,120}|skrev\b.{0,120}|"
    r"escreveu)\s?:"
)
_ATTRIBUTION = re.compile(rf".{{2,250}}?\b{_WROTE}", re.IGNORECASE)  # before lines that are marked
_DATED_ATTRIBUTION = re.compile(rf"(?:on|am|le|el|op|il|em|den)\b(?=.*\d).{{5,250}}?\b{_WROTE}", re.IGNORECASE)
_TIME_OR_ADDRESS = re.compile(r"\d{1,2}[:.h]\d{2}|@")
_SENTENCE_END = re.compile(r"(?<=[.!?:])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bNo\.)(?<!\bNr\.)\s+")


class Quote(NamedTuple):
    """A mail in a mail."""

    items: "Sequence[Item]"
    is_forward: bool = False


Item: TypeAlias = Block | Quote


def divide_marked(items: Sequence[Item], depth: int = 0) -> list[Item]:
    """With what ">" marks, at the beginning of a line or a paragraph, made a quotation."""
    divided: list[Item] = []
    for is_marked, run in groupby(items, _is_marked):
        if is_marked and depth < MAX_DEPTH:
            inner = [item._replace(text=item.text[1:].removeprefix(" ")) for item in run if isinstance(item, Block)]
            divided.append(Quote(divide_marked(inner, depth + 1)))
        else:
            divided += [item._replace(text=item.text.lstrip(">")) if _begins_marked(item) else item for item in run]
    return divided


def _is_marked(item: Item) -> bool:
    """A line that begins with ">From " is not: mailboxes write that for "From"."""
    return _begins_marked(item) and not item.text.startswith(">From ")


def _begins_marked(item: Item) -> TypeGuard[Block]:
    return isinstance(item, Block) and item.text.startswith(">")


def divide_mail(items: Sequence[Item], *, is_forward: bool = False) -> list[Item]:
    """With what follows a line or a block that introduces an earlier mail made a quotation. `is_forward`: what such a
    block introduces is the mail's subject, as Outlook writes it."""
    divided: list[Item] = []
    i = 0
    while i < len(items):
        item = items[i]
        if isinstance(item, Quote):
            divided.append(_open_single(Quote(divide_mail(item.items), item.is_forward)))
            i += 1
        elif end := _skip_attribution(items, i):
            if end < len(items) and isinstance(items[end], Quote):
                i = end
                continue
            return [*divided, Quote(divide_mail(items[end:]))]
        elif _FORWARD.fullmatch(item.text):
            end = _skip_headers(items, _skip_blank(items, i + 1), least=1)
            return [*divided, Quote(divide_mail(items[end:]), is_forward=True)]
        elif _ORIGINAL.fullmatch(item.text) or _is_header(items, i):
            begin = _skip_blank(items, i + 1) if _ORIGINAL.fullmatch(item.text) else i
            return [*divided, Quote(divide_mail(items[_skip_headers(items, begin, least=1) :]), is_forward)]
        else:
            divided.append(item)
            i += 1
    return divided


def _open_single(quote: Quote) -> Quote:
    """A quotation that is all of another is that one."""
    items = [item for item in quote.items if isinstance(item, Quote) or item.text.strip()]
    if len(items) == 1 and isinstance(items[0], Quote):
        return Quote(items[0].items, quote.is_forward or items[0].is_forward)
    return quote


def _skip_blank(items: Sequence[Item], i: int) -> int:
    while i < len(items) and not _read_line(items, i) and not isinstance(items[i], Quote):
        i += 1
    return i


def _read_line(items: Sequence[Item], i: int) -> str:
    """ "" of a quotation, and after the last."""
    item = items[i] if i < len(items) else None
    return item.text.strip() if isinstance(item, Block) else ""


def _skip_attribution(items: Sequence[Item], i: int) -> int:
    """Where what "On ... wrote:" introduces begins, 0 if no such line stands there. The line may be wrapped."""
    text = ""
    for end in range(i, min(i + MAX_ATTRIBUTION_LINES, len(items))):
        line = _read_line(items, end)
        text = f"{text} {line}".strip()
        if not line or len(text) > MAX_ATTRIBUTION_CHARS:
            return 0
        if text.endswith(":"):
            after = _skip_blank(items, end + 1)
            has_marks = after < len(items) and isinstance(items[after], Quote)
            if has_marks and (_DATED_ATTRIBUTION.fullmatch(text) or (end == i and _ATTRIBUTION.fullmatch(text))):
                return after
            is_dated = _DATED_ATTRIBUTION.fullmatch(text) and _TIME_OR_ADDRESS.search(text)
            return after if is_dated else 0
    return 0


def _is_header(items: Sequence[Item], i: int) -> bool:
    end = _skip_headers(items, i, least=MIN_HEADER_NAMES)
    return any(_SENDER.match(_read_line(items, at)) for at in range(i, end))


def _skip_headers(items: Sequence[Item], i: int, *, least: int) -> int:
    """After the lines "From: ...", "Sent: ..." from there on; `i` if fewer than `least` have such a name."""
    names, end = 0, i
    for at in range(i, min(i + MAX_HEADER_LINES, len(items))):
        line = _read_line(items, at)
        if not line:
            break
        if _HEADER.match(line):
            names, end = names + 1, at + 1
        elif not names:
            break
    return end if names >= least else i


def tidy_mail(items: Sequence[Item], *, is_plain: bool, is_whole: bool = False) -> list[Item]:
    """Without signatures, footers and greetings, unless `is_whole`; the lines of a plain text become paragraphs."""
    tidy: list[Item] = []
    for is_own, run in groupby(items, lambda item: isinstance(item, Block)):
        if not is_own:
            quotes = [item for item in run if isinstance(item, Quote)]
            tidy += [Quote(tidy_mail(q.items, is_plain=is_plain, is_whole=is_whole), q.is_forward) for q in quotes]
            continue
        blocks = [item for item in run if isinstance(item, Block)]
        if not is_whole:
            blocks = drop_mail_footers(blocks)
            blocks = blocks if tidy else _drop_greeting(blocks)
        blocks = _join_lines(blocks) if is_plain else blocks
        tidy += blocks if is_whole else drop_disclaimers(blocks)
    return tidy


def _drop_greeting(blocks: Sequence[Block]) -> list[Block]:
    first = next((i for i, block in enumerate(blocks) if block.text.strip()), None)
    is_dropped = first is not None and is_greeting(blocks[first].text)
    return [block for i, block in enumerate(blocks) if not (is_dropped and i == first)]


def _join_lines(lines: Sequence[Block]) -> list[Block]:
    text = join_divided_words(drop_rule_lines("\n".join(line.text for line in lines)))
    return [Block(part.strip("\n")) for part in re.split(r"\n[^\S\n]*(?=\n)", text) if part.strip()]


def join_mail(items: Sequence[Item], *, is_forward: bool = False) -> list[Block]:
    """What is read: the mail's own text and what it forwards. Of a quotation that an answer follows, a short one is
    read before it, of a longer one its questions; of the mail that is answered as a whole, its questions come first.
    All of the quotation is read where the mail says little itself, or is forwarded."""
    own = [item for item in items if isinstance(item, Block)]
    is_short = is_forward or sum(map(count_words, own)) < MIN_OWN_WORDS
    last_own = max((i for i, item in enumerate(items) if isinstance(item, Block)), default=-1)
    blocks: list[Block] = []
    questions: list[str] = []
    for i, item in enumerate(items):
        if isinstance(item, Block):
            blocks.append(item)
            continue
        passage = join_mail(item.items, is_forward=is_forward or item.is_forward)
        if item.is_forward or not own:
            blocks += passage
        elif i < last_own:
            is_whole = is_short or sum(map(count_words, passage)) <= MAX_PASSAGE_WORDS
            blocks += passage if is_whole else _ask(_divide_questions(passage)[0])
        else:
            further, rest = _divide_questions(passage)
            questions += further
            blocks += rest if is_short else []
    is_answered = any(isinstance(item, Quote) and not item.is_forward for item in items[: last_own + 1])
    return blocks if is_answered else [*_ask(questions), *blocks]


def _ask(questions: Sequence[str]) -> list[Block]:
    """As a heading, the questions stand before the first sentence of their answer (decision 90)."""
    return [Block(" ".join(questions), BlockKind.HEADING, MAX_HEADING_LEVEL)] if questions else []


def _divide_questions(blocks: Sequence[Block]) -> tuple[list[str], list[Block]]:
    """The questions in the paragraphs, and these without them; headings and programs stay."""
    questions: list[str] = []
    rest: list[Block] = []
    for block in blocks:
        if not block.is_text or "?" not in block.text:
            rest.append(block)
            continue
        sentences = _SENTENCE_END.split(block.text)
        questions += [" ".join(s.removeprefix("- ").split()) for s in sentences if s.endswith("?")]
        if other := " ".join(s for s in sentences if not s.endswith("?")):
            rest.append(block._replace(text=other))
    return questions, rest


def count_words(item: Item) -> int:
    """Addresses on the web count for none."""
    if isinstance(item, Quote):
        return sum(map(count_words, item.items))
    return len(tokenize(re.sub(r"https?://\S+", "", item.text)))
