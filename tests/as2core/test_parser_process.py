"""Documents that keep a parser busy, kill it, or are fine."""

import os
import threading
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from workbook_files import SHEET, change_part, make_book

import as2core
from as2core.data.label_files.sheets import write_table
from as2core.documents.reading import parse_single
from as2core.errors import UnreadableFile
from as2core.parser_process import ParserProcess, limit_seconds

ATTRIBUTES = b"<html><body><p " + b" ".join(b"a%d=1" % i for i in range(300_000)) + b">x</p></body></html>"


@pytest.fixture
def parser():
    parser = ParserProcess(limit=lambda size: 3)
    yield parser
    parser.close()


def find_child(parser):
    return psutil.Process(parser._process.pid)


def test_a_document_is_parsed_as_in_this_process(parser):
    for suffix, content in (
        (".md", b"---\ntitle: A\nby: me\n---\n# Head\n\nSome *text*.\n\n## Part\n\n```\nrun()\n```"),
        (
            ".html",
            "<html><head><title>T</title></head><body><p>Gr\u00fc\u00dfe.</p><table><tr><td>a<td>b</table></body></html>".encode(),
        ),
        (".eml", b"From: Ann\nSubject: Hours\n\nIt is open.\n\n> Are you open?\n"),
    ):
        assert parser.parse("a/b\ud800", suffix, content) == parse_single("a/b\ud800", suffix, content)


def test_the_process_finds_the_package_of_this_process_first(parser):
    parser.parse("a", ".md", b"Some text.")
    first = find_child(parser).environ()["PYTHONPATH"].split(os.pathsep)[0]
    assert Path(first) / "as2core" == Path(as2core.__file__).parent


def test_one_process_serves_many_documents(parser):
    parser.parse("a", ".md", b"One.")
    child = find_child(parser)
    for number in range(20):
        assert parser.parse("a", ".md", b"Number %d." % number).text == f"Number {number}."
    assert find_child(parser) == child


def test_a_page_that_takes_too_long_is_refused_and_the_next_is_read(parser):
    parser.parse("warm", ".html", b"<p>Warm.</p>")
    child, started = find_child(parser), time.monotonic()
    with pytest.raises(UnreadableFile, match="took more than 3 s"):
        parser.parse("a", ".html", ATTRIBUTES)
    assert time.monotonic() - started < 10
    assert not child.is_running()
    assert parser.parse("b", ".html", b"<p>Fine.</p>").text == "Fine."


def test_once_its_files_took_too_long_together_a_parser_refuses_others():
    """Two seconds of each file, and two for each MB, are usual: of 9, 7 and 1 seconds, 12 are too many."""
    times = iter([0, 9, 10, 17, 20, 21, 30, 31])
    with closing(ParserProcess(max_slow_seconds=13, clock=lambda: next(times))) as parser:
        for name in ("slow", "slow again", "quick"):
            assert parser.parse(name, ".md", b"One.").text == "One."
    times = iter([0, 9, 10, 17, 20, 21])
    with closing(ParserProcess(max_slow_seconds=11, clock=lambda: next(times))) as parser:
        for name in ("slow", "slow again"):
            assert parser.parse(name, ".md", b"One.").text == "One."
        with pytest.raises(
            UnreadableFile, match="not read, since the files before it took 0 minutes longer than usual"
        ):
            parser.parse("quick", ".md", b"One.")


def test_a_parser_that_is_killed_is_one_documents_failure(parser):
    parser.parse("a", ".md", b"One.")
    find_child(parser).kill()
    with pytest.raises(UnreadableFile, match="code -9"):
        parser.parse("b", ".md", b"Two.")
    assert parser.parse("c", ".md", b"Three.").text == "Three."


def test_what_cannot_be_read_has_its_own_reason(parser):
    with pytest.raises(UnreadableFile, match="not a PDF that can be read"):
        parser.parse("a", ".pdf", b"no pdf")


def test_a_thread_that_is_stopped_leaves_no_answer_for_the_next(parser, monkeypatch):
    parser.parse("a", ".md", b"One.")

    def stop(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("as2core.parser_process._read", stop)
        parser.parse("b", ".md", b"Two.")
    assert parser.parse("c", ".md", b"Three.").text == "Three."


class Stopped(BaseException):
    """As Streamlit's, no Exception."""


def test_whoever_waits_for_a_page_may_end_its_parser_at_once():
    clicks = []

    def look_for_a_click():
        if clicks:
            raise Stopped

    with closing(ParserProcess(on_wait=look_for_a_click)) as parser:
        assert parser.parse("a", ".md", b"One.").text == "One."
        child, started = find_child(parser), time.monotonic()
        clicks.append("Stop")
        with pytest.raises(Stopped):
            parser.parse("b", ".html", ATTRIBUTES)
        assert time.monotonic() - started < 5 and not child.is_running()


def test_whoever_waits_for_a_page_is_called_again_and_again_until_it_is_read():
    calls = []
    with closing(ParserProcess(limit=lambda size: 3, on_wait=lambda: calls.append(1))) as parser:
        with pytest.raises(UnreadableFile, match="took more than 3 s"):
            parser.parse("a", ".html", ATTRIBUTES)
        assert len(calls) > 5
        assert parser.parse("b", ".html", b"<p>Fine.</p>").text == "Fine."


def test_threads_take_turns(parser):
    texts: dict[int, str] = {}

    def work(number):
        texts[number] = parser.parse("a", ".md", b"Number %d." % number).text

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == {n: f"Number {n}." for n in range(8)}


def test_the_limit_grows_with_the_file_and_ends():
    assert [limit_seconds(size) for size in (0, 1_000_000, 5_000_000, 10**9)] == [20, 40, 120, 600]


def test_a_table_of_labels_is_written_as_in_this_process(parser):
    content = make_book([["question", "sentence", "label"], ["Why?", "Because \u00fc.", 1]])
    table = parser.write_table(content)
    assert table == write_table(content) == ("question,sentence,label\nWhy?,Because \u00fc.,1\n", ())


def test_a_table_that_keeps_the_parser_busy_is_given_up():
    parser = ParserProcess(limit=lambda size: 1)
    rows = b"".join(b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (n, n) for n in range(2, 20_000))
    content = change_part(make_book([["a"]]), SHEET, lambda xml: xml.replace(b"</sheetData>", rows + b"</sheetData>"))
    with closing(parser), pytest.raises(UnreadableFile, match="took more than 1 s"):
        parser.write_table(content)
