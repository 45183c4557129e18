"""What the files of Prodigy, Label Studio and Argilla have in common: records, each a sentence with the labels that
people gave it for a question.

The question and the sentence are in fields of the record, by the names of `as2core.data.label_files.rows`, the
sentence's `title`, too. Optional fields `qid` and `docid` hold ids, as our exports write them; without them the ids are
digests of the texts. A label is a word or number that a table may have, too.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from as2core.data.label_files.rows import NAMES, find_name, join_rows, parse_label, sign_label
from as2core.data.source import Report, Row, check_characters, digest_id, group_rows, read_json, stream_lines
from as2core.errors import UnreadableFile
from as2core.sources.content import MALFORMED, Source, describe_problem, parse_json, read_bytes
from as2core.types import CORRECT, INCORRECT, Candidate, Question

ParseRecord = Callable[[dict, Report], Iterable[Row]]
Label = tuple[str, str]  # whose, "" where nothing says, and what it is called
SKIP = "skipped by the annotator"  # why an answer is no label


class OtherTask(ValueError):
    """A record of another task than labelling a sentence for a question, and how that is seen."""

    def __init__(self, sign: str) -> None:
        super().__init__(f"it is of another task than labelling a sentence for a question: {sign}")


@dataclass(frozen=True, slots=True)
class Predictions:
    """What a model says: question id -> the probability of each candidate to be correct. `threshold`: from which on
    the model takes it for correct."""

    model: str
    probabilities: Mapping[str, Sequence[float]]
    threshold: float = 0.5

    def get(self, question: Question, position: int) -> tuple[str, float] | None:
        """The label and the probability of a candidate; None for a question that is not among them."""
        if question.qid not in self.probabilities:
            return None
        value = float(self.probabilities[question.qid][position])
        return (CORRECT if value >= self.threshold else INCORRECT), round(value, 6)


def stream_questions(source: Source, report: Report, parse: ParseRecord) -> Iterator[Question]:
    """The questions of a JSON array of records, or of one record a line; a problem's number is the record's, or the
    line's. Raises UnreadableFile, also where the first record with an answer is of another task."""
    if read_bytes(source, 64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"["):
        records: Iterable[tuple[int, object]] = enumerate(read_json(source, _check_list, "a list", report), 1)
        rows = _parse_records(records, report, parse, "record")
    else:
        rows = _parse_records(stream_lines(source, report), report, parse, "line")
    return group_rows(join_rows(rows, report), report)


def _check_list(records: object) -> list:
    if not isinstance(records, list):
        raise ValueError("it has to be a list")
    return records


def _parse_records(
    records: Iterable[tuple[int, object]], report: Report, parse: ParseRecord, unit: str
) -> Iterator[tuple[int, Row]]:
    is_known = False  # as a file of labels
    for number, item in records:
        try:
            record = parse_json(item) if isinstance(item, str) and unit == "line" else item
            if not isinstance(record, dict):
                raise ValueError("not a JSON object")
            rows = [*parse(record, report)]
        except MALFORMED as error:
            if isinstance(error, OtherTask) and not is_known:
                raise UnreadableFile(f"{report.name}: {unit} {number}: {error}") from error
            is_odd = isinstance(error, AttributeError | TypeError)
            reason = "a field has another form than in this tool's files" if is_odd else describe_problem(error)
            report.add(number, reason, unit)
        else:
            is_known |= any(c.label is not None or c.annotations for _, _, c in rows)
            yield from ((number, row) for row in rows)


def make_rows(fields: Mapping[str, object], labels: Iterable[Label], report: Report) -> list[Row]:
    """A row for each label of the sentence in these fields; one without a label where there is none. Raises
    ValueError."""
    question, sentence = read_field(fields, "question"), read_field(fields, "sentence")
    qid = str(fields.get("qid") or digest_id("q", question))
    docid = str(fields.get("docid") or digest_id("s", sentence))
    plain = Candidate(docid, sentence, title=read_field(fields, "title", default=""))
    for name, text in {"question": question, "sentence": sentence, "title": plain.title, "qid": qid + docid}.items():
        check_characters(text, name)
    candidates = [_label(plain, name, word, report) for name, word in labels]
    return [(qid, question, c) for c in candidates or [plain]]


def _label(plain: Candidate, name: str, word: str, report: Report) -> Candidate:
    check_characters(name, "annotator")
    label = parse_label(word, report)
    if name:
        label = sign_label(label, name, word)
    return replace(plain, label=label.label, grade=label.grade, annotations=label.annotations)


def read_field(fields: Mapping[str, object], column: str, default: str | None = None) -> str:
    """The text of such a column. Raises ValueError where it is missing and has no default."""
    name = find_name(fields, column)
    text = fields[name] if name else None
    if isinstance(text, str) and text.strip():
        return text.strip()
    if default is not None:
        return default
    if name:
        raise ValueError(f"the {column} is empty or no text (field {name!r})")
    names = ", ".join(map(repr, fields)) or "none"
    raise ValueError(f"no {column}: it has to be in a field named {' or '.join(NAMES[column])}; the fields are {names}")


def choose_control(names: Iterable[str], what: str) -> str:
    """Which of the things that an annotator fills in is the label: the one that is called so, or else the only one.
    Raises ValueError."""
    names = sorted(set(names))
    if (name := find_name(dict.fromkeys(names), "label")) is not None:
        return name
    if len(names) != 1:
        raise ValueError(f"several {what} ({', '.join(names)}): name the label's {' or '.join(NAMES['label'])}")
    return names[0]


def write_array(records: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """The text of a JSON array, one record a line."""
    before = "[\n"
    for record in records:
        yield before + json.dumps(record, ensure_ascii=False)
        before = ",\n"
    yield "\n]\n" if before == ",\n" else "[]\n"


def list_labels(candidate: Candidate) -> list[Label]:
    """The labels of its annotators, or the one that nobody signed."""
    if candidate.annotations or candidate.label is None:
        return [*candidate.annotations]
    return [("", CORRECT if candidate.label else INCORRECT)]


def number_user(tool: str, user: object) -> str:
    """The name here of a tool's user of whom nothing but an id is known."""
    return f"{tool} user {user}"


def find_number(tool: str, name: str) -> str:
    """The id in such a name, "" in another one."""
    match = re.fullmatch(rf"{tool} user (\S+)", name)
    return match[1] if match else ""
