"""Sentences and words of plain text.

spaCy's blank English tokenizer and sentencizer propose where sentences end; the rules here decide. The
sentencizer alone breaks after every full stop that is a token of its own ("Fig. 2"), misses those inside a token
("the U.S. The"), gives an opening quote to the sentence before, and knows neither headings nor lists.

A text is cut three times: into paragraphs at blank lines, into blocks (list items, headings, wrapped prose), and
into sentences. Only white space and bullets are outside the sentences.
"""

import re
import sys
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING

from as2core import full_stops
from as2core.code_names import is_attribute
from as2core.types import Sentence, Span

if TYPE_CHECKING:
    from spacy.language import Language

MAX_SENTENCE_CHARS = 1000  # a longer run without a stop is cut at a list dash, semicolon, comma or space
_MARKS = (" - ", "; ", "\n", ", ", " ")  # where it is cut, the first of these that it has
_VERBATIM_MARKS = ("\n", " ")
_CHUNK_CHARS = 100_000  # for spaCy at once; it refuses a million

STOP_WORDS = frozenset(
    """a an the and or but nor so if then than as of in on at by for from to into onto with without about over under
    between during is are was were be been being am do does did done doing have has had having can could shall should
    will would may might must it its he him his she her hers they them their theirs we us our ours you your yours i me
    my mine this that these those there here what which who whom whose when where why how not no s t d ll m re ve don
    also such some any each all both other only own same too very just""".split()
)

_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+")
_WRITTEN_WORD = re.compile(r"[^\W_]+(?:(?:['\u2019-]|(?<=\d)[.,](?=\d))[^\W_]+)*")

# After these abbreviations a sentence always continues: titles with a capital, and those in lower case.
_TITLES = frozenset(
    """Dr Mr Mrs Ms Mx Prof Rev Fr St Ste Hon Gen Lt Col Maj Capt Cmdr Sgt Cpl Adm Pres Gov Sen Rep Amb Supt Messrs Mme
    Mlle Mt Drs Profs Sts Pvt Cdr Vice-Adm""".split()
)
_LOWER_CASE = frozenset("vs v e.g eg i.e ie cf viz approx ca c fl esp incl resp feat a.k.a b d r".split())
# After these it continues when a number or a Roman numeral follows.
_NUMBERED = frozenset(
    """no nos nr fig figs p pp vol vols ch chap sec sect eq eqs art ed eds pt ser tab para op kv bwv ref refs est
    tel""".split()
)
# After these, too, unless they are the unit of the number before ("It takes 5 min. 3 others wait.").
_BEFORE_VALUES = frozenset("min max temp".split())
_CODED = frozenset("no nos nr ser ref refs".split())  # what they number may begin with letters: "No. A12"
_DEGREES = frozenset("C F K R Celsius Fahrenheit Kelvin".split())
# These end a sentence only when a word follows that usually opens one.
_MAY_END = frozenset(
    """inc ltd co corp bros plc llc jr sr esq dept univ assn ave blvd rd bldg ph.d b.sc m.sc d.phil jan feb apr jun jul
    aug sept oct nov dec tue tues wed thu thurs ft oz lb lbs tbsp tsp hr hrs mph sq calif conn ariz penn tenn mich
    yahoo! jeopardy!""".split()
)
_OPENERS = frozenset(
    """The A An In On At It Its He She They We You I This That These Those There Here His Her Their Our My As After
    Before When While Where However Although Though But And Or So If For From By With Within Without Most Many Much
    Some Several All Both Each Every Other Others Another One Two Three Four Five Six During Since Until Under Over
    Today Later Then Now Also Not No Because Despite Among According Such To What Who Why How Like Unlike Even Only
    Once Thus Therefore Instead Between Through Throughout Early Following Further Furthermore Moreover Nevertheless
    Finally First Second Third Still Yet Is Are Was Were Do Does Did Can""".split()
)

_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_LINE = re.compile(r"\S(?:[^\n]*\S)?")
_LINE_END = re.compile(r"\s*\n\s*")
_BULLETS = r"-*+\u00b7\u2013\u2014\u2022\u2023\u25a0\u25a1\u25aa\u25ab\u25b6\u25ba\u25cb\u25cf\u25e6\u2713\u27a2"
_SYMBOLS = r"\uf0a7\uf0b7\uf0d8\uf0fc"  # what PDFs have for the bullets of the fonts Symbol and Wingdings
_BULLET = re.compile(rf"[{_BULLETS}{_SYMBOLS}](?=[^\S\n])")
_BULLET_CHARS = 20  # of a bullet and the blanks around it
_BULLET_BEFORE = re.compile(rf"(?<!\S){_BULLET.pattern}[^\S\n]+$")
_NUMBER = re.compile(r"\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivx]{1,4})[.)](?=\s)")
_HEADING = re.compile(r"#{1,6}(?=\s)")
_INLINE_ITEM = re.compile(r"(?:(?<=[.!?:;])|(?<=[.!?][)\]\"\u201d]))\s+-\s+(?=[^\W_])")
_STOP = r"[.!?\u2026\u3002\uff01\uff1f\u061f\u0964]"
_LATIN_STOPS = ".!?\u2026"  # the others need no space after them
_CLOSERS = r"[\"'\u201d\u2019\u00bb)\]}]"
_CITED = r"(?:\[[^\]]{1,40}\]|:\d+(?:[\u2013-]\d+)?)*"  # "[12]", "[citation needed]", ":304-11"
_AFTER_STOP = re.compile(
    rf"{_STOP}{_CLOSERS}*{_CITED}\s+(?=\S)|[\u3002\uff01\uff1f][\"'\u201d\u2019\u300d\u300f\uff09]*(?=\S)"
)
_TAIL = re.compile(rf"(\S*?)({_STOP}+)\s*{_CLOSERS}*{_CITED}$")
_ENDS_AT_STOP = re.compile(rf"{_STOP}{_CLOSERS}*$")
_OPENING = re.compile(r"[\"'\u201c\u2018\u00ab(\[{\u00bf\u00a1]*\s*")
_NEXT_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
# The tokenizer's time grows with the square of such a run's length, and no sentence ends within it.
_RUN = re.compile(r"[^\w\s]{30,}|[!-~]{400,}")
_FREE_CLOSER = re.compile(r"[)\]}\u201d\u00bb]|''(?=\s)")
_ALNUM = re.compile(r"[^\W_]")
_INITIAL = re.compile(r"(?:.*[-\u2013(])?[^\W\d_a-z]")
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_ENUMERATOR = re.compile(
    r"(?:^|[:;]\s+)\(?(?:(?:Step\s+)?\d{1,3}|[A-Za-z]|[IVXivx]{1,5})[.)]$|^\(?\d{1,3}(?:\.\d{1,3})+[.)]$"
)
_CODE = re.compile(r"[A-Z]{0,4}[-/]?\d")
_VALUE_BEFORE = re.compile(r"\d\s*[^\W\d_]+\.$")  # "5 min."
_ROMAN = re.compile(r"[IVXLC]+$")

_spacy_lock = threading.Lock()


def normalise_text(text: str) -> str:
    """The same for two copies of a sentence: white space and case aside."""
    return " ".join(text.split()).casefold()


def tokenize(text: str) -> list[str]:
    """Lower-case word tokens; numbers keep their points and commas ("3.5", "1,300"), apostrophes divide. A letter and
    its accent are one character (NFC); a dotted capital I becomes a plain i, as in SQLite's index."""
    lower = unicodedata.normalize("NFC", text).lower()
    # Python keeps the dot of that capital as a combining mark, which would end the word
    return _WORD.findall(lower.replace("i\u0307", "i"))


def find_words(text: str) -> list[tuple[int, int]]:
    """Where the words stand as a reader counts them: "cow's", "wrought-iron" and "3.5" are one each."""
    return [match.span() for match in _WRITTEN_WORD.finditer(text)]


def split_sentences(text: str, verbatim: Sequence[Span] = ()) -> list[Sentence]:
    """The sentences of a text in order; `text[s.start:s.end]` is `s.text`, but for line ends, which are blanks in it: a
    sentence in an export or a picture is one line.

    A paragraph ends at a blank line. A heading or a list item is a sentence of its own even without a full stop. Each
    (start, end) of `verbatim`, in order, is a paragraph of one sentence.
    """
    sentences = []
    german = full_stops.is_german(text)
    for number, (start, end, is_verbatim) in enumerate(_divide(text, verbatim)):
        cuts = _cut_long(text, start, end, _VERBATIM_MARKS) if is_verbatim else _split_prose(text, start, end, german)
        for a, b in cuts:
            sentences.append(Sentence(_LINE_END.sub(" ", text[a:b]), a, b, number))
    return sentences


def _divide(text: str, verbatim: Sequence[Span]) -> Iterator[tuple[int, int, bool]]:
    """The (start, end, whether it is verbatim) of each paragraph."""
    prose_start = 0
    for start, end in (*verbatim, (len(text), len(text))):
        yield from ((a, b, False) for a, b in _paragraphs(text, prose_start, start))
        start, end = _trim(text, start, end)
        if start < end:
            yield start, end, True
        prose_start = end


def _split_prose(text: str, start: int, end: int, german: bool) -> Iterator[tuple[int, int]]:
    for block_start, block_end in _blocks(text, start, end, german):
        yield from _sentences(text, block_start, block_end, german)


def begins_item(text: str, sentence: Sentence) -> bool:
    """Whether it begins an item of a list of the text: a bullet stands before it, or a number begins its line."""
    before = text[max(0, sentence.start - _BULLET_CHARS) : sentence.start]
    begins_line = not before.rpartition("\n")[2].strip()
    return bool(_BULLET_BEFORE.search(before) or (begins_line and _NUMBER.match(sentence.text)))


def lacks_sentence_ends(sentences: list[Sentence]) -> bool:
    """Whether most sentences of a text end where MAX_SENTENCE_CHARS cut them."""
    cuts = sum(
        a.paragraph == b.paragraph and b.end - a.start > MAX_SENTENCE_CHARS and not _ENDS_AT_STOP.search(a.text)
        for a, b in pairwise(sentences)
    )
    return cuts > len(sentences) / 2 or 0 < cuts == len(sentences) - 1


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    end = start + len(text[start:end].rstrip())
    return end - len(text[start:end].lstrip()), end


def _paragraphs(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    edges = [first, *(edge for m in _PARAGRAPH.finditer(text, first, last) for edge in m.span()), last]
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        start, end = _trim(text, start, end)
        if start < end:
            yield start, end


def _blocks(text: str, start: int, end: int, german: bool) -> Iterator[tuple[int, int]]:
    """Runs of lines that are one item, heading or piece of prose, without their bullets."""
    cuts = [start]
    if "\n" in text[start:end]:
        cuts += _line_cuts(text, start, end, german)
    items = list(_INLINE_ITEM.finditer(text, start, end))
    for item, following in zip_longest(items, items[1:]):
        # "...cells: - Red cells that carry oxygen. - Platelets." is a list of sentences, "...: - fever - rash" is one.
        item_end = following.start() if following else end
        if text[item.start() - 1] != ":" or " - " not in text[item.end() : item_end]:
            cuts.append(item.start())
    cuts = sorted(set(cuts))
    for a, b in zip(cuts, [*cuts[1:], end], strict=True):
        a, b = _trim(text, a, b)
        marker = _BULLET.match(text, a, b) or _HEADING.match(text, a, b)
        if marker:
            a, b = _trim(text, marker.end(), b)
        if a < b:
            yield a, b


def _line_cuts(text: str, start: int, end: int, german: bool) -> list[int]:
    """Where a line begins something new instead of continuing wrapped prose."""
    lines = [m.span() for m in _LINE.finditer(text, start, end)]
    width = max(b - a for a, b in lines)
    cuts, in_list = [], False
    for i, (a, b) in enumerate(lines):
        item = _BULLET.match(text, a, b) or _HEADING.match(text, a, b)
        number = _NUMBER.match(text, a, b)
        before = text[lines[i - 1][0] : lines[i - 1][1]] if i else ""
        if number and full_stops.continues_line(before, number[0], _read_word(text, number.end(), b), german=german):
            continue
        if number and (not i or in_list or before[-1] in ".:;!?" or number[0] in ("1.", "1)", "(1)")):
            item = number
        if i and (item or _HEADING.match(before) or _is_break_intended(before, text[a:b], width)):
            cuts.append(a)
        in_list = bool(item) or (in_list and cuts[-1:] != [a])
    return cuts


def _is_break_intended(before: str, line: str, width: int) -> bool:
    """The next word would have fitted on the line before, and the line looks like a beginning: that was a heading."""
    first = line.split(None, 1)[0]
    fits = len(before) + 1 + len(first) < 0.75 * width or len(before) + 1 + len(line) <= width < 60
    starts_lower_case = _read_word(line, 0, len(line)).islower()  # not with a word like "iPod"
    return fits and before[-1] not in ",;-\u2013\u2014&" and not starts_lower_case


def _read_word(text: str, start: int, end: int) -> str:
    """The first word there, after blanks, quotes and brackets; "" where something else stands there."""
    word = _NEXT_WORD.match(text, start + len(_match_opening(text, start, end)), end)
    return word[0] if word else ""


def _match_opening(text: str, start: int = 0, end: int = sys.maxsize) -> str:
    """Quotes and brackets that open a sentence, "" where there are none."""
    opening = _OPENING.match(text, start, end)
    return opening[0] if opening else ""


@cache
def _sentencizer() -> "Language":
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    return nlp


def _propose_cuts(text: str, start: int, end: int) -> list[int]:
    """Offsets where the sentencizer, or a stop hidden inside one of its tokens, may end a sentence."""
    from spacy.attrs import SENT_START

    cuts = {m.end() for m in _AFTER_STOP.finditer(text, start, end)}
    for at in range(start, end, _CHUNK_CHARS):
        piece = _RUN.sub(lambda m: "x" * len(m[0]), text[at : min(at + _CHUNK_CHARS, end)])
        with _spacy_lock:
            doc = _sentencizer()(piece)
            starts = [doc[int(i)].idx for i in (doc.to_array([SENT_START]) == 1).nonzero()[0][1:]]
        for cut in starts:
            cut += at
            while cut > start and not text[cut - 1].isspace() and not re.match(_STOP, text[cut - 1]):
                cut -= 1  # an opening quote belongs to the sentence it opens
            cuts.add(cut)
    return sorted(cuts)


def _sentences(text: str, start: int, end: int, german: bool) -> Iterator[tuple[int, int]]:
    lower_case = text[start:end].islower()
    begin, first = start, _ALNUM.search(text, start, end)
    last = end
    while last > start and not text[last - 1].isalnum():
        last -= 1
    is_quotation, place = False, start  # whether a mark opened one before that place
    for cut in _propose_cuts(text, start, end):
        is_quotation, place = is_quotation ^ bool(text.count('"', place, cut) % 2), cut
        # a sentence holds a letter or a digit: stray marks go with their neighbour
        if (
            first
            and first.start() < cut < last
            and _ends_sentence(text, begin, cut, end, lower_case=lower_case, german=german, is_quotation=is_quotation)
        ):
            yield from _cut_long(text, begin, cut)
            begin, first = cut, _ALNUM.search(text, cut, end)
    yield from _cut_long(text, begin, end)


def _cut_long(text: str, start: int, end: int, marks: Sequence[str] = _MARKS) -> Iterator[tuple[int, int]]:
    """The span without white space at its ends, in pieces no longer than MAX_SENTENCE_CHARS."""
    start, end = _trim(text, start, end)
    while end - start > MAX_SENTENCE_CHARS:
        limit = start + MAX_SENTENCE_CHARS
        for mark in marks:
            at = text.rfind(mark, start + MAX_SENTENCE_CHARS // 4, limit)
            if at > 0:
                limit = at + (1 if mark in (" - ", "\n", " ") else 2)
                break
        yield _trim(text, start, limit)
        start, end = _trim(text, limit, end)
    if start < end:
        yield start, end


def _ends_sentence(
    text: str, begin: int, cut: int, end: int, *, lower_case: bool, german: bool, is_quotation: bool
) -> bool:
    """Does the sentence begun at `begin` end before `cut`? `is_quotation`: whether a mark before it opened one."""
    stop_end = cut  # many blanks may follow the stop
    while stop_end > begin and text[stop_end - 1].isspace():
        stop_end -= 1
    before = text[max(begin, stop_end - 300) : stop_end]
    opening = _match_opening(text, cut, end)
    after = cut + len(opening)
    if _FREE_CLOSER.match(text, cut) or (opening == '" ' and is_quotation):
        return False  # tokenised text: the closing mark is a token of its own
    tail = _TAIL.search(before, max(0, len(before) - 60))
    if not tail:
        return before[-1] not in ",;:"
    word, stop = tail[1].lstrip("\"'\u201c\u2018([{"), tail[2]
    match = _NEXT_WORD.match(text, after, end)
    following = match[0] if match else ""
    if stop[-1] in _LATIN_STOPS and following.islower() and not lower_case:
        return False
    if stop[-1] in _LATIN_STOPS and not text[cut - 1].isspace():
        is_possible = word.isalpha() and word.islower() and len(word) > 1 and following.istitle() and len(following) > 1
        return is_possible and (following in _OPENERS or not is_attribute(text, word, cut, following))
    if _ENUMERATOR.search(before) or _inside_bracket(text, begin, cut, end):
        return False
    if stop == "." and full_stops.goes_on(before, following, german=german):
        return False
    is_opener = following in _OPENERS or (german and following in full_stops.OPENERS)
    opener = is_opener and text[after + len(following) : after + len(following) + 1] != "."
    if stop == "." and _numbers_what_follows(word.lower(), before, following, text[after : after + 8]):
        return False
    return _stop_ends(word, stop, following, opener, bool(opening))


def _numbers_what_follows(abbreviation: str, before: str, following: str, after: str) -> bool:
    """Whether the abbreviation belongs to the number, the code or the scale after it, as in manuals."""
    if abbreviation in _BEFORE_VALUES:
        return following[:1].isdigit() and not _VALUE_BEFORE.search(before)
    if abbreviation == "deg":
        return following in _DEGREES
    if abbreviation == "ser" and following in ("No", "Nos", "Nr"):
        return True
    return abbreviation in _CODED and _CODE.match(after) is not None


def _stop_ends(word: str, stop: str, following: str, opener: bool, is_open: bool) -> bool:
    """Is the stop after `word` a full stop, seen from what follows?"""
    if stop == "!":
        return opener or (word + "!").lower() not in _MAY_END
    if stop != ".":
        return True
    if word in _TITLES or word in _LOWER_CASE or (word.istitle() and len(word) > 1 and word.lower() in _LOWER_CASE):
        return False
    abbreviation = word.lower()
    if abbreviation in _NUMBERED and (following[:1].isdigit() or _ROMAN.match(following)):
        return False
    if abbreviation == "al":
        return opener and not is_open
    if abbreviation in _MAY_END or _INITIAL.fullmatch(word) or _ACRONYM.fullmatch(word):
        return opener
    return True


def _inside_bracket(text: str, begin: int, cut: int, end: int) -> bool:
    """A bracket opened within the sentence, not at its beginning, is still open and closes soon."""
    for opening, closing in ("()", "[]"):
        at = text.rfind(opening, max(begin + 1, cut - 2000), cut)
        if at > begin and closing not in text[at:cut]:
            close = text.find(closing, cut, min(end, cut + 300))
            return close > 0 and opening not in text[cut:close]
    return False
