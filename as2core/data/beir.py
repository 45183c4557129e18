"""BEIR's three files in a folder: corpus.jsonl, queries.jsonl, qrels/<split>.tsv.

The qrels are a CSV divided by tabs: an id that holds a tab, a line end or a quotation mark is quoted, as BEIR's own
loader has it. Sentences are the corpus's documents. A question's candidates are what the qrels name for it; the corpus
of a set made elsewhere holds many more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from as2core.data.source import (
    MALFORMED,
    RELEVANCE,
    Report,
    by_relevance,
    given,
    reason_of,
    rows_text,
    stream_lines,
    stream_rows,
    write_text,
)
from as2core.errors import UnreadableFile
from as2core.types import Candidate, Question

COLUMNS = ("query-id", "corpus-id", "score")


def read(folder: str | Path, *, split: str | None = "test", strict: bool = False) -> tuple[list[Question], Report]:
    """The split's judged questions; None takes all splits together. A score above 0 is correct. Raises UnreadableFile
    when a file is missing."""
    folder = Path(folder)
    judged = qrels_of(folder, split)
    for path in (folder / "corpus.jsonl", folder / "queries.jsonl", *judged):
        if not path.is_file():
            raise UnreadableFile(f"{folder.name}: {path.relative_to(folder)} is missing, so it is not a BEIR folder")
    problems = Report(judged[0], strict=strict)
    queries = _records(folder / "queries.jsonl", problems)
    corpus = _records(folder / "corpus.jsonl", problems)
    found: dict[str, dict[str, Candidate]] = {}
    for qrels in judged:
        of_which = f"of {qrels.name}: " if len(judged) > 1 else ""
        for number, fields in _rows(qrels, problems):
            if len(fields) != 3 or not RELEVANCE.fullmatch(fields[2].strip()):
                problems.add(number, f"{of_which}not a query id, a corpus id and a whole number, divided by tabs")
                continue
            qid, docid, score = fields
            if qid not in queries or docid not in corpus:
                missing = f"{qid!r} is not in queries.jsonl" if qid not in queries else f"no {docid!r} in corpus"
                problems.add(number, of_which + missing)
                continue
            record = corpus[docid]
            title = str(record.get("title") or "")
            found.setdefault(qid, {})[docid] = Candidate(docid, record["text"], title=title, **by_relevance(int(score)))
    questions = (Question(qid, queries[qid]["text"], tuple(cs.values())) for qid, cs in found.items())
    return [problems.took(q) for q in questions], problems


def qrels_of(folder: str | Path, split: str | None = None) -> list[Path]:
    """The file of a split, or of every split by name; the one of the test split where there is none at all."""
    folder = Path(folder) / "qrels"
    return ([] if split else sorted(folder.glob("*.tsv"))) or [folder / f"{split or 'test'}.tsv"]


def places(qrels: Path) -> Iterator[tuple[int, str, str]]:
    """(line, query id, corpus id) of a split's judgements."""
    rows = _rows(qrels, Report(qrels))
    return ((number, fields[0], fields[1]) for number, fields in rows if len(fields) == 3)


def _rows(qrels: Path, problems: Report) -> Iterator[tuple[int, list[str]]]:
    rows = stream_rows(qrels, problems, "\t")
    if tuple(next(rows, (0, ()))[1]) != COLUMNS:
        raise UnreadableFile(f"{qrels.name}: the first line must be {' <tab> '.join(COLUMNS)}")
    return rows


def _records(path: Path, problems: Report) -> dict[str, dict]:
    found = {}
    for number, line in stream_lines(path, problems):
        try:
            record = json.loads(line)
            if not isinstance(record["text"], str):
                raise ValueError("text is not a string")
            found[given(record, "_id")] = record
        except KeyError as error:
            problems.add(number, f"of {path.name}: not a BEIR record (no {error})")
        except MALFORMED as error:
            problems.add(number, f"of {path.name}: not a BEIR record ({reason_of(error)})")
    return found


def write(questions: Iterable[Question], folder: str | Path, *, split: str = "test") -> None:
    """The three files; candidates nobody judged are in the corpus, but have no line in the qrels."""
    folder = Path(folder)
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    for name, text in dumps(questions, split=split).items():
        write_text(text, folder / name)


def dumps(questions: Iterable[Question], *, split: str = "test") -> dict[str, str]:
    """`{path in the folder: content}`."""
    corpus, queries, qrels = {}, [], [COLUMNS]
    for q in questions:
        queries.append({"_id": q.qid, "text": q.text, "metadata": {}})
        for c in q.candidates:
            record = {"_id": c.id, "title": c.title, "text": c.text}
            if corpus.setdefault(c.id, record) != record:  # ids that mean another sentence in each question
                record["_id"] = f"{q.qid}/{c.id}"
                corpus[record["_id"]] = record
            if c.label is not None:
                qrels.append((q.qid, record["_id"], c.relevance))
    return {
        "corpus.jsonl": _lines(corpus.values()),
        "queries.jsonl": _lines(queries),
        f"qrels/{split}.tsv": rows_text(qrels, "\t"),
    }


def _lines(records: Iterable[dict]) -> str:
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)
