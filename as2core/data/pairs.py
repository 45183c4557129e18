"""Training files for sentence-transformers: labelled pairs for a cross-encoder, triplets for an embedder, as JSONL.

`datasets.load_dataset("json", data_files=...)` reads them with the column names its losses expect. Read back, a
question and a sentence are known by their texts, and their ids are digests of these; a sentence that stands twice in a
question keeps its two labels in pairs, while triplets cannot tell them apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import blake2s

from as2core.data.csv_ratings import qid_of
from as2core.data.source import MALFORMED, Report, Source, reason_of, stream_lines
from as2core.types import Candidate, Question

PAIR, TRIPLET = ("sentence1", "sentence2", "label"), ("anchor", "positive", "negative")
Judged = tuple[int, str, str, str, int]  # line, question, candidate id, sentence, label


def dumps_pairs(questions: Iterable[Question]) -> str:
    """`{"sentence1": question, "sentence2": sentence, "label": 1 or 0}` for every judged candidate."""
    return _lines(
        {"sentence1": q.text, "sentence2": c.text, "label": c.label}
        for q in questions
        for c in q.candidates
        if c.label is not None
    )


def dumps_triplets(questions: Iterable[Question]) -> str:
    """`{"anchor": question, "positive": sentence, "negative": sentence}`, each correct one with each incorrect one."""
    return _lines(
        {"anchor": q.text, "positive": good.text, "negative": bad.text}
        for q in questions
        for good in q.candidates
        for bad in q.candidates
        if good.label == 1 and bad.label == 0
    )


def stream_pairs(source: Source, report: Report) -> Iterator[Question]:
    """What `dumps_pairs` wrote; a label above 0 is correct. Raises UnreadableFile."""
    return map(report.took, _questions(judged_pairs(source, report)))


def stream_triplets(source: Source, report: Report) -> Iterator[Question]:
    """What `dumps_triplets` wrote. Raises UnreadableFile."""
    return map(report.took, _questions(judged_triplets(source, report)))


def judged_pairs(source: Source, report: Report) -> Iterator[Judged]:
    """The labelled sentences, line by line."""
    times: dict[tuple[str, str], int] = {}
    for number, (question, sentence, label) in _records(source, report, PAIR):
        if not isinstance(label, int | float) or label != label:
            report.add(number, f"label {label!r} is no number")
            continue
        again = times[question, sentence] = times.get((question, sentence), 0) + 1
        yield number, question, _id(sentence) + (f"-{again}" if again > 1 else ""), sentence, int(label > 0)


def judged_triplets(source: Source, report: Report) -> Iterator[Judged]:
    """The labelled sentences, each where it first stands."""
    known: dict[tuple[str, str], int] = {}
    for number, (question, *sentences) in _records(source, report, TRIPLET):
        said = [(question, sentence) for sentence in sentences]
        if said[0] == said[1] or any(known.get(key, label) != label for key, label in zip(said, (1, 0), strict=True)):
            report.add(number, "a sentence is both positive and negative for this anchor")
            continue
        for key, label in zip(said, (1, 0), strict=True):
            if key not in known:
                known[key] = label
                yield number, question, _id(key[1]), key[1], label


def _records(source: Source, report: Report, names: tuple[str, str, str]) -> Iterator[tuple[int, list]]:
    for number, line in stream_lines(source, report):
        try:
            record = json.loads(line)
            fields = [record[name] for name in names]
            if not all(isinstance(f, str) and f.strip() for f in fields[:2]):
                raise ValueError(f"{names[0]} and {names[1]} must be texts")
            if names == TRIPLET and not (isinstance(fields[2], str) and fields[2].strip()):
                raise ValueError("negative must be a text")
        except MALFORMED as error:
            report.add(number, reason_of(error))
        else:
            yield number, fields


def _questions(judged: Iterable[Judged]) -> list[Question]:
    found: dict[str, list[Candidate]] = {}
    for _, question, candidate, sentence, label in judged:
        found.setdefault(question, []).append(Candidate(candidate, sentence, label))
    return [Question(qid_of(text), text, tuple(candidates)) for text, candidates in found.items()]


def _id(sentence: str) -> str:
    return "s-" + blake2s(sentence.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _lines(records: Iterable[dict]) -> str:
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)
