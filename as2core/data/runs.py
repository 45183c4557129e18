"""Runs: rankings as other programs write them, read by their content in three forms.

- TREC: lines `qid Q0 docid rank score tag`, as trec_eval reads them; ids are unescaped as in `as2core.data.qrels`.
- JSON: `{qid: {docid: score}}`, as ranx writes it.
- A table (CSV or TSV) whose header names a question's id, a candidate's id and a score, as pandas and PyTerrier write
  it; a row with an empty score is a candidate that is not ranked.

Each may be gzipped. A score is higher for a better candidate.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from as2core.data import ranx_json
from as2core.data.qrels import is_line as is_qrels_line
from as2core.data.qrels import unescape_id
from as2core.data.source import Report, parse_each, stream_fields, stream_rows
from as2core.errors import BadSetting, UnreadableFile
from as2core.messages import join
from as2core.sources.content import Source, name_source, read_bytes
from as2core.sources.spreadsheet import DELIMITERS, find_header, restore_formula, split_header
from as2core.types import Question

TREC_COLUMNS = ("qid", "Q0", "docid", "rank", "score", "tag")
NAMES = {  # of a table's columns, in lower case, with _ for a blank or a hyphen
    "qid": ("qid", "q_id", "query_id", "question_id", "topic", "topic_id"),
    "docid": ("docno", "doc_id", "docid", "candidate_id", "sentence_id", "document_id", "passage_id", "corpus_id"),
    "score": ("score",),
    "rank": ("rank",),  # may be missing: it tells equal scores apart
}
REQUIRED = ("qid", "docid", "score")
FORMS = (
    f"lines of {' '.join(TREC_COLUMNS)} (TREC), JSON as ranx writes it ({{question: {{candidate: score}}}}), or a CSV "
    "table with the columns qid, docno and score"
)
_HEAD_BYTES = 1 << 16
_BINARY = {b"\x04\x22\x4d\x18": "LZ4", b"PAR1": "Parquet", b"PK\x03\x04": "a zip file or a spreadsheet"}

Place: TypeAlias = tuple[float, float]  # a candidate's score and rank
Places: TypeAlias = dict[str, dict[str, Place]]  # question's id -> candidate's id -> place


def is_run(source: Source) -> bool:
    """Whether the content begins as a run of any form. Raises UnreadableFile."""
    start = _read_start(source)
    header = find_header(start)
    return ranx_json.begins(start) or _is_trec(header) or not _list_missing(_find_columns(header)[1])


def read_run_scores(source: Source) -> dict[str, dict[str, float]]:
    """A run as it is, `{qid: {docid: score}}`; {} for an empty file. Raises UnreadableFile for what is no run, or has
    a malformed line, or a document twice for one question."""
    return {qid: {docid: score for docid, (score, _) in row.items()} for qid, row in _read_places(source).items()}


def read_run_and_ties(source: Source, questions: Sequence[Question]) -> tuple[dict[str, np.ndarray], int]:
    """The scores of a run for these questions, `{qid: float32 (n,)}`, and how many of their candidates share their
    score with another. NaN for candidates that it does not have. Equal scores are told apart by the rank, then by the
    order in the file. Raises UnreadableFile as `read_run_scores`, and BadSetting for a question that it has no
    candidate of."""
    run = _read_places(source)
    own_ids = {q.qid: {c.id for c in q.candidates} for q in questions}
    gaps = [qid for qid, own in own_ids.items() if own and own.isdisjoint(run.get(qid, {}))]
    if gaps:
        name, share = name_source(source), f"{len(gaps):,} of {len(questions):,} questions"
        ids = next((f"; its ids are like {qid!r} and {docid!r}" for qid, row in run.items() for docid in row), "")
        raise BadSetting(
            f"{name} ranks no candidate of question {gaps[0]!r} ({share} are like that{ids}): give a run of these "
            "questions"
        )
    scores, ties = {}, 0
    for q in questions:
        row = run.get(q.qid, {})  # empty for a question without candidates
        values = _separate_ties(row)
        scores[q.qid] = np.array([values.get(c.id, np.nan) for c in q.candidates], dtype=np.float32)
        counts = Counter(float(np.float32(row[c.id][0])) for c in q.candidates if c.id in row)
        ties += sum(n for n in counts.values() if n > 1)
    return scores, ties


def _separate_ties(row: Mapping[str, Place]) -> dict[str, np.float32]:
    """The scores of a question's `{docid: (score, rank)}`: as they are, but a score that is not below the one before it
    in the order becomes the next 32-bit number below that."""
    scores: dict[str, np.float32] = {}
    last = np.float32(np.inf)
    for docid, (score, _) in sorted(row.items(), key=lambda item: (-np.float32(item[1][0]), item[1][1])):
        last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
        scores[docid] = last
    return scores


def _read_start(source: Source) -> str:
    return read_bytes(source, _HEAD_BYTES).decode("utf-8-sig", "replace").lstrip()


def _read_places(source: Source) -> Places:
    head = read_bytes(source, 4)
    if kind := _BINARY.get(head):
        raise UnreadableFile(
            f"{name_source(source)}: it is {kind}: save it as JSON, in ranx with run.save('name.json'), or as CSV"
        )
    start = _read_start(source)
    report, header = Report(source, strict=True), find_header(start)
    if start.startswith("{") and not _is_trec_line(header):
        return _read_json(source)
    delimiter, columns = _find_columns(header)
    if len(columns) > 1:
        if missing := _list_missing(columns):
            raise UnreadableFile(
                f"{report.name}: its first line names no column for {join(missing)}: add it, or rename one"
            )
        return _group(_stream_table(source, report, delimiter, columns), report)
    if header and len(header.split()) != len(TREC_COLUMNS):
        hint = f"no ranking begins with {ranx_json.cut(header)!r}"
        if "\ufffd" in header:
            hint = "it is not UTF-8 text, or no text at all"
        elif is_qrels_line(header):
            hint = "it looks like qrels, which hold labels"
        raise UnreadableFile(f"{report.name}: line 1: {hint}; give {FORMS}")
    return _group(stream_fields(source, report, TREC_COLUMNS, _parse_line, split=str.split), report)


def _group(rows: Iterable[tuple[int, tuple[str, str, Place] | None]], report: Report) -> Places:
    run: Places = {}
    for line, fields in rows:
        if fields is None:
            continue
        qid, docid, place = fields
        row = run.setdefault(qid, {})
        if docid in row:
            report.add(line, f"document {docid!r} appears twice for question {qid!r}")
        row[docid] = place
    return run


def _is_trec(line: str) -> bool:
    columns = line.split()
    return len(columns) == len(TREC_COLUMNS) and (columns[3].isdecimal() or columns[1] == "Q0")


def _parse_line(fields: list[str]) -> tuple[str, str, Place]:
    return unescape_id(fields[0]), unescape_id(fields[2]), (_parse_score(fields[4]), _parse_rank(fields[3]))


def _is_trec_line(line: str) -> bool:
    """Whether it is one as runs are written, of a question whose id may begin like JSON."""
    columns = line.split()
    return len(columns) == len(TREC_COLUMNS) and columns[1] == "Q0"


def _parse_rank(text: str) -> float:
    """Infinite for what is none: trec_eval does not read this column. pandas may write 1.0."""
    return float(text) if re.fullmatch(r"\d+(\.0*)?", text) else math.inf


def _parse_score(text: str) -> float:
    try:
        score = float(text)
    except ValueError:
        raise ValueError(f"the score {text!r} is not a number") from None
    if not math.isfinite(score):
        raise ValueError(f"the score {text} is not a finite number")
    return score


def _find_columns(header: str) -> tuple[str, dict[str, int]]:
    """What divides the columns of a table's first line, and where each known one is."""
    best: tuple[str, dict[str, int]] = (DELIMITERS[0], {})
    for delimiter in DELIMITERS:
        fields = [re.sub(r"[\s-]", "_", field.strip().lower()) for field in split_header(header, delimiter)]
        places = {c: fields.index(name) for c in NAMES for name in reversed(NAMES[c]) if name in fields}
        best = max(best, (delimiter, places), key=lambda pair: len(pair[1]))
    return best


def _list_missing(columns: Mapping[str, int]) -> list[str]:
    """What a table lacks, in words."""
    words = {"qid": "the question's id (qid)", "docid": "the candidate's id (docno)", "score": "the score (score)"}
    return [words[c] for c in REQUIRED if c not in columns]


def _stream_table(
    source: Source, report: Report, delimiter: str, columns: Mapping[str, int]
) -> Iterator[tuple[int, tuple[str, str, Place] | None]]:
    rows = stream_rows(source, report, delimiter)
    next(rows, None)
    return parse_each(rows, partial(_parse_row, columns, delimiter), report)


def _parse_row(columns: Mapping[str, int], delimiter: str, row: Sequence[str]) -> tuple[str, str, Place] | None:
    """None for a candidate that has no score."""
    if len(row) <= (last := max(columns[c] for c in REQUIRED)):
        raise ValueError(f"{len(row)} fields, and the header has at least {last + 1}")
    cells = {c: row[place].strip() for c, place in columns.items() if place < len(row)}
    if not cells["score"]:
        return None
    qid, docid = (restore_formula(cells[c]) for c in ("qid", "docid"))
    if not qid or not docid:
        raise ValueError(f"the {'candidate' if qid else 'question'} has no id")
    score = cells["score"].replace(",", ".") if delimiter == ";" else cells["score"]  # the comma is the decimal mark
    return qid, docid, (_parse_score(score), _parse_rank(cells.get("rank", "")))


def _read_json(source: Source) -> Places:
    rows = ranx_json.read(source, "score")
    if ranx_json.are_labels([*row.values()] for row in rows.values()):
        raise UnreadableFile(
            f"{name_source(source)}: its whole numbers look like labels (qrels); if they are scores, write them with a "
            "decimal point, as 1.0"
        )
    return {qid: {docid: (float(score), math.inf) for docid, score in row.items()} for qid, row in rows.items()}
