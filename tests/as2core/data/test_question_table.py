"""Labels from a spreadsheet: columns by name, what a label may be called, and each way a row can be wrong."""

import pytest
from hypothesis import given, settings
from label_sets import QUESTION, TEXTS, question_lists

from as2core.data import catalog
from as2core.data.label_files import question_table
from as2core.data.source import read_all
from as2core.errors import UnreadableFile

WORDS = TEXTS.map(str.strip).filter(bool)


def read(text: str):
    return read_all(question_table.stream, text.encode())


@settings(deadline=None)
@given(question_lists(texts=WORDS, labels=(0, 1), smallest=1))
def test_a_table_gives_back_texts_labels_and_titles(questions):
    by_text = {q.text: q for q in questions}
    back, problems = read("".join(question_table.to_lines(by_text.values())))
    written = {t: {c.text: (c.label, c.title) for c in reversed(q.candidates)} for t, q in by_text.items()}
    labels = {t: {x: {c.label for c in q.candidates if c.text == x} for x in written[t]} for t, q in by_text.items()}
    assert {q.text: {c.text: (c.label, c.title) for c in q.candidates} for q in back} == written
    assert bool(problems) == any(len(both) > 1 for each in labels.values() for both in each.values())


def test_columns_are_found_by_name_in_any_order_and_with_any_divider():
    for text in (
        "question,sentence,label\nWho?,She.,1\nWho?,He.,0\n",
        '\ufeff"Label";"Remark";"Query";"Text"\r\nyes;;Who?;She.\r\nNo;"a; b";Who?;He.\r\n',
        "answer\tquestion\tcorrect\nShe.\tWho?\ttrue\nHe.\tWho?\tfalse\n",
    ):
        (question,), problems = read(text)
        assert (question.text, [(c.text, c.label) for c in question.candidates]) == ("Who?", [("She.", 1), ("He.", 0)])
        assert problems == []


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "\ufeffsep=;", "SEP=;"])
@pytest.mark.parametrize(("header", "fmt"), [("question;sentence;label", "table"), ("query;docid;rating", "csv")])
def test_a_first_line_that_tells_excel_the_divider_is_none_of_the_table(first, header, fmt):
    content = f"{first}\r\n{header}\r\nWho?;She.;1\r\nWho?;He.;x\r\n".encode()
    assert catalog.sniff(content) == fmt
    (question,), (problem,) = read_all(catalog.STREAMS.get(fmt) or catalog.RATING_STREAMS[fmt], content)
    assert (question.text, [c.label for c in question.candidates]) == ("Who?", [1])
    assert problem.startswith("line 4")


@pytest.mark.parametrize(("true", "false"), [("WAHR", "FALSCH"), ("VRAI", "FAUX"), ("VERDADERO", "FALSO")])
def test_a_label_may_be_true_or_false_in_the_spreadsheet_s_language(true, false):
    (question,), problems = read(f"question,sentence,label\nWho?,a,{true}\nWho?,b,{false}\n")
    assert ([c.label for c in question.candidates], problems) == ([1, 0], [])


def test_a_sentence_keeps_its_id_unless_several_share_it():
    (question,), problems = read("Query Text,Doc ID,text,Rating\nWho?,7,a,3\nWho?,8,b,0\nWho?,8,c,0\nWho?,,d,0\n")
    assert question.candidates[0].id == "7" and problems == []
    assert all(c.id.startswith("s-") for c in question.candidates[1:])
    questions, _ = read("query,docid,text,rating\nWho?,7,a,1\nWhy?,8,a,0\n")  # a document that is there twice
    assert [c.id for q in questions for c in q.candidates] == ["7", "8"]


def test_a_label_may_be_a_word_a_grade_or_missing():
    (question,), _ = read("question,sentence,label,document\nWho?,a,Correct,T\nWho?,b,3,\nWho?,c,,\nWho?,d,unsure\n")
    assert [(c.label, c.grade, c.title) for c in question.candidates] == [
        (1, None, "T"), (1, 3, ""), (None, None, ""), (None, None, ""),
    ]  # fmt: skip


def test_a_whole_number_may_be_written_with_a_point_as_pandas_does_for_a_column_with_gaps():
    (question,), problems = read("query,text,rating\nWho?,a,3.0\nWho?,b,0.0\nWho?,c,\nWho?,d,1.\n")
    assert [(c.label, c.grade) for c in question.candidates] == [(1, 3), (0, None), (None, None), (1, None)]
    assert problems == []
    (question,), problems = read("query,text,rating\nWho?,a,3\nWho?,b,2.5\nWho?,a,2\n")
    assert [p.split(":")[0] for p in problems] == ["line 3", "line 4"]  # no average, and no second grade
    assert [c.grade for c in question.candidates] == [3]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("Who?,She.", "2 fields, and the header has at least 3"),
        (",She.,1", "the question is empty"),
        ("Who?, ,1", "the sentence is empty"),
        ("Who?,He.,perhaps", "label 'perhaps' is neither correct, incorrect, empty nor a whole number"),
        ("Who?,She.,0", "the sentence has another label above, for the same question"),
    ],
)
def test_a_wrong_row_is_told_by_its_number_and_a_repeated_one_counts_once(row, reason):
    (question,), (problem,) = read(f"question,sentence,label\nWho?,She.,1\nWho?,She.,1\n{row}\n")
    assert [(c.text, c.label) for c in question.candidates] == [("She.", 1)]
    assert problem == f"line 4: {reason}"


def test_rows_that_name_their_annotators_are_one_sentence_with_the_labels_of_all():
    (question,), (problem,) = read(
        "question,sentence,annotator,label\nWho?,She.,ann,correct\nWho?,He.,ann,unsure\nWho?,It.,,\nWho?,She.,bob,0\n"
        "Who?,She.,cy,2\nWho?,He.,ann,unsure\nWho?,She.,bob,correct\n"
    )
    assert [(c.text, c.label, c.grade, c.annotations) for c in question.candidates] == [
        ("She.", 1, None, (("ann", "correct"), ("bob", "incorrect"), ("cy", "correct"))),
        ("He.", None, None, (("ann", "unsure"),)),
        ("It.", None, None, ()),
    ]
    assert problem == "line 8: the sentence has another label above, for the same question"


def test_a_formula_is_written_as_text():
    assert "'=1+1" in "".join(question_table.to_lines([QUESTION, *read("question,text,label\n=1+1,a,1\n")[0]]))


@pytest.mark.parametrize("text", ["question,sentence\nWho?,She.\n", "", "Who?,She.,1\n"])
def test_without_the_three_columns_the_header_is_asked_for(text):
    with pytest.raises(UnreadableFile, match="first line must name three columns: question or query; sentence or text"):
        read(text)
