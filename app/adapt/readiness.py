"""Whether a retrain can start: the training data, and whether it is enough (`advice` says what is missing)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from shutil import disk_usage

from sqlalchemy import Row

from app.adapt import advice, snapshot
from app.adapt.settings import RetrainSettings
from app.corpora.corpora import name_corpus
from app.exchange.prepared import count_prepared
from app.labels import consensus, progress
from app.versions import loading, registry
from app.versions.benchmarks import load_starter
from app.versions.registry import CASCADE
from app.workbench.workbench import DatabaseOutage, Workbench
from as2core.errors import As2Error
from as2core.types import CORRECT, INCORRECT, UNSURE, Question
from db.repositories import labels as rows
from db.repositories.questions import NON_TRAINING_SPLITS

ENOUGH_SECONDS = 300.0  # for which it is known whether a retrain can start
FAMILIAR_SHARE = 0.5  # of the training questions: from here on, what to expect is said before the start
ANSWERED_SHARE = 0.9  # of the ranked questions, likewise


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What becomes of the questions that a retrain is narrowed to. `unused` have labels and are never trained on: a
    test part, near-duplicates of a benchmark."""

    questions: int
    train: int
    dev: int
    held_out: int
    unlabelled: int

    @property
    def unused(self) -> int:
        return self.questions - self.train - self.dev - self.held_out - self.unlabelled

    @classmethod
    def build(cls, composition: snapshot.Composition, ids: Collection[int]) -> "Narrowing | None":
        """None where `ids` names none: nothing is narrowed."""
        if not ids:
            return None
        questions = [x.question for x in composition.questions if x.id in ids]
        parts = composition.parts
        of_part = ({q.qid for q in part} for part in (parts.train, parts.dev, parts.held_out))
        train, dev, held_out = (sum(q.qid in qids for q in questions) for qids in of_part)
        with_labels = sum(q.has_labels for q in questions)
        return cls(len(ids), train, dev, held_out, len(ids) - with_labels)


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether there is enough training data, for the labels selected. `problems` block the start, `warnings` don't.

    `presumed`: unlabelled candidates that count as incorrect; `replayed`: questions of the shipped training set mixed
    in; `by_annotator`: who gave how many labels, selected or not. `familiar`: training questions that the shipped model
    has learnt from, and with it the version to start from. `narrowing`: None where no questions were chosen.
    `only_correct`, `only_incorrect`: training questions with one kind of label, of which a cascade learns nothing; 0
    for other rankers. `incomplete_ids`: of few held-out questions, those that a label is missing of to measure on them.
    `ranked_count`: questions with a correct sentence that the version to start from ranked; on `answer_count` of them
    it came first.
    """

    questions: int
    labels: int
    correct: int
    incorrect: int
    unsure: int
    train_questions: int
    dev_questions: int
    heldout_questions: int
    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    presumed: int = 0
    replayed: int = 0
    train_correct: int = 0
    train_incorrect: int = 0
    by_annotator: Mapping[str, int] = field(default_factory=dict)
    familiar: int = 0
    narrowing: Narrowing | None = None
    only_correct: int = 0
    only_incorrect: int = 0
    incomplete_ids: tuple[int, ...] = ()
    ranked_count: int = 0
    answer_count: int = 0

    @property
    def useful_questions(self) -> int:
        """Training questions that the ranker learns from."""
        return self.train_questions - self.only_correct - self.only_incorrect

    @property
    def conflict_count(self) -> int:
        """Pairs in conflict."""
        return self.labels - self.correct - self.incorrect - self.unsure

    @property
    def is_ready(self) -> bool:
        return not self.problems

    @property
    def expectation(self) -> str:
        """What a retrain can bring where the shipped model has learnt from these questions already, or the version to
        start from answers them; else ""."""
        if not self.train_questions or self.familiar < FAMILIAR_SHARE * self.train_questions:
            return self._describe_first_answers()
        is_all = self.familiar == self.train_questions
        share = "all" if is_all else f"{self.familiar:,} of the {self.train_questions:,}"
        return (
            f"The shipped version has already learnt from {share} training questions here. Expect little or no gain, "
            "and possibly a small loss: retrain here to see how it works. Labels on documents that it does not know "
            "bring more."
        )

    def _describe_first_answers(self) -> str:
        """Where most labelled questions were ranked, and nearly all of these answered; else ""."""
        total, first = self.ranked_count, self.answer_count
        is_most = total >= max(advice.MIN_QUESTIONS, self.questions / 2)
        if not is_most or first < ANSWERED_SHARE * total:
            return ""
        share = f"all {total:,}" if first == total else f"{first:,} of the {total:,}"
        return (
            f"The version to start from ranks a correct sentence first on {share} labelled questions it was asked. "
            "Expect little or no gain. A retrain learns from what is answered wrongly: ask more, and label the answers "
            "that stand further down."
        )


@dataclass(frozen=True, slots=True)
class Distance:
    """How far the labels are from a first retrain. `labels`: pairs of the corpus that carry one. `missing`: how many
    more questions need a correct label before a retrain can start. `non_training`: labelled questions that are for
    validation and measuring alone, as a shipped corpus has them, for which fewer are needed; 0 where none is `missing`.
    `incomplete_ids`: held-out questions that need labels of both kinds before a retrain can start; empty where
    something else is in the way."""

    labels: int
    missing: int
    is_enough: bool = False
    non_training: int = 0
    incomplete_ids: tuple[int, ...] = ()


def measure_distance(wb: Workbench, corpus_id: int) -> Distance:
    """Quick enough after every label. Counts are cached for some seconds where there are so many labels that counting
    is slow."""
    with wb.read() as s:
        mark = consensus.mark_outcomes_within(wb, s, corpus_id)
        (outcomes, _), _ = progress.count_cached(
            wb, ("outcomes", corpus_id), 0, lambda: progress.count_outcomes(wb, s, corpus_id, mark)
        )
        by_question = progress.count_outcomes_by_question_within(wb, s, corpus_id, mark, NON_TRAINING_SPLITS)
        correct, needed, non_training = sum(bool(r.correct) for r in by_question), advice.MIN_QUESTIONS, 0
        if correct < needed:
            everything = progress.count_outcomes_by_question_within(wb, s, corpus_id, mark)
            both_kinds = sum(bool(r.correct and r.incorrect) for r in everything)
            both_kinds -= sum(bool(r.correct and r.incorrect) for r in by_question)
            needed, non_training = max(1, needed - both_kinds), len(everything) - len(by_question)
    labels = sum(outcomes.values())
    if correct < needed:
        return Distance(labels, needed - correct, non_training=non_training)
    is_enough, incomplete_ids = _check_cached(wb, corpus_id, by_question)
    return Distance(labels, 0, is_enough, incomplete_ids=() if is_enough else incomplete_ids)


def _check_cached(wb: Workbench, corpus_id: int, by_question: Sequence[Row]) -> tuple[bool, tuple[int, ...]]:
    """Whether a retrain with the default settings can start, as the page Adapt has it, and `incomplete_ids`.
    `by_question`: the labels of every question that a retrain learns from. Checking that takes a second with thousands
    of labels: it is done only where the counts have changed, and a retrain that could start some minutes ago still can
    unless labels are gone."""
    key = (corpus_id, registry.get_active(wb).name)
    questions = sum(bool(r.correct) for r in by_question)
    counts = (questions, sum(r.correct for r in by_question), sum(r.incorrect for r in by_question))
    if (entry := wb.readiness.get(key)) is not None:
        result, then = entry
        if all(a >= b for a, b in zip(counts, then, strict=True)) if result[0] else counts == then:
            return result
    try:
        readiness = check_readiness(wb, corpus_id)
        result = readiness.is_ready, readiness.incomplete_ids
    except DatabaseOutage:
        raise
    except As2Error:  # such as a damaged base, which the page Adapt reports
        result = False, ()
    wb.readiness.put(key, (result, counts), ENOUGH_SECONDS)
    return result


def check_readiness(wb: Workbench, corpus_id: int, settings: RetrainSettings | None = None) -> Readiness:
    """The training data for these settings, what is missing, and what to be wary of. Raises UnknownCorpus, BadSetting,
    UnknownVersion."""
    settings = settings or RetrainSettings()
    corpus, by_annotator = name_corpus(wb, corpus_id), consensus.count_annotators(wb, corpus_id)
    base = loading.find_base(wb, settings.base, settings.version_kind)
    composition = snapshot.compose(wb, corpus_id, settings, trained_on=base.trained_on, preview=True)
    counts, train = consensus.count_labels(composition.questions), composition.parts.train
    prepared = count_prepared(wb, corpus_id)
    reason = consensus.explain_missing_annotators(settings.choice.annotators, corpus, by_annotator)
    problem = f"{reason[0].upper()}{reason[1:]}." if reason else ""
    problem = problem or advice.find_problem(
        composition, settings, counts, has_prepared=bool(prepared and prepared.remaining)
    )
    only_correct, only_incorrect = composition.parts.one_sided if settings.kind == CASCADE else (0, 0)
    with wb.read() as s:
        ranked_count, answer_count = (0, 0) if base.id is None else rows.count_first_answers(s, corpus_id, base.id)
    return Readiness(
        questions=sum(x.question.has_labels for x in composition.questions),
        labels=sum(counts.values()) + sum(x.conflict_count for x in composition.questions),
        correct=counts[CORRECT],
        incorrect=counts[INCORRECT],
        unsure=counts[UNSURE],
        train_questions=len(train),
        dev_questions=len(composition.parts.dev),
        heldout_questions=len(composition.parts.held_out),
        problems=(problem,) if problem else (),
        warnings=tuple(advice.find_warnings(composition, settings, base.trained_on, disk_usage(wb.settings.home).free)),
        presumed=composition.presumed_count,
        replayed=len(composition.replay),
        train_correct=composition.parts.train_labels[0],
        train_incorrect=composition.parts.train_labels[1],
        by_annotator=by_annotator,
        familiar=_count_familiar_questions(wb, train, base.trained_on),
        narrowing=Narrowing.build(composition, settings.choice.questions),
        only_correct=only_correct,
        only_incorrect=only_incorrect,
        incomplete_ids=tuple(x.id for x in advice.find_incomplete(composition.parts)),
        ranked_count=ranked_count,
        answer_count=answer_count,
    )


def _count_familiar_questions(wb: Workbench, train: Sequence[Question], trained_on: Sequence[str]) -> int:
    shipped = {q.text for q in load_starter(wb, "train")}.intersection(trained_on)
    return sum(q.text in shipped for q in train)
