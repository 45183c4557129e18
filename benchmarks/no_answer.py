"""How often "No answer found" is right: the rule of Ask, on questions with an answer and on questions without one.

    python benchmarks/no_answer.py             prints the table and writes it to docs/models.md: some minutes
    python benchmarks/no_answer.py --limit 10  a quick check; writes nothing

None of these questions was trained on. The starter questions of dev and test are asked of the whole starter corpus, as
they are and without their correct sentences; beside them stand those that were written without an answer. SQuAD's are
about the recipe's dev articles: a question's list is its paragraph and sentences from other paragraphs of the article,
with its correct sentences and without. WikiQA's train part is as it is: most of its questions have no answer. Beside
the rule, the area under the ROC curve says how far the best candidate's logit alone tells the two kinds apart.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from _scores import score_by_last_exit
from _texts import DATA, require_files
from answer_probability import ask_questions, auc

from app.ask.answer_rule import rate_logits
from as2core.data.catalog import load_questions
from as2core.experiments.base import table, write_section
from as2core.metrics import wilson_interval
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.training.recipe_data import read_dev_articles
from as2core.training.recipes import RECIPES
from as2core.types import Question

PAGE = Path(__file__).resolve().parents[1] / "docs" / "models.md"
QUESTIONS_PER_ARTICLE, OTHER_SENTENCES = 15, 40
MIN_CANDIDATES = 5  # of a list
Lists = list[np.ndarray]  # the logits of each question's candidates
COLUMNS = ("questions", "with an answer", "says so", "without", "says so", "balanced accuracy", "AUC of the best logit")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--limit", type=int, help="questions of each kind")
    limit = options.parse_args().limit
    require_files("squad/train-v1.1.json.gz", "wikiqa/WikiQA-train.tsv")
    ranker = get("cascade")
    assert isinstance(ranker, CascadeRanker)
    text = table("", COLUMNS, list(make_rows(ranker, limit))).strip()
    print(text)
    if limit is None:
        write_section(PAGE, "no answer", text)


def make_rows(ranker: CascadeRanker, limit: int | None) -> Iterator[tuple[str, ...]]:
    def describe(name: str, answerable: Lists, others: Lists) -> tuple[str, ...]:
        hits, rejections = sum(finds_answer(x) for x in answerable), sum(not finds_answer(x) for x in others)
        best = np.array([x.max() for x in (*answerable, *others)])
        right = np.arange(len(best)) < len(answerable)
        accuracy = (hits / len(answerable) + rejections / len(others)) / 2
        yes, no = describe_share(hits, len(answerable)), describe_share(rejections, len(others))
        return name, str(len(answerable)), yes, str(len(others)), no, f"{accuracy:.2f}", f"{auc(best, right):.2f}"

    def finds_answer(logits: np.ndarray) -> bool:
        return bool(rate_logits(ranker, logits, ranker.probability(logits))[1].any())

    questions = ask_questions(limit)
    pairs = [(q.logits, q.logits[~q.right]) for q in questions if q.right.any()]
    whole, without = [list(part) for part in zip(*pairs, strict=True)]
    yield describe("starter, its correct sentences taken away", whole, without)
    answerless = [q.logits for q in questions if not q.has_answer]
    if answerless:
        yield describe("starter, written without an answer", [q.logits for q in questions if q.has_answer], answerless)
    yield describe("SQuAD, its correct sentences taken away", *score_squad(ranker, limit))
    yield describe("WikiQA train, as it is", *score_wikiqa(ranker, limit))


def describe_share(count: int, n: int) -> str:
    low, high = wilson_interval(count, n)
    return f"{count / n:.0%} ({low:.0%} to {high:.0%})"


def score_squad(ranker: CascadeRanker, limit: int | None) -> tuple[Lists, Lists]:
    questions = list(draw_squad())[:limit]
    scores = score_by_last_exit(ranker, questions)
    right = {q.qid: np.array([c.label == 1 for c in q.candidates]) for q in questions}
    return [scores[q.qid] for q in questions], [scores[q.qid][~right[q.qid]] for q in questions]


def draw_squad(seed: int = 1) -> Iterator[Question]:
    rng = random.Random(seed)
    for article in read_dev_articles(RECIPES["default"], DATA):
        sentences = list({c.text: c for q in article for c in q.candidates}.values())
        answered = [q for q in article if q.positives]
        for q in rng.sample(answered, min(QUESTIONS_PER_ARTICLE, len(answered))):
            own = {c.text for c in q.candidates}
            others = [replace(c, label=0) for c in sentences if c.text not in own]
            yield replace(q, candidates=(*q.candidates, *rng.sample(others, min(OTHER_SENTENCES, len(others)))))


def score_wikiqa(ranker: CascadeRanker, limit: int | None) -> tuple[Lists, Lists]:
    questions = load_questions(str(DATA / "wikiqa" / "WikiQA-train.tsv")).questions
    questions = [q for q in questions if len(q.candidates) >= MIN_CANDIDATES]
    halves = [q for q in questions if q.positives][:limit], [q for q in questions if not q.positives][:limit]
    scores = score_by_last_exit(ranker, [q for half in halves for q in half])
    answerable, others = ([scores[q.qid] for q in half] for half in halves)
    return answerable, others


if __name__ == "__main__":
    main()
