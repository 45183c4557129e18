"""Writing files: whole or not at all, into pipes, packed, and what a killed process left."""

from __future__ import annotations

import gzip
import os

import pytest

from as2core.data import jsonl
from as2core.system.files import open_writer, replace_file
from as2core.types import Candidate, Question


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    out = tmp_path / "new" / "out.txt"
    with open_writer(out) as write:
        write("old")
    with out.open() as reader:
        with open_writer(out) as write:
            write("before")
        assert reader.read() == "old"  # who reads meanwhile reads one or the other
    with pytest.raises(ZeroDivisionError), open_writer(out) as write:
        write("after, but not to its end")
        raise ZeroDivisionError
    assert out.read_text() == "before" and [p.name for p in out.parent.iterdir()] == ["out.txt"]


def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with open_writer(pipe) as write:
        write("all of it")
    assert pipe.is_fifo()  # no file in its place, as there would be in that of /dev/null
    assert os.read(reader, 99) == b"all of it"
    os.close(reader)
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


def test_a_name_that_ends_in_gz_is_packed_the_same_each_time(tmp_path):
    questions = [Question("q", "How hot is molten iron?", (Candidate("a", "1538 °C.", 1),))]
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        jsonl.write(questions, tmp_path / name)
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()).decode() == jsonl.dumps(questions)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


def test_what_a_killed_export_left_is_removed_by_the_next_and_nothing_else(tmp_path):
    names = ".labels.csv.00ff.part", ".labels.csv.0001.part", ".other.csv.00ff.part", ".labels.csv.old"
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / ".labels.csv.folder.part").mkdir()
    for name in (*names[::2], names[3], ".labels.csv.folder.part"):
        os.utime(tmp_path / name, (0, 0))
    with replace_file(tmp_path / "labels.csv") as part:
        part.touch()
    assert {p.name for p in tmp_path.iterdir()} == {"labels.csv", *names[1:]}
