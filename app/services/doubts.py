"""Labels that look wrong: those that a model of all the other labels would not have given.

The model is a logistic regression on what the cascade says at each exit, how far it puts a candidate ahead of its
question's others, the generative ranker's score and the cosine of the bi-encoder; fitted five times, each time without
the questions whose labels it then judges. Correct labels are the rarer and weigh more, but by the square root only:
made equal, they hide a sentence wrongly called correct; left alone, one wrongly called incorrect. Doubted are the
labels it would not have given, the least expected first (the self-confidence of Northcutt et al., "Confident
Learning", JAIR 2021), as cleanlab finds them; its stricter filters leave out half of the labels we turned round. They
come back as a queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from app import jobs
from app.running import Running
from app.services import scoring, versions
from app.services.labels import BINARY, settled
from app.services.views import JobView
from app.services.workbench import Workbench
from as2core.cascade.trace import CascadeTrace
from as2core.errors import As2Error, DamagedModel
from as2core.types import Candidate
from db.repositories import labels as label_rows
from db.repositories import questions as question_rows
from db.repositories import reviews

FOLDS = 5
ENOUGH = 10  # labels of either kind


class TooFewLabels(As2Error):
    """There is too little to learn what a label looks like."""


def doubted(
    features: np.ndarray, labels: Sequence[int], questions: Sequence[int], *, seed: int = 0
) -> list[tuple[int, float]]:
    """Positions of the labels to doubt, most doubted first, with the probability of the other label.

    `features` (n, k), `labels` 1 or 0, `questions` the group of each, which is judged as a whole by a model that did
    not see it. Raises TooFewLabels.
    """
    from cleanlab.filter import find_label_issues

    given = np.asarray(labels, dtype=int)
    probability = cross_validated(features, given, questions, seed=seed)
    wrong = of_other(probability, given)
    ranked = find_label_issues(
        given, probability, return_indices_ranked_by="self_confidence", filter_by="predicted_neq_given", n_jobs=1
    )
    return [(int(i), float(wrong[i])) for i in ranked]


def cross_validated(
    features: np.ndarray, labels: np.ndarray, questions: Sequence[int], *, seed: int = 0, balance: float = 0.5
) -> np.ndarray:
    """P(incorrect), P(correct) of each, `(n, 2)`, from folds over questions. The kinds of labels weigh as their shares
    to the power of minus `balance`: 0 as they come, 1 made equal. Raises TooFewLabels."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    few = min(int(labels.sum()), int(len(labels) - labels.sum()))
    if few < ENOUGH or len(set(questions)) < FOLDS:
        raise TooFewLabels(
            f"to tell which labels look wrong takes {ENOUGH} correct and {ENOUGH} incorrect ones on {FOLDS} questions; "
            f"there are {int(labels.sum())}, {int(len(labels) - labels.sum())} and {len(set(questions))}"
        )
    weights = {kind: float(np.mean(labels == kind)) ** -balance for kind in (0, 1)}
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000, class_weight=weights))
    folds = list(StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed).split(features, labels, questions))
    if any(len(set(labels[others])) < 2 for others, _ in folds):
        raise TooFewLabels(
            "all correct or all incorrect labels are of one question: label both kinds on more questions"
        )
    return cross_val_predict(model, features, labels, cv=folds, method="predict_proba")


def of_other(probability: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The probability `(n,)` of the label that was not given, of those of both `(n, 2)`."""
    return 1 - probability[np.arange(len(labels)), labels]


def said_of(trace: CascadeTrace, *scores: np.ndarray) -> np.ndarray:
    """What the models say of a question's candidates `(n, features)`: logits of a complete trace, by exit, the last
    one's distance from the best of the others, and other models' scores, each `(n,)`."""
    logits = np.zeros((len(trace.lengths), len(trace.exits)))
    for number, e in enumerate(trace.exits):
        logits[e.alive, number] = e.scores
    last = logits[:, -1]
    second, best = np.sort(last)[-2:] if len(last) > 1 else (last[0], last[0])
    ahead = last - np.where(last == best, second, best)
    return np.column_stack([logits, ahead, *scores])


def start_doubting(wb: Workbench, corpus_id: int) -> JobView:
    """Look for suspicious labels in the background; they fill the queue "second"."""
    return jobs.enqueue(wb, "doubt", {}, corpus_id=corpus_id)


def waiting(wb: Workbench, corpus_id: int) -> int:
    """How many labels wait for a second look."""
    with wb.read() as s:
        return reviews.count_suspicions(s, corpus_id)


def run_doubt(job: Running) -> dict[str, Any]:
    """The background job."""
    wb, corpus_id = job.wb, job.corpus_id
    if corpus_id is None:
        return {"doubted": 0}
    pairs, labels, features = _features(job, corpus_id)
    if not pairs:
        raise TooFewLabels("nothing is labelled in this corpus yet")
    found = doubted(np.array(features), [BINARY[x] for x in labels], [question for question, _ in pairs])
    with wb.write() as s:
        left = reviews.put_suspicions(s, corpus_id, [(pairs[i], labels[i], doubt) for i, doubt in found], wb.clock())
    return {"labels": len(labels), "doubted": left}


def _features(job: Running, corpus_id: int) -> tuple[list[tuple[int, int]], list[str], list[np.ndarray]]:
    """(question, sentence) ids, labels, and what the models say of each: a logit per exit, and the cosine."""
    wb = job.wb
    with wb.read() as s:
        candidates = question_rows.with_candidates(s, corpus_id)
        by_question = {
            question_id: settled(group)
            for question_id, group in groupby(
                sorted(label_rows.labels_of_corpus(s, corpus_id), key=lambda r: r.question_id),
                key=lambda r: r.question_id,
            )
        }
        for (question_id, sentence_id), label in label_rows.verdicts(s, corpus_id=corpus_id).items():
            by_question.setdefault(question_id, {})[sentence_id] = label
    ranker, generative, embedder = versions.choose(wb), _generative(job), wb.models.embedder()
    pairs, labels, features = [], [], []
    for done, (question_id, group) in enumerate(groupby(candidates, key=lambda r: r.question_id)):
        job.step_back()
        job.progress(done / max(1, len(by_question)), f"{len(pairs)} labels read")
        said = {i: x for i, x in by_question.get(question_id, {}).items() if x in BINARY}
        rows = [r for r in group if r.sentence_id in said]
        if not rows:
            continue
        asked = rows[0].question
        shown = [Candidate(str(r.sentence_id), r.text, title=r.title) for r in rows]
        vectors = embedder.embed([asked, *(c.reading for c in shown)])
        read = [] if generative is None else [np.asarray(generative.score(asked, shown))]
        features += list(said_of(scoring.rank(ranker, asked, shown).trace, *read, vectors[1:] @ vectors[0]))
        pairs += [(question_id, r.sentence_id) for r in rows]
        labels += [said[r.sentence_id] for r in rows]
    return pairs, labels, features


def _generative(job: Running) -> Any:
    """The active generative ranker; None where it cannot be loaded."""
    try:
        return versions.choose(job.wb, kind=versions.GENERATIVE).ranker
    except DamagedModel as e:
        job.event({"kind": "note", "message": f"without generative scores: {e}"})
        return None
