"""SelQA, answer sentence selection (Jurczyk, Zhai and Choi, 2016): `selqa-ass-<split>.json`, or `.tsv` / `.txt`.

The JSON is a list of `{"question", "article", "candidates": [sentence], "answers": [place of a correct one], ...}`;
the TSV has tokenised rows of question, sentence, label 0 or 1. A question's first type is its `kind`. Empty sentences
are kept: the published counts have them.
"""

from collections.abc import Iterator
from pathlib import Path

from as2core.data import asnq
from as2core.data.source import Report, parse_each, read_json
from as2core.sources.content import Source
from as2core.types import Candidate, Question

_LABELS = {"0": (0, None), "1": (1, None)}


def stream(source: Source, report: Report) -> Iterator[Question]:
    """Questions of the JSON, with ids such as `selqa-ass-dev-0` (file, place). A problem's number is the question's."""
    records = read_json(source, _check_list, "SelQA's JSON", report)
    stem = "selqa" if isinstance(source, bytes) else Path(source).name.partition(".")[0]

    def parse(item: tuple[int, dict]) -> Question:
        i, record = item
        sentences, answers, article = record["candidates"], record["answers"], record["article"]
        if not all(isinstance(s, str) for s in [record["question"], article, *sentences]):
            raise ValueError("a text is not a string")
        if wrong := [a for a in answers if not isinstance(a, int) or not 0 <= a < len(sentences)]:
            raise ValueError(f"answer {wrong[0]} is not among its {len(sentences)} candidates")
        candidates = (Candidate(f"{i}-{j}", s, int(j in answers), article) for j, s in enumerate(sentences))
        kind = (record.get("q_types") or [""])[0]
        return Question(f"{stem}-{i}", record["question"], tuple(candidates), kind=kind)

    for _, question in parse_each(enumerate(enumerate(records), 1), parse, report, unit="question"):
        yield question


def _check_list(records: object) -> list:
    if not isinstance(records, list):
        raise ValueError("it has to be a list of questions")
    return records


def stream_tsv(source: Source, report: Report) -> Iterator[Question]:
    """Questions of the tokenised rows, which have ASNQ's form."""
    return asnq.stream(source, report, _LABELS)
