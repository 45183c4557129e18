"""BEIR's three files in a folder: corpus.jsonl, queries.jsonl, qrels/<split>.tsv.

The qrels are a CSV with tabs: an id that holds a tab, a line end or a quotation mark is quoted, as in BEIR's own
loader. Sentences are the corpus's documents. A question's candidates are those in the qrels; a published corpus holds
many more.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from as2core.data import source
from as2core.data.source import Report
from as2core.errors import UnreadableFile
from as2core.files import write_text
from as2core.types import Candidate, Question

COLUMNS = ("query-id", "corpus-id", "score")


def read(
    folder: str | Path,
    *,
    split: str | None = "test",
    strict: bool = False,
    keep_places: bool = False,
    min_correct: int = 1,
) -> tuple[list[Question], Report]:
    """The split's judged questions; None takes all splits. A score of `min_correct` or more is correct. Raises
    UnreadableFile."""
    folder = Path(folder)
    qrels_files = _find_qrels(folder / "qrels", split)
    for path in (folder / "corpus.jsonl", folder / "queries.jsonl", *qrels_files):
        if not path.is_file():
            raise UnreadableFile(f"{folder.name}: {path.relative_to(folder)} is missing, so it is not a BEIR folder")
    problems = Report(qrels_files[0], strict=strict, keep_places=keep_places, min_correct=min_correct)
    queries = _read_records(folder / "queries.jsonl", problems)
    corpus = _read_records(folder / "corpus.jsonl", problems)
    candidates: dict[str, dict[str, Candidate]] = {}
    for qrels in qrels_files:
        file = qrels.name if len(qrels_files) > 1 else ""
        where = f"of {file}: " if file else ""
        rows = source.stream_rows(qrels, problems, "\t")
        if tuple(next(rows, (0, ()))[1]) != COLUMNS:
            raise UnreadableFile(f"{qrels.name}: the first line must be {' <tab> '.join(COLUMNS)}")
        for number, fields in rows:
            try:
                qid, docid, score = fields
                judgement = problems.rate(docid, score)
            except ValueError:
                problems.add(number, f"{where}not a query id, a corpus id and a whole number, divided by tabs")
                continue
            if qid not in queries or docid not in corpus:
                missing = f"{qid!r} is not in queries.jsonl" if qid not in queries else f"no {docid!r} in corpus"
                problems.add(number, where + missing)
                continue
            record = corpus[docid]
            candidate = replace(judgement, text=record["text"], title=str(record.get("title") or ""))
            candidates.setdefault(qid, {})[docid] = candidate
            problems.place(qid, docid, number, file)
    questions = (Question(qid, queries[qid]["text"], tuple(cs.values())) for qid, cs in candidates.items())
    return list(problems.count_questions(questions)), problems


def _find_qrels(folder: Path, split: str | None) -> list[Path]:
    """The file of a split, or of every split by name; that of the test split where there is none at all."""
    return ([] if split else sorted(folder.glob("*.tsv"))) or [folder / f"{split or 'test'}.tsv"]


def _read_records(path: Path, problems: Report) -> dict[str, dict]:
    def parse(record: dict) -> tuple[str, dict]:
        if not isinstance(record["text"], str):
            raise ValueError("text is not a string")
        return source.text_field(record, "_id"), record

    return dict(r for _, r in source.stream_records(path, problems, parse, f"of {path.name}: not a BEIR record"))


def write(questions: Iterable[Question], folder: str | Path, *, split: str = "test") -> None:
    """The three files; unlabelled candidates are in the corpus, but have no line in the qrels."""
    folder = Path(folder)
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    for name, text in dumps(questions, split=split).items():
        write_text(text, folder / name)


def dumps(questions: Iterable[Question], *, split: str = "test") -> dict[str, str]:
    """`{path in the folder: content}`."""
    corpus: dict[str, dict] = {}
    queries: list[dict] = []
    qrels: list[tuple[object, ...]] = [COLUMNS]
    for q in questions:
        queries.append({"_id": q.qid, "text": q.text, "metadata": {}})
        for c in q.candidates:
            record = {"_id": c.id, "title": c.title, "text": c.text}
            if corpus.setdefault(c.id, record) != record:  # an id that stands for another sentence in each question
                record["_id"] = f"{q.qid}/{c.id}"
                corpus[record["_id"]] = record
            if c.label is not None:
                qrels.append((q.qid, record["_id"], c.relevance))
    return {
        "corpus.jsonl": "".join(map(source.json_line, corpus.values())),
        "queries.jsonl": "".join(map(source.json_line, queries)),
        f"qrels/{split}.tsv": source.format_rows(qrels, "\t"),
    }
