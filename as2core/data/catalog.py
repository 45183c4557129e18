"""Questions by name: a file in any supported format, or one of the shipped sets."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from as2core.data import (
    asnq,
    beir,
    insuranceqa,
    jsonl,
    natural_questions,
    pairs,
    qed,
    qrels,
    ranx_json,
    runs,
    selqa,
    squad,
    trecqa,
    wikipassageqa,
    wikiqa,
    yahooqa,
)
from as2core.data.label_files import (
    argilla,
    csv_ratings,
    label_studio,
    prodigy,
    quepid,
    question_table,
)
from as2core.data.label_files import records as label_records
from as2core.data.label_files import rows as label_rows
from as2core.data.label_files.content import decode_labels, is_packed_set
from as2core.data.label_files.sheets import is_workbook
from as2core.data.question_file import LAZY_FORMATS, open_lazily
from as2core.data.source import Report, Stream
from as2core.errors import BadSetting, UnknownData, UnreadableFile
from as2core.messages import suggest_name
from as2core.sources.content import Problem, Source, describe_problem, is_packed, name_file, name_source, read_bytes
from as2core.sources.encodings import UTF_16_MARKS, decode_start
from as2core.sources.spreadsheet import names_delimiter
from as2core.system.files import is_file, is_folder
from as2core.types import SPLITS, Candidate, Question

SHIPPED_CORPORA = ("starter", "handbook")  # folders of corpora/
SHIPPED_SETS = tuple(f"{name}-{split}" for name in SHIPPED_CORPORA for split in SPLITS)
SETTINGS = {
    "raw": "every question",
    "no-all-neg": "only questions with a correct candidate; to train on",
    "clean": "only questions with a correct and an incorrect candidate; to test on",
}
STREAMS: dict[str, Stream] = {
    "jsonl": jsonl.stream,
    "wikiqa": wikiqa.stream,
    "trecqa": trecqa.stream,
    "squad": squad.stream,
    "asnq": asnq.stream,
    "natural-questions": natural_questions.stream,
    "wikipassageqa": wikipassageqa.stream,
    "insuranceqa": insuranceqa.stream,
    "yahooqa": yahooqa.stream,
    "selqa": selqa.stream,
    "selqa-tsv": selqa.stream_tsv,
    "qed": qed.stream,
    "pairs": pairs.stream_pairs,
    "triplets": pairs.stream_triplets,
    "table": question_table.stream,
    "label-studio": label_studio.stream,
    "argilla": argilla.stream,
    "prodigy": prodigy.stream,
    "records": label_records.stream,
}
RATING_STREAMS: dict[str, Stream] = {  # labels without texts
    "qrels": qrels.stream,
    "csv": csv_ratings.stream,
    "quepid": quepid.stream,
}
WRITERS: dict[str, Callable[[Iterable[Question]], Iterator[str]]] = {
    "jsonl": jsonl.to_lines,
    "asnq": asnq.to_lines,
    "wikiqa": wikiqa.to_lines,
    "qrels": qrels.to_lines,
    "csv": csv_ratings.to_lines,
    "pairs": pairs.to_pair_lines,
    "triplets": pairs.to_triplet_lines,
    "table": question_table.to_lines,
    "label-studio": label_studio.to_lines,
    "argilla": argilla.to_lines,
    "prodigy": prodigy.to_lines,
}
TOOLS = {"label-studio": "Label Studio", "argilla": "Argilla", "prodigy": "Prodigy"}  # every annotator's labels
UNORDERED = ("triplets", "qrels")  # of triplets the correct sentence is always first, of qrels order says nothing
WORKBOOK, ARCHIVE = "workbook", "archive"  # a table of Excel's, a BEIR folder as a zip
_NEEDED = {  # for a line to be written
    "wikiqa": "a candidate",
    "pairs": "a labelled candidate with a text",
    "table": "a labelled candidate with a text",
    "triplets": "both a correct and an incorrect candidate",
    "label-studio": "a candidate with a text",
    "argilla": "a candidate with a text",
}
_ANSWER = re.compile(r'"answer"\s*:\s*"(accept|reject|ignore)"')  # a line of Prodigy's
_FIELDS = re.compile(r'"data"\s*:\s*\{')  # of a task of Label Studio's; SQuAD's data is a list
_FORMATS = (
    "JSONL with candidates, WikiQA TSV, TREC-QA XML, SQuAD JSON, a BEIR folder or a zip of one, ASNQ TSV, "
    "Natural Questions, WikiPassageQA, InsuranceQA, YahooQA, SelQA, QED, pairs or triplets as JSONL, a table (CSV or "
    "Excel) of question, sentence and label, or such rows as JSON, an export of Label Studio, Argilla or Prodigy"
)
LARGE_BYTES = 256 * 10**6  # a file of questions takes several times its size in memory
_PARQUET = b"PAR1"
_TO_JSON = "save it as JSON: to_json of datasets, or of pandas with orient='records', lines=True"
_HEAD_BYTES = 1 << 16  # of a file are looked at to find its format
CORPORA = Path(__file__).parents[2] / "corpora"


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions of a data set, and a problem for each line that could not be read. To walk through it gives the
    questions."""

    questions: list[Question]
    problems: list[Problem]

    def __iter__(self) -> Iterator[Question]:
        return iter(self.questions)


def load_questions(
    spec: str | Path, *, strict: bool = False, corpora: str | Path = CORPORA, split: str | None = None
) -> QuestionSet:
    """Questions of a file or of a shipped set (read below `corpora`).

    `split` is for the formats that hold several (BEIR, YahooQA; "test" by default). Raises UnknownData when `spec` is
    neither, UnreadableFile for an unknown format (and, if `strict`, at the first malformed line).
    """
    questions, report = stream_questions(spec, strict=strict, corpora=corpora, split=split)
    return QuestionSet(list(questions), report)


def has_order(spec: str) -> bool:
    """Whether the order of a question's candidates says anything. Raises UnreadableFile."""
    return not is_file(spec) or sniff(Path(spec)) not in UNORDERED


def open_questions(spec: str | Path, *, min_bytes: float = LARGE_BYTES) -> tuple[Sequence[Question], Report]:
    """As `load_questions`, with its report. The questions of a file of `min_bytes` or more stay there, if it is plain
    JSONL or ASNQ's TSV: they are LazyQuestions, read again whenever one is looked at."""
    path = Path(spec)
    if (
        is_file(path)
        and path.stat().st_size >= min_bytes
        and not is_packed(path)
        and (kind := sniff(path)) in LAZY_FORMATS
    ):
        report = Report(path)
        return open_lazily(path, kind, report), report
    questions, report = stream_questions(spec)
    return list(questions), report


def stream_questions(
    spec: str | Path, *, strict: bool = False, corpora: str | Path = CORPORA, split: str | None = None
) -> tuple[Iterator[Question], Report]:
    """As `load_questions`, one by one where the format allows it; the report is complete after the last."""
    path = find_shipped(str(spec), corpora) if spec in SHIPPED_SETS else Path(spec)
    if is_folder(path):
        questions, report = beir.read(path, strict=strict, split=split or "test")
        return iter(questions), report
    if not is_file(path):
        if _exists(path):
            raise UnknownData(f"{spec} is a pipe or a device, which can be read only once: write it to a file first")
        if spec in SHIPPED_SETS:
            raise UnknownData(f"{spec} is part of a clone and not installed: run this in a clone, or give a file")
        hint = suggest_name(str(spec), (*SHIPPED_SETS, "labels"))
        if path.suffix and not hint:
            raise UnknownData(f"there is no file {spec}")
        raise UnknownData(
            f"no data {str(spec)!r}{hint or ';'} give a file ({_FORMATS}) or one of {', '.join(SHIPPED_SETS)}"
        )
    kind = sniff(path)
    if kind == ARCHIVE:
        with name_file(path.name):
            questions, report = beir.read_archive(read_bytes(path), strict=strict, split=split or "test")
        return iter(questions), report
    content = _read_decoded(path, kind)
    if content is not None:
        kind = sniff(content)
    if kind is None:
        raise UnreadableFile(f"{path.name}{_explain_unknown_format(path, content)}")
    if kind == "run":
        raise UnreadableFile(
            f"{path.name} is a run, which ranks: name it before the data, as in as2 eval {path.name} FILE.qrels. If it "
            "has labels, save it as TREC: qrels.save('name.trec') in ranx"
        )
    if kind not in STREAMS:
        other = ", or measure runs on it with as2 eval" if kind == "qrels" else ""
        raise UnreadableFile(f"{path.name}: it holds labels without texts; import it into a corpus{other}")
    if split and kind != "yahooqa":
        raise BadSetting(f"{path.name} is one split; only a BEIR folder and YahooQA's file hold several")
    stream = partial(yahooqa.stream, split=split) if split else STREAMS[kind]
    report = Report(path, strict=strict)
    if content is None:
        return report.count_questions(stream(path, report)), report
    with name_file(path.name):
        return iter([*report.count_questions(stream(content, report))]), report


def _read_decoded(path: Path, kind: str | None) -> bytes | None:
    """The content as UTF-8 text of a workbook, of UTF-16, or of a table of another encoding; None for other files.
    Raises UnreadableFile."""
    is_table = kind in ("table", "csv") and path.stat().st_size < LARGE_BYTES
    if kind != WORKBOOK and not is_table and not read_bytes(path, 2).startswith(UTF_16_MARKS):
        return None
    content = read_bytes(path)
    with name_file(path.name):
        decoded = decode_labels(path.name, content).content
    return None if decoded is content else decoded


def _explain_unknown_format(path: Path, content: bytes | None) -> str:
    """What is wrong with a file, after its name: it is empty, it breaks off, or it is of another kind. `content`: if it
    was decoded."""
    start = (
        (read_bytes(path, _HEAD_BYTES) if content is None else content[:_HEAD_BYTES])
        .removeprefix(b"\xef\xbb\xbf")
        .strip()
    )
    if not start:
        return " is empty"
    first, _, rest = start.partition(b"\n")
    if first.startswith(b"{") and (path.suffix == ".jsonl" or not rest):
        try:
            json.loads(first)
        except ValueError as error:
            return f": line 1: {describe_problem(error)}"
    line = first.decode("utf-8", "replace").strip()
    if content is not None or path.suffix.lower() in (".csv", ".tsv"):
        return f": {csv_ratings.describe_header(line)}"
    if qrels.is_nearly_line(line) or ".qrels" in path.suffixes:
        return (
            f": line 1: {ranx_json.cut(line)!r} is no line of qrels: give four columns, a question's id, 0, a "
            "document's id and a whole number (qid 0 docid rel)"
        )
    return f" is in no format that as2 reads ({_FORMATS})"


def _exists(path: Path) -> bool:
    """False for a text that no system takes as a path, such as one that is too long."""
    with suppress(OSError, ValueError):
        return path.exists()
    return False


def find_shipped(name: str, corpora: str | Path = CORPORA) -> Path:
    """The file of one of SHIPPED_SETS; it may be missing."""
    folder, _, split = name.partition("-")
    return Path(corpora, folder, f"{split}.jsonl")


def sniff(source: Source) -> str | None:
    """The format by its content: a name of STREAMS, qrels, csv, run, WORKBOOK, ARCHIVE, or None. Raises
    UnreadableFile."""
    start = decode_start(read_bytes(source, _HEAD_BYTES))
    if is_packed_set(start):
        return WORKBOOK if is_workbook(read_bytes(source)) else ARCHIVE
    if start.startswith(_PARQUET):
        raise UnreadableFile(f"{name_source(source)}: it is Parquet; {_TO_JSON}")
    if start[:1] == b"\x80" or start[:3] == b"(dp":  # a pickle's first bytes
        return "yahooqa"
    first, newline, rest = start.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    if newline and names_delimiter(first.decode("utf-8", "replace")):
        first, newline, rest = rest.partition(b"\n")
    try:
        line = first.decode("utf-8", "strict" if newline or len(start) < _HEAD_BYTES else "ignore").strip()
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{name_source(source)}: not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    text = f"{line}\n{rest.decode('utf-8', 'replace')}"
    if line.startswith(("{", "[")):
        if ranx_json.begins_with_labels(text):
            return "qrels"
        return "run" if runs.is_run(source) else _sniff_json(line, text)
    if qrels.is_table(text):
        return "qrels"
    kind = _sniff_table(line, [row.rstrip("\r").split("\t") for row in text.split("\n")])
    return "run" if kind is None and runs.is_run(source) else kind


def _sniff_json(line: str, text: str) -> str | None:
    if line.startswith("["):
        if '"candidates"' in text and '"answers"' in text:
            return "selqa"
        is_row = _has_fields(text) and not _ANSWER.search(text)
        return _sniff_tool(text) or ("records" if is_row else None)
    if '"sentence_starts"' in line and '"paragraph_text"' in line:
        return "qed"
    if any(f'"{key}"' in line for key in ("document_text", "document_tokens", "document_html")):
        return "natural-questions"
    if '"candidates"' in line:
        return "jsonl"
    if '"queries"' in text and '"ratings"' in text:
        return "quepid"
    for name, keys in (("pairs", pairs.PAIR), ("triplets", pairs.TRIPLET)):
        if all(f'"{key}"' in line for key in keys):
            return name
    if tool := "prodigy" if _ANSWER.search(line) else _sniff_tool(line):
        return tool
    if _has_fields(line):
        return "records"
    return "squad" if '"data"' in text[:200] or "paragraphs" in text else None


def _sniff_tool(text: str) -> str | None:
    def has(*keys: str) -> bool:
        return all(f'"{key}"' in text for key in keys)

    if has("fields", "responses") or argilla.VALUES + '"' in text:
        return "argilla"
    is_task = _FIELDS.search(text) and (has("annotations") or has("completions") or has("predictions"))
    return "label-studio" if is_task or has("annotator", "annotation_id") else None


def _has_fields(text: str) -> bool:
    """Whether it has the fields of a row of question, sentence and label."""
    columns = (label_rows.NAMES[column] for column in question_table.REQUIRED)
    return all(any(f'"{name}"' in text for name in names) for names in columns)


def _sniff_table(line: str, rows: list[list[str]]) -> str | None:
    fields = [f.strip('"') for f in rows[0]]
    if line.startswith("<QApairs"):
        return "trecqa"
    if fields[0] == wikiqa.COLUMNS[0]:
        return "wikiqa"
    if tuple(fields[:3]) == wikipassageqa.COLUMNS[:3]:
        return "wikipassageqa"
    if len(fields) in (3, 4) and fields[1].startswith("idx_"):
        return "insuranceqa"
    if question_table.find_columns(line):
        return "table"
    if csv_ratings.find_delimiter(line):
        return "csv"
    labels = [row[2] for row in rows if len(row) == 3]
    if len(labels) * 2 >= sum(len(row) > 1 or bool(row[0].strip()) for row in rows[:-1]) and labels:
        if set(labels) & set("234"):
            return "asnq"
        if set(labels) & set("01"):
            return "selqa-tsv" if "0" in labels else "asnq"
    return "qrels" if qrels.is_line(line) else None


def select_writable(question: Question, fmt: str) -> Question | None:
    """The question with the candidates that a format's file holds of it; None where it holds nothing."""
    if fmt in ("jsonl", "beir"):
        return question
    part = replace(question, candidates=tuple(c for c in question.candidates if _is_writable(question, c, fmt)))
    is_writable = part.candidates and (fmt != "triplets" or part.has_both_labels)
    return part if is_writable else None


def _is_writable(question: Question, candidate: Candidate, fmt: str) -> bool:
    if fmt == "wikiqa":
        return True
    if fmt in TOOLS:
        has_label = candidate.label is not None or bool(candidate.annotations)
        return pairs.has_texts(question, candidate) and (has_label or fmt != "prodigy")
    return candidate.label is not None and (
        fmt not in ("pairs", "triplets", "table") or pairs.has_texts(question, candidate)
    )


def describe_unwritable(fmt: str) -> str:
    """The questions of which a format's file holds nothing, as in "questions without a labelled candidate"."""
    return f"questions without {_NEEDED.get(fmt, 'a labelled candidate')}"


def apply_setting(questions: Iterable[Question], setting: str) -> list[Question]:
    """The questions a setting keeps (SETTINGS); only candidates labelled 0 or 1 count. Raises BadSetting."""
    return [q for q in questions if matches_setting(q, setting)]


def matches_setting(question: Question, setting: str) -> bool:
    """Whether a setting keeps the question. Raises BadSetting."""
    if setting not in SETTINGS:
        raise BadSetting(f"no setting {setting!r}; known: {', '.join(SETTINGS)}")
    if setting == "raw":
        return True
    return bool(question.positives and (question.negatives or setting == "no-all-neg"))
