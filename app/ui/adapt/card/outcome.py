"""What came of a retrain, and how far the compared questions can be trusted to say so."""

import streamlit as st

from app.adapt.report import RetrainReport
from app.adapt.settings import CALIBRATION
from app.ui.text import plain
from app.ui.wording import describe_test
from as2core.messages import count

PROBABILITIES_ONLY = "This retrain sets the probabilities and the threshold for an answer. The order stays as it was."


def draw_outcome(report: RetrainReport) -> None:
    st.html(
        f'<div class="as2-outcome {report.outcome.name.lower()}" data-testid="as2-outcome">'
        f"<b>{report.change.headline}</b>"
        f"<span>AP {report.before['AP']:.3f} → {report.after['AP']:.3f}</span></div>"
    )
    if turns := describe_turns(report):
        st.markdown(turns)
    st.markdown(plain(describe_test(report.paired)))
    kind = PROBABILITIES_ONLY if report.kind == CALIBRATION else ""
    if text := " ".join(filter(None, [kind, describe_judges(report), describe_power(report)])):
        st.caption(text)


def count_questions(report: RetrainReport) -> str:
    """`8 held-out questions`, or `20 questions` where not all of them are held out from the version."""
    what = "question" if report.labels.cross_fitted_questions else "held-out question"
    return count(len(report.per_question), what)


def describe_turns(report: RetrainReport) -> str:
    """How many first sentences became correct, and incorrect; where none did, how many are correct; "" of an older
    program's card, which has no sentences. Markdown."""
    up, down = (sum(q.turn == turn for q in report.per_question) for turn in (1, -1))
    tops = [q.top_after for q in report.per_question if q.top_after is not None]
    if not tops:
        return ""
    if not up and not down:
        return f"{_describe_firsts(report, sum(top.correct for top in tops))}, before and after alike."
    return (
        f"Of {count_questions(report)}, **{up:,}** got a correct first sentence where it was incorrect before, and "
        f"**{down:,}** lost one."
    )


def _describe_firsts(report: RetrainReport, correct: int) -> str:
    """`The first sentence is correct on all 9 held-out questions`"""
    questions = count_questions(report)
    if 0 < correct < len(report.per_question):
        return f"The first sentence is correct on **{correct:,}** of {questions}"
    which = "the" if len(report.per_question) == 1 else "all"
    return f"The first sentence is {'correct' if correct else 'incorrect'} on {which} {questions}"


def describe_judges(report: RetrainReport) -> str:
    """By which models the questions were ranked, where the version did not rank them all, or would not have; ""
    else."""
    n = report.labels
    if report.is_check_skipped:
        return (
            "The check on training questions was left out, because somebody pressed Finish without the check. The "
            f"comparison is on {count(n.held_out_questions, 'held-out question')} alone, which can say little. To have "
            "it checked, retrain again."
        )
    if not n.cross_fitted_questions:
        return ""
    verb = "is" if n.cross_fitted_questions == 1 else "are"
    return (
        f"Only {count(n.held_out_questions, 'question')} held out would say little. Therefore "
        f"{count(n.cross_fitted_questions, 'training question')} {verb} compared as well, each ranked by a copy of "
        "the ranker that was not trained on it. The copies learn from fewer questions than the version, so they show "
        "somewhat less than it gains."
    )


def describe_power(report: RetrainReport) -> str:
    """What the compared questions could have shown at all; "" where too few changed, which the test says, or none, or
    the change is clear."""
    smallest = report.detectable_difference
    if smallest is None:
        return ""
    text = (
        f"With these {count_questions(report)}, a change of {smallest:.3f} AP or more would have been seen four times "
        "in five"
    )
    room = 1 - report.before["AP"]
    if smallest > room:
        return f"{text}, but only {room:.3f} was left to gain: label other questions."
    return f"{text}. A smaller one is likely to go unnoticed: label more questions to see it."
