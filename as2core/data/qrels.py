"""trec_eval's two files: qrels (`qid 0 docid rel`) and runs (`qid Q0 docid rank score tag`), columns apart by spaces.

White space and "%" inside an id are written as %20, %25 and so on, for the columns' sake, and read back. Qrels hold no
texts: the questions read from them have ids and labels only, and candidates nobody judged are not written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import numpy as np

from as2core.data.source import RELEVANCE, Report, Source, by_relevance, collect, stream_lines, write_text
from as2core.errors import BadSetting
from as2core.metrics import order
from as2core.types import Candidate, Question

_SPACES = " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_ESCAPES = {quote(c): c for c in "%" + _SPACES}
_ESCAPED = re.compile("|".join(_ESCAPES))


def read(source: Source, *, strict: bool = False) -> tuple[list[Question], Report]:
    """Questions without texts. A relevance above 0 is correct, 0 or less is not."""
    return collect(stream, source, strict=strict)


def stream(source: Source, report: Report) -> Iterator[Question]:
    """The same, in the order of their first line."""
    found: dict[str, dict[str, Candidate]] = {}
    for number, line in stream_lines(source, report):
        fields = line.split()
        if len(fields) != 4:
            report.add(number, f"{len(fields)} columns instead of 4 (qid 0 docid rel)")
        elif not RELEVANCE.fullmatch(fields[3]):
            report.add(number, f"relevance {fields[3]!r} is not a whole number")
        else:
            qid, docid = unescape(fields[0]), unescape(fields[2])
            if docid in found.setdefault(qid, {}):
                report.add(number, f"document {docid!r} stands twice for question {qid!r}")
            else:
                found[qid][docid] = Candidate(docid, "", **by_relevance(int(fields[3])))
    for qid, candidates in found.items():
        yield report.took(Question(qid, "", tuple(candidates.values())))


def write(questions: Iterable[Question], path: str | Path) -> None:
    """The judged candidates, one a line."""
    write_text(dumps(questions), path)


def dumps(questions: Iterable[Question]) -> str:
    """What `write` writes."""
    return "".join(
        f"{_escape(q.qid)} 0 {_escape(c.id)} {c.relevance}\n"
        for q in questions
        for c in q.candidates
        if c.label is not None
    )


def read_run(source: Source, *, strict: bool = False) -> tuple[dict[str, dict[str, float]], Report]:
    """`{qid: {docid: score}}`, documents by falling score; the rank column is ignored, as trec_eval does."""
    problems = Report(source, strict=strict)
    run: dict[str, dict[str, float]] = {}
    for number, line in stream_lines(source, problems):
        fields = line.split()
        if len(fields) != 6:
            problems.add(number, f"{len(fields)} columns instead of 6 (qid Q0 docid rank score tag)")
            continue
        qid, docid, score = unescape(fields[0]), unescape(fields[2]), _number(fields[4])
        if score is None:
            problems.add(number, f"score {fields[4]!r} is not a number")
        elif docid in run.setdefault(qid, {}):
            problems.add(number, f"document {docid!r} stands twice for question {qid!r}")
        else:
            run[qid][docid] = score
    return {qid: dict(sorted(docs.items(), key=lambda d: -d[1])) for qid, docs in run.items()}, problems


def write_run(questions: Iterable[Question], scores: Mapping[str, np.ndarray], path: str | Path, *, tag: str) -> None:
    """A run of these scores (`{qid: (n,)}`); see `dumps_run`."""
    write_text(dumps_run(questions, scores, tag=tag), path)


def dumps_run(questions: Iterable[Question], scores: Mapping[str, np.ndarray], *, tag: str) -> str:
    """What `write_run` writes. trec_eval sorts by score and breaks ties by document id; so where a question's scores
    tie (as 32-bit numbers, which it reads), they are replaced by falling whole numbers in our order. Raises BadSetting
    unless there is a score for each candidate and an id to write."""
    lines = []
    for q in questions:
        given = np.asarray(scores[q.qid], dtype=np.float32)
        if len(given) != len(q.candidates):
            raise BadSetting(f"question {q.qid!r}: {len(given)} scores for {len(q.candidates)} candidates")
        if len(np.unique(given)) < len(given) or not np.isfinite(given).all():
            written = np.empty(len(given))
            written[order(given)] = np.arange(len(given), 0, -1)
        else:
            written = given.astype(np.float64)
        for rank, i in enumerate(order(written), 1):
            docid = _escape(q.candidates[i].id)
            lines.append(f"{_escape(q.qid)} Q0 {docid} {rank} {float(written[i])!r} {_escape(tag)}\n")
    return "".join(lines)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _escape(name: str) -> str:
    if not name:
        raise BadSetting("an empty id cannot stand in a qrels or run file")
    return re.sub(r"[%\s]", lambda m: quote(m[0]), name)


def unescape(name: str) -> str:
    """An id as it was before it was written into a column."""
    return _ESCAPED.sub(lambda m: _ESCAPES[m[0]], name)
