"""Natural Questions: a page by hand, as ASNQ's four labels and as NQ-LA's paragraphs."""

import gzip
import json
import tracemalloc
from collections import deque

import pytest

from as2core.data import natural_questions
from as2core.data.source import Report, read_all
from as2core.errors import UnreadableFile

PAGE = (
    "Ada Hart - wikipedia <H1> Ada Hart </H1> <P> Ada Hart was born in Basel . She moved to Ulm in 1901 . </P> "
    '<Table> <Tr> <Td_colspan="2"> Born in BASEL </Td> </Tr> </Table> <Ul> <Li> <P> A listed paragraph . </P> </Li> '
    "</Ul> <P> She liked rain . </P>"
)
TOKENS = PAGE.split(" ")
FIRST = TOKENS.index("<P>")
PARAGRAPH = (FIRST, TOKENS.index("</P>") + 1)
BASEL = (TOKENS.index("Basel"), TOKENS.index("Basel") + 1)
TABLE = (TOKENS.index("<Table>"), TOKENS.index("</Table>") + 1)


def span(start, end):
    return {"start_token": start, "end_token": end}


def annotation(long=PARAGRAPH, *short):
    return {"long_answer": span(*long), "short_answers": [span(*s) for s in short], "yes_no_answer": "NONE"}


NONE = annotation((-1, -1))


def example(*annotations, qid=5, question="where was ada hart born", **changes):
    record = {"example_id": qid, "question_text": question, "document_text": PAGE, "annotations": list(annotations)}
    return json.dumps(record | changes) + "\n"


def sentences(*annotations, **changes):
    (question,), problems = read_all(natural_questions.stream, example(*annotations, **changes).encode())
    assert problems == []
    return {c.text: c.grade for c in question.candidates}


GRADES = {
    "Ada Hart - wikipedia": 1,
    "Ada Hart": 1,
    "Ada Hart was born in Basel .": 4,
    "She moved to Ulm in 1901 .": 3,
    "Born in BASEL": 2,
    "A listed paragraph .": 1,
    "She liked rain .": 1,
}


def test_a_sentences_label_says_whether_it_is_in_the_long_answer_and_holds_the_short_one():
    assert sentences(annotation(PARAGRAPH, BASEL)) == GRADES
    (question,), _ = read_all(natural_questions.stream, example(annotation(PARAGRAPH, BASEL)).encode())
    assert (question.qid, question.text, question.positives) == ("5", "where was ada hart born", 1)
    assert [c.label for c in question.candidates] == [0, 0, 1, 0, 0, 0, 0]
    assert {c.title for c in question.candidates} == {"Ada Hart"}
    assert len({c.id for c in question.candidates}) == 7


def test_the_original_form_of_the_file_gives_the_same():
    tokens = [{"token": t, "html_token": t.startswith("<")} for t in TOKENS]
    record = json.loads(example(annotation(PARAGRAPH, BASEL)))
    del record["document_text"]
    record |= {"document_tokens": tokens, "document_title": "Ada Hart", "document_html": "<p>"}
    simplified = read_all(natural_questions.stream, example(annotation(PARAGRAPH, BASEL)).encode())
    assert read_all(natural_questions.stream, json.dumps(record).encode()) == simplified


def test_the_words_of_the_short_answer_elsewhere_in_the_long_one_are_label_three():
    moved = (TOKENS.index("She"), TOKENS.index("She") + 1)  # "She" also opens another sentence, outside
    grades = sentences(annotation(PARAGRAPH, moved))
    assert grades["She moved to Ulm in 1901 ."] == 4 and grades["Ada Hart was born in Basel ."] == 3
    assert grades["She liked rain ."] == 2 and grades["Born in BASEL"] == 1


def test_every_annotation_with_both_answers_counts():
    ulm = (TOKENS.index("Ulm"), TOKENS.index("Ulm") + 1)
    grades = sentences(NONE, annotation(PARAGRAPH, BASEL), annotation(PARAGRAPH, ulm), annotation(TABLE))
    assert grades["She moved to Ulm in 1901 ."] == grades["Ada Hart was born in Basel ."] == 4
    assert grades["Born in BASEL"] == 2  # the table was chosen by one who gave no short answer


@pytest.mark.parametrize(
    "annotations",
    [
        [],
        [NONE],
        [annotation(PARAGRAPH)],
        [annotation(PARAGRAPH, (BASEL[0], BASEL[0] + 4))],  # the span runs over the sentence's end
    ],
)
def test_a_question_without_a_sentence_of_label_four_is_left_out_and_counted(annotations):
    questions, report = read_all(natural_questions.stream, example(*annotations).encode())
    assert questions == report == []
    assert report.omissions == {"no sentence of a long answer holds a short one": 1}


def test_a_question_asked_twice_is_taken_once_as_asnq_has_no_ids():
    both = example(annotation(PARAGRAPH, BASEL)) + example(annotation(PARAGRAPH, BASEL), qid=6)
    questions, report = read_all(natural_questions.stream, both.encode())
    assert [q.qid for q in questions] == ["5"] and report.omissions == {"its question came before": 1}


def paragraphs(*annotations):
    questions, report = read_all(natural_questions.stream_la, example(*annotations).encode())
    return [(c.text, c.label) for q in questions for c in q.candidates], report.omissions


TEXTS = ["Ada Hart was born in Basel . She moved to Ulm in 1901 .", "She liked rain ."]


def test_the_paragraph_of_the_long_answer_is_correct_and_those_of_tables_and_lists_are_no_candidates():
    assert paragraphs(annotation(PARAGRAPH)) == ([(TEXTS[0], 1), (TEXTS[1], 0)], {})


def test_without_a_long_answer_no_paragraph_is_correct():
    assert paragraphs(NONE) == ([(t, 0) for t in TEXTS], {})


def test_a_long_answer_that_is_a_table_leaves_the_question_out_unless_another_is_a_paragraph():
    assert paragraphs(annotation(TABLE)) == ([], {"its long answer is no paragraph": 1})
    assert paragraphs(annotation(TABLE), annotation(PARAGRAPH)) == ([(TEXTS[0], 1), (TEXTS[1], 0)], {})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{]", "Expecting"),
        ("{", "ends before it is complete"),
        ("[]", "TypeError"),
        (example(annotation(PARAGRAPH, BASEL), document_text=None), "AttributeError"),
        (example({"long_answer": span(0, 3)}), "no 'short_answers'"),
        (example(annotation((0, 9999))), f"tokens 0 to 9999 of {len(TOKENS)}"),
    ],
)
def test_a_line_that_is_no_example_is_told(line, reason):
    text = example(annotation(PARAGRAPH, BASEL)) + line.rstrip() + "\n"
    questions, (problem,) = read_all(natural_questions.stream, text.encode())
    assert len(questions) == 1 and problem.line == 2
    assert problem.reason.startswith("not a Natural Questions example") and reason in problem.reason
    with pytest.raises(UnreadableFile, match="line 2: not a Natural Questions"):
        read_all(natural_questions.stream, text.encode(), strict=True)


def test_a_gzipped_file_is_read_page_by_page_with_only_ids_and_questions_in_memory(tmp_path):
    def peak(pages):
        path = tmp_path / f"{pages}.jsonl.gz"
        with gzip.open(path, "wt") as file:
            for i in range(pages):
                file.write(example(annotation(PARAGRAPH, BASEL), qid=i, question=f"question {i}"))
        report = Report(path)
        tracemalloc.start()
        deque(report.count_questions(natural_questions.stream(path, report)), maxlen=0)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert report.questions == pages
        return found

    peak(20)  # spaCy's caches
    small, large = peak(20), peak(100)
    assert large < small + 80 * 600  # an id and a question's text; a page takes several times that
