"""QED (Lamm et al., 2021): Natural Questions with a paragraph, its sentences, and the one that explains the answer.

JSON lines. Of a question explained by one sentence, that sentence is correct; where the explanation needs several, the
one that holds the short answer is; where the annotators found no true answer, none is.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator

from as2core.data.source import MALFORMED, Report, Seen, Source, collect, given, reason_of, stream_lines
from as2core.types import Candidate, Question

KINDS = ("single_sentence", "multi_sentence", "none")


def read(source: Source, *, strict: bool = False) -> tuple[list[Question], Report]:
    """Questions of `qed-train.jsonlines` or `qed-dev.jsonlines`. Raises UnreadableFile."""
    return collect(stream, source, strict=strict)


def stream(source: Source, report: Report) -> Iterator[Question]:
    """The same, one in memory at a time, and eight bytes for each before; `kind` is the type of explanation."""
    seen = Seen()
    for number, line in stream_lines(source, report):
        try:
            question = _question(json.loads(line))
        except MALFORMED as error:
            report.add(number, f"not a QED example ({reason_of(error)})")
            continue
        if seen.first(question.qid):
            yield report.took(question)
        else:
            report.add(number, f"question {question.qid!r} stands twice")


def _question(record: dict) -> Question:
    paragraph, starts, annotation = record["paragraph_text"], record["sentence_starts"], record["annotation"]
    kind = annotation["explanation_type"]
    if kind not in KINDS:
        raise ValueError(f"explanation_type {kind!r} is not {', '.join(KINDS)}")
    if not starts or starts != sorted(starts):
        raise ValueError("sentence_starts are not in order")
    spans = {
        "single_sentence": lambda: [annotation["selected_sentence"]],
        "multi_sentence": lambda: list(_spans(record["original_nq_answers"])),
        "none": list,
    }[kind]()
    # A span's middle tells its sentence even where a start is off by the space before it.
    correct = {max(0, bisect_right(starts, (s["start"] + s["end"]) // 2) - 1) for s in spans}
    qid, title = given(record, "example_id"), record["title_text"]
    sentences = (paragraph[a:b].strip() for a, b in zip(starts, [*starts[1:], len(paragraph)], strict=True))
    candidates = (Candidate(f"{qid}-{i}", s, int(i in correct), title) for i, s in enumerate(sentences))
    return Question(qid, record["question_text"].strip(), tuple(candidates), kind)


def _spans(answers: list) -> Iterator[dict]:
    """An answer may be of several spans: a list of them."""
    for answer in answers:
        if isinstance(answer, list):
            yield from _spans(answer)
        else:
            yield answer
