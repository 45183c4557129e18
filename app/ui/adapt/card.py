"""The card of a retrained version: the outcome and the decision about it, then before and after on held-out questions,
question by question, exit by exit."""

from collections.abc import Callable, Collection, Mapping, Sequence

import pandas as pd
import streamlit as st

from app.adapt.baselines import SHIPPED
from app.adapt.report import (
    BeforeAfter,
    ExcludedLabel,
    LabelCounts,
    Metrics,
    QuestionChange,
    RetrainReport,
    TopSentence,
)
from app.ui import navigation
from app.ui.charts.intervals import Change, build_before_after_chart
from app.ui.charts.reliability import build_reliability_chart
from app.ui.text import count, escape, plain, shorten
from app.ui.wording import METRICS, UNRANKED, describe_seconds, describe_test
from app.versions.benchmarks import TITLES
from app.versions.outcome import MAX_FORGOTTEN_POINTS, count_lost_points, is_forgetting
from app.versions.registry import ANSWERING, CASCADE
from as2core.evaluation import Outcome
from as2core.training_record import TRAINED_ON, VALIDATED_ON
from as2core.types import CORRECT, INCORRECT, Json

HiddenLabels = Collection[tuple[str, str]]  # (question, sentence) that the reader has to label first
FindExample = Callable[[Sequence[QuestionChange], str], QuestionChange | None]
MAX_QUESTIONS, MAX_SENTENCE_CHARS = 6, 140
CLASSES = {CORRECT: "up", INCORRECT: "down"}
ORIGINS = {  # others as they are
    "asked": "typed",
    "listed": "from a list",
    "starter": "from the starter corpus",
    "handbook": "from the handbook corpus",
}
BASELINES = {  # name -> heading, explanation
    **{name: ("not reranked", explanation) for name, explanation in UNRANKED.items()},
    SHIPPED: ("shipped", "the model that came with the program"),
}
LONG_KEYS = (TRAINED_ON, VALIDATED_ON, "per_question", "left_out")  # of a card; shown above, or too long to read


def draw_card(
    card: Mapping[str, Json], hidden: HiddenLabels, decide: Callable[[], None], find_example: FindExample
) -> None:
    """A version's card: its figures if it was made here, and its full content. The others are as in `draw`. Raises
    DamagedModel."""
    report = RetrainReport.from_card(card)
    if card.get("imported_from"):
        st.info("This version was imported. Its figures are the importer's claim; none was measured here. Compare "
                "measures it.", icon=":material/move_to_inbox:")  # fmt: skip
    if report is not None:
        draw(report, hidden, decide, find_example)
    else:
        if not card.get("imported_from"):
            st.caption("This version came with the program; it was not retrained here.")
        decide()
    with st.expander("Full card", icon=":material/data_object:", expanded=report is None, key="adapt_whole_card"):
        st.json({k: v for k, v in card.items() if k not in LONG_KEYS}, expanded=2)


def draw(report: RetrainReport, hidden: HiddenLabels, decide: Callable[[], None], find_example: FindExample) -> None:
    """`decide` draws the decision, which stands between the outcome and what it rests on. `find_example` chooses from
    the questions whose first sentence became correct one that this version answers correctly on Ask."""
    _draw_outcome(report)
    decide()
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        _draw_metrics(report)
    with right:
        _draw_exits(report)
        _draw_benchmarks(report)
        _draw_reliability(report)
    _draw_questions(report, hidden, find_example)
    _draw_excluded_labels(report, hidden)
    if facts := describe_training(report):
        st.html(f'<p class="as2-facts">{escape(facts)}</p>')


def _draw_outcome(report: RetrainReport) -> None:
    st.html(
        f'<div class="as2-outcome {report.outcome.name.lower()}" data-testid="as2-outcome">'
        f"<b>{report.change.headline}</b>"
        f"<span>AP {report.before['AP']:.3f} → {report.after['AP']:.3f}</span></div>"
    )
    st.markdown(describe_turns(report))
    st.markdown(plain(describe_test(report.paired)))
    if text := " ".join(filter(None, [describe_judges(report), describe_power(report)])):
        st.caption(text)


def count_questions(report: RetrainReport) -> str:
    """`8 held-out questions`, or `20 questions` where not all of them are held out from the version."""
    what = "question" if report.labels.cross_fitted_questions else "held-out question"
    return count(len(report.per_question), what)


def describe_judges(report: RetrainReport) -> str:
    """By which models the questions were ranked, where the version did not rank them all; "" else."""
    n = report.labels
    if not n.cross_fitted_questions:
        return ""
    verb = "is" if n.cross_fitted_questions == 1 else "are"
    return (
        f"Only {count(n.held_out_questions, 'question')} held out would say little. Therefore "
        f"{count(n.cross_fitted_questions, 'training question')} {verb} compared as well, each ranked by a copy of the "
        "model that was not trained on it. The copies learn from fewer questions than the version, so they show "
        "somewhat less than it gains."
    )


def describe_power(report: RetrainReport) -> str:
    """What the compared questions could have shown at all; "" where too few changed, which the test says, or none, or
    the change is clear."""
    smallest = report.detectable_difference
    if smallest is None:
        return ""
    return (
        f"With these {count_questions(report)}, a change of {smallest:.3f} AP or more would have been seen four times "
        "in five. A smaller one is likely to go unnoticed: label more questions to see it."
    )


def _draw_metrics(report: RetrainReport) -> None:
    st.markdown(f"**Before and after, on the same {count(report.change.questions, 'question')}**")
    names = [m for m in METRICS if m in report.before and m in report.after]
    before, after = report.intervals.before, report.intervals.after
    rows = [Change(m, report.before[m], report.after[m], *after.get(m, (None, None))) for m in names]
    alt = "Each metric before (grey) and after (coloured) with its 95 % interval"
    _draw_changes(rows, report.outcome, "adapt_before_after", alt)
    fixed = [b for b in report.baselines if b.metrics != report.before]
    head = "".join(f"<th title='{BASELINES[b.name][1]}'>{BASELINES[b.name][0]}</th>" for b in fixed)
    cells = "".join(
        f"<tr><th title='{METRICS[m]}'>{m}</th>{''.join(f'<td>{b.metrics[m]:.3f}</td>' for b in fixed)}"
        f"<td>{_format_interval(report.before[m], before.get(m))}</td>"
        f"<td>{_format_interval(report.after[m], after.get(m))}</td><td>{report.after[m] - report.before[m]:+.3f}</td>"
        "</tr>"
        for m in names
    )
    st.html(
        f'<table class="as2-table as2-wraps"><thead><tr><th></th>{head}'
        f"<th>before</th><th>after</th><th>change</th></tr></thead><tbody>{cells}</tbody></table>"
    )
    st.caption(describe_baselines(report))


def describe_baselines(report: RetrainReport) -> str:
    """What the columns beside before and after are."""
    is_same = any(b.name == SHIPPED and b.metrics == report.before for b in report.baselines)
    texts = [
        f"{BASELINES[b.name][0].capitalize()}: {BASELINES[b.name][1]}." for b in report.baselines if b.name != SHIPPED
    ]
    if is_same and report.base in ANSWERING:  # shipped versions are called as their kinds
        texts.append("Before is the shipped model.")
    elif is_same:
        texts.append("The shipped model has the same figures as before.")
    return " ".join(["Small: the 95 % interval, from resampling the questions.", *texts])


def _draw_changes(rows: Sequence[Change], outcome: Outcome, key: str, alt: str) -> None:
    st.altair_chart(
        build_before_after_chart(rows, outcome), width="stretch", height=44 * len(rows) + 48, key=key, alt=alt
    )


def _format_interval(value: float, interval: tuple[float, float] | None) -> str:
    small = f"<small>{interval[0]:.2f} – {interval[1]:.2f}</small>" if interval else ""
    return f"{value:.3f}{small}"


def _draw_exits(report: RetrainReport) -> None:
    before, after = report.per_exit.before, report.per_exit.after
    rows = [Change(f"layer {n}", before[n], after[n]) for n in sorted(after, key=int) if n in before]
    if rows:
        st.markdown("**At every exit**")
        _draw_scope(report)
        alt = "Average precision at every exit of the cascade, before and after"
        _draw_changes(rows, report.outcome, "adapt_exits", alt)
        st.caption(
            "The small grey dot is before, the large one after, with the change above it. Here nothing is dropped: "
            "every exit ranks all candidates, so the last one may differ from the AP above."
        )


def _draw_scope(report: RetrainReport) -> None:
    """Which questions a figure is of that the copies have no part in."""
    if report.labels.cross_fitted_questions:
        st.caption(f"On the {count(report.labels.held_out_questions, 'held-out question')} only")


def _draw_benchmarks(report: RetrainReport) -> None:
    if report.benchmarks:
        st.markdown("**On the frozen benchmarks**")
        st.markdown(describe_forgetting(report.benchmarks))
        st.html(render_benchmarks(report.benchmarks))


def describe_forgetting(benchmarks: Mapping[str, BeforeAfter[Metrics]]) -> str:
    """How AP changed on every benchmark, or only where some was forgotten; Markdown."""
    both = [(name, b) for name, b in benchmarks.items() if "AP" in b.before and "AP" in b.after]
    changes = [(name, b.before["AP"], b.after["AP"]) for name, b in both]
    fell = [(n, before, after) for n, before, after in changes if is_forgetting(count_lost_points(before, after))]
    values = " and ".join(
        f"from {before:.3f} to {after:.3f} ({plain(TITLES.get(name, name))})" for name, before, after in fell or changes
    )
    end = f"nothing of note was forgotten (a fall by up to {MAX_FORGOTTEN_POINTS:g} points does not count)."
    if fell:
        end = "some of it was **forgotten**; weigh that against the gain."
    noun = "benchmark" if len(changes) == 1 else "benchmarks"
    return f"On the frozen {noun}, which no retrain trains on, AP {'fell' if fell else 'went'} {values}: {end}"


def render_benchmarks(benchmarks: Mapping[str, BeforeAfter[Metrics]]) -> str:
    """A row a benchmark, before and after by every metric that both have."""

    def format_change(sides: BeforeAfter[Metrics], metric: str) -> str:
        if metric not in sides.before or metric not in sides.after:
            return "<td></td>"
        return f"<td>{sides.before[metric]:.3f} → {sides.after[metric]:.3f}</td>"

    head = "".join(f"<th title='{title}'>{m}</th>" for m, title in METRICS.items())
    rows = "".join(
        f"<tr><th>{escape(TITLES.get(name, name))}</th>{''.join(format_change(sides, m) for m in METRICS)}</tr>"
        for name, sides in benchmarks.items()
    )
    return f'<table class="as2-table as2-wraps"><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _draw_reliability(report: RetrainReport) -> None:
    chart = build_reliability_chart(report.reliability.before, report.reliability.after)
    if chart is not None:
        st.markdown("**Calibration of its probabilities**")
        _draw_scope(report)
        alt = "Share of correct sentences by probability, before and after"
        st.altair_chart(chart, width="stretch", key="adapt_reliability", alt=alt)


def _draw_questions(report: RetrainReport, hidden: HiddenLabels, find_example: FindExample) -> None:
    questions = sorted(report.per_question, key=lambda q: (-abs(q.turn), -abs(q.change)))
    if not questions:
        return
    st.markdown("**The same questions, before and after**")
    st.caption(
        "Here each question has a fixed list of candidates, those that its labels were given on. On Ask, the search "
        "has to find the sentence among all documents first."
    )
    if report.version and (better := [q for q in questions if q.turn > 0 and not is_hidden(q, hidden)]):
        _draw_example(report, find_example(better, report.version))
    left, right = st.columns(2, gap="large")
    with left:
        _draw_list("Better", [q for q in questions if q.change > 0], hidden, "No question improved.")
    with right:
        _draw_list("Worse", [q for q in questions if q.change < 0], hidden, "No question got worse.")
    title = f"All {count_questions(report)}"
    with st.expander(title, icon=":material/list:", key="adapt_all_questions"):
        number = st.column_config.NumberColumn(format="%.3f", width="small")
        st.dataframe(
            make_frame(report.per_question, hidden), hide_index=True,
            key="adapt_questions", column_config={"before": number, "after": number, "change": number},
        )  # fmt: skip


def _draw_example(report: RetrainReport, best: QuestionChange | None) -> None:
    if best is not None:
        pair = {"base": report.base, "against": report.version}
        navigation.to("ask", "Ask one of them, before and after side by side", q=best.question, **pair)
    elif report.kind == CASCADE:  # another ranker does not answer on Ask
        st.caption("None of the questions that were tried has its correct sentence first on Ask yet, where all "
                   "documents are searched. Label more questions.")  # fmt: skip


def describe_turns(report: RetrainReport) -> str:
    """How many first sentences became correct, and incorrect; Markdown."""
    up, down = (sum(q.turn == turn for q in report.per_question) for turn in (1, -1))
    return (
        f"Of {count_questions(report)}, **{up:,}** got a correct first sentence where it was incorrect before, and "
        f"**{down:,}** lost one."
    )


def is_hidden(question: QuestionChange, hidden: HiddenLabels) -> bool:
    """Whether the reader may not see yet which of its first sentences are correct."""
    tops = (question.top_before, question.top_after)
    return any(top is not None and (question.question, top.text) in hidden for top in tops)


def describe_label(question: str, sentence: TopSentence | ExcludedLabel, hidden: HiddenLabels) -> str:
    if (question, sentence.text) in hidden:
        return "shown once you have labelled it"
    return CORRECT if sentence.correct else INCORRECT


def make_frame(questions: Sequence[QuestionChange], hidden: HiddenLabels) -> pd.DataFrame:
    """Every held-out question with what was first before and after, where the report has it."""
    frame = pd.DataFrame([{k: getattr(q, k) for k in ("question", "before", "after", "change")} for q in questions])
    for when in ("before", "after"):
        tops = [(q.question, getattr(q, f"top_{when}")) for q in questions]
        if any(top for _, top in tops):
            frame[f"first {when}"] = [top and f"{top.text} ({describe_label(q, top, hidden)})" for q, top in tops]
    return frame


def _draw_list(title: str, questions: Sequence[QuestionChange], hidden: HiddenLabels, none: str) -> None:
    st.markdown(f"**{title}** · {count(len(questions), 'question')}")
    if not questions:
        st.caption(none)
        return
    items = "".join(
        f'<div class="q"><span class="n {"up" if q.change > 0 else "down"}">{q.before:.2f} → {q.after:.2f}</span>'
        f"<span>{escape(q.question)}{_format_tops(q, hidden)}</span></div>"
        for q in questions[:MAX_QUESTIONS]
    )
    st.html(f'<div class="as2-wins">{items}</div>')
    if len(questions) > MAX_QUESTIONS:
        st.caption(f"and {len(questions) - MAX_QUESTIONS:,} more below")


def _format_tops(q: QuestionChange, hidden: HiddenLabels) -> str:
    """The sentences that were first before and after; "" where the first stayed."""
    if not q.top_before or not q.top_after or q.top_before.text == q.top_after.text:
        return ""
    lines = []
    for when, top in (("before", q.top_before), ("now", q.top_after)):
        label = describe_label(q.question, top, hidden)
        text = escape(shorten(top.text, MAX_SENTENCE_CHARS))
        lines.append(f'<small class="{CLASSES.get(label, "")}">{when}, {label}: {text}</small>')
    return "".join(lines)


def _draw_excluded_labels(report: RetrainReport, hidden: HiddenLabels) -> None:
    labels = report.left_out
    if labels is None:
        return
    title = f"{count(labels.labels, 'label')} left out, more likely wrong than right"
    with st.expander(title, icon=":material/rule:", key="adapt_left_out"):
        st.caption(
            f"An estimated {labels.rate:.0%} of the labels are wrong. Of those left out, {labels.correct:,} are "
            "“correct”. The labels stay as they are; to check such labels, use Second looks on the page Agreement."
        )
        rows = [
            {"Question": x.question, "Sentence": x.text, "Labelled": describe_label(x.question, x, hidden)}
            for x in labels.to_read
        ]
        st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch", key="adapt_left_out_list")
        if len(rows) < labels.labels:
            st.caption(f"The {len(rows):,} least likely to be right.")


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
        are = "is" if n.skipped_questions == 1 else "are"
        rest = f"{n.skipped_questions:,} of the {n.questions:,} {are} left out, with labels of one kind only"
        inside = "; ".join(filter(None, (origins, _describe_label_counts(n), rest if n.skipped_questions else "")))
        useful = count(n.useful_questions, "question")
        parts.append(f"Trained on {useful}" + (f" ({inside})" if inside else ""))
    if n.dev_questions:
        parts.append(count(n.dev_questions, "validation question"))
    if n.held_out_questions:
        parts.append(f"{n.held_out_questions:,} held out")
    if n.cross_fitted_questions:
        parts.append(f"{n.cross_fitted_questions:,} of the training questions compared by copies")
    return ", ".join(parts) + "." if parts else ""


def _describe_label_counts(n: LabelCounts) -> str:
    """`5 correct and 108 incorrect labels, 40 unlabelled sentences counted as incorrect`; "" in an older report."""
    if n.correct is None or n.incorrect is None:
        return ""
    presumed_count = n.presumed or 0
    labels = f"{n.correct:,} correct and {count(n.incorrect - presumed_count, 'incorrect label')}"
    return labels + (f", {count(presumed_count, 'unlabelled sentence')} counted as incorrect" if presumed_count else "")
