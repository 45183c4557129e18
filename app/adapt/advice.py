"""What blocks a retrain, and what to be wary of before one, each with its remedy."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from textwrap import shorten

from app.adapt import snapshot
from app.adapt.cross_fitting import MIN_HELD_OUT_QUESTIONS, plan_folds
from app.adapt.label_selection import LABEL_KINDS, LabelSelection
from app.adapt.settings import RetrainSettings
from app.adapt.splitting import Split, group_near_duplicates
from app.corpora.corpora import SHIPPED_CORPORA
from app.labels.consensus import LabelledQuestion
from as2core.messages import count, name_some
from as2core.types import CORRECT, INCORRECT
from db.repositories.questions import WRITTEN_HERE

CHECKPOINT_BYTES = 400_000_000  # of a training of a ranker of the shipped size: weights, optimiser, the best so far
MIN_QUESTIONS = 4  # with a correct and an incorrect sentence each, unlabelled ones that count as incorrect included
MAX_QUOTES, MAX_QUOTE_CHARS = 3, 60  # questions that a warning names
SPLIT_PURPOSES = {  # split of an imported question -> what it is for
    "train": "are for training (the split “train”)",
    "dev": "are for validation (the split “dev”)",
    "test": "are held out (the split “test”)",
}


def find_problem(
    composition: snapshot.Composition, settings: RetrainSettings, counts: Mapping[str, int], *, has_prepared: bool
) -> str:
    """What blocks a retrain, with the remedy; "" if nothing does. `has_prepared`: the corpus has labels to accept."""
    parts, correct, incorrect = composition.parts, counts[CORRECT], counts[INCORRECT]
    if not correct and not incorrect:
        if filters := _describe_filters(settings.choice):
            return f"No sentence has a correct or incorrect label {filters}: choose more of the labels."
        return f"Nothing is labelled yet: label correct and incorrect sentences of {MIN_QUESTIONS} questions or more."
    if not correct or not incorrect:
        missing, other = (CORRECT, INCORRECT) if not correct else (INCORRECT, CORRECT)
        return f"No sentence is labelled {missing}: a ranker cannot be trained on {other} ones alone. Label some."
    if settings.choice.questions and not any(q.has_both_labels for q in parts.train):
        return (
            "None of the chosen questions can be trained on: label a correct and an incorrect sentence of some that "
            "are not held out, or use all questions."
        )
    usable = sum(q.has_both_labels for q in (*parts.train, *parts.dev, *parts.held_out))
    reasons = _explain_parts(composition, has_prepared=has_prepared)
    if usable < MIN_QUESTIONS:
        if reasons:
            return f"Only {_are(usable)} left to train on and to measure on, {MIN_QUESTIONS} are needed. {reasons}"
        return f"A retrain needs {MIN_QUESTIONS} questions to train on and to measure on, and has {usable}. " + (
            "To train on one, a correct label is enough; to measure on a held-out one, an incorrect one is needed, too."
            if settings.choice.presumed
            else "Each needs a correct and an incorrect label."
        )
    if not parts.train or not parts.held_out:
        reasons = reasons or _explain_likeness(composition)
    if not parts.train:
        return "No training question is labelled: what is labelled here is held out or for validation. " + (
            reasons or f"Label correct and incorrect sentences of {MIN_QUESTIONS} other questions."
        )
    if not parts.held_out:
        questions = (x.question for x in composition.questions)
        if parts.incomplete and not reasons:
            return (
                "Before and after cannot be compared yet: none of the held-out questions has both a correct and an "
                "incorrect sentence. Label what one of them lacks."
            )
        another = "Label an incorrect sentence of one more question that has a correct one."
        missing = another if any(q.positives and not q.negatives for q in questions) else ""
        remedy = reasons or missing or "Label one more, with both kinds of labels."
        return f"No question can be held out to compare before and after. {remedy}"
    if not any(q.has_both_labels for q in parts.train):
        return "No training question has both a correct and an incorrect sentence: label both for some more questions."
    return ""


def _describe_filters(choice: LabelSelection) -> str:
    """`by ann, given here, from 2024-05-01 on`; "" where all labels are chosen."""
    by = f"by {' or '.join(choice.annotators)}" if choice.annotators else ""
    kinds = " or ".join(LABEL_KINDS[kind] for kind in choice.kinds) if len(choice.kinds) < len(LABEL_KINDS) else ""
    return ", ".join(filter(None, (by, kinds, f"from {choice.since} on" if choice.since else "")))


def _explain_parts(composition: snapshot.Composition, *, has_prepared: bool) -> str:
    """Why labelled questions have no free choice of part, with the remedy; "" where all have. Only a set that somebody
    imported can be imported otherwise: a shipped corpus comes divided."""
    both = [x for x in composition.questions if x.question.has_both_labels]
    familiar_count, benchmark = composition.parts.familiar_count, composition.parts.benchmark
    splits = Counter(x.question.split for x in both if x.question.split)
    reasons = [
        f"{n:,} {SPLIT_PURPOSES.get(split, f'came with the split “{split}”')}" for split, n in sorted(splits.items())
    ]
    if familiar_count:
        reasons.append(f"{familiar_count:,} are known to the version to start from, which was trained on them")
    if benchmark:
        reasons.append(f"{benchmark:,} are in a frozen benchmark, which no ranker is trained on")
    if not reasons:
        return ""
    remedy = f"Label correct and incorrect sentences of {MIN_QUESTIONS} or more questions of your own"
    if has_prepared:
        remedy = "Accept some of the prepared labels, or label correct sentences of other questions"
    elif sum(bool(x.question.split) and x.origin not in SHIPPED_CORPORA for x in both) > max(familiar_count, benchmark):
        remedy += ", or import the set into a new corpus without a split"
    text = "; ".join(reasons)
    return f"Of the labelled questions ({len(both):,} with correct and incorrect sentences), {text}. {remedy}."


def _explain_likeness(composition: snapshot.Composition) -> str:
    """Why questions that could go to any part all went to one; "" where their wording is not why."""
    texts = [x.question.text for x in composition.questions]
    if len(group_near_duplicates(texts)) > 1:
        return ""
    return (
        f"All {len(texts):,} labelled questions have nearly the same words, and such questions stay in one part. Label "
        f"correct and incorrect sentences of {MIN_QUESTIONS} or more questions that are worded otherwise."
    )


def find_warnings(
    composition: snapshot.Composition, settings: RetrainSettings, trained_on: Collection[str], free_bytes: int
) -> list[str]:
    """What to be wary of; none of it blocks a retrain. `trained_on`: questions that the base has learnt from;
    `free_bytes`: of the disk that the checkpoints go to."""
    parts = composition.parts
    incomplete = find_incomplete(parts)
    copies = 0 if settings.is_fitted else len(plan_folds(parts.train, parts.held_out, trained_on=set(trained_on)))
    warnings = (
        "Pairs labelled unsure count as incorrect." if settings.choice.unsure_incorrect else "",
        _warn_of_held_out(composition, copies),
        _warn_of_incomplete(incomplete, "more " if parts.held_out else "") if incomplete else "",
        _warn_of_only_correct(parts, is_presumed=bool(settings.choice.presumed)),
        _warn_of_only_incorrect(composition),
        _warn_of_conflicts(composition),
        _warn_of_disk(free_bytes, 0 if settings.is_fitted else 1 + copies),
    )
    return [warning for warning in warnings if warning]


def _warn_of_held_out(composition: snapshot.Composition, copies: int) -> str:
    """`copies`: of the ranker, that are trained besides to check the result. Of a shipped corpus as it came, everybody
    knows that the questions are not their own."""
    parts = composition.parts
    own = (x.question for x in composition.questions if x.origin not in SHIPPED_CORPORA)
    if parts.borrowed_part == "dev" and any(q.has_labels for q in own):
        return (
            "None of your own questions is held out: before and after are measured on the dev questions of this "
            "corpus. Label questions of your own to measure on them."
        )
    return _warn_of_few(parts, copies) if 0 < len(parts.held_out) < MIN_HELD_OUT_QUESTIONS else ""


def _warn_of_only_correct(parts: Split, *, is_presumed: bool) -> str:
    """`is_presumed`: unlabelled candidates count as incorrect."""
    only_correct, _ = parts.one_sided
    if not only_correct:
        return ""
    questions = [q.text for q in parts.train if q.positives and not q.negatives]
    names = name_some([f"“{shorten(text, MAX_QUOTE_CHARS, placeholder=' …')}”" for text in questions], MAX_QUOTES)
    unranked = ", and no other was ranked that could count as incorrect" if is_presumed else ""
    remedy = "Ask it on Ask, which ranks others" if only_correct == 1 else "Ask them on Ask, which ranks others"
    return (
        f"{_are(only_correct)} labelled with correct sentences only ({names}){unranked}: there is nothing to "
        f"learn the difference from. {remedy}, or label an incorrect one."
    )


def _warn_of_only_incorrect(composition: snapshot.Composition) -> str:
    """Only where somebody here wrote one of them: of an imported set many have no answer."""
    _, only_incorrect = composition.parts.one_sided
    written_here = {x.question.qid for x in composition.questions if x.origin in WRITTEN_HERE}
    own = sum(q.qid in written_here and not q.positives for q in composition.parts.train)
    if not own:
        return ""
    of_them = f", {own:,} of them typed or from a list" if own < only_incorrect else ""
    return (
        f"{_are(only_incorrect)} labelled with incorrect sentences only{of_them}: a cascade learns nothing from "
        f"{'it' if only_incorrect == 1 else 'them'} until a correct one is labelled too."
    )


def _warn_of_conflicts(composition: snapshot.Composition) -> str:
    conflicts = sum(x.conflict_count for x in composition.questions)
    pairs = count(conflicts, "pair is", "pairs are")
    return f"{pairs} in conflict between annotators and left out." if conflicts else ""


def _warn_of_few(parts: Split, copies: int) -> str:
    """That few questions are held out, and what is done about it."""
    few = f"Only {_are(len(parts.held_out))} held out"
    if not copies:
        return f"{few}: before and after will be uncertain."
    return (
        f"{few}, too few to judge by. So the result is checked on training questions, too, by copies of the ranker "
        "that did not learn from them. This takes most of the time."
    )


def _warn_of_disk(free_bytes: int, trainings: int) -> str:
    needed = trainings * CHECKPOINT_BYTES
    if free_bytes >= needed:
        return ""
    return (
        f"The disk has {free_bytes / 1e9:.1f} GB free, and a retrain writes up to {needed / 1e9:.1f} GB until it ends. "
        "Free some space first. A retrain fails when the disk is full; Run again goes on from its last checkpoint."
    )


def find_incomplete(parts: Split) -> tuple[LabelledQuestion, ...]:
    """Questions on which nothing can be measured until they have the other kind of label, too; none where enough
    others are held out: of an imported set many have no answer."""
    return parts.incomplete if len(parts.held_out) < MIN_HELD_OUT_QUESTIONS else ()


def _warn_of_incomplete(questions: Sequence[LabelledQuestion], more: str) -> str:
    """`more`: "more " where others are held out that have labels of both kinds."""
    correct = sum(bool(x.question.positives) for x in questions)
    numbers = ((correct, CORRECT), (len(questions) - correct, INCORRECT))
    kinds = " and ".join(f"{n:,} with {kind} labels only" for n, kind in numbers if n)
    is_one = len(questions) == 1
    subject = f"1 {more}question is" if is_one else f"{len(questions):,} {more}questions are"
    return (
        f"{subject} held out ({kinds}), but nothing can be measured on {'it' if is_one else 'them'} until "
        f"{'it has' if is_one else 'they have'} labels of both kinds."
    )


def _are(questions: int) -> str:
    return count(questions, "question is", "questions are")
