"""A CSV that a spreadsheet opens holds no formula, and reading it back gives the same texts."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from as2core.data.label_files import csv_ratings
from as2core.data.source import format_rows, read_all
from as2core.sources.spreadsheet import defuse_formula, restore_formula
from as2core.types import Candidate, Question

# OWASP, CSV Injection; the last four are = + - @ in full width
DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
TEXTS = st.text(alphabet="'=+-@\t\r\n;\uff1dab \"", max_size=6)


@given(TEXTS)
def test_no_part_of_a_text_begins_like_a_formula_and_each_text_is_had_back(text):
    cell = defuse_formula(text)
    assert not [part for part in cell.split(";") if part.startswith(DANGEROUS)]
    assert restore_formula(cell) == text


def test_a_row_that_excel_divides_at_semicolons_has_no_formula():
    """As it does where the comma is the decimal mark, and also within quotation marks."""
    texts = ["A;=cmd|' /C calc'!A0", "B, C;=1+1;D", "E\n=1+1", "F;\t=1+1"]
    line = format_rows([["q", defuse_formula(text)] for text in texts])
    assert not [part for part in re.split("[;\n]", line) if part.startswith(DANGEROUS)]


@pytest.mark.parametrize("text", ["What is it?", "", "'s-Hertogenbosch", "a=b", " =1", "'tis", "''", "a; -1"])
def test_other_texts_are_written_as_they_are_and_read_as_they_are(text):
    assert defuse_formula(text) == text == restore_formula(text)


@pytest.mark.parametrize(
    "query", ['=HYPERLINK("http://evil.example","a")', "-1+1", "@SUM(A1)", "'=1", "\tx", "+49 what?"]
)
def test_our_own_csv_gives_the_same_question_again(query):
    asked = Question("q", query, (Candidate("=id", "She.", 1), Candidate("-2", "He.", 0)))
    lines = "".join(csv_ratings.to_lines([asked]))
    cells = [cell for row in csv.reader(io.StringIO(lines)) for cell in row[:2]]
    assert not [cell for cell in cells if cell.startswith(DANGEROUS)]
    [again], problems = read_all(csv_ratings.stream, lines.encode())
    assert not list(problems)
    assert again.text == query and [(c.id, c.label) for c in again.candidates] == [("=id", 1), ("-2", 0)]
