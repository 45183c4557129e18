"""In a sentence or two, what a version was trained on and how."""

from app.adapt.report import LabelCounts, RetrainReport
from app.ui.wording import describe_seconds
from as2core.messages import count

ORIGINS = {  # others as they are
    "asked": "typed",
    "listed": "from a list",
    "starter": "from the starter corpus",
    "handbook": "from the handbook corpus",
}


def describe_training(report: RetrainReport) -> str:
    """`Trained on 12 questions (9 typed, 3 proposed; 13 correct and 36 incorrect labels), 2 validation questions, 4
    held out. Labels by ann (40), bob (9). ...`, ending with the snapshot."""
    n, choice, settings = report.labels, report.choice, report.settings
    sentences = [
        _describe_questions(report),
        f"Labels by {', '.join(f'{who} ({k:,})' for who, k in n.givers.items())}." if n.givers else "",
        f"{count(n.replayed_questions, 'shipped question')} mixed in." if n.replayed_questions else "",
        f"{count(report.left_out.labels, 'label')} left out." if report.left_out else "",
        f"Only labels of {', '.join(choice.annotators)}." if choice.annotators else "",
        f"Only {count(len(choice.questions), 'chosen question')}." if choice.questions else "",
        f"Labels since {choice.since} (UTC)." if choice.since else "",
        f"Conflicts: {choice.conflicts}." if choice.conflicts != "majority" else "",
    ]
    if choice.presumed and n.presumed is None:  # else their number is among the labels
        sentences.append(f"Up to {choice.presumed:,} unlabelled sentences a question counted as incorrect.")
    if report.weights:
        weights = ", ".join(f"{name.rpartition('/')[2]} {w:.2f}" for name, w in report.weights.items())
        sentences.append(f"Weights: {weights}.")
    if isinstance(epochs := settings.get("epochs"), int):
        sentences.append(f"{count(epochs, 'epoch')} at {settings['learning_rate']:.1e}, seed {settings['seed']}.")
    if report.base:
        sentences.append(f"Made from {report.base}.")
    if report.seconds:
        total, training = describe_seconds(report.seconds), describe_seconds(report.training_seconds)
        sentences.append(f"{total} in all, {training} of training.")
    if report.snapshot:
        sentences.append(f"Snapshot of the labels: {report.snapshot[:12]}")
    return " ".join(filter(None, sentences))


def _describe_questions(report: RetrainReport) -> str:
    n, parts = report.labels, []
    if n.questions:
        origins = ", ".join(f"{k:,} {ORIGINS.get(origin, origin)}" for origin, k in n.origins.items())
        rest, useful = "", count(n.useful_questions, "question")
        if n.skipped_questions:
            others = "other has" if n.skipped_questions == 1 else f"other {n.skipped_questions:,} have"
            rest = f"the {others} labels of one kind only"
            useful = f"{n.useful_questions:,} of {count(n.questions, 'question')}"
        inside = "; ".join(filter(None, (origins, _describe_label_counts(n), rest)))
        parts.append(f"Trained on {useful}" + (f" ({inside})" if inside else ""))
    if n.dev_questions:
        parts.append(count(n.dev_questions, "validation question"))
    if n.held_out_questions:
        parts.append(f"{n.held_out_questions:,} held out")
    if n.cross_fitted_questions:
        parts.append(f"{n.cross_fitted_questions:,} of the training questions compared, too")
    return ", ".join(parts) + "." if parts else ""


def _describe_label_counts(n: LabelCounts) -> str:
    """`5 correct and 108 incorrect labels, 40 unlabelled sentences counted as incorrect`; "" in an older report."""
    if n.correct is None or n.incorrect is None:
        return ""
    presumed_count = n.presumed or 0
    labels = f"{n.correct:,} correct and {count(n.incorrect - presumed_count, 'incorrect label')}"
    return labels + (f", {count(presumed_count, 'unlabelled sentence')} counted as incorrect" if presumed_count else "")
