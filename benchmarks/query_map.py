"""Whether search by meaning can learn from labels, as the ranker does: a linear map of question vectors.

    python benchmarks/query_map.py             three seeds: some twenty minutes on two cores
    python benchmarks/query_map.py --write     writes the table to docs/results.md

Nothing in the program uses it. One correct sentence each of 100 of `handbook-train` is labelled. The questions' vectors
x become x + xW, so that the labelled sentence comes first among all sentences of the handbook by cosine: the listwise
loss over them at temperature TEMPERATURE, with the squared norm of W as a penalty. The documents' vectors stay. The
questions of `handbook-test`, about other documents, are then asked of the whole handbook as on Ask: how often a correct
sentence is among the 100 that the cascade reads, and how it ranks them: the shipped one, and one that was retrained on
the same labels.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from _corpora import open_shipped, retrieve_sentences
from _recipes import retrain
from handbook import AskedQuestion, PriorRanker, choose_candidates, keep_one_label, measure
from torch.nn.functional import log_softmax, normalize

from app.corpora.corpora import CorpusView
from app.workbench.workbench import Workbench
from as2core.data.catalog import load_questions
from as2core.evaluation.rankers import Evaluation
from as2core.experiments.base import write_section
from as2core.metrics import paired_test
from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.types import Question

LABELS = 100
TEMPERATURE, PENALTY, STEPS, RATE = 0.05, 0.01, 60, 3e-3
RESULTS = Path(__file__).parents[1] / "docs" / "results.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="write the table to docs/results.md")
    options = parser.parse_args()
    train, test = ([q for q in load_questions(f"handbook-{p}").questions if q.positives] for p in ("train", "test"))
    lines = [
        "| seed | cascade | search | a correct sentence is read | AP | difference from the plain search |",
        "|---|---|---|---|---|---|",
    ]
    for seed in range(options.seeds):
        lines += compare(train, test, seed)
        sys.stdout.write("\n".join(lines[-4:]) + "\n")
        sys.stdout.flush()
    if options.write:
        head = f"Printed and written by `python benchmarks/query_map.py`: {len(test)} test questions, {LABELS} labels."
        write_section(RESULTS, "query-map", "\n".join([head, "", *lines]))


def compare(train: Sequence[Question], test: Sequence[Question], seed: int) -> list[str]:
    """The rows of a seed."""
    encoder, shipped = get("bi-encoder"), get("cascade")
    assert isinstance(encoder, BiEncoderRanker) and isinstance(shipped, CascadeRanker)
    texts = [*dict.fromkeys(c.titled_text for q in [*train, *test] for c in q.candidates)]
    sample = [keep_one_label(q) for q in random.Random(seed).sample(train, LABELS)]
    x = torch.from_numpy(encoder.embed([q.text for q in sample]))
    weights = fit_map(sample, x, texts, torch.from_numpy(encoder.embed(texts)))
    rows = []
    with tempfile.TemporaryDirectory() as folder, open_shipped("handbook") as (wb, corpus):
        retrained = retrain(shipped, sample, "now", seed, Path(folder))
        retrained.use("auto", folder=Path(folder) / "graphs")
        plain = ask(wb, corpus, test)
        with map_questions(wb, weights):
            mapped = ask(wb, corpus, test)
        for name, cascade in (("shipped", shipped), ("retrained", retrained)):
            before, after = rank(plain, cascade), rank(mapped, cascade)
            rows += [
                describe(seed, name, "plain", plain, before, None),
                describe(seed, name, "map", mapped, after, before),
            ]
    return rows


def fit_map(questions: Sequence[Question], x: torch.Tensor, texts: Sequence[str], vectors: torch.Tensor) -> np.ndarray:
    """W `(hidden, hidden)`, of the questions' vectors `x` `(n, hidden)` and those of all `texts` `(m, hidden)`."""
    places = {text: i for i, text in enumerate(texts)}
    first = torch.tensor([next(places[c.titled_text] for c in q.candidates if c.label == 1) for q in questions])
    weights = torch.zeros(x.shape[1], x.shape[1], requires_grad=True)
    optimizer = torch.optim.Adam([weights], lr=RATE)
    for _ in range(STEPS):
        logits = normalize(x + x @ weights, dim=1) @ vectors.T / TEMPERATURE
        loss = -log_softmax(logits, dim=1)[torch.arange(len(first)), first].mean() + PENALTY * weights.square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return weights.detach().numpy()


@contextmanager
def map_questions(wb: Workbench, weights: np.ndarray) -> Iterator[None]:
    """Meanwhile, the search embeds questions with the map."""
    embedder = wb.models.embedder()
    embed: Callable[[str], np.ndarray] = embedder.embed_question

    def embed_question(question: str) -> np.ndarray:
        x = embed(question)
        x = x + x @ weights
        return (x / np.linalg.norm(x)).astype(np.float32)

    embedder.embed_question = embed_question  # type: ignore[method-assign]
    try:
        yield
    finally:
        embedder.embed_question = embed  # type: ignore[method-assign]


def ask(wb: Workbench, corpus: CorpusView, questions: Sequence[Question]) -> list[AskedQuestion]:
    keep = wb.settings.first_keep
    return [choose_candidates(q, retrieve_sentences(wb, corpus, q.text), keep) for q in questions]


def rank(asked: Sequence[AskedQuestion], cascade: CascadeRanker) -> Evaluation:
    ranker = PriorRanker(cascade, {a.question.text: a.prior for a in asked})
    return measure(ranker, [a.question for a in asked])


def describe(
    seed: int, cascade: str, search: str, asked: Sequence[AskedQuestion], now: Evaluation, then: Evaluation | None
) -> str:
    share = np.mean([a.question.positives > 0 for a in asked])
    cells = [str(seed), cascade, search, f"{share:.3f}", f"{now.metrics['AP']:.3f}", ""]
    if then is not None:
        test = paired_test(now.per_question["AP"], then.per_question["AP"])
        cells[-1] = f"{test.difference:+.3f} ({test.low:+.3f} to {test.high:+.3f})"
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
