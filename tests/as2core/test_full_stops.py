"""Full stops that end no sentence: ordinals and abbreviations of German, and dates of its neighbours."""

import pytest

from as2core.full_stops import is_german
from as2core.text import split_sentences


def texts(text):
    return [s.text for s in split_sentences(text)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Am 24. und 31. Dezember ist geschlossen.",
        "Der 3. Platz geht an uns.",
        "Das war im 19. Jahrhundert so.",
        "Ihr 80. Geburtstag und das 25. Jubiläum sind im Mai.",
        "Die 2. Auflage ist am 1. Mai erschienen.",
        "Frühlingsfest, 3. April, auf dem Hof.",
        "Der Ersatz kommt vom 2., 3. und 4. Stützpunkt.",
        "Im II. Weltkrieg wurde der Turm zerstört.",
        "Wir haben z. B. Wasser, d. h. Getränke, u. a. Saft bzw. Cola.",
        "Das gilt nach § 3 Abs. 1 auch für z.B. Die Zeit.",
        "Der Hof ist am Sa. 3. Mai und am So. Nachmittag in der Hauptstr. 5 offen.",
        "Die Stadt wurde 50 v. Chr. Roms Hafen und hat 5 Mio. Einwohner.",
    ],
)
def test_a_german_sentence_goes_on_after_an_ordinal_and_after_an_abbreviation(sentence):
    assert texts(f"Bitte lesen Sie das. {sentence} Vielen Dank.") == ["Bitte lesen Sie das.", sentence, "Vielen Dank."]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Wir haben 24.", "Danach kommen mehr von ihnen."),
        ("Heute ist der 24.", "Morgen ist der 25. Dezember."),
        ("Die Kasse ist bis 9 oder 10.", "Hunde sind nicht erlaubt."),
        ("Der Turm ist von 1924.", "Mai ist der Monat, in dem er zu ist."),
        ("Das ist Vitamin C.", "Es hilft."),
        ("Das war 50 v. Chr.", "Danach wuchs die Stadt."),
        ("Der Kaiser war Wilhelm II.", "Er starb im Exil."),
    ],
)
def test_a_german_sentence_that_ends_with_a_number_or_an_abbreviation_ends(first, second):
    assert texts(f"{first} {second}") == [first, second]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("It was built in 1924.", "The tower fell."),
        ("I am 24.", "August is hot."),
        ("I am 24.", "September was not, and November was."),
        ("We had 24.", "Stock is low."),
        ("We agree on point 3.", "Platz, the owner, does not."),
        ("It is what they die of at 24.", "Bob is 30."),
    ],
)
def test_an_english_sentence_that_ends_with_a_number_ends(first, second):
    assert texts(f"{first} {second}") == [first, second]


@pytest.mark.parametrize(
    "item",
    [
        "am 24. dezember ist der 3. stock zu",
        "lukket den 24. december",
        "åbent fra den 1. maj til den 3. juni",
        "czynne do 2. stycznia",
        "zavřeno 24. prosince",
        "suljettu 6. joulukuuta",
    ],
)
def test_a_date_in_a_list_without_capitals_stays_whole(item):
    assert texts(f"- {item}\n- café") == [item, "café"]


def test_a_wrapped_line_may_begin_with_an_ordinal_and_a_list_of_them_stays_one():
    wrapped = "Die Praxis in der Straße am Fluss ist mit dem Labor vom\n{} Mai an zu, und bis\n{} Juni bleibt sie es."
    for numbers in (("1.", "1."), ("24.", "31.")):
        text = wrapped.format(*numbers)
        assert texts(text) == [text.replace("\n", " ")]
        assert texts(f"- {text}\n- Danke") == [text.replace("\n", " "), "Danke"]
    floors = ["1. Etage der Praxis", "2. Etage mit dem Labor", "3. Etage und Dach"]
    assert texts("\n".join(floors)) == floors
    articles = ["1. Der", "2. Die", "3. Das"]
    assert texts("\n".join(articles)) == articles


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Der 3. Platz", True),
        ("Wir sind zu Hause, und die Post ist da.", True),
        ("I am in the house, was it so?", False),
        ("Ich am in so", False),
        ("The motto 'Das ist der Weg' is that of the house and it is old.", False),
    ],
)
def test_a_text_is_german_where_most_of_its_small_words_are(text, expected):
    assert is_german(text) is expected
