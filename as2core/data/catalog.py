"""Questions by name: a file in any format known here, or one of the shipped sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from as2core.data import beir, jsonl, squad, trecqa, wikiqa
from as2core.data.source import Problem, Source, read_text
from as2core.errors import BadSetting, UnknownData, UnreadableFile
from as2core.types import Question

SHIPPED = ("starter-train", "starter-dev", "starter-test")
SETTINGS = {
    "raw": "every question",
    "no-all-neg": "only questions with a correct candidate; to train on",
    "clean": "only questions with a correct and an incorrect candidate; to test on",
}
_READERS = {"jsonl": jsonl.read, "wikiqa": wikiqa.read, "trecqa": trecqa.read, "squad": squad.read}
_FORMATS = "JSONL with candidates, WikiQA TSV, TREC-QA XML, SQuAD JSON, a BEIR folder"
CORPORA = Path(__file__).parents[2] / "corpora"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What could be read, and a line for each thing that could not."""

    questions: list[Question]
    problems: list[Problem]


def load_questions(spec: str | Path, *, strict: bool = False, corpora: str | Path = CORPORA) -> Loaded:
    """Questions of a file or of a shipped set (read below `corpora`).

    Raises UnknownData when it is neither, UnreadableFile when it is in no known format (and, if `strict`, at the first
    malformed line).
    """
    path = Path(corpora, "starter", f"{str(spec).removeprefix('starter-')}.jsonl") if spec in SHIPPED else Path(spec)
    if path.is_dir():
        return Loaded(*beir.read(path, strict=strict))
    if not path.is_file():
        raise UnknownData(f"no data {str(spec)!r}; give a file ({_FORMATS}) or one of {', '.join(SHIPPED)}")
    kind = sniff(path)
    if kind not in _READERS:
        what = (
            "it holds labels without texts; import it into a corpus"
            if kind
            else f"in no format known here ({_FORMATS})"
        )
        raise UnreadableFile(f"{path.name}: {what}")
    return Loaded(*_READERS[kind](path, strict=strict))


def sniff(source: Source) -> str | None:
    """The format by its content: jsonl, wikiqa, trecqa, squad, qrels, csv, run, or None. Raises UnreadableFile."""
    text = read_text(source)
    first = text.lstrip().partition("\n")[0].strip()
    columns = first.split()
    if first.startswith("<QApairs"):
        return "trecqa"
    if first.split("\t")[0] == wikiqa.COLUMNS[0]:
        return "wikiqa"
    if first.startswith("{"):
        return (
            "jsonl" if '"candidates"' in first else "squad" if '"data"' in text[:200] or "paragraphs" in text else None
        )
    if first.lower().replace(" ", "") == "query,docid,rating":
        return "csv"
    if len(columns) == 4 and columns[3].lstrip("+-").isdecimal():
        return "qrels"
    return "run" if len(columns) == 6 and columns[3].isdecimal() else None


def apply_setting(questions: Iterable[Question], setting: str) -> list[Question]:
    """The questions a setting keeps (SETTINGS); only candidates labelled 0 or 1 count. Raises BadSetting."""
    if setting not in SETTINGS:
        raise BadSetting(f"no setting {setting!r}; known: {', '.join(SETTINGS)}")
    if setting == "raw":
        return list(questions)
    return [q for q in questions if q.positives and (q.negatives or setting == "no-all-neg")]
