"""Questions from statements by rule: the answer is cut out, and the auxiliary goes before its subject.

Heilman and Smith's over-generation (2010) without their parser. Only statements are turned whose main clause has an
auxiliary, since every other verb would have to change its form: "The tower was finished in 1889." asks "When was the
tower finished?". Most sentences give no question.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

MAX_CHARS = 2_000  # of a sentence with its heading
MIN_QUESTION_WORDS, MAX_QUESTION_WORDS = 3, 18
MAX_SUBJECT_WORDS = 8
_QUOTED = ('"', "\u201c", "\u201d", "``")

_BE = frozenset("is are was were".split())
_HAVE = frozenset("has have had".split())
_AUXILIARIES = _BE | _HAVE | frozenset("can could will would may might must should".split())

# What a plain subject does not open with: a pronoun or "that town" needs context, the others open a clause.
_NOT_FIRST = frozenset(
    """he she it they we i you his her its their our my your this that these those there here such another other others
    both each nobody nothing everyone everything what who which when where while if although though because as since
    once unless until after before despite however but and or so yet then thus therefore for not only even to with
    without like unlike among according in on at by from during under over through within between since given most
    many some several one two three all no none""".split()
)
# What it does not contain: another clause, or a verb of its own.
_NOT_INSIDE = frozenset(
    """which who whom whose that when where while because if although though as since until unless what how why there
    it he she they we you i them him us me not to same became began came did do does got grew had has have kept knew
    led left let lost made met ran said saw says sent showed stood told took went won wrote found gave held built
    bought brought fell felt drew drove thought put set used shows makes gives means or""".split()
)
_NOT_LAST = frozenset("and nor of in on at by for from with the a an also then thus so than often usually".split())
_ARTICLES = frozenset("the a an every".split())
_FILLERS = frozenset("also then thus therefore too however still".split())
_PEOPLE = frozenset(
    """actor actress admiral architect artist astronomer author biologist bishop botanist captain chemist composer
    daughter doctor emperor empress engineer explorer general geologist goldsmith historian inventor judge king lawyer
    leader man mathematician merchant monk navigator nurse officer painter philosopher physician physicist poet
    politician president priest printer professor queen sailor scholar scientist sculptor singer soldier son
    statesman surgeon teacher woman writer""".split()
)

_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = r"(?:\d{4}s?|\d{1,4} (?:BCE?|CE|AD))(?! ?[%\d])"
_ORDINAL = r"(?:\d{1,2}(?:st|nd|rd|th)|[a-z]+th|first|second|third)"
_CENTURY = rf"(?:the )?(?:early |late |mid-?)?{_ORDINAL} (?:century|millennium)(?: BCE?)?"
_TIME = (
    rf"(?:in|on|around|by|during) (?:about |the )?(?:(?:spring|summer|autumn|winter|early|late) (?:of )?)?"
    rf"(?:(?:\d{{1,2}} )?{_MONTH}(?: \d{{1,2}},?)?,? ?)?(?:{_YEAR}|{_CENTURY})"
)
_LEAD_TIME = re.compile(rf"{_TIME},? (?=\S)", re.IGNORECASE)
_HEADING = re.compile(r"(?:[^:?]{1,80}: (?=[A-Z])|[^?]{1,200}\? )+")  # or a term, before its definition
_LEAD_ADVERB = re.compile(r"[A-Z]\w+ly,? (?=(?:the|an?|this|that|these|those|its|their|our|your|all|each|every|no)\b)")
_LEAD_PLACE = re.compile(r"(?:In|On|At|Near|Under|For|From) [^,]{2,45}, ")
_WHEN = re.compile(rf",? {_TIME}(?=$|[ ,])")
_NAME = r"[A-Z][\w'-]+(?: (?:of |the |de |and )?[A-Z][\w'-]+)*"
_BRACKETS = re.compile(r"\s*[(\[][^)\]]*[)\]]")
_APPOSITION = re.compile(r"([^,]+), [^,]{3,70}, ")
_WHY = re.compile(r",? (?:because|so that|in order to)\b.*$")
_NEXT_CLAUSE = re.compile(
    r"(?:, | )(?:but|so|which|who|whose|where|when|while|although|though|making|allowing|leaving|since|if|unless|until|"
    r"before|nor|yet|just|and (?=[a-z]+ed\b|(?:is|are|was|were|has|had|can)\b|[a-z]+ (?:is|are|was|were)\b))\b.*$"
    r"|, (?:and|or|as|a|an|the)\b.*$|;.*$|:.*$| [-\u2013\u2014] .*$"
)
_VERB = (
    r"(?:(?:\w+ly|now|first|still|always|never|often|usually|sometimes|not) )?"
    r"(?:\w+(?:ed|wn|ept|eld|uilt|ught|ound|ung|old|aid|ost)|written|given|taken|driven|broken|eaten|born|made|set|cut|"
    r"put|run|led|won|sunk|sent|spent|read|known)"
)
_PARTICIPLE = re.compile(rf"{_VERB}(?= |$)")
_WHERE = re.compile(rf"({_VERB}) (?:in|at|near) (?:the )?(?!{_MONTH}\b){_NAME}")
_WITH_WHAT = re.compile(
    rf"(?!born)({_VERB}) (for|of|as|after|into|from|with|by|against) (?!the (?:first|last|same) time|example|instance|"
    r"accident|chance|hand|long|some|several|many|months|years|centuries|a while|about|\d)(.+)"
)
_CALLED = re.compile(r"((?:(?:\w+ly|now|still|also) )?(?:called|named|nicknamed)) \S")
_MEASUREMENT = re.compile(
    r"(?:(?:about|nearly|almost|over|some|roughly|only|up to) )?\d[\d.,]* \w+(?: \w+)? "
    r"(tall|long|high|wide|deep|old|thick)\b"
)
_KIND = re.compile(r"(?:a|an|the|one of) ", re.IGNORECASE)
_NAME_ONLY = re.compile(rf"the {_NAME}$")
_HEAD = re.compile(r"\b(?:of|by|in|that|who|from|for|to|with|at|on|whose|which|\w+ed)\b.*$|,.*$")


def lowercase_words(texts: Iterable[str]) -> frozenset[str]:
    """The words that these texts mostly write without a capital inside a sentence."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(re.findall(r"(?<=[a-z,] )[^\W\d_][\w'-]*", text))
    return frozenset(w for w, n in counts.items() if w.islower() and n >= counts[w.capitalize()])


def ask_by_rule(sentence: str, lowercase: frozenset[str] = frozenset()) -> list[str]:
    """Questions that the sentence answers, the safest first; none for most sentences, and for one that is longer than
    sentences are: imported labels may have any.

    `lowercase` (`lowercase_words`) tells common nouns from names at the start of a sentence: "Clocks" from "Cook".
    """
    if len(sentence) > MAX_CHARS:
        return []
    text = _BRACKETS.sub("", " ".join(sentence.split())).rstrip(". ")
    heading = _HEADING.match(text)
    text = _LEAD_ADVERB.sub("", text[heading.end() :] if heading else text, count=1)
    if not text or text[-1] in "?!:" or any(mark in text for mark in _QUOTED):
        return []
    lead = _LEAD_TIME.match(text)
    text = text[lead.end() :] if lead else _LEAD_PLACE.sub("", text, count=1)
    apposition = _APPOSITION.match(text)
    if apposition and not _AUXILIARIES & set(apposition[1].split()):
        text = f"{apposition[1]} {text[apposition.end() :]}"
    parts = _split_statement(text, lowercase)
    if parts is None:
        return []
    subject, auxiliary, rest = parts
    forms = _question_forms(auxiliary, rest, lead is not None)
    questions = (f"{word} {auxiliary} {subject} {end}".strip() for word, end in forms)
    lengths = range(MIN_QUESTION_WORDS, MAX_QUESTION_WORDS + 1)
    return list(dict.fromkeys(f"{q}?" for q in questions if len(q.split()) in lengths))


def _split_statement(text: str, lowercase: frozenset[str]) -> tuple[str, str, str] | None:
    """Subject, auxiliary, and the rest; None for anything but a plain statement."""
    words = text.split()
    at = next((i for i, w in enumerate(words[: MAX_SUBJECT_WORDS + 1]) if i and w in _AUXILIARIES), None)
    if at is None:
        return None
    subject, rest = words[:at], words[at + 1 :]
    while rest and rest[0] in _FILLERS:
        rest = rest[1:]
    if not rest or not _is_plain_subject(subject):
        return None
    is_participle = rest[0] == "been" or _PARTICIPLE.match(" ".join(rest[:2]))
    if words[at] in _HAVE and not is_participle:
        return None
    first = subject[0].lower()
    is_common = first in lowercase or (len(subject) > 1 and first.endswith(("ed", "ing")))
    if first in _ARTICLES or (is_common and not any(w[:1].isupper() for w in subject[1:2])):
        subject[0] = first
    return " ".join(subject), words[at], " ".join(rest)


def _is_plain_subject(words: list[str]) -> bool:
    """Whether they are a noun phrase that can stand in a question as it is."""
    low, inner = [w.lower() for w in words], {w for w in words[1:] if not w[:1].isupper()}
    if low[0] in _NOT_FIRST or inner & _NOT_INSIDE or low[-1] in _NOT_LAST:
        return False
    if any(mark in " ".join(words) for mark in ",:"):
        return False
    if "-" in inner or len(set(low) - _ARTICLES) < sum(w not in _ARTICLES for w in low):  # a heading ran into it
        return False
    return not any(re.fullmatch("[a-z]+(?:ed|ing)", w) for w in inner)


def _question_forms(auxiliary: str, rest: str, is_dated: bool) -> Iterator[tuple[str, str]]:
    """(question word, words after the subject). `is_dated`: the sentence opened with a time."""
    why = _WHY.search(rest)
    clause = _NEXT_CLAUSE.sub("", rest[: why.start()] if why else rest)
    kind = _KIND.match(clause)
    if why and not kind:
        yield "Why", clause
    time = _WHEN.search(f" {clause}")
    if is_dated:
        yield "When", clause
    elif time and not kind and not re.search(r" (?:and|that) ", clause[: time.start()]):
        yield "When", f" {clause}"[: time.start()].strip()
    if auxiliary not in _BE:
        return
    plain = _WHEN.sub("", f" {clause}").strip()
    if place := _WHERE.match(plain):
        yield "Where", place[1]
    if size := _MEASUREMENT.match(plain):
        yield f"How {size[1]}", ""
    elif name := _CALLED.match(plain):
        yield "What", name[1]
    elif with_what := _WITH_WHAT.match(plain):
        is_person = with_what[2] in ("by", "after") and (with_what[3][:1].isupper() or _is_person(with_what[3]))
        yield "Who" if is_person else "What", f"{with_what[1]} {with_what[2]}"
    elif kind and not _NAME_ONLY.match(clause):
        yield "Who" if _is_person(clause) else "What", ""


def _is_person(phrase: str) -> bool:
    """Whether the head of a noun phrase is a person."""
    head = re.findall(r"\w+", _HEAD.sub("", phrase).lower())
    return any(w in _PEOPLE or re.fullmatch(r"\w{3,}(?:ist|ician|edian)", w) for w in head)
