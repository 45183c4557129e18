import gzip
import os
import random
from pathlib import Path

import pytest

from as2core.data import asnq, jsonl
from as2core.data.asnq import apply_asnq_negatives
from as2core.data.catalog import open_questions
from as2core.data.lazy_questions import LazyQuestions, digest_questions, filter_questions, map_questions
from as2core.data.source import read_all
from as2core.errors import UnreadableFile
from as2core.training.noise import flip_labels
from as2core.types import Candidate, Question

STREAMS = {"jsonl": jsonl.stream, "asnq": asnq.stream}


def make_questions(n: int) -> list[Question]:
    rng = random.Random(5)
    return [
        Question(
            f"q{i}",
            f"who built tower {i} in Kraków ?",
            tuple(
                Candidate(f"{i}-{j}", f"it was number {j} " * rng.randint(1, 4), int(grade == 4), grade=grade)
                for j, grade in enumerate(rng.choices((1, 2, 3, 4), k=rng.randint(1, 6)))
            ),
        )
        for i in range(n)
    ]


def write(kind: str, folder: Path) -> Path:
    """Eleven questions with what a file may have between them: blank lines, malformed ones, and a question again."""
    lines = "".join({"jsonl": jsonl.to_lines, "asnq": asnq.to_lines}[kind](make_questions(11))).splitlines()
    wrong = {"jsonl": '{"qid": "x", "candidates": 3}', "asnq": "two\tcolumns"}[kind]
    content = ["\ufeff" + lines[0], "", wrong, *lines[1:7], lines[0], wrong, *lines[7:], "", wrong]
    path = folder / f"questions.{kind}"
    path.write_text("\r\n".join(content) + "\r\n", encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("kind", STREAMS)
def test_questions_left_in_their_file_are_those_of_a_file_read_whole_and_so_are_the_problems(kind, tmp_path):
    path = write(kind, tmp_path)
    whole, problems = read_all(STREAMS[kind], path)
    lazy, report = open_questions(path, min_bytes=0)
    assert isinstance(lazy, LazyQuestions)
    assert list(lazy) == whole and [lazy[i] for i in (9, 0, -1)] == [whole[9], whole[0], whole[-1]]
    assert list(report) == list(problems) and len(report) >= 4
    assert (report.questions, report.candidates) == (problems.questions, problems.candidates)
    assert digest_questions(lazy) == digest_questions(whole) == jsonl.digest(whole)


def test_what_is_done_to_them_leaves_them_in_the_file_and_gives_what_it_gives_for_a_list(tmp_path):
    whole = make_questions(30)
    jsonl.write(whole, tmp_path / "questions.jsonl")
    lazy, _ = open_questions(tmp_path / "questions.jsonl", min_bytes=0)
    for change in (
        lambda questions: questions[3:17],
        lambda questions: filter_questions(questions, lambda q: q.negatives)[::2],
        lambda questions: map_questions(questions, lambda i, q: Question(f"{q.qid}-{i}", q.text)),
        lambda questions: apply_asnq_negatives(questions, (2, 3)),
        lambda questions: flip_labels(questions, 0.3, seed=1)[0],
    ):
        assert isinstance(change(lazy), LazyQuestions)
        assert list(change(lazy)) == change(whole) != whole
    assert flip_labels(lazy, 0.3, seed=1)[1] == flip_labels(whole, 0.3, seed=1)[1]


def test_a_file_that_changes_meanwhile_is_not_read_on(tmp_path):
    path = tmp_path / "questions.jsonl"
    jsonl.write(make_questions(3), path)
    lazy, _ = open_questions(path, min_bytes=0)
    os.utime(path, (1, 1))
    with pytest.raises(UnreadableFile, match="changed while it was read"):
        lazy[0]
    path.unlink()
    with pytest.raises(UnreadableFile, match="cannot be read"):
        lazy[0]


def test_a_small_a_packed_and_an_empty_file_are_lists(tmp_path):
    small, packed, other = tmp_path / "small.jsonl", tmp_path / "packed.jsonl.gz", tmp_path / "empty.jsonl"
    jsonl.write(make_questions(2), small)
    packed.write_bytes(gzip.compress(small.read_bytes()))
    other.write_text('{"qid": "x", "candidates": 3}\n')
    assert open_questions(small)[0] == make_questions(2) == open_questions(packed, min_bytes=0)[0]
    lazy, report = open_questions(other, min_bytes=0)
    assert (list(lazy), len(report)) == ([], 1)
