"""Retraining from labels: whether there is enough, starting it, and watching any background job."""

from __future__ import annotations

from app import jobs as background
from app.services import labels, splitting, versions
from app.services.corpora import get_corpus
from app.services.labels import Labelled
from app.services.splitting import Split
from app.services.views import CORRECT, INCORRECT, UNSURE, JobView, Readiness
from app.services.workbench import Workbench
from as2core.errors import As2Error, BadSetting, NotEnoughLabels

MIN_QUESTIONS = 4  # with a correct and an incorrect sentence each
FEW_HELD_OUT = 10


def readiness(wb: Workbench, corpus_id: int) -> Readiness:
    """What there is to learn from, what is missing, and what to be wary of. Raises UnknownCorpus."""
    get_corpus(wb, corpus_id)
    found = labels.load(wb, corpus_id)
    parts = splitting.split(found)
    counts = labels.count(found)
    return Readiness(
        questions=sum(bool(x.question.positives or x.question.negatives) for x in found),
        labels=sum(counts.values()),
        correct=counts[CORRECT],
        incorrect=counts[INCORRECT],
        unsure=counts[UNSURE],
        train_questions=len(parts.train),
        dev_questions=len(parts.dev),
        heldout_questions=len(parts.held_out),
        problems=_problems(counts[CORRECT], counts[INCORRECT], found, parts),
        warnings=_warnings(found, parts),
    )


def _problems(correct: int, incorrect: int, found: list[Labelled], parts: Split) -> tuple[str, ...]:
    if not correct and not incorrect:
        return (
            f"Nothing is labelled yet: label correct and incorrect sentences of {MIN_QUESTIONS} questions or more.",
        )
    if not correct or not incorrect:
        missing, there = ("correct", "incorrect") if not correct else ("incorrect", "correct")
        return (f"No sentence is labelled {missing}: a ranker cannot learn from {there} ones alone. Label some.",)
    usable = sum(bool(x.question.positives and x.question.negatives) for x in found if x.split != "test")
    if usable < MIN_QUESTIONS:
        have = "1 question has" if usable == 1 else f"{usable} questions have"
        return (f"{have} both a correct and an incorrect sentence, {MIN_QUESTIONS} are needed: label some more.",)
    if not parts.held_out:
        return ("No question can be held out to compare before and after: label one more, with both kinds of labels.",)
    if not any(q.positives for q in parts.train) or not any(q.negatives for q in parts.train):
        return ("The questions to train on have labels of one kind only: label correct and incorrect ones of more.",)
    return ()


def _warnings(found: list[Labelled], parts: Split) -> tuple[str, ...]:
    said = []
    if parts.borrowed:
        said.append(
            "None of your own questions is held out: before and after is measured on the dev questions this corpus "
            "came with. Label questions of your own to judge by."
        )
    elif 0 < len(parts.held_out) < FEW_HELD_OUT:
        said.append(f"Only {_count(len(parts.held_out))} held out: before and after will be uncertain.")
    if not parts.dev:
        said.append("No question is left to steer by, so training will run for all its epochs.")
    one_kind = sum(bool(x.question.positives) and not x.question.negatives for x in found)
    if one_kind:
        said.append(f"{_count(one_kind)} labelled with correct sentences only: an incorrect one would teach more.")
    none_right = sum(bool(x.question.negatives) and not x.question.positives for x in found if x.origin == "asked")
    if none_right:
        said.append(f"{_count(none_right)} labelled with incorrect sentences only.")
    disputed = sum(x.unsettled for x in found)
    if disputed:
        pairs = "1 pair is" if disputed == 1 else f"{disputed} pairs are"
        said.append(f"{pairs} in dispute between annotators and left out.")
    return tuple(said)


def _count(questions: int) -> str:
    return "1 question is" if questions == 1 else f"{questions:,} questions are"


def start_retrain(
    wb: Workbench,
    corpus_id: int,
    *,
    base: str = "active",
    epochs: int | None = None,
    learning_rate: float | None = None,
    seed: int = 0,
    note: str = "",
) -> JobView:
    """Queue a retrain. Raises NotEnoughLabels with all that is missing, BadSetting, UnknownVersion, or As2Error if the
    corpus is being retrained already."""
    ready = readiness(wb, corpus_id)
    if ready.problems:
        raise NotEnoughLabels(" ".join(ready.problems))
    if epochs is not None and not 1 <= epochs <= 100:
        raise BadSetting(f"epochs {epochs}: give a number from 1 to 100")
    if learning_rate is not None and not 0 < learning_rate < 0.1:
        raise BadSetting(f"learning rate {learning_rate}: give a small positive number such as 3e-5")
    start = versions.get_version(wb, base)
    if start.kind != versions.CASCADE:
        raise BadSetting(f"{start.name} is a {start.kind} version: choose a cascade to retrain")
    running = [j for j in background.listed(wb, "retrain") if j.active and j.corpus_id == corpus_id]
    if running:
        raise As2Error(f"job {running[0].id} is retraining from this corpus already: wait for it or cancel it")
    settings = {"base": start.name, "epochs": epochs, "learning_rate": learning_rate, "seed": seed, "note": note}
    return background.enqueue(wb, "retrain", settings, corpus_id=corpus_id)


def jobs(wb: Workbench, kind: str | None = None, limit: int = 20) -> list[JobView]:
    """Newest first, of one kind ("retrain", "compare", "score", "embed") or all."""
    return background.listed(wb, kind, limit)


def job(wb: Workbench, job_id: int) -> JobView:
    """Raises UnknownJob."""
    return background.get(wb, job_id)


def cancel(wb: Workbench, job_id: int) -> JobView:
    """A queued job at once, a running one within seconds; what it did so far stays for another run."""
    return background.cancel(wb, job_id)


def retry(wb: Workbench, job_id: int) -> JobView:
    """Queue a job again that failed, was cancelled or was lost; it resumes. Raises As2Error for any other."""
    return background.retry(wb, job_id)
