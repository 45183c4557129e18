"""QED (Lamm et al., 2021): Natural Questions with a paragraph, its sentences, and the one that explains the answer.

JSON lines. Of a question explained by one sentence, that sentence is correct; where the explanation needs several, the
one that holds the short answer is; where the annotators found no true answer, none is.
"""

from bisect import bisect_right
from collections.abc import Iterator

from as2core.data.source import Report, drop_repeats, stream_records, text_field
from as2core.sources.content import Source
from as2core.types import Candidate, Question

KINDS = ("single_sentence", "multi_sentence", "none")


def stream(source: Source, report: Report) -> Iterator[Question]:
    """Questions of `qed-<split>.jsonlines`, one in memory at a time; `kind` is the type of explanation."""
    return drop_repeats(stream_records(source, report, _parse, "not a QED example"), report)


def _parse(record: dict) -> Question:
    paragraph, starts, annotation = record["paragraph_text"], record["sentence_starts"], record["annotation"]
    kind = annotation["explanation_type"]
    if kind not in KINDS:
        raise ValueError(f"explanation_type {kind!r} is not {', '.join(KINDS)}")
    if not starts or starts != sorted(starts):
        raise ValueError("sentence_starts are not in order")
    spans: list[dict] = []
    if kind == "single_sentence":
        spans = [annotation["selected_sentence"]]
    elif kind == "multi_sentence":
        spans = list(_spans(record["original_nq_answers"]))
    # A span's middle tells its sentence even where a start is off by the space before it.
    correct = {max(0, bisect_right(starts, (s["start"] + s["end"]) // 2) - 1) for s in spans}
    qid, title = text_field(record, "example_id"), record["title_text"]
    sentences = (paragraph[a:b].strip() for a, b in zip(starts, [*starts[1:], len(paragraph)], strict=True))
    candidates = (Candidate(f"{qid}-{i}", s, int(i in correct), title) for i, s in enumerate(sentences))
    return Question(qid, record["question_text"].strip(), tuple(candidates), kind=kind)


def _spans(answers: list) -> Iterator[dict]:
    """An answer may be of several spans: a list of them."""
    for answer in answers:
        if isinstance(answer, list):
            yield from _spans(answer)
        else:
            yield answer
