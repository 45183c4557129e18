"""Training files for sentence-transformers: labelled pairs for a cross-encoder, triplets for an embedder, as JSONL.

`datasets.load_dataset("json", data_files=...)` reads them with the column names its losses expect. Read back, the
ids of questions and sentences are digests of their texts; a sentence that appears twice in a question keeps its two
labels in pairs, while triplets merge them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from as2core.data.source import Report, Source, digest_id, json_line, stream_records
from as2core.types import Candidate, Question

PAIR, TRIPLET = ("sentence1", "sentence2", "label"), ("anchor", "positive", "negative")
_JudgedRow = tuple[int, str, str, str, int]  # line, question, candidate id, sentence, label


def to_pair_lines(questions: Iterable[Question]) -> Iterator[str]:
    """`{"sentence1": question, "sentence2": sentence, "label": 1 or 0}` for every labelled candidate."""
    for q in questions:
        for c in q.candidates:
            if c.label is not None:
                yield json_line(dict(zip(PAIR, (q.text, c.text, c.label), strict=True)))


def to_triplet_lines(questions: Iterable[Question]) -> Iterator[str]:
    """`{"anchor": question, "positive": sentence, "negative": sentence}`, each correct one with each incorrect one."""
    for q in questions:
        for good in (c for c in q.candidates if c.label == 1):
            for bad in (c for c in q.candidates if c.label == 0):
                yield json_line(dict(zip(TRIPLET, (q.text, good.text, bad.text), strict=True)))


def stream_pairs(source: Source, report: Report) -> Iterator[Question]:
    """The questions of such pairs; a label above 0 is correct. Raises UnreadableFile."""
    return _group(_judge_pairs(source, report), report)


def stream_triplets(source: Source, report: Report) -> Iterator[Question]:
    """The questions of such triplets, a sentence where it first appears. Raises UnreadableFile."""
    return _group(_judge_triplets(source, report), report)


def _judge_pairs(source: Source, report: Report) -> Iterator[_JudgedRow]:
    def parse(record: dict) -> tuple[str, str, float]:
        question, sentence = _read_texts(record, PAIR[:2])
        label = record[PAIR[2]]
        if not isinstance(label, int | float) or label != label:
            raise ValueError(f"label {label!r} is no number")
        return question, sentence, label

    times: Counter[tuple[str, str]] = Counter()
    for number, (question, sentence, label) in stream_records(source, report, parse):
        times[question, sentence] += 1
        count = times[question, sentence]
        sentence_id = digest_id("s", sentence) + (f"-{count}" if count > 1 else "")
        yield number, question, sentence_id, sentence, int(label > 0)


def _judge_triplets(source: Source, report: Report) -> Iterator[_JudgedRow]:
    labels: dict[tuple[str, str], int] = {}
    for number, texts in stream_records(source, report, lambda record: _read_texts(record, TRIPLET)):
        question, positive, negative = texts
        rows = [((question, positive), 1), ((question, negative), 0)]
        if positive == negative or any(labels.get(key, label) != label for key, label in rows):
            report.add(number, "a sentence is both positive and negative for this anchor")
            continue
        for key, label in rows:
            if key not in labels:
                labels[key] = label
                yield number, question, digest_id("s", key[1]), key[1], label


def _read_texts(record: dict, names: Sequence[str]) -> list[str]:
    texts = [record[name] for name in names]
    for name, text in zip(names, texts, strict=True):
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"{name} must be a text")
    return texts


def _group(rows: Iterable[_JudgedRow], report: Report) -> Iterator[Question]:
    questions: dict[str, list[Candidate]] = {}
    for line, question, candidate, sentence, label in rows:
        questions.setdefault(question, []).append(Candidate(candidate, sentence, label))
        report.place(digest_id("q", question), candidate, line)
    for text, candidates in questions.items():
        yield Question(digest_id("q", text), text, tuple(candidates))
