"""Whether a question or a document is English, by its letters and its most frequent words.

Frequent words tell languages apart well (Ingle 1976; Grefenstette 1995, "Comparing two language identification
schemes"), but a question may have none: "filter cleaning interval" is English, too. So a question counts as English
unless something speaks against it: mostly other letters than Latin ones; frequent words of other languages, more of
them than English ones; words with accents where no English word stands; or many words, none of them a frequent one.
The last two need some different words: one typed again and again is no language. A document has more words, so what is
frequent in it decides; a table of names may have no frequent word at all.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from as2core.text import STOP_WORDS, tokenize

MAX_OTHER_LETTERS = 0.4  # share of the letters that are not Latin ones: a name in another script is quoted in English
MAX_COMMON_SHARE = 0.4  # of words that names have, too: "Rio de la Plata length"
MAX_WORDS_WITHOUT_ENGLISH = 9
MIN_DIFFERENT_WORDS = 3  # to judge by what is missing
MAX_TEXT_CHARS = 20_000  # of a document that are read
MAX_QUOTED_CHARS = 200  # longer, and a mark is missing
MIN_FOREIGN_WORDS = 3  # of a document: a name may have two
MIN_ACCENTED_SHARE = 0.1  # of the words of a document without English ones

# Question words and verbs that neither names nor English have: one is enough where English words are not more.
_TELLING = frozenset(
    """wer wie wo wann warum welche welcher welches wieviel wurde gibt sind wird wofür womit
    ist kostet kosten heißt bedeutet kann muss darf wieso weshalb woher wohin wozu
    quoi quel quelle quels quelles pourquoi combien où quand était sont
    quién qué cuál cuáles cuándo cuánto cuántos cuántas dónde cómo quien cual cuando donde porque fue está
    quale quali quando quanto quanti quante perché perche è stato
    quem qual quais onde porquê
    waar wanneer waarom welke hoog hoeveel werd zijn wordt
    vem när varför vilken vilket många är
    hvad hvem hvor hvornår hvorfor hvilken hvordan hva når hvilke hvilket blev
    mikä missä milloin miksi kuinka miten mitä onko
    kto gdzie kiedy dlaczego jaki jaka jakie czy jest
    kdo kdy proč jaký jaká jaké kolik kolika
    hol mikor miért hogyan hány melyik milyen
    unde când cât câți este
    nerede neden nasıl kaç hangi nedir kadar
    nhiêu gì
    siapa kapan mengapa kenapa bagaimana berapa adalah
    što tko gdje kada zašto koliko""".split()
)
_OPENING = ("qui", "que", "jak", "var", "ne")  # telling as the first word
# Articles and prepositions, which names have as well: they have to be many.
_COMMON = frozenset(
    """der die das den dem des ein eine einen und von vom zum zur mit für auf im bei nach aus als auch nicht
    le la les un une du de et en dans pour sur avec par au aux est il elle ce cette que qui
    el los las del una y en por para con su se es son
    dove chi si ha sono il lo gli i della dello dei delle di da nel nella con un e
    o os um uma do dos da das no na em com são
    het een van op te voor met uit
    den det en ett och av på till för med
    og et af på til som
    ja on ei se
    w z na do i od po się
    az egy és
    bir ve bu için
    dan di dari untuk ini itu
    je u se""".split()
)
_ENGLISH = STOP_WORDS | frozenset(
    """does name many much long old far often big high first last best most list difference between meaning define
    explain show tell find make use work need after before because if while until since per via vs like get give
    someone something anyone anything people year time day""".split()
)
_AMBIGUOUS = frozenset("a i in an am as on no so do me he we us s t d m was".split())  # in other languages, too
_QUOTED = re.compile(r"[\"“«„][^\"“”«»„]*[\"”»“]")  # of quotations in others the inner ones


def is_english(question: str) -> bool:
    """Whether nothing speaks against it; so a few keywords and names count as English. Quotations do not count."""
    question = _QUOTED.sub(" ", question)
    if not any(c.isalpha() for c in question):
        return True
    if _has_other_letters(question):
        return False
    words = tokenize(question)
    english = _count_english(words)
    telling = sum(w in _TELLING for w in words) + question.lower().startswith(tuple(f"{w} " for w in _OPENING))
    common = sum(w in _COMMON and w not in _TELLING for w in words)
    if telling and telling + common > english:
        return False
    different = len(set(words))
    if english or different < MIN_DIFFERENT_WORDS:
        return True
    accented = sum(w.islower() and not w.isascii() for w in question.split())  # in capitals it may be a name
    return max(1, MAX_COMMON_SHARE * len(words)) >= max(common, accented) and different <= MAX_WORDS_WITHOUT_ENGLISH


def is_english_text(text: str) -> bool:
    """Whether nothing speaks against it, in the beginning of a document."""
    text = _QUOTED.sub(
        lambda quotation: " " if len(quotation[0]) <= MAX_QUOTED_CHARS else quotation[0], text[:MAX_TEXT_CHARS]
    )
    if _has_other_letters(text):
        return False
    words = tokenize(text)
    english = _count_english(words)
    foreign = sum(w in _TELLING or w in _COMMON for w in words if w not in _AMBIGUOUS)
    if foreign >= MIN_FOREIGN_WORDS and foreign > english:
        return False
    accented = sum(w.islower() and not w.isascii() for w in text.split())
    return english > 0 or accented < max(MIN_FOREIGN_WORDS, MIN_ACCENTED_SHARE * len(words))


def _count_english(words: Sequence[str]) -> int:
    return sum(w in _ENGLISH and w not in _AMBIGUOUS for w in words)


def _has_other_letters(text: str) -> bool:
    letters = [c for c in text if c.isalpha()]
    return sum(not _is_latin(c) for c in letters) > MAX_OTHER_LETTERS * len(letters)


def _is_latin(letter: str) -> bool:
    return letter.isascii() or unicodedata.name(letter, "").startswith("LATIN")
