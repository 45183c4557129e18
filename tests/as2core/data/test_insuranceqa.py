"""InsuranceQA v2: questions in numbered words, answers by number, and the pool of a search engine."""

import gzip

import pytest

from as2core.data import insuranceqa
from as2core.data.source import read_all
from as2core.errors import UnreadableFile

NAME = "InsuranceQA.question.anslabel.token.500.pool.solr.test.encoded"
BESIDE = {
    "vocabulary": "idx_1\tIs\nidx_2\tit\nidx_3\tcovered\nidx_4\tYes\nidx_5\tNo\nidx_6\t?\n",
    "InsuranceQA.label2answer.token.encoded": "18\tidx_4 idx_2 idx_1\n7\tidx_5\n31\tidx_2 idx_3\n",
}
ROW = "auto-insurance\tidx_1 idx_2 idx_3 idx_6\t18\t7 18 31 7\n"


@pytest.fixture
def folder(tmp_path):
    for name, text in BESIDE.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def read(folder, rows, name=NAME):
    (folder / name).write_text(rows)
    return read_all(insuranceqa.stream, folder / name)


def test_words_and_answers_are_looked_up_and_the_pool_keeps_its_order(folder):
    (question,), problems = read(folder, ROW)
    assert (question.text, question.kind, problems) == ("Is it covered ?", "auto-insurance", [])
    assert [(c.id, c.text, c.label) for c in question.candidates] == [
        ("7", "No", 0),
        ("18", "Yes it Is", 1),
        ("31", "it covered", 0),
    ]


def test_a_pool_without_the_answer_has_none_and_a_file_without_pools_has_the_answers_alone(folder):
    (question,), _ = read(folder, "d\tidx_1\t18\t7 31\n")
    assert [c.label for c in question.candidates] == [0, 0]
    (question,), _ = read(folder, "d\tidx_1\t18 7\n", "InsuranceQA.question.anslabel.token.encoded")
    assert [(c.id, c.label) for c in question.candidates] == [("18", 1), ("7", 1)]


def test_the_files_may_all_be_gzipped_as_published(folder):
    plain = read(folder, ROW)
    for name in (*BESIDE, NAME):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
        (folder / name).unlink()
    assert read_all(insuranceqa.stream, folder / f"{NAME}.gz") == plain


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("d\tidx_1", "2 columns instead of 4"),
        ("d\tidx_99\t18\t7", "no 'idx_99' in the files beside it"),
        ("d\tidx_1\t18\t7 99", "no '99' in the files beside it"),
        ("d\t\t18\t7", "the question is empty"),
    ],
)
def test_a_bad_row_is_told_by_number(folder, row, reason):
    questions, (problem,) = read(folder, f"{ROW}{row}\n")
    assert len(questions) == 1 and problem.startswith(f"line 2: {reason}")


def test_the_file_that_is_missing_is_named_and_a_bad_line_of_it_too(folder):
    (folder / "vocabulary").write_text(BESIDE["vocabulary"] + "idx_9\n")
    assert read(folder, ROW)[1] == ["line 7: of vocabulary: not two columns"]
    (folder / "vocabulary").unlink()
    with pytest.raises(UnreadableFile, match=r"test\.encoded: vocabulary is missing beside it"):
        read(folder, ROW)
