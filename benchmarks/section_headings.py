"""What it brings to read each sentence after its section's heading, on four manuals.

    apt-get install debian-faq git-doc postgresql-doc-15 debian-handbook   # of Debian 12
    python benchmarks/section_headings.py          prints the table and writes it to docs/results.md; 10 minutes
    python benchmarks/section_headings.py --tiny   a few questions, to see that it runs; writes nothing

The 140 questions in section_headings.json were written for sentences drawn at random, 35 for each manual, as somebody
would type them who does not know it. The four best sentences by each of four ways to read headings were judged without
their scores; a sentence is named by a digest of its text. All others count as incorrect. Each question's candidates are
the first 100 sentences of the passages that a search by words finds. "Another heading" is one of the same manual, drawn
at random: what it brings is not owed to the heading. The manuals are read from AS2_BENCH_MANUALS, or /usr/share/doc.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2s
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from as2core.data.documents import read_documents
from as2core.evaluation import Evaluation, evaluate, paired_test
from as2core.experiments.base import write_section
from as2core.experiments.cells import describe_code
from as2core.rankers.base import Ranker
from as2core.rankers.catalog import get
from as2core.retrieval.passages import split_passages
from as2core.retrieval.sqlite import SqliteIndex
from as2core.text import split_document
from as2core.types import Candidate, Document, Question, Sentence

LABELS = Path(__file__).with_suffix(".json")
MANUALS = Path(os.environ.get("AS2_BENCH_MANUALS", "/usr/share/doc"))
RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results.md"
CASCADE = "cascade:drop_ratio=0"
CANDIDATES = 100
TIMED_QUESTIONS, REPEATS = 20, 5

Score = Callable[[str, Sequence[Candidate]], np.ndarray]
Pages = Mapping[str, tuple[Document, list[Sentence]]]  # by id


class Reading:
    """A ranker by what stands before each sentence."""

    name = "cascade"

    def __init__(self, score: Score) -> None:
        self.score = score


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    tiny = parser.parse_args().tiny
    record = json.loads(LABELS.read_text())
    questions: dict[str, list[Question]] = {}
    recalls: list[tuple[float, float]] = []
    headings: list[str] = []
    for name, files in record["manuals"].items():
        pages = read_pages(files)
        headings += sorted({s.heading for _, sentences in pages.values() for s in sentences if s.heading})
        own = [q for q in record["questions"] if q["manual"] == name][: 3 if tiny else None]
        questions[name], recall = find_candidates(pages, own)
        recalls += recall
    ways = make_ways(get(CASCADE), headings)
    results = {w: {n: evaluate(way, qs) for n, qs in questions.items()} for w, way in ways.items()}
    answerable = sum(bool(q.positives) for qs in questions.values() for q in qs)
    lines = [
        "## Each sentence read after its section's heading",
        "",
        "Printed and written by `python benchmarks/section_headings.py`, which says how. Of the code of "
        f"{describe_code()}. AP by manual of the {answerable} questions of {len(recalls)} that have a correct candidate; "
        "differences from the title alone, over all, with their 95 % intervals over questions.",
        "",
        f"| read before the sentence | {' | '.join(questions)} | all | AP, difference | P@1, difference |",
        "|---" * (len(questions) + 4) + "|",
        *(make_row(way, results[way], results["title"]) for way in ways),
        "",
        describe_recall(recalls),
        "",
        describe_time(ways, [q for qs in questions.values() for q in qs], 1 if tiny else REPEATS),
        "",
    ]
    text = "\n".join(lines)
    print(text, flush=True)
    if not tiny:
        write_section(RESULTS, "section-headings", text)


def read_pages(files: Sequence[str]) -> Pages:
    if missing := [str(MANUALS / f) for f in files if not (MANUALS / f).exists()]:
        raise SystemExit(f"not at hand: {missing[0]} and {len(missing) - 1} more; install the packages named in --help")
    documents = (d for f in files for d in read_documents(MANUALS / f))
    return {d.id: (d, split_document(d)) for d in documents}


def find_candidates(
    pages: Pages, records: Sequence[Mapping[str, object]]
) -> tuple[list[Question], list[tuple[float, float]]]:
    """The questions with the candidates of an index that has headings; and of each the share of its correct sentences
    among these, without headings in the index and with them."""
    bare = {i: (d, [replace(s, heading="") for s in sentences]) for i, (d, sentences) in pages.items()}
    questions, recalls = [], []
    with TemporaryDirectory() as folder:
        indexes = [(p, make_index(Path(folder) / f"{i}.db", p)) for i, p in enumerate((bare, pages))]
        for i, record in enumerate(records):
            correct, text = set(record["correct"]), str(record["question"])
            found = [search(p, index, text) for p, index in indexes]
            shares = [len(correct & {digest(s.text) for _, s in sentences}) / len(correct) for sentences in found]
            candidates = tuple(
                Candidate(str(n), s.text, int(digest(s.text) in correct), d.title, heading=s.heading)
                for n, (d, s) in enumerate(found[1])
            )
            questions.append(Question(f"{record['manual']}-{i}", text, candidates))
            recalls.append((shares[0], shares[1]))
        for _, index in indexes:
            index.close()
    return questions, recalls


def make_index(path: Path, pages: Pages) -> SqliteIndex:
    index = SqliteIndex(path)
    index.upsert_docs([(i, split_passages(i, sentences, title=d.title)) for i, (d, sentences) in pages.items()])
    return index


def search(pages: Pages, index: SqliteIndex, question: str) -> list[tuple[Document, Sentence]]:
    places: dict[tuple[str, int], None] = {}
    for hit in index.search_words(question, CANDIDATES):
        first = int(hit.passage_id.rsplit(":", 2)[1])
        places |= dict.fromkeys((hit.doc_id, p) for p in range(first, first + 5) if p < len(pages[hit.doc_id][1]))
    return [(pages[i][0], pages[i][1][p]) for i, p in list(places)[:CANDIDATES]]


def digest(text: str) -> str:
    return blake2s("".join(text.split()).encode(), digest_size=6).hexdigest()


def make_ways(cascade: Ranker, headings: Sequence[str]) -> dict[str, Reading]:
    scores: dict[tuple[str, str], float] = {}

    def score(question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        """Each text once."""
        new = [c for c in candidates if (question, c.titled_text) not in scores]
        for c, value in zip(new, cascade.score(question, new), strict=True):
            scores[question, c.titled_text] = float(value)
        return np.array([scores[question, c.titled_text] for c in candidates], np.float32)

    def read_title(question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        return score(question, [replace(c, heading="") for c in candidates])

    def read_other(question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        draws = random.Random(question)
        names = {c.heading: draws.choice(headings) for c in candidates}
        return score(question, [replace(c, heading=names[c.heading] if c.heading else "") for c in candidates])

    def read_twice(question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        return (read_title(question, candidates) + score(question, candidates)) / 2

    ways = {"title": read_title, "title and heading": score, "title and another heading": read_other}
    return {name: Reading(way) for name, way in ways.items()} | {"mean of the first two": Reading(read_twice)}


def make_row(way: str, by_manual: Mapping[str, Evaluation], base: Mapping[str, Evaluation]) -> str:
    def differ(measure: str) -> str:
        test = paired_test(join(by_manual, measure), join(base, measure))
        return f"{test.difference:+.3f} ({test.low:+.3f} to {test.high:+.3f})"

    means = [e.metrics["AP"] for e in by_manual.values()]
    means.append(float(np.mean(list(join(by_manual, "AP").values()))))
    differences = ["", ""] if by_manual is base else [differ("AP"), differ("P@1")]
    return f"| {' | '.join([way, *(f'{x:.3f}' for x in means), *differences])} |"


def join(by_manual: Mapping[str, Evaluation], measure: str) -> dict[str, float]:
    """Its value of each question of all manuals."""
    return {qid: value for e in by_manual.values() for qid, value in e.per_question[measure].items()}


def describe_recall(recalls: Sequence[tuple[float, float]]) -> str:
    bare, full = np.array(recalls).T
    test = paired_test(*({str(i): float(x) for i, x in enumerate(shares)} for shares in (full, bare)))
    return (
        f"Of the correct sentences, {full.mean():.1%} are among the {CANDIDATES} candidates where the passages of the "
        f"index have headings, and {bare.mean():.1%} where they have none ({test.difference:+.3f}, {test.low:+.3f} to "
        f"{test.high:+.3f})."
    ).replace("%", " %")


def describe_time(ways: Mapping[str, Reading], questions: Sequence[Question], repeats: int) -> str:
    cascade = get(CASCADE)
    ratios = []
    for q in questions[:: max(1, len(questions) // TIMED_QUESTIONS)] * repeats:
        seconds = []
        for candidates in ([replace(c, heading="") for c in q.candidates], q.candidates):
            started = time.perf_counter()
            cascade.score(q.text, candidates)
            seconds.append(time.perf_counter() - started)
        ratios.append(seconds[1] / seconds[0])
    return (
        f"Headings make a question take {median(ratios):.2f} times as long (median of {len(ratios)} interleaved pairs)."
    )


if __name__ == "__main__":
    main()
