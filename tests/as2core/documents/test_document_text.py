"""Plain text and Markdown: marks, sections, programs, titles."""

import hashlib

import pytest
from document_files import one, split

from as2core.documents.reading import read_documents
from as2core.documents.sections import SPLIT_RULES, split_document
from as2core.parser_process import ParserProcess
from as2core.text import split_sentences


def test_plain_text_is_kept_with_its_line_ends_made_one():
    document = one("notes/My_river.txt", "One.\r\nTwo.\r\r\nThree.\x0cFour.\n")
    assert (document.id, document.title, document.source) == ("notes/My_river", "My river", "notes/My_river.txt")
    assert document.text == "One.\nTwo.\n\nThree.\n\nFour."


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("within days of deliv-\r\nery. The rest\nfollows.", "within days of delivery.\nThe rest\nfollows."),
        ("of de\u00adliv\u00ad\nery, \u200ba\u00adlas", "of delivery,\nalas"),
        ("of deliv\u2010\nery", "of delivery"),
        ("from 20 De-\ncember on", "from 20 December\non"),
        ("A gizmodrome. The giz-\nmodrome\n\nNext", "A gizmodrome. The gizmodrome\n\nNext"),  # the text has it
        ("It is well-\nknown here", "It is well-known\nhere"),
        ("An e-mail. By e-\nmail, too", "An e-mail. By e-mail,\ntoo"),  # though "email" is a word
        ("Two e-mails. An e-\nmail.", "Two e-mails. An e-mail."),
        ("Pre- or post-war. It is pre-\nand post-war.", "Pre- or post-war. It is pre-\nand post-war."),
        ("North-\nEast - \nfive-\n- six", "North-\nEast - \nfive-\n- six"),
    ],
)
def test_a_word_that_a_text_divides_at_a_line_end_is_joined_and_a_real_hyphen_stays(text, read):
    assert one("a.txt", text).text == read


def test_markdown_joins_divided_words_but_not_in_a_program():
    text = "Days of deliv-\nery. Well-\n*known* and well-\nknown.\n\n- a deliv-\n  ery\n\n```\ndeliv-\nery\n```\n"
    assert one("a.md", text).text == (
        "Days of delivery. Well-known and well-known.\n\n- a delivery\n\ndeliv-\nery"
    )  # fmt: skip


MARKDOWN = """---
title: "The Danube"
field: rivers
---
# Course

The Danube *rises* in the [Black Forest](https://example.org) and
flows **east**. See `Donau` & ![a map](map.png).

- one spring
- another
  spring

1. first
2. second

| city | bank |
|------|------|
| Ulm  | left |

> Old words.

<!-- unseen -->
<div>seen</div>

```
code stays
```
"""


def test_markdown_is_read_without_its_marks():
    document = one("danube.md", MARKDOWN)
    assert (document.id, document.title, document.meta) == ("danube", "The Danube", {"field": "rivers"})
    assert document.text.split("\n\n") == [
        "The Danube rises in the Black Forest and flows east. See Donau & a map.",
        "- one spring\n- another spring",
        "1. first\n2. second",
        "city: Ulm | bank: left",
        "Old words.",
        "seen",
        "code stays",
    ]


PROGRAM = """def f(x):
    # Strip it. Then go.

    return x.strip()"""


SECTIONS = {
    "labels.md": """# Labels

Give one.

## 2.1. To undo a label. Or two

Press z. Press it again.

### Labels

Many labels.

## %s

End.
""",
    "labels.html": "<title>Labels - Manual</title><h1>Labels</h1><p>Give one.</p><div><h2><a></a>2.1. To <acronym>undo"
    "</acronym> a label. Or two</h2></div><p>Press z. Press it again.</p><h3>Labels</h3><p>Many labels.</p><h2>%s</h2>"
    "<p>End.</p>",
}


@pytest.mark.parametrize("name", SECTIONS)
def test_a_sentence_knows_the_heading_of_its_section(name):
    sentences = split_document(one(name, SECTIONS[name] % ("Prose set in large type. " * 9)))
    undo = "To undo a label. Or two"
    assert [(s.text, s.heading) for s in sentences][:4] == [
        ("Give one.", ""),
        (f"2.1. {undo}: Press z.", undo),
        ("Press it again.", undo),
        ("Many labels.", ""),
    ]
    assert [s.text for s in sentences[4:]] == [*["Prose set in large type."] * 9, "End."]  # no heading, nor one piece
    assert not any(s.heading for s in sentences[4:])


def test_a_question_stands_before_its_answer():
    text = "Prices\n\n1. Is it free?\n\nYes, it is. Why not?\n\n2. Where is it?\n\n3. And when?\n\nAt noon.\n\nReally?"
    assert split("faq.txt", text) == [
        "Prices: 1. Is it free? Yes, it is.",
        "Why not?",
        "2. Where is it?",
        "3. And when? At noon.",
        "Really?",
    ]


def test_a_line_that_is_a_question_stands_before_its_answer_too():
    text = "Q: Is it free?\nA: Yes. Always.\nQ: What of the mill that they\nbuilt?\nA: It is gone."
    text += "\nWhy? Nobody\nknows. So what?"
    assert split("faq.txt", text) == [
        "Q: Is it free? A: Yes.",
        "Always.",
        "Q: What of the mill that they built? A: It is gone.",
        "Why? Nobody knows.",
        "So what?",
    ]


def test_a_question_within_a_paragraph_stands_before_its_answer_and_one_at_the_end_is_a_sentence():
    text = (
        "Keep the PIN. Forgot it? Who has it? Only support can reset it. Then call. Any questions?\n\nOpen from nine."
    )
    for document in (one("pin.txt", text), one("pin.html", f"<p>{text}".replace("\n\n", "<p>"))):
        assert [s.text for s in split_document(document)] == [
            "Keep the PIN.",
            "Forgot it? Who has it? Only support can reset it.",
            "Then call.",
            "Any questions?",
            "Open from nine.",
        ]


LISTS = {
    "kit.md": "# Kit\n\nBring:\n\n- a pen\n- paper,\n- a ruler and\n- glue.\n\n## Steps\n\n"
    "1. Open it.\n2. Wait.\n\nDone.",
    "kit.txt": "Bring:\n- a pen\n- paper,\n- a ruler and\n- glue.\n\nSteps\n\n1. Open it.\n2. Wait.\n\nDone.",
    "kit.html": "<p>Bring:</p><ul><li>a pen<li><p>paper,</p><li><div>a ruler and</div><li>glue.</ul>"
    "<h2>Steps</h2><ul><li>1. Open it.<li>2. Wait.</ul><p>Done.",
}


@pytest.mark.parametrize("name", LISTS)
def test_a_short_list_is_one_sentence_with_the_words_or_the_heading_before_it(name):
    document = one(name, LISTS[name])
    bring, steps, done = split_document(document)
    assert bring.text == "Bring: a pen; paper, a ruler and glue."
    assert document.text[bring.start : bring.end].startswith("Bring:")
    assert document.text[bring.start : bring.end].endswith("- glue.")
    assert (steps.text, done.text) == ("Steps: 1. Open it. 2. Wait.", "Done.")


@pytest.mark.parametrize("bullet", ["\u2022", "\u25a0", "\u2713", "\uf0b7"])
def test_a_pdf_s_bullets_are_no_words(bullet):
    sentences = split_document(one("kit.txt", f"Bring:\n{bullet} a pen\n{bullet}\u00a0paper\n"))
    assert [s.text for s in sentences] == ["Bring: a pen; paper"]


def test_of_a_long_list_each_part_stands_behind_the_words_before_it_and_what_an_item_adds_stands_alone():
    items = [f"a {word} that is long enough to be one sentence of its own" for word in ("pen", "ruler", "brush", "pot")]
    items[1] += f". It {'really ' * 20}helps"
    parts = split_document(
        one("kit.md", "Bring what you have of these:\n\n" + "\n".join(f"- {item}" for item in items))
    )
    lead_in = "Bring what you have of these:"
    assert [s.text for s in parts] == [
        f"{lead_in} {items[0]}; {items[1].split('. ')[0]}.",
        items[1].split(". ")[1],
        f"{lead_in} {items[2]}; {items[3]}",
    ]
    text = one("kit.md", "Bring what you have of these:\n\n" + "\n".join(f"- {item}" for item in items)).text
    assert text[parts[2].start :].startswith("a brush")


def test_items_of_a_long_list_that_are_sentences_stand_apart():
    items = [f"Step {n} takes {'a while and ' * 4}then ends." for n in range(4)]
    parts = split_document(one("x.md", "To begin:\n\n" + "\n".join(f"{n}. {item}" for n, item in enumerate(items, 1))))
    assert [s.text for s in parts] == [f"To begin: {n}. {item}" for n, item in enumerate(items, 1)]


def test_what_a_colon_announces_stands_behind_it_also_within_a_list_and_a_question_ends_the_list():
    text = "To undo it, run:\n\n    git reset\n\nEither:\n\n- say:\n- no\n- Is it on?\n- Then go.\n\nAt last:\n"
    assert split("undo.md", text) == [
        "To undo it, run: git reset",
        "Either: say: no",
        "Is it on? Then go.",
        "At last:",
    ]


def test_what_stands_before_a_sentence_has_an_end():
    lines = "\n\n".join(f"Part {n} of what is said here, and it is said with a colon at the end:" for n in range(40))
    sentences = split_document(one("x.txt", f"{lines}\n\nIt is."))
    assert max(len(s.text) for s in sentences) <= 410 and sentences[-1].text.endswith(" It is.")


def test_a_short_line_between_two_sentences_of_a_text_is_a_heading_and_one_in_a_list_is_not():
    text = "The moth\n\nOverview\nIt flies at night.\n\nFood\n\nIt eats wool.\n\nRed wine\n\nBeer\n\nIt drinks.\n\nEnd"
    assert split("the-moth.txt", text) == [
        "Overview: It flies at night.",
        "Food: It eats wool.",
        "Red wine",
        "Beer",
        "It drinks.",
        "End",
    ]
    assert split("the-moth.txt", "The moth") == ["The moth"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.md", "# X\n\n## B.3. Keys\n\n### Undo\n\nPress z.\n\n## Mouse\n\nClick.\n\n### End"),
        (
            "x.html",
            "<h2>B.3. Keys</h2><h3>Undo</h3><div><h3>Note</h3><p>Press z.</p></div>"
            "<h2>Mouse</h2><p>Click.</p><h3>End</h3>",
        ),
    ],
)
def test_a_heading_without_a_sentence_is_one_below_the_heading_above_it_and_a_note_opens_no_section(name, text):
    headings = {s.text: s.heading for s in split_document(one(name, text))}
    assert headings == {"B.3. Keys": "", "Undo: Press z.": "Undo", "Mouse: Click.": "Mouse", "End": "Mouse"}


def test_a_program_in_a_fence_is_one_block_and_one_sentence():
    document = one("x.md", f"It strips.\n\n```python\n{PROGRAM}\n```\n\nThat is all. Really.")
    assert [document.text[a:b] for a, b in document.verbatim] == [PROGRAM]
    assert [s.text for s in split_sentences(document.text, document.verbatim)] == [
        "It strips.",
        "def f(x): # Strip it. Then go. return x.strip()",
        "That is all.",
        "Really.",
    ]


@pytest.mark.parametrize("before", ["", "Mind this.\n\n", "&#32;&#32;a\n\n"])
def test_a_program_is_located_wherever_it_stands_also_when_parsed_in_a_process_of_its_own(before):
    data = f"{before}```\n  indented\n# Now. Then.\n```\n".encode()
    parser = ParserProcess()
    (document,) = read_documents("x.md", data, parse=parser.parse_file)
    parser.close()
    assert document == one("x.md", data)
    assert [s.text for s in split_sentences(document.text, document.verbatim)][-1] == "indented # Now. Then."


def test_a_long_program_is_cut_at_its_lines():
    program = "\n".join(f"x{i:03} = f(1, 2); y = a - b" for i in range(60))
    document = one("x.md", f"```\n{program}\n```\n")
    pieces = [s.text for s in split_sentences(document.text, document.verbatim)]
    assert len(pieces) == 2 and pieces[1].startswith("x0") and " ".join(pieces) == program.replace("\n", " ")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("One[^1]. Two[^long]: three.", "One. Two: three."),
        ("[^1]: A text.\n[^2]: Word", "A text. Word"),
        ("One[^1].\n\n[^1]: Word", "One.\n\nWord"),
        ("Match `[^a]` with it.", "Match [^a] with it."),
        ("See [this][1].\n\n[1]: http://example.org", "See this."),
        ("- [ ] open\n- [x] ready", "- open\n- ready"),
        ("- [link](http://example.org)", "- link"),
        ("| a | b |\n|---|---|", "a | b"),  # no row has the names
        ("| | Front |\n|--|--|\n| Cargo | 3 bar |\n| City | |", "Cargo | Front: 3 bar\n\nCity"),
        ("| | | |\n|--|--|--|\n| Oslo | | osl |\n| | Bergen | |", "Oslo | osl\n\nBergen"),
        ("| a | | b |\n|--|--|--|", "a | b"),
    ],
)
def test_marks_of_footnotes_and_tasks_are_left_out(text, read):
    assert one("x.md", text).text == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("!!! warning\n    Use the cable.", "Use the cable."),
        ('??? note "Old boxes"\n    They show\n    red.', "Old boxes: They show red."),
        (":::tip\nPrint it.\n:::\n\nEnd", "Print it.\n\nEnd"),
        (":::note Printers\n\nPrint it.\n\n:::", "Printers:\n\nPrint it."),
        ("> [!NOTE]\n> Print it.", "Print it."),
        ("[[_TOC_]]\n\nEnd\n\n[TOC]", "End"),
        ("Wow !!! great: see [TOC] and\n[!it]", "Wow !!! great: see [TOC] and [!it]"),
    ],
)
def test_lines_that_say_how_a_page_is_made_are_left_out(text, read):
    assert one("x.md", text).text == read


@pytest.mark.parametrize(
    ("begun", "read"), [("- - a\n  - b", "- a\n- b"), ("1. 2. a", "2. a"), ("x\n\n- - a", "x\n\n- a")]
)
def test_a_list_that_begins_with_a_list_is_a_block_of_its_own(begun, read):
    assert one("x.md", begun).text == read


@pytest.mark.parametrize("heading", ["# A river", "A river\n======="])
def test_the_first_heading_is_the_title_where_no_front_matter_has_one(heading):
    document = one("x.md", f"{heading}\n\nIt is long.\n\n## Delta\n\nIt is wide.")
    assert (document.title, document.text) == ("A river", "It is long.\n\nDelta\n\nIt is wide.")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Rivers\n======\nThey are long.\n  * * *  \nLakes", ["Rivers", "They are long.", "Lakes"]),
        ("+----+---+\n| km | m |\n|====|===|\n| 1  | 2 |\n\u2514\u2500\u2500\u2518", ["| km | m |", "| 1  | 2 |"]),
        ("-- \nAnn\n--- a/x\nC--", ["-- \nAnn\n--- a/x\nC--"]),
    ],
)
def test_a_line_that_is_only_drawn_divides_a_text_and_is_no_word_of_it(text, read):
    assert [part.strip("\n") for part in one("x.txt", text).text.split("\n\n") if part.strip()] == read


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("It is fast.\n\n## Benchmarks\n\nIt was measured.", "x"),
        ("It is fast.\n\n## Benchmarks\n\nIt was measured.\n\n# Zip\n\nIt zips.", "Zip"),
        ("<p align=center></p>\n\n## Zip\n\nIt is fast.", "Zip"),
    ],
)
def test_the_heading_of_a_part_is_not_the_title_of_the_whole(text, title):
    assert one("x.md", text).title == title


def test_a_hashtag_is_no_heading_and_one_after_it_is():
    document = one("x.md", "#rivers are long\n\n# The Danube\n\nIt is long.")
    assert (document.title, document.text) == ("The Danube", "#rivers are long\n\nThe Danube\n\nIt is long.")


def test_a_text_of_many_divided_words_is_joined_in_one_pass():
    words = [f"{a}{b}{c}" for a in "bcdfghjklmnpqrst" for b in "aei" for c in "bcdfghjklmnpqrstvwxz"]
    text = "".join(f"{first}-\n{second} " for first in words[:400] for second in words[:600])
    assert one("a.txt", f"It is so. {text}").text.count("-\n") == 0


MANUAL = """# The pump

## pump.start(speed)

- speed {number} From 1. It is 3 at first.

## Noise

Is it loud? No. Model No. 5 is silent, e.g. at night.

1. To start it, run: pump --start
2. Wait.

The symptoms include:

- fever
- a dry cough, which may last for weeks and which no medicine that we know of shortens by more than some days
- tiredness, for which nothing but rest is known to help, and which may come back when the work is taken up too early

## 2.1 Undo

| key | does |
|---|---|
| z | undoes it. Once. |
| Z | does it again |

All of it goes with

    $ pump --undo all
"""


def test_a_change_of_what_documents_are_divided_into_is_counted():
    pages = [
        "<h1>The pump</h1><p>Can it fail? Rarely.<ul><li>dust</li><li>rust</li></ul><pre><code>a. B\nc</code></pre>"
        "<dl><dt>--all (-a)<dd>All pumps. It may take long.</dl>"
        "<table><tr><td>Oslo<td><td>two pumps</table>",
        MANUAL,
        MANUAL,
    ]
    manuals = map(one, ["manual.html", "manual.md", "manual.txt"], pages)
    texts = [s.text for manual in manuals for s in split_document(manual)]
    digest = hashlib.blake2b("\n".join(texts).encode(), digest_size=4).hexdigest()
    # another digest: raise SPLIT_RULES, so that documents that are stored are divided anew when they are added again
    assert (SPLIT_RULES, digest) == (2, "2206945c")
