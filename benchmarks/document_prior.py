"""What it brings that sentences of documents that the search ranks high have better odds: `app.ranking.document_prior`.

    python benchmarks/document_prior.py             ten minutes on two cores; writes docs/techniques/document-prior.md
    python benchmarks/document_prior.py --limit 10  a quick check; writes nothing

Questions are asked of a whole corpus, as on Ask: the shipped corpora, and the sentences of WikiQA's files, each file a
corpus of its own. The shipped cascade reads the 100 sentences that the first stage keeps, and the prior is added to its
logits. A correct sentence that is not among them counts as missed. The weight has the best mean AP over the
first three sets. The kind of prior was chosen by all but the last, which was measured afterwards.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _cells import describe, mean
from _corpora import open_labels, open_shipped, retrieve_sentences, with_labels
from _texts import DATA, require_files

from app.corpora.corpora import CorpusView
from app.ranking.document_prior import WEIGHT, weigh_documents
from app.ranking.first_stage import make_first_stage
from app.ranking.scoring import as_candidates, rank
from app.versions import loading
from app.workbench.workbench import Workbench
from as2core.data.catalog import load_questions
from as2core.experiments.base import table, write_section
from as2core.metrics import measure_each
from as2core.types import Question

PAGE = Path(__file__).resolve().parents[1] / "docs" / "techniques" / "document-prior.md"
WIKIQA = {"WikiQA train": "wikiqa/WikiQA-train.tsv", "WikiQA dev": "wikiqa/WikiQA-dev.tsv"}
SETS = ("WikiQA train", "handbook-train", "starter-dev", "handbook-test", "starter-test", "WikiQA dev")
MOST_QUESTIONS = 300  # of a set
WEIGHTS = (0.25, WEIGHT, 1.0, 2.0)
MEASURES = ("P@1", "AP")


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """`question` has what was read, and at the end the correct sentences that were not. `logits` of what was read, at
    the last exit, and its `log_ranks`: float `(n,)`."""

    question: Question
    logits: np.ndarray
    log_ranks: np.ndarray

    def score(self, weight: float) -> np.ndarray:
        scores = self.logits - weight * self.log_ranks
        missed = len(self.question.candidates) - len(scores)
        return np.concatenate([scores, np.full(missed, scores.min() - 1)])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--limit", type=int, help="questions of a set")
    limit = options.parse_args().limit
    require_files(*WIKIQA.values())
    heads = ("questions", "n", "measure", "without", *(f"weight {w:g}" for w in WEIGHTS))
    rows = [row for name in SETS for row in make_rows(name, [*ask_set(name, limit)])]
    text = table("`python benchmarks/document_prior.py`, differences with intervals of 95 %:", heads, rows)
    print(text)
    if limit is None:
        write_section(PAGE, "document prior", text)


def ask_set(name: str, limit: int | None) -> Iterator[AskedQuestion]:
    file = DATA / WIKIQA[name] if name in WIKIQA else name
    questions = [q for q in load_questions(file).questions if q.positives]
    sample = random.Random(0).sample(questions, min(len(questions), limit or MOST_QUESTIONS))
    opened: AbstractContextManager[tuple[Workbench, CorpusView]]
    opened = open_labels(Path(file)) if name in WIKIQA else open_shipped(name.partition("-")[0])
    with opened as (wb, corpus):
        version = loading.load_version(wb)
        for q in sample:
            sentences = retrieve_sentences(wb, corpus, q.text)
            first = make_first_stage(sentences, wb.settings.first_keep)
            last = rank(version, q.text, as_candidates(sentences), first).trace.exits[-1]
            read = [sentences[i] for i in last.alive]
            question = with_labels(q, as_candidates(read), [s.text for s in read])
            yield AskedQuestion(question, last.scores.astype(float), -weigh_documents(read, 1.0).astype(float))


def make_rows(name: str, questions: Sequence[AskedQuestion]) -> Iterator[tuple[str, ...]]:
    def measure(weight: float) -> dict[str, dict[str, float]]:
        scores = {q.question.qid: q.score(weight) for q in questions}
        return measure_each([q.question for q in questions], scores, MEASURES)

    before, after = measure(0.0), [measure(weight) for weight in WEIGHTS]
    for measure_name in MEASURES:
        values = before[measure_name]
        cells = (describe(x[measure_name], values) for x in after)
        yield name, f"{len(questions)}", measure_name, f"{mean(values):.3f}", *cells


if __name__ == "__main__":
    main()
