"""BEIR's three files in a folder: corpus.jsonl, queries.jsonl, qrels/<split>.tsv.

The qrels are a CSV with tabs: an id that holds a tab, a line end or a quotation mark is quoted, as in BEIR's own
loader. Sentences are the corpus's documents. A question's candidates are those in the qrels; a published corpus holds
many more.
"""

import io
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from lzma import LZMAError
from pathlib import Path, PurePosixPath

from as2core.data import source
from as2core.data.source import Report
from as2core.errors import UnreadableFile
from as2core.sources.unpacking import MAX_WHOLE_BYTES, Quota, copy_member
from as2core.system.files import write_text
from as2core.types import Candidate, Question

COLUMNS = ("query-id", "corpus-id", "score")
MAX_ARCHIVE_FILES = 1000
SPREADSHEET_PARTS = {"xl/workbook.bin", "content.xml"}  # in files of Excel's binary format and of LibreOffice


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


def read_archive(
    content: bytes,
    *,
    split: str | None = "test",
    strict: bool = False,
    keep_places: bool = False,
    min_correct: int = 1,
    max_bytes: int = MAX_WHOLE_BYTES,
) -> tuple[list[Question], Report]:
    """As `read`, of the three files in a zip, wherever they are in it. `max_bytes`: of all, unpacked."""
    with tempfile.TemporaryDirectory() as folder:
        _unpack(content, Path(folder), Quota(max_bytes))
        return read(folder, split=split, strict=strict, keep_places=keep_places, min_correct=min_correct)


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


def _unpack(content: bytes, folder: Path, quota: Quota) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if len(archive.infolist()) > MAX_ARCHIVE_FILES:
                raise UnreadableFile(f"the archive holds more than {MAX_ARCHIVE_FILES:,} files; BEIR's has three or so")
            _check_members(archive.namelist())
            for member in archive.infolist():
                path = PurePosixPath(member.filename)
                if path.name.startswith("."):  # added by macOS
                    continue
                inside = path.name if path.parent.name != "qrels" else f"qrels/{path.name}"
                if path.name in ("corpus.jsonl", "queries.jsonl") or inside.startswith("qrels/"):
                    target = folder / inside
                    target.parent.mkdir(exist_ok=True)
                    with archive.open(member) as packed, target.open("wb") as out:
                        copy_member(packed, out, member.compress_size, quota)
    except (zipfile.BadZipFile, zlib.error, LZMAError, EOFError, OSError, RuntimeError, ValueError) as e:
        raise UnreadableFile(f"the archive cannot be unpacked ({e})") from e


def _check_members(names: Sequence[str]) -> None:
    """Raises UnreadableFile for an archive without a BEIR set."""
    if SPREADSHEET_PARTS & {*names}:
        raise UnreadableFile("it is a spreadsheet; save it as Excel workbook (.xlsx) or CSV")
    paths = [PurePosixPath(name) for name in names]
    files, folders = {path.name for path in paths}, {path.parent.name for path in paths}
    if not ({"corpus.jsonl", "queries.jsonl"} <= files and "qrels" in folders):
        parts = "corpus.jsonl, queries.jsonl and qrels"
        raise UnreadableFile(f"the archive holds no BEIR set ({parts}); unpack it and import the files in it")
