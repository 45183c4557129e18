"""YahooQA: splits in one pickle, which must hold nothing but plain data."""

import os
import pickle
import subprocess
import sys
from functools import partial

import pytest

from as2core.data import yahooqa
from as2core.data.catalog import load_questions, sniff
from as2core.data.source import read_all
from as2core.errors import BadSetting, UnreadableFile

DATA = {
    "train": {"why ?": [["because", 1], ["no", 0]]},
    "dev": {},
    "test": {"who ?": [["she did", 1], ["he", 0]], "when ?": [["now", 1]]},
}
# What Python 2 writes: {'test': {'who ?': [['she did', 1]]}}
OLD = b"(dp1\nS'test'\np2\n(dp3\nS'who ?'\np4\n(lp5\n(lp6\nS'she did'\np7\naI1\naass."


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_split_is_read_with_its_labels(protocol, tmp_path):
    (tmp_path / "env.pkl").write_bytes(pickle.dumps(DATA, protocol))
    questions, problems = read_all(yahooqa.stream, tmp_path / "env.pkl")
    assert problems == [] and [q.text for q in questions] == ["who ?", "when ?"]
    assert [(c.text, c.label) for c in questions[0].candidates] == [("she did", 1), ("he", 0)]
    assert sniff(tmp_path / "env.pkl") == "yahooqa"
    assert load_questions(tmp_path / "env.pkl", split="train").questions[0].text == "why ?"
    assert load_questions(tmp_path / "env.pkl").questions == questions


def test_a_pickle_of_python_2_is_read():
    (question,), _ = read_all(yahooqa.stream, OLD)
    assert (question.text, question.candidates[0].text, question.positives) == ("who ?", "she did", 1)
    assert sniff(OLD) == "yahooqa"


class Harmful:
    def __reduce__(self):
        return os.mkdir, ("made-by-a-pickle",)


def test_a_pickle_that_would_run_something_is_refused_before_it_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnreadableFile, match=r"not YahooQA's splits \(UnpicklingError it would load .*mkdir"):
        read_all(yahooqa.stream, pickle.dumps({"test": Harmful()}))
    assert list(tmp_path.iterdir()) == []


def test_a_pickle_of_nine_bytes_takes_no_memory():
    """It names the 2,147,483,647th of the objects that it will come back to."""
    program = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000, 2_000_000_000))\n"
        "from as2core.data import yahooqa\n"
        "from as2core.data.source import read_all\n"
        "read_all(yahooqa.stream, bytes.fromhex('80024e72ffffff7f2e'))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "not YahooQA's splits (TypeError" in done.stderr  # not MemoryError


@pytest.mark.parametrize("content", [b"", b"\x80\x04K\x01.", pickle.dumps({"dev": {}}), pickle.dumps(DATA)[:-9]])
def test_what_holds_no_such_split_is_refused(content):
    with pytest.raises(UnreadableFile, match="not YahooQA's splits"):
        read_all(yahooqa.stream, content)


def test_a_wrong_label_is_told_by_the_questions_number_and_a_wrong_split_by_name():
    bad = {"test": {**DATA["test"], "where ?": [["here", 2]], "how ?": ["so"]}}
    questions, problems = read_all(yahooqa.stream, pickle.dumps(bad))
    assert len(questions) == 2 and [p.line for p in problems] == [3, 4]
    assert problems[0] == "question 3: not [[answer, 0 or 1], ...] (answer 1 is labelled 2)"
    with pytest.raises(BadSetting, match="no split 'tset'; known: train, dev, test"):
        read_all(partial(yahooqa.stream, split="tset"), pickle.dumps(DATA))
