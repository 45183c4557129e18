"""What labels bring on the handbook corpus, whose words the shipped model cannot know, and what they make it forget.

    python benchmarks/handbook.py                     100 train questions, one seed: some minutes on two cores
    python benchmarks/handbook.py --questions 20 --seeds 3
    python benchmarks/handbook.py --recipes now one-by-one     two recipes, compared
    python benchmarks/handbook.py --questions 0 --synonyms     what synonyms bring without a label: two minutes
    python benchmarks/handbook.py --whole-corpus               the questions asked of the whole corpus, too

Of some of `handbook-train` one correct sentence each is labelled, as on the tour, and the shipped cascade learns from
them with a retrain's settings, without validation questions. It is measured before and after on `handbook-test`, whose
documents no train question is about, on the train questions that it did not learn from, which are about the same
documents, and on `starter-test`, which it knew. Prints P@1 and AP with the paired tests. With --synonyms, the questions
about the handbook are read with `corpora/handbook/synonyms.txt` in training and measuring, and what that alone brings
is printed first. With --whole-corpus, the questions are also measured on the 100 sentences that the app has the cascade
read, of all documents instead of three, with the prior of their documents' ranks; a question without a correct sentence
among them counts as missed.

The recipes are those of `_recipes.py`.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from _corpora import open_shipped, retrieve_sentences
from _recipes import RECIPES, retrain

from app.ranking.document_prior import weigh_documents
from app.ranking.first_stage import FirstStageRanker
from app.ranking.retrieval import RetrievedSentence
from app.ranking.scoring import as_candidates
from as2core.data.catalog import load_questions
from as2core.evaluation.rankers import Evaluation, evaluate
from as2core.metrics import order, paired_test
from as2core.questions.synonyms import Synonyms
from as2core.rankers.base import Ranker
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.types import Candidate, Question

WHOLE_CORPUS = "of the whole corpus"
SYNONYMS = Path(__file__).parents[1] / "corpora" / "handbook" / "synonyms.txt"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--questions", type=int, default=100, help="train questions with one label each")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--recipes", nargs="+", choices=[*RECIPES], default=["now"])
    parser.add_argument("--synonyms", action="store_true", help="read the questions with the handbook's synonyms")
    parser.add_argument("--whole-corpus", action="store_true", help="ask the questions of the whole corpus, too")
    arguments = parser.parse_args()
    train, test, frozen = (
        load_questions(name).questions for name in ("handbook-train", "handbook-test", "starter-test")
    )
    train = [q for q in train if q.positives]
    base = get("cascade")
    assert isinstance(base, CascadeRanker)
    if arguments.synonyms:
        typed, synonyms = [*test, *train], Synonyms.read(SYNONYMS)
        test, train = synonyms.expand_all(test), [*synonyms.expand_all(train)]
        changed = sum(a.text != b.text for a, b in zip(typed, [*test, *train], strict=True))
        title = f"{len(synonyms.words)} synonyms, {changed} of the questions have one; all"
        report(title, evaluate(base, typed), evaluate(base, [*test, *train]))
    if not arguments.questions:
        return
    whole = {"other documents": test, "starter-test": [q for q in frozen if q.positives]}
    of_corpus = ask_corpus([*test, *train]) if arguments.whole_corpus else {}
    priors = {q.question.text: q.prior for q in of_corpus.values()}
    for seed in range(arguments.seeds):
        sample = random.Random(seed).sample(train, min(arguments.questions, len(train)))
        ids = {q.qid for q in sample}
        parts = {**whole, "the same documents": [q for q in train if q.qid not in ids]}
        if of_corpus:
            for name in ("other documents", "the same documents"):
                parts[f"{name}, {WHOLE_CORPUS}"] = [of_corpus[q.qid].question for q in parts[name]]
        before = {name: measure(use_on(name, base, priors), questions) for name, questions in parts.items()}
        for recipe in arguments.recipes:
            with tempfile.TemporaryDirectory() as folder:
                ranker = retrain(base, [keep_one_label(q) for q in sample], recipe, seed, Path(folder))
                ranker.use("auto", folder=Path(folder) / "graphs")
                for name, questions in parts.items():
                    title = f"{recipe}, {len(sample)} questions, seed {seed}; {name}"
                    report(title, before[name], measure(use_on(name, ranker, priors), questions))


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """With what the first stage keeps of the whole corpus, labelled as in the question's own list. `prior`: `(n,)`."""

    question: Question
    prior: np.ndarray


class PriorRanker:
    """A cascade on Ask. `priors`: of each question's candidates, by its text."""

    def __init__(self, cascade: CascadeRanker, priors: Mapping[str, np.ndarray]) -> None:
        self.name, self._cascade, self._priors = cascade.name, cascade, priors

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        return self._cascade.trace(question, candidates, prior=self._priors[question]).scores()


def use_on(part: str, cascade: CascadeRanker, priors: Mapping[str, np.ndarray]) -> Ranker:
    """The ranker of a part of the questions."""
    return PriorRanker(cascade, priors) if part.endswith(WHOLE_CORPUS) else cascade


def ask_corpus(questions: Sequence[Question]) -> dict[str, AskedQuestion]:
    """The questions by id, with the sentences of the whole handbook that the app has the cascade read for each."""
    with open_shipped("handbook") as (wb, corpus):
        keep = wb.settings.first_keep
        return {q.qid: choose_candidates(q, retrieve_sentences(wb, corpus, q.text), keep) for q in questions}


def choose_candidates(q: Question, sentences: Sequence[RetrievedSentence], keep: int) -> AskedQuestion:
    candidates = as_candidates(sentences)
    correct = {c.text for c in q.candidates if c.label == 1}
    best = sorted(order(FirstStageRanker(sentences).score(q.text, candidates))[:keep])
    read = tuple(replace(candidates[i], label=int(sentences[i].text in correct)) for i in best)
    return AskedQuestion(replace(q, candidates=read), weigh_documents(sentences)[best])


def measure(ranker: Ranker, questions: Sequence[Question]) -> Evaluation:
    """As `evaluate`; a question whose correct sentence is not among its candidates counts as 0."""
    result = evaluate(ranker, [q for q in questions if q.positives])
    misses = dict.fromkeys((q.qid for q in questions if not q.positives), 0.0)
    per_question = {name: values | misses for name, values in result.per_question.items()}
    metrics = {name: float(np.mean([*values.values()])) for name, values in per_question.items()}
    return replace(result, questions=len(questions), metrics=metrics, per_question=per_question)


def keep_one_label(q: Question) -> Question:
    """With its first correct sentence labelled, and nothing else."""
    first = next(i for i, c in enumerate(q.candidates) if c.label == 1)
    return replace(q, candidates=tuple(c if i == first else replace(c, label=None) for i, c in enumerate(q.candidates)))


def report(title: str, before: Evaluation, after: Evaluation) -> None:
    """Print the figures with the paired tests."""
    sys.stdout.write(f"{title} ({after.questions})\n")
    for metric in ("P@1", "AP"):
        test = paired_test(after.per_question[metric], before.per_question[metric])
        value, low, high = (f"{x:+.3f}" for x in (test.difference, test.low, test.high))
        sys.stdout.write(f"  {metric} {before.metrics[metric]:.3f} -> {after.metrics[metric]:.3f}: ")
        sys.stdout.write(f"{value} ({low} to {high}, p = {test.p:.3f})\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
