"""Labels that look wrong: for the queue of second looks (`app.adapt.second_looks`), and to leave out of a retrain.

Both use a model of the labels: a logistic regression on a cascade's logits at each exit, a candidate's distance from
the best other one, and for the queue the generative ranker's score and the bi-encoder's cosine. It is fitted five
times, each time without the questions whose labels it then scores. Correct labels are the rarer, and for the queue they
weigh more, by the square root: with equal weights a wrong "correct" is not found, with none a wrong "incorrect". The
queue lists the labels that the model would not give, the least expected first (self-confidence: Northcutt et al.,
"Confident Learning", JAIR 2021), as cleanlab does; its stricter filters leave out half of the labels we flipped.

A retrain leaves labels out only if many are wrong. Their share is the smaller of two estimates. One is the share
labelled correct among the pairs that the shipped cascade, which was trained on none of these labels, is sure do not
answer. The other is the lowest fifth of the model's probabilities, which would be near 0 if all labels were right
(Menon et al., "Learning from Corrupted Binary Labels via Class-Probability Estimation", ICML 2015). If a wrong label is
as likely either way, Bayes' rule gives the probability that each label is right; those below 0.5 are left out. The
stored label stays.

If many are wrong, the shipped cascade alone knows too little of the domain. Each half of the questions is then also
scored by a copy of it that was trained on the other half, and these scores are used if the model of the labels fits
better with them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.versions.evaluations import trace_in_batches
from app.workbench.workbench import Workbench
from as2core.cascade.trace import CascadeTrace
from as2core.errors import As2Error, NotEnoughLabels
from as2core.questions.synonyms import Synonyms
from as2core.rankers.cascade import CascadeRanker
from as2core.types import Candidate, OnProgress, Question

FOLDS = 5
MIN_LABELS = 10  # of either kind
SURE_PROBABILITY, MIN_SURE_PAIRS = 0.01, 50  # below it the cascade is sure of "incorrect"; so many pairs are needed
LOW_QUANTILE = 0.2
MIN_WRONG_SHARE = 0.05  # a smaller share costs less than leaving out right labels
MAX_WRONG_SHARE = 0.45

TrainJudge = Callable[[Sequence[Question], int], CascadeRanker]  # questions, number of the half -> a trained copy


class TooFewLabels(As2Error):
    """There are too few labels for a model of them."""


@dataclass(frozen=True, slots=True)
class FilteredLabels:
    """`questions` to train on. `rate`: the estimated share of wrong labels, or, where it is surely small, what it
    cannot exceed; None where it cannot be estimated. `excluded_labels`: (question, candidate with its label), the least
    likely first."""

    questions: tuple[Question, ...]
    rate: float | None = None
    excluded_labels: tuple[tuple[Question, Candidate], ...] = ()


def find_suspicious(features: np.ndarray, labels: Sequence[int], questions: Sequence[int]) -> list[tuple[int, float]]:
    """Positions of the labels that look wrong, the most suspicious first, with the probability of the other label.

    `features` (n, k), `labels` 1 or 0, `questions` the group of each. Raises TooFewLabels.
    """
    from cleanlab.filter import find_label_issues

    values = np.asarray(labels, dtype=int)
    probability = cross_validate(features, values, questions)
    wrong = estimate_other_probability(probability, values)
    issues = find_label_issues(
        values, probability, return_indices_ranked_by="self_confidence", filter_by="predicted_neq_given", n_jobs=1
    )
    return [(int(i), float(wrong[i])) for i in issues]


def cross_validate(
    features: np.ndarray, labels: np.ndarray, questions: Sequence[int], *, seed: int = 0, balance: float = 0.5
) -> np.ndarray:
    """P(incorrect), P(correct) of each, `(n, 2)`, from folds over questions. The kinds of labels weigh as their shares
    to the power of minus `balance`: 0 as they are, 1 equal. Raises TooFewLabels."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    folds = divide_into_folds(labels, questions, seed=seed)
    weights = {kind: float(np.mean(labels == kind)) ** -balance for kind in (0, 1)}
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000, class_weight=weights))
    return cross_val_predict(model, features, labels, cv=folds, method="predict_proba")


def divide_into_folds(
    labels: np.ndarray, questions: Sequence[int], *, seed: int = 0
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Positions to fit on, and to predict, of each fold over questions. Raises TooFewLabels."""
    from sklearn.model_selection import StratifiedGroupKFold

    correct = int(labels.sum())
    incorrect = len(labels) - correct
    if min(correct, incorrect) < MIN_LABELS or len(set(questions)) < FOLDS:
        raise TooFewLabels(
            f"finding labels that look wrong takes {MIN_LABELS} correct and {MIN_LABELS} incorrect ones on {FOLDS} "
            f"questions; there are {correct}, {incorrect} and {len(set(questions))}"
        )
    folds = list(StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed).split(labels, labels, questions))
    if any(len(set(labels[others])) < 2 for others, _ in folds):
        raise TooFewLabels(
            "all correct or all incorrect labels are of one question: label both kinds on more questions"
        )
    return folds


def estimate_other_probability(probability: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The probability `(n,)` of the label that was not given, from those of both `(n, 2)`."""
    return 1 - probability[np.arange(len(labels)), labels]


def extract_features(trace: CascadeTrace, *scores: np.ndarray) -> np.ndarray:
    """`(n, features)` for a question's candidates: the logits of a complete trace by exit, the last one's distance from
    the best of the others, and other models' scores, each `(n,)`."""
    logits = np.zeros((len(trace.lengths), len(trace.exits)))
    for number, e in enumerate(trace.exits):
        logits[e.alive, number] = e.scores
    last = logits[:, -1]
    second, best = np.sort(last)[-2:] if len(last) > 1 else (last[0], last[0])
    ahead = last - np.where(last == best, second, best)
    return np.column_stack([logits, ahead, *scores])


def load_judge(wb: Workbench) -> CascadeRanker | None:
    """The shipped cascade, if it is there and calibrated; else None."""
    try:
        ranker = wb.models.version(wb.settings.models_dir / "cascade")
    except As2Error:
        return None
    return ranker if isinstance(ranker, CascadeRanker) and ranker.is_calibrated else None


def filter_labels(
    judge: CascadeRanker | None,
    questions: Sequence[Question],
    *,
    seed: int = 0,
    synonyms: Synonyms | None = None,
    train_judge: TrainJudge | None = None,
    on_progress: OnProgress | None = None,
) -> FilteredLabels:
    """The questions without the labels that are more likely wrong than right; all of them if few labels are wrong, or
    if that cannot be estimated. Every candidate has to be labelled. The judge reads the questions with the `synonyms`.
    `train_judge` trains a copy of it on the first or the second half of the questions so read; without it the judge
    alone decides. An exception from `on_progress` stops it."""
    from sklearn.metrics import log_loss

    everything = FilteredLabels(tuple(questions))
    if judge is None:
        return everything
    labels = np.array([int(c.label or 0) for q in questions for c in q.candidates])
    groups = [i for i, q in enumerate(questions) for _ in q.candidates]
    try:
        divide_into_folds(labels, groups, seed=seed)  # before anything is scored
    except TooFewLabels:
        return everything
    features: list[np.ndarray] = []
    expanded_questions = synonyms.expand_all(questions) if synonyms else questions
    for some in _trace_in_batches(judge, expanded_questions, on_progress):
        features += some
        sure = _find_sure(judge, features)
        bound = bound_wrong_share(labels, sure)
        if bound < MIN_WRONG_SHARE:  # whatever the others bring, all labels are kept
            return replace(everything, rate=bound)
    if sure.sum() < MIN_SURE_PAIRS:
        return everything
    p = _predict_correct(features, labels, groups, seed)
    rate = estimate_wrong_share(p, labels, sure)
    if rate < MIN_WRONG_SHARE:
        return replace(everything, rate=rate)
    if train_judge is not None and (more := _trace_with_other_half(train_judge, expanded_questions, on_progress)):
        both = [np.hstack(pair) for pair in zip(features, more, strict=True)]
        p_both = _predict_correct(both, labels, groups, seed)
        if log_loss(labels, p_both) < log_loss(labels, p):
            p, rate = p_both, estimate_wrong_share(p_both, labels, sure)
    remaining, excluded_labels = _split_by_probability(questions, estimate_right_probability(p, labels, rate))
    if not any(q.positives for q in remaining) or not any(q.negatives for q in remaining):
        return replace(everything, rate=rate)
    return FilteredLabels(remaining, rate, excluded_labels)


def _split_by_probability(
    questions: Sequence[Question], right: np.ndarray
) -> tuple[tuple[Question, ...], tuple[tuple[Question, Candidate], ...]]:
    """The questions with the labels to train on, and those left out, by the probability `(n,)` that each is right."""
    to_train, excluded_labels = [], []
    ends = np.cumsum([len(q.candidates) for q in questions])
    for q, chances in zip(questions, np.split(right, ends[:-1]), strict=True):
        excluded_labels += [(x, q, c) for x, c in zip(chances, q.candidates, strict=True) if x < 0.5]
        to_train.append(replace(q, candidates=tuple(c for x, c in zip(chances, q.candidates, strict=True) if x >= 0.5)))
    excluded_labels.sort(key=lambda row: row[0])
    return tuple(q for q in to_train if q.candidates), tuple((q, c) for _, q, c in excluded_labels)


def _trace_features(
    judge: CascadeRanker, questions: Sequence[Question], on_progress: OnProgress | None
) -> list[np.ndarray]:
    """Features of each question's candidates, `(n, features)`."""
    return [x for some in _trace_in_batches(judge, questions, on_progress) for x in some]


def _trace_in_batches(
    judge: CascadeRanker, questions: Sequence[Question], on_progress: OnProgress | None
) -> Iterator[list[np.ndarray]]:
    """The same, some questions at a time, in their order."""
    for traces in trace_in_batches(judge, questions, on_progress):
        yield [extract_features(t) for t in traces]


def _find_sure(judge: CascadeRanker, features: Sequence[np.ndarray]) -> np.ndarray:
    """Which pairs the judge is sure do not answer, bool `(n,)`."""
    return np.concatenate([judge.probability(x[:, len(judge.exits) - 1]) for x in features]) < SURE_PROBABILITY


def bound_wrong_share(labels: np.ndarray, sure: np.ndarray) -> float:
    """What `estimate_wrong_share` cannot exceed, as soon as it is known of the first pairs which are `sure` `(k,)`, by
    all `labels` `(n,)`: if of the others all that are labelled correct were sure, and no more. 1 while none can be."""
    correct = labels[: len(sure)][sure].sum() + labels[len(sure) :].sum()
    pairs = sure.sum() + labels[len(sure) :].sum()
    return float(correct / pairs) if pairs else 1.0


def _trace_with_other_half(
    train_judge: TrainJudge, questions: Sequence[Question], on_progress: OnProgress | None
) -> list[np.ndarray]:
    """The same by judges that were trained on the half that a question is not in; [] where a half is too small."""
    halves = questions[::2], questions[1::2]
    try:
        judges = [train_judge(half, number) for number, half in enumerate(halves)]
    except NotEnoughLabels:
        return []
    even, odd = (_trace_features(judges[1 - i], half, on_progress) for i, half in enumerate(halves))
    return [(odd if i % 2 else even)[i // 2] for i in range(len(questions))]


def _predict_correct(features: Sequence[np.ndarray], y: np.ndarray, groups: Sequence[int], seed: int) -> np.ndarray:
    """The model's probability of "correct" `(n,)`. Raises TooFewLabels."""
    return cross_validate(np.concatenate(features), y, groups, seed=seed, balance=0.0)[:, 1]


def estimate_wrong_share(p: np.ndarray, labels: np.ndarray, sure: np.ndarray) -> float:
    """The share of wrong labels, at most MAX_WRONG_SHARE: `p` (n,) is the model's probability of "correct", `sure` are
    the pairs that surely do not answer, at least one."""
    return float(min(np.quantile(p, LOW_QUANTILE), labels[sure].mean(), MAX_WRONG_SHARE))


def estimate_right_probability(p: np.ndarray, labels: np.ndarray, rate: float) -> np.ndarray:
    """That each label is right `(n,)`, if `rate` of them were flipped: the posterior of the true label, given the label
    and `p`, a model's probability of the label "correct"."""
    true = np.clip((p - rate) / (1 - 2 * rate), 0, 1)
    if_correct = true * (1 - rate) / np.maximum(p, 1e-9)
    if_incorrect = (1 - true) * (1 - rate) / np.maximum(1 - p, 1e-9)
    return np.clip(np.where(labels == 1, if_correct, if_incorrect), 0, 1)
