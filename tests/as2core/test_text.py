"""Sentences and words of text as people write it."""

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from as2core.text import MAX_SENTENCE_CHARS, STOP_WORDS, lacks_sentence_ends, split_sentences, tokenize

PROSE = {
    "titles": ["Dr. Mary Walker met Prof. A. Stone at St. Bride's.", "Mr. and Mrs. Hale came later."],
    "initials": ["J. S. Bach was born in Eisenach.", "George W. Bush and J.R.R. Tolkien were not.", "Both are known."],
    "country in the middle": ["The U.S. Senate met in Washington, D.C. before noon.", "It adjourned."],
    "country at the end": ["The firm left the U.S. The reason was tax.", "Nobody in the U.K. noticed."],
    "decimals": ["A mile is 1.609 kilometres.", "Pi is about 3.14159.", "Version 2.0.1 came out in 1998."],
    "latin": ["Some metals, e.g. Gold and Silver, do not rust.", "Others, i.e. Iron, do.", "Cf. Smith et al. (2003)."],
    "numbers": [
        "See Fig. 2 and Vol. IV, pp. 12-15.",
        "Question No. 5 was hard.",
        "The answer was no. 7 people knew it.",
    ],
    "company": ["Acme Inc. was bought by Bolt Ltd. in May.", "It had been founded by John Roe Jr. He was nine."],
    "time": ["The train leaves at 9 a.m. sharp.", "It arrives at 5 p.m. The journey is slow."],
    "quotes": [
        '"Why?" she asked.',
        '"Because it rains," he said.',
        "Then he left.",
        '"I see."',
        "“So it is.”",
        "Fine.",
    ],
    "brackets": [
        "It grew (see the table. It is long) and grew.",
        "(He was ill.)",
        "Nobody knew [nor cared. Really].",
        "Yes.",
    ],
    "citations": ["It fell in 1453.[12]", "The walls had stood.[citation needed]", "Then came peace."],
    "ellipsis": ["He waited... and waited.", "Nothing came...", "Then it rained.", "It was … odd."],
    "marks": ["What is it?!", "Really!", "Yahoo! was founded in 1994.", "Is it?"],
    "small first letter": ["He bought an iPod.", "iPhones came later.", "eBay sold both."],
    "list in a sentence": [
        "They grow rice, beans, etc., and sell fish, meat, etc. The rest is bought.",
        "That is all.",
    ],
    "vitamins": ["Oranges hold vitamin C. They taste sour.", "Plan B. was no plan at all."],
    "law": ["In Roe v. Wade the court was divided.", "It was decided in Jan. 1973."],
    "web": ["Look at example.com or www.example.org/a.b for more.", "Mail a.b@example.org today."],
    "telephone": ["Write to us or call us: Tel. 01943 555 012.", "The fax is broken."],
    "other scripts": ["Это река.", "Она длинная!"],
}
SPLIT_INSIDE = {  # pieces that hold two sentences of ours: the second begins at the word given
    "The firm left the U.S. The reason was tax.": "The reason",
    "The answer was no. 7 people knew it.": None,
    "It had been founded by John Roe Jr. He was nine.": "He was",
    "It arrives at 5 p.m. The journey is slow.": "The journey",
    "They grow rice, beans, etc., and sell fish, meat, etc. The rest is bought.": "The rest",
    "Oranges hold vitamin C. They taste sour.": "They taste",
}


def texts(text):
    return [s.text for s in split_sentences(text)]


@pytest.mark.parametrize("name", PROSE)
def test_a_paragraph_of_prose_is_split_into_the_sentences_it_was_joined_from(name):
    expected = []
    for piece in PROSE[name]:
        second = SPLIT_INSIDE.get(piece)
        at = piece.index(second) if second else len(piece)
        expected += [part.strip() for part in (piece[:at], piece[at:]) if part.strip()]
    assert texts(" ".join(PROSE[name])) == expected


def test_chinese_needs_no_space_after_its_stops():
    assert texts("长江很长。黄河也长！你知道吗？") == ["长江很长。", "黄河也长！", "你知道吗？"]


def test_a_missing_space_after_the_stop_is_forgiven_but_names_with_points_are_kept():
    assert texts("It carries blood.The heart pumps it. Node.js and U.S.A. stay.") == [
        "It carries blood.",
        "The heart pumps it.",
        "Node.js and U.S.A. stay.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "It returns {net.Socket} at once.",
        "See subprocess.Popen(args) for more.",
        "A thread closes net.Socket at once, as net.connect() does.",
        "Use enum.Flag, or better enum.Flag with a mask.",
    ],
)
def test_the_stop_in_a_programs_name_ends_no_sentence(text):
    assert texts(text) == [text]


def test_a_missing_space_is_forgiven_before_any_word_that_no_name_begins_with():
    assert texts("It cures viral infections.Drugs help. See net.connect.") == [
        "It cures viral infections.",
        "Drugs help.",
        "See net.connect.",
    ]


def test_text_without_capitals_is_split_at_its_stops():
    assert texts("i went home. then i slept, e.g. on the sofa. good.") == [
        "i went home.",
        "then i slept, e.g. on the sofa.",
        "good.",
    ]


def test_tokenised_text_keeps_a_closing_quote_with_its_sentence():
    text = 'He said : " They respect us . " Then he left .'
    assert texts(text) == ['He said : " They respect us . "', "Then he left ."]
    text = "He asked `` Who ? '' and ( it rained . ) went . `` Nobody . '' Then he left ."
    assert texts(text) == ["He asked `` Who ? '' and ( it rained . ) went .", "`` Nobody . ''", "Then he left ."]


def test_headings_wrapped_lines_and_lists_are_told_apart():
    text = """The river and its people

HISTORY
The river was first crossed by traders who had come from the coast in search
of salt, and they named it after a saint. Others followed within a few years,
among them Dr. Amelia Hart.
Sources
1. The spring under the glacier
2. The lake
   in the east
- rain
- melting snow. It comes in May.
• fog"""
    assert texts(text) == [
        "The river and its people",
        "HISTORY",
        "The river was first crossed by traders who had come from the coast in search "
        "of salt, and they named it after a saint.",
        "Others followed within a few years, among them Dr. Amelia Hart.",
        "Sources",
        "1. The spring under the glacier",
        "2. The lake in the east",
        "rain",
        "melting snow.",
        "It comes in May.",
        "fog",
    ]


def test_a_wrapped_line_that_begins_with_a_number_or_a_capital_goes_on():
    text = """The bridge that the king had wanted to see since the winter of his crowning in
1812 was opened by Queen Anne, whose brother had paid for it, as is told on page
12. Nobody had read so far."""
    assert texts(text) == [text.partition(" Nobody")[0].replace("\n", " "), "Nobody had read so far."]


def test_list_items_joined_by_dashes_are_sentences_when_they_end_like_some():
    text = (
        "Key Points (2) - A stem cell becomes one of three cells: - Red blood cells that carry oxygen. "
        "- Platelets that stop bleeding. - White cells (e.g. T cells) that fight. Signs include: - fever - rash - pain."
    )
    assert texts(text) == [
        "Key Points (2) - A stem cell becomes one of three cells:",
        "Red blood cells that carry oxygen.",
        "Platelets that stop bleeding.",
        "White cells (e.g. T cells) that fight.",
        "Signs include: - fever - rash - pain.",
    ]


def test_steps_numbered_within_a_line_keep_their_numbers():
    assert texts("Do this: 1. Open the tap. 2. Close it. Then 3.5 litres are left.") == [
        "Do this: 1. Open the tap.",
        "2. Close it.",
        "Then 3.5 litres are left.",
    ]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Use min. 3 and max. 5 screws.", 1),
        ("It takes 5 min. 3 others wait.", 2),
        ("The temp. is 5 deg. C at most.", 1),
        ("It turned by 30 deg. The rest stayed.", 2),
        ("Ref. 12 says so.", 1),
        ("Est. 1990 by Art. 5.", 1),
        ("Ser. No. A12 is old.", 1),
        ("Model No. X200 is new.", 1),
        ("He said no. A man knew it.", 2),
        ("1.1. Version", 1),
        ("1.2. What is this spec?", 1),
        ("It cost 3.50. Then it rose.", 2),
        ("Step 1. Open it. Step 2. Close it.", 2),
        ("He stopped at step 1. Then he fell.", 2),
    ],
)
def test_a_number_stays_with_the_abbreviation_or_the_heading_that_it_belongs_to(text, sentences):
    assert len(texts(text)) == sentences


def test_headings_numbered_on_several_levels_begin_lines_of_their_own():
    assert texts("1. Scope.\n1.1. Version\n1.2. Use.\n1.2.1. More") == [
        "1. Scope.",
        "1.1. Version",
        "1.2. Use.",
        "1.2.1. More",
    ]


def test_paragraphs_are_counted_from_nought_and_blank_lines_divide_them():
    found = split_sentences("\n\n One. Two.\n \t\nThree\n\n\n\nFour.  ")
    assert [(s.text, s.paragraph) for s in found] == [("One.", 0), ("Two.", 0), ("Three", 1), ("Four.", 2)]


@pytest.mark.parametrize("text", ["", " \n\t\n ", "\n"])
def test_no_text_has_no_sentences(text):
    assert split_sentences(text) == []


def test_many_blanks_after_a_stop_change_no_sentence():
    blanks = " " * 320
    text = f"We open at 9 a.m.{blanks}Monday to Friday.{blanks}The shop is closed on Sunday."
    assert [" ".join(s.text.split()) for s in split_sentences(text)] == [
        "We open at 9 a.m. Monday to Friday.",
        "The shop is closed on Sunday.",
    ]


WORDS_AND_MARKS = (
    "The river Dr. e.g. U.S. J. No. 5 3.5 . ... ! ? \" ' ( ) [ ] “ ” - • 1. # : ; , [3] iPod 好。 é Fig. a.b"
)
PIECES = st.sampled_from([*WORDS_AND_MARKS.split(), "\n", "\n\n", "\t", "-\n", " " * 400])


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.lists(PIECES, max_size=40).map(" ".join), st.text(max_size=200)))
@example("- - - a")
@example('a. " . b')
@example("Open from 9 a.m." + " " * 320 + "Monday to Friday.")
@example("One." + " " * 400 + "Two, " + " " * 400 + "three.")
def test_offsets_are_exact_and_nothing_but_white_space_and_bullets_is_lost(text):
    end, paragraph, outside = 0, 0, ""
    for s in split_sentences(text):
        assert text[s.start : s.end].split() == s.text.split() and s.text == s.text.strip() != ""
        assert "\n" not in s.text
        assert s.start >= end and s.paragraph >= paragraph and len(s.text) <= MAX_SENTENCE_CHARS
        outside, end, paragraph = outside + text[end : s.start], s.end, s.paragraph
    outside += text[end:]
    assert not any(character.isalnum() for character in outside)
    assert set(outside.split()) <= set("-*+•‣●◦▪▫·–—■□▶►○✓➢\uf0a7\uf0b7\uf0d8\uf0fc") | {"#" * n for n in range(1, 7)}


@pytest.mark.parametrize(
    "text",
    [
        "word " * 100_000,
        "x" * 300_000,
        '"' * 50_000,
        "Dr. " * 20_000,
        ". " * 50_000,
        "http://a.b/" * 20_000,
        "(a. " * 20_000,
    ],
    ids=["words", "one word", "quotes", "titles", "stops", "address", "brackets"],
)
@pytest.mark.timeout(30)
def test_endless_text_is_cut_in_bounded_time(text):
    found = split_sentences(text)
    assert max(len(s.text) for s in found) <= MAX_SENTENCE_CHARS
    assert sum(len("".join(s.text.split())) for s in found) == len("".join(text.split()))


def test_a_long_sentence_is_cut_at_a_mark_before_a_space():
    text = "word " * 150 + "stop; " + "more " * 100
    first, second = texts(text)
    assert first.endswith("stop;") and second.startswith("more")


def test_words_are_small_and_numbers_stay_whole():
    assert tokenize("The Nile's length: 6,650 km (or 4,132.5 mi), isn't it? Ça va_bien") == (
        "the nile s length 6,650 km or 4,132.5 mi isn t it ça va bien".split()
    )


def test_stop_words_are_words_as_words_gives_them():
    assert all(tokenize(w) == [w] for w in STOP_WORDS)


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKD"])
def test_a_letter_and_its_accent_are_one_however_they_are_written(form):
    assert tokenize(unicodedata.normalize(form, "Café Zürich, Ångström")) == ["café", "zürich", "ångström"]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_dotted_capital_i_ends_no_word(form):
    assert tokenize(unicodedata.normalize(form, "İzmir and DİYARBAKIR")) == ["izmir", "and", "diyarbakir"]


@pytest.mark.parametrize("separator", [" ", ", "])
def test_a_text_of_words_alone_lacks_sentence_ends(separator):
    assert lacks_sentence_ends(split_sentences(separator.join(["word"] * 2000)))
    assert lacks_sentence_ends(split_sentences(separator.join(["word"] * 250)))  # 1,250 characters: two pieces


def test_prose_with_one_long_sentence_does_not():
    prose = " ".join(["It rained."] * 20)
    assert not lacks_sentence_ends(split_sentences(f"{prose} {'word ' * 300}. {prose}"))
    assert not lacks_sentence_ends(split_sentences(" ".join([f"{'word ' * 150}ends."] * 9)))
    assert not lacks_sentence_ends(split_sentences("\n\n".join(["word " * 150] * 9)))
    assert not lacks_sentence_ends(split_sentences("word"))
    assert not lacks_sentence_ends([])


def test_marks_of_tokenised_quotations_are_counted_once_however_many_there_are():
    """Counted anew for each, those of this text would take hours."""
    sentences = split_sentences('He said " Go . " She went . ' + '" Stay . " ' * 60_000)
    assert sentences[0].text == 'He said " Go . "'
    assert len(sentences) > 30_000
