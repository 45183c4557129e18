"""Retraining from labels: what would go in, whether it is enough, starting it, and watching any background job."""

from __future__ import annotations

from app import jobs as background
from app.services import choosing, labels, people, snapshots, versions
from app.services.adapt_views import Readiness
from app.services.choosing import Choice
from app.services.corpora import get_corpus, list_corpora
from app.services.labels import Labelled
from app.services.learning import CALIBRATION, FUSION
from app.services.retraining import READ
from app.services.splitting import Split
from app.services.views import CORRECT, INCORRECT, UNSURE, JobView
from app.services.workbench import Workbench
from as2core.errors import As2Error, BadSetting, NotEnoughLabels
from as2core.training.settings import TrainSettings

MIN_QUESTIONS = 4  # with a correct and an incorrect sentence each
FEW_HELD_OUT = 10
LOPSIDED = 0.05  # a smaller share of correct labels than this is told
KINDS = {
    "cascade": "the cascade: the ranker that answers",
    "generative": "the generative ranker, which looks from the answer's side",
    "cross-encoder": "the last exit alone, as one model",
    "cosinet": "Cosinet, small and quick, from word vectors",
    "rel-cnn": "Rel-CNN, small and quick, from word vectors",
    "compare-aggregate": "Compare-Aggregate, small, from word vectors",
    FUSION: "the weights with which the rankers in use are fused",
    CALIBRATION: "probabilities and the no-answer threshold alone",
}
FITTED = (FUSION, CALIBRATION)  # a few numbers in one go: without epochs, and nothing to forget


def readiness(
    wb: Workbench,
    corpus_id: int,
    choice: Choice | None = None,
    *,
    kind: str = versions.CASCADE,
    base: str = "active",
    replay: float = snapshots.REPLAY,
) -> Readiness:
    """What there is to learn from for this choice, what is missing, and what to be wary of. Raises UnknownCorpus,
    BadSetting, UnknownVersion."""
    get_corpus(wb, corpus_id)
    _known(kind)
    choice = choice or Choice()
    start = versions.base_for(wb, base, versions.kind_learnt(kind))
    made = snapshots.compose(
        wb, corpus_id, choice, seen=start.card.get("trained_on", ()), replay=_replay(kind, replay), preview=True
    )
    found, parts = list(made.found), made.parts
    counts = labels.count(found)
    judged = {q.qid: q for q in (labels.judged(x.question) for x in found)}
    presumed = sum(q.negatives - judged[q.qid].negatives for q in parts.train if q.qid in judged)
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
        warnings=_warnings(found, parts, choice, presumed),
        presumed=presumed,
        replayed=len(made.replay),
        train_correct=sum(q.positives for q in parts.train),
        train_incorrect=sum(q.negatives for q in parts.train),
        by_annotator=dict(choosing.annotators(wb, corpus_id)),
    )


def _known(kind: str) -> None:
    if kind not in KINDS:
        raise BadSetting(f"{kind!r} cannot be adapted; what can: {', '.join(KINDS)}")


def _replay(kind: str, share: float) -> float:
    return 0.0 if kind in FITTED else share


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


def _warnings(found: list[Labelled], parts: Split, choice: Choice, presumed: int) -> tuple[str, ...]:
    said = []
    correct = sum(q.positives for q in parts.train)
    everything = correct + sum(q.negatives for q in parts.train)
    if presumed:
        said.append(
            f"{presumed:,} sentences that nobody labelled are presumed incorrect; some of them may answer after all."
        )
    if everything and correct / everything < LOPSIDED:
        said.append(f"Only {correct:,} of {everything:,} labels to train on are correct ones: label more of these.")
    if choice.unsure_incorrect:
        said.append("Pairs that people were unsure of count as incorrect.")
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
    kind: str = versions.CASCADE,
    base: str = "active",
    choice: Choice | None = None,
    replay: float = snapshots.REPLAY,
    epochs: int | None = None,
    learning_rate: float | None = None,
    seed: int = 0,
    note: str = "",
    by: int | None = None,
) -> JobView:
    """Queue a retrain. Raises NotEnoughLabels with all that is missing, BadSetting, UnknownVersion, NotAllowed for a
    viewer, or As2Error if the corpus is being retrained already."""
    _known(kind)
    with wb.read() as s:
        people.allow(s, by)
    if epochs is not None and not 1 <= epochs <= 100:
        raise BadSetting(f"epochs {epochs}: give a number from 1 to 100")
    if kind in FITTED and (epochs, learning_rate) != (None, None):
        raise BadSetting(f"{kind} is fitted in one go: leave the epochs and the learning rate out")
    if learning_rate is not None and not 0 < learning_rate < 0.1:
        raise BadSetting(f"learning rate {learning_rate}: give a small positive number such as 3e-5")
    TrainSettings(seed=seed)  # refuses a seed that no run can take
    if not 0 <= replay <= 1:
        raise BadSetting(f"a replay of {replay}: give the share of the shipped questions to mix in, 0 to 1")
    choice = choice or Choice()
    start = versions.base_for(wb, base, versions.kind_learnt(kind))
    ready = readiness(wb, corpus_id, choice, kind=kind, base=start.spec, replay=replay)
    if ready.problems:
        raise NotEnoughLabels(" ".join(ready.problems))
    if running := background.active(wb, "retrain", corpus_id):
        raise As2Error(f"job {running[0].id} is retraining from this corpus already: wait for it or cancel it")
    settings = {
        "kind": kind,
        "base": start.spec,
        "choice": choice.stored(),
        "replay": _replay(kind, replay),
        "epochs": epochs,
        "learning_rate": learning_rate,
        "seed": seed,
        "note": note,
    }
    return background.enqueue(wb, "retrain", settings, corpus_id=corpus_id)


def hidden(wb: Workbench, by: int) -> set[tuple[str, str]]:
    """(question, sentence as a card has it) whose label this person may not know yet."""
    pairs = (pair for corpus in list_corpora(wb) for pair in labels.hidden(wb, corpus.id, by))
    return {(question, text[:READ]) for question, text in pairs}


def jobs(wb: Workbench, kind: str | None = None, limit: int = 20) -> list[JobView]:
    """Newest first, of one kind (of `app.jobs.PRIORITY`) or all."""
    return background.listed(wb, kind, limit)


def active_jobs(wb: Workbench, kind: str | None = None, corpus_id: int | None = None) -> list[JobView]:
    """Those that wait or run, oldest first, without their events."""
    return background.active(wb, kind, corpus_id)


def newest_job(wb: Workbench, kind: str, corpus_id: int) -> JobView | None:
    """A corpus's last job of a kind, without its events."""
    return background.newest(wb, kind, corpus_id)


def recent_jobs(wb: Workbench, corpus_id: int, limit: int = 10) -> list[JobView]:
    """A corpus's last jobs of all kinds, newest first, without their events."""
    return background.recent(wb, corpus_id, limit)


def job(wb: Workbench, job_id: int) -> JobView:
    """Raises UnknownJob."""
    return background.get(wb, job_id)


def cancel(wb: Workbench, job_id: int) -> JobView:
    """A queued job at once, a running one within seconds; what it did so far stays for another run."""
    return background.cancel(wb, job_id)


def pause(wb: Workbench, job_id: int) -> JobView:
    """Let a job wait for somebody who needs the machine: a running one holds between two of its steps, and makes room
    for other jobs."""
    return background.pause(wb, job_id)


def resume(wb: Workbench, job_id: int) -> JobView:
    """Let a paused job go on where it waits."""
    return background.resume(wb, job_id)


def retry(wb: Workbench, job_id: int) -> JobView:
    """Queue a job again that failed, was cancelled or was lost; it resumes. Raises As2Error for any other."""
    return background.retry(wb, job_id)
