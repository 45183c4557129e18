"""Training files for sentence-transformers: labelled pairs for a cross-encoder, triplets for an embedder, as JSONL.

`datasets.load_dataset("json", data_files=...)` reads them with the column names its losses expect. Read back, the
ids of questions and sentences are digests of their texts; a sentence that appears twice in a question keeps its two
labels in pairs, while triplets merge them. Candidates without a text, and questions without one, are not written.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from as2core.data.source import Report, Row, digest_id, group_rows, iterate_labels, json_line, stream_records
from as2core.sources.content import Source
from as2core.types import Candidate, Question

PAIR, TRIPLET = ("sentence1", "sentence2", "label"), ("anchor", "positive", "negative")


def has_texts(question: Question, candidate: Candidate) -> bool:
    """Whether a line can hold them both."""
    return bool(question.text.strip() and candidate.text.strip())


def to_pair_lines(questions: Iterable[Question]) -> Iterator[str]:
    """`{"sentence1": question, "sentence2": sentence, "label": 1 or 0}` for every labelled candidate."""
    for q, c in iterate_labels(questions):
        if has_texts(q, c):
            yield json_line(dict(zip(PAIR, (q.text, c.text, c.label), strict=True)))


def to_triplet_lines(questions: Iterable[Question]) -> Iterator[str]:
    """`{"anchor": question, "positive": sentence, "negative": sentence}`, each correct one with each incorrect one."""
    for q in questions:
        candidates = [c for c in q.candidates if has_texts(q, c)]
        for good in (c for c in candidates if c.label == 1):
            for bad in (c for c in candidates if c.label == 0):
                yield json_line(dict(zip(TRIPLET, (q.text, good.text, bad.text), strict=True)))


def stream_pairs(source: Source, report: Report) -> Iterator[Question]:
    """The questions of such pairs; a label above 0 is correct."""
    times: Counter[tuple[str, str]] = Counter()

    def parse(record: dict) -> Row:
        question, sentence = _read_texts(record, PAIR[:2])
        label = record[PAIR[2]]
        if not isinstance(label, int | float) or label != label:
            raise ValueError(f"label {label!r} is no number")
        times[question, sentence] += 1
        count = times[question, sentence]
        sentence_id = digest_id("s", sentence) + (f"-{count}" if count > 1 else "")
        return digest_id("q", question), question, Candidate(sentence_id, sentence, int(label > 0))

    return group_rows(stream_records(source, report, parse), report)


def stream_triplets(source: Source, report: Report) -> Iterator[Question]:
    """The questions of such triplets, a sentence where it first appears."""
    return group_rows(_judge_triplets(source, report), report)


def _judge_triplets(source: Source, report: Report) -> Iterator[tuple[int, Row]]:
    labels: dict[tuple[str, str], int] = {}
    for number, texts in stream_records(source, report, lambda record: _read_texts(record, TRIPLET)):
        anchor, positive, negative = texts
        rows = [((anchor, positive), 1), ((anchor, negative), 0)]
        if positive == negative or any(labels.get(key, label) != label for key, label in rows):
            report.add(number, "a sentence is both positive and negative for this anchor")
            continue
        for key, label in rows:
            if key not in labels:
                labels[key] = label
                yield number, (digest_id("q", anchor), anchor, Candidate(digest_id("s", key[1]), key[1], label))


def _read_texts(record: dict, names: Sequence[str]) -> list[str]:
    texts = [record[name] for name in names]
    for name, text in zip(names, texts, strict=True):
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"{name} must be a text")
    return texts
