"""TREC-QA's pseudo-XML (Wang, Smith and Mitamura, 2007): question, positive and negative blocks of tab-separated rows.

Only a block's first row, the words, is read. The files list the positives first, which would reveal the
labels; candidates are ordered by a digest of their ids instead. An id is the question's with the position in the file.
"""

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2s

from as2core.data.source import Report, drop_repeats, stream_lines
from as2core.errors import UnreadableFile
from as2core.sources.content import Source
from as2core.types import Candidate, Question

_PAIRS = re.compile(r"<QApairs id=(['\"])(.+?)\1>")
_BLOCKS = {"<question>": None, "<positive>": 1, "<negative>": 0}
_WORDS = {"``": '"', "''": '"', "-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}", "-LSB-": "[", "-RSB-": "]"}


def stream(source: Source, report: Report) -> Iterator[Question]:
    """One question in memory at a time. The text stays tokenised, quotes and brackets as usually written."""
    return drop_repeats(_questions(source, report), report)


def _questions(source: Source, report: Report) -> Iterator[tuple[int, Question]]:
    start = 0
    for start, qid, rows in _pairs(stream_lines(source, report), report):
        text = ""
        candidates: list[Candidate] = []
        for tag, words in _blocks(rows, report):
            if tag == "<question>":
                text = words
            else:
                candidates.append(Candidate(f"{qid}-{len(candidates)}", words, _BLOCKS[tag]))
        if not text:
            report.add(start, f"question {qid!r} has no text")
        else:
            candidates.sort(key=lambda c: blake2s(c.id.encode()).digest())
            yield start, Question(qid, text, tuple(candidates))
    if not start and not any("</QApairs>" in problem for problem in report):
        raise UnreadableFile(f"{report.name}: no <QApairs id='...'> in it, so it is not TREC-QA's XML")


def _pairs(lines: Iterable[tuple[int, str]], problems: Report) -> Iterator[tuple[int, str, list[tuple[int, str]]]]:
    """`(line, qid, the lines inside)` of each closed <QApairs>."""
    open_at, qid = 0, ""
    rows: list[tuple[int, str]] = []
    for number, line in lines:
        opening = _PAIRS.match(line)
        if opening or line.startswith("</QApairs>"):
            if open_at and not opening:
                yield open_at, qid, rows
            elif open_at:
                problems.add(open_at, f"question {qid!r} is not closed by </QApairs>")
            open_at, qid, rows = (number, opening[2], []) if opening else (0, "", [])
        elif open_at:
            rows.append((number, line))
        else:
            problems.add(number, "outside any <QApairs>")
    if open_at:
        problems.add(open_at, f"question {qid!r} is not closed by </QApairs>")


def _blocks(rows: list[tuple[int, str]], problems: Report) -> Iterator[tuple[str, str]]:
    """`(opening tag, words)` of each block that is closed and has a row of words."""
    tag, at = "", 0
    words: str | None = None
    for number, line in rows:
        if line in _BLOCKS:
            if tag:
                problems.add(at, f"{tag} is not closed")
            tag, at, words = line, number, None
        elif tag and line == tag.replace("<", "</"):
            if words:
                yield tag, words
            else:
                problems.add(at, f"{tag} has no words")
            tag = ""
        elif not tag:
            problems.add(number, "outside any block")
        elif words is None:
            words = " ".join(_WORDS.get(word, word) for word in line.split("\t"))
    if tag:
        problems.add(at, f"{tag} is not closed")
