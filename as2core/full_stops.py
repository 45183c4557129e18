"""Full stops that end no sentence in German: after an ordinal ("am 24. Dezember") and after German abbreviations.

English writes no ordinal so, and in most languages that do, the next word is small ("den 24. december"), which shows
that the sentence goes on; German nouns have capitals. So a number is an ordinal only where what stands before it or
after it says so: an article ("der 3. Platz"), another ordinal ("24. und 31."), a month. "Wir haben 24. Danach" ends.
"""

import re

_SAMPLE_CHARS = 20_000  # of a text, which tell its language
# Of either language, those words that the other has not ("die", "am", "in", "was" are in both).
_GERMAN_WORDS = frozenset(
    """der das und ist nicht ein eine einen einer im zu mit für auf von den dem sich auch werden wird sind oder nach zum
    zur vom beim bei aus wir ihr sie bis""".split()
)
_ENGLISH_WORDS = frozenset(
    """the of and to is that it for with are this by from be or have not at on you your i he she they we as""".split()
)
OPENERS = frozenset(  # words that usually open a German sentence
    """Der Die Das Den Dem Des Ein Eine Einen Einem Einer Er Sie Es Wir Ihr Ich Man Wer Was Wie Wo Wann Warum Wenn Falls
    Weil Da Dann Danach Davor Dort Hier Dazu Dabei Dadurch Dafür Damit Darum Daher Deshalb Doch Aber Und Oder Auch
    Nur Noch Bei Beim Bitte Im In Am An Auf Aus Ab Bis Nach Nachdem Vor Von Vom Zu Zum Zur Mit Ohne Für Gegen Seit
    Um Unter Über Durch Diese Dieser Dieses Diesen Diesem Dies Jede Jeder Jedes Alle Alles Viele Einige Mehr Kein
    Keine Nicht Sein Seine Ihre Ihren Unser Unsere Mein Meine Jetzt Heute Morgen Gestern Später Seitdem Trotzdem
    Zudem Außerdem Ist Sind War Waren Hat Haben Kann Können Soll Muss Müssen Wird Werden So Sobald Solange
    Während Zuerst Zunächst Schließlich Sonst Siehe Ja Nein Als Ob Dass Denn Zwar""".split()
)
_ARTICLES = (
    r"der|die|das|dem|den|des|am|im|vom|zum|zur|beim|ins|ans|ein(?:e[nmrs]?)?|kein(?:e[nmrs]?)?|"
    r"(?:mein|dein|sein|ihr|unser|euer|eur)(?:e[nmrs]?)?|(?:jed|dies|welch)e[nmrs]?"
)
_AFTER_ARTICLE = re.compile(rf"\b(?:{_ARTICLES})\s+\(?(?:\d{{1,3}}|[IVX]+)\.$", re.IGNORECASE)
_AFTER_ORDINAL = re.compile(r"(?<![\d.,])\d{1,3}\.(?:\s*(?:[,/\u2013-]|\b(?:und|oder|bis|sowie|u\.))\s*)\d{1,3}\.$")
_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}\.$")
_NOUNS = frozenset(  # nouns that an ordinal stands before also without an article
    """Januar Jänner Februar Feber März April Mai Juni Juli August September Oktober November Dezember Jan Feb Mär Apr
    Jun Jul Aug Sep Sept Okt Nov Dez Jahrhundert Jahrhunderts Jh Jhd Auflage Etage Obergeschoss OG Untergeschoss UG
    Stock Quartal Halbjahr Semester Schuljahr Klasse Klassenstufe Weltkrieg Weltkriegs Lebensjahr Lebensjahres
    Lebensmonat Geburtstag Jahrestag Advent Platz Rang Liga Bundesliga Lesung""".split()
)
# Months of Danish, Norwegian, Polish, Czech and Slovak, for a text without capitals; Finnish ones end in "kuuta".
_MONTHS = frozenset(
    """januar februar marts mars april maj mai juni juli august september oktober november december desember stycznia
    lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia ledna února března
    dubna května června července srpna září října listopadu prosince januára februára apríla mája júna júla augusta
    septembra októbra novembra decembra""".split()
)
_AFTER_PREPOSITION = re.compile(r"\b(?:ab|bis|seit|zwischen|und|oder|gegen|vor|nach|von)$")
# A sentence continues after the first always, after the second unless a word follows that usually opens one.
_GOES_ON = re.compile(
    r"(?:^|[\s(])(?:z\.\s?B|d\.\s?h|i\.\s?d\.\s?R|v\.\s?a|bzw|ca|evtl|ggf|inkl|exkl|zzgl|abzgl|vgl|sog|bspw|insb|insbes|"
    r"Hr|Dipl|geb|gem)\.$",
    re.IGNORECASE,
)
_MAY_END = re.compile(
    r"(?:^|[\s(])(?:[a-z]|Chr|Jh|Jhd|Mio|Mrd|Tsd|Std|Sek|Stk|Pers|MwSt|Hbf|Bhf|Mo|Di|Mi|Do|Sa|So|\w*[Ss]tr)\.$"
)
_BEFORE_NUMBERS = re.compile(
    r"(?:^|[\s(])(?:Abs|Nr|Art|Kap|Abb|Bd|Rn|Ziff|Anm|Anh|Abschn|Mo|Di|Mi|Do|Fr|Sa|So|\w*[Ss]tr)\.$"
)


def is_german(text: str) -> bool:
    """Whether a text begins with more German than English function words."""
    words = text[:_SAMPLE_CHARS].lower().split()
    return sum(map(_GERMAN_WORDS.__contains__, words)) > sum(map(_ENGLISH_WORDS.__contains__, words))


def goes_on(before: str, following: str, *, german: bool) -> bool:
    """Whether a sentence goes on after the full stop that `before` ends with, seen from the word that follows it."""
    return _is_ordinal(before, following, german) or (german and _is_abbreviation(before, following))


def continues_line(before: str, number: str, following: str, *, german: bool) -> bool:
    """Whether the number that a line begins with is an ordinal of the line before it, and not a list's."""
    if not german:
        return False
    is_date = _AFTER_PREPOSITION.search(before) is not None and following in _NOUNS
    return is_date or _is_described(f"{before} {number}", following)


def _is_ordinal(before: str, following: str, german: bool) -> bool:
    if before[-2:-1].isdigit() and _NUMBER.search(before) and _is_counted(following, german):
        return True
    return german and _is_described(before, following)


def _is_counted(word: str, german: bool) -> bool:
    """Whether it follows an ordinal also where no article stands before that."""
    if word.islower() and (word in _MONTHS or word.endswith("kuuta")):
        return True
    return german and (word in _NOUNS or word.capitalize() in _NOUNS)


def _is_described(before: str, following: str) -> bool:
    """Whether an article or another ordinal stands before the number, and a noun may follow it."""
    if not following[:1].isalpha() or following.capitalize() in OPENERS:
        return False
    return bool(_AFTER_ARTICLE.search(before) or _AFTER_ORDINAL.search(before))


def _is_abbreviation(before: str, following: str) -> bool:
    if _GOES_ON.search(before) or (following[:1].isdigit() and _BEFORE_NUMBERS.search(before)):
        return True
    return following not in OPENERS and following != "" and _MAY_END.search(before) is not None
