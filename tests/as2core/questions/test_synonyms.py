import re

import pytest
from hypothesis import given as for_any
from hypothesis import strategies as st

from as2core.errors import BadSetting, UnreadableFile
from as2core.questions.synonyms import BadLines, Synonyms
from as2core.types import Candidate, Question

HOUSE = Synonyms.parse("""\
# what people say
whale => VX-90
toaster => DR-12
big toaster => DR-20
heart, ticker => circulation pump
number => store number
""")


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("whale torque", "whale (VX-90) torque"),
        ("How heavy is the WHALE?", "How heavy is the WHALE (VX-90)?"),
        ("the whale's heart", "the whale's (VX-90) heart (circulation pump)"),
        ("two whales", "two whales (VX-90)"),
        ("the big toaster", "the big toaster (DR-20)"),
        ("a toaster beside a big toaster", "a toaster (DR-12) beside a big toaster (DR-20)"),
        ("whales and a whale", "whales (VX-90) and a whale"),
        ("a whale VX-90", "a whale VX-90"),
        ("ticker or heart", "ticker (circulation pump) or heart"),
        ("store number of the pump", "store number of the pump"),
        ("whaler or narwhale", "whaler or narwhale"),
        ("what is a pump", "what is a pump"),
        ("the VX-901 of the whale", "the VX-901 of the whale (VX-90)"),  # another part
        ("kaç tİcker", "kaç tİcker"),  # İ and ı are no i, though a pattern without case takes them for one
        ("the tıcker", "the tıcker"),
    ],
)
def test_a_question_is_read_with_the_meaning_behind_the_word(question, read):
    assert HOUSE.expand(question) == read


def test_without_synonyms_a_question_stays_as_it_is():
    assert Synonyms().expand("whale") == "whale"
    assert not Synonyms.parse("\n# nothing yet\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("whale = VX-90", "line 1: “whale = VX-90”: write a line as “word => meaning”"),
        ("\nwhale =>", "line 2"),
        ("=> VX-90", "line 1: a word is missing"),
        ("whale, => VX-90", "line 1: a word is missing"),
        ("a => b => c", "line 1"),
        ("whale => VX-90\nWhale => VX-60", "line 2: “Whale” has a meaning already, “VX-90”"),
        ("whale => Whale", "its own meaning"),
        (f"{'w' * 101} => x", "the limit is 100"),
        ("\n".join(f"w{i} => m" for i in range(1001)), "1,001 words are too many"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(text, said):
    with pytest.raises(BadSetting, match=re.escape(said)):
        Synonyms.parse(text)


def test_all_lines_that_cannot_be_read_are_named():
    with pytest.raises(BadLines) as e:
        Synonyms.parse("whale => VX-90\nwhale = VX-90\n=> VX-90")
    assert [p.partition(":")[0] for p in e.value.problems] == ["line 2", "line 3"]
    assert str(e.value) == "; ".join(e.value.problems)


def test_lines_are_read_as_they_are_written():
    assert Synonyms.parse(str(HOUSE)) == HOUSE
    assert "heart, ticker => circulation pump\n" in str(HOUSE)


def test_a_file_is_read_and_one_that_cannot_be_is_named(tmp_path):
    (tmp_path / "words.txt").write_text("whale => VX-90\n", encoding="utf-8")
    assert Synonyms.read(tmp_path / "words.txt").meanings == (("whale", "VX-90"),)
    (tmp_path / "words.bin").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "folder").mkdir()
    for name, reason in (
        ("words.bin", r"not UTF-8 text \(byte 0\); save it as UTF-8$"),
        ("none.txt", "there is no such file$"),
        ("folder", r"cannot be read \(Is a directory\)$"),
    ):
        with pytest.raises(UnreadableFile, match=f"{name}: {reason}"):
            Synonyms.read(tmp_path / name)
    (tmp_path / "bad.txt").write_text("whale\n", encoding="utf-8")
    with pytest.raises(BadSetting, match=r"bad\.txt: line 1: “whale”: write a line as"):
        Synonyms.read(tmp_path / "bad.txt")


def test_questions_keep_all_but_their_text():
    q = Question("q", "whale", (Candidate("a", "text", 1),))
    [read] = HOUSE.expand_all([q])
    assert (read.qid, read.text, read.candidates) == ("q", "whale (VX-90)", q.candidates)


words = st.text("abAB .'(+*", min_size=1, max_size=6).filter(lambda w: any(c.isalnum() for c in w))


@for_any(st.lists(st.tuples(words, words), max_size=5), st.text("abAB .'(+*", max_size=30))
def test_whatever_the_words_are_nothing_of_the_question_is_lost(pairs, question):
    try:
        synonyms = Synonyms.parse("\n".join(f"{w} => {m}" for w, m in pairs))
    except BadSetting:
        return
    read = synonyms.expand(question)
    left = iter(read)
    assert all(c in left for c in question)
    assert synonyms.meanings or read == question
