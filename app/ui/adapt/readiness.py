"""How much training data there is, what blocks a retrain, and the form that starts one."""

from collections.abc import Sequence

import streamlit as st

from app.adapt import retrain_job
from app.adapt.readiness import Narrowing, Readiness
from app.adapt.report import RetrainReport
from app.adapt.settings import FITTED, MAX_EPOCHS, MAX_LEARNING_RATE, RetrainSettings
from app.corpora.corpora import list_corpora
from app.jobs import queue
from app.jobs.kinds import JobKind
from app.jobs.queue import JobView
from app.labels.queues import UNLABELLED
from app.ui import navigation, url
from app.ui.adapt import selection
from app.ui.errors import guard
from app.ui.figures import draw_figures
from app.ui.label.sidebar import draw_link_to_lists
from app.ui.page import Frame
from app.ui.text import format_percent, plain, render_notes
from app.ui.wording import describe_seconds, is_paused
from app.versions import registry
from app.versions.management import MAX_NOTE_CHARS
from app.versions.registry import VersionView
from app.workbench.workbench import Workbench
from as2core.messages import count
from as2core.types import CORRECT, INCORRECT, UNSURE

DEFAULT = "default for its kind"
STARTED = "_as2_adapt_started"  # of the session: the id of the retrain that it started last


def draw_labels(view: Readiness) -> None:
    if view.narrowing is not None:
        _draw_narrowing(view.narrowing)
    draw_figures(
        (
            ("Labelled pairs", view.labels, "Pairs of a question and a sentence that carry a label"),
            ("Training questions", view.useful_questions, "The ranker is trained on these"),
            ("Validation questions", view.dev_questions, "They decide when training stops"),
            ("Held-out questions", view.heldout_questions, "Never trained on: before and after are compared on these"),
        ),
        name="as2-ready",
    )
    if view.labels:
        st.html(render_balance(view))
    if view.train_questions:
        st.caption(describe_training_data(view))
    for problem in view.problems:
        st.info(plain(problem), icon=":material/checklist:")  # labels are missing, nothing is wrong
    if view.warnings:
        st.warning(render_notes(view.warnings), icon=":material/info:")
    if view.incomplete_ids:
        draw_link_to_lists("Label the held-out questions", view.incomplete_ids)
    if view.problems:
        with st.container(horizontal=True):
            navigation.to("label", "Label sentences", queue=UNLABELLED)
            navigation.to("ask", "Ask and label")
            if not view.labels:
                navigation.to("data", "Propose questions", view="proposals")
                navigation.to("data", "Import labels", view="labels")
        if not view.labels:
            st.caption(
                "There are three ways to get labels: type a question on **Ask** and label its sentences, let "
                "questions be proposed from your documents on **Data**, or import labels there."
            )


def _draw_narrowing(narrowing: Narrowing) -> None:
    """Which questions alone are trained on, with the way back to all."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/filter_alt: {describe_narrowing(narrowing)}", width="stretch")
        st.button("Train on all questions", key="adapt_all", type="tertiary", on_click=url.put, kwargs={"only": None})


def describe_narrowing(narrowing: Narrowing) -> str:
    """`Trains on 7 of the 12 questions that you chose: 2 are held out ...`"""
    others = (
        (narrowing.held_out, "held out for measuring"),
        (narrowing.dev, "for validation"),
        (narrowing.unlabelled, "without a label"),
        (narrowing.unused, "of a test part or a benchmark, never trained on"),
    )
    rest = ", ".join(f"{n:,} {what}" for n, what in others if n)
    questions = count(narrowing.questions, "question")
    return (
        f"Trains on **{narrowing.train:,}** of the {questions} that you chose{f' ({rest})' if rest else ''}. "
        "Measured on all held-out questions, as always."
    )


def describe_training_data(view: Readiness) -> str:
    incorrect = view.train_incorrect - view.presumed
    text = f"Training data: {view.train_correct:,} correct and {incorrect:,} incorrect labels"
    if view.presumed:
        text += f", and {view.presumed:,} unlabelled sentences that count as incorrect"
    return text + (f"; {count(view.replayed, 'shipped question')} mixed in." if view.replayed else ".")


def describe_training_questions(view: Readiness) -> str:
    """`Trains on 5 questions (1 with incorrect labels only is left out)`"""
    useless = [(view.only_correct, CORRECT), (view.only_incorrect, INCORRECT)]
    reasons = [f"{n:,} with {kind} labels only" for n, kind in useless if n]
    are = "is" if view.only_correct + view.only_incorrect == 1 else "are"
    note = f" ({' and '.join(reasons)} {are} left out)" if reasons else ""
    return f"Trains on {count(view.useful_questions, 'question')}{note}"


def render_balance(view: Readiness) -> str:
    counts = {CORRECT: view.correct, INCORRECT: view.incorrect, UNSURE: view.unsure, "disputed": view.conflict_count}
    total = sum(counts.values()) or 1
    bar = "".join(f'<i class="{k}" style="flex: {n}"></i>' for k, n in counts.items() if n)
    legend = "".join(
        f'<span><i class="{k}"></i><b>{n:,}</b> {k} ({format_percent(n / total)})</span>'
        for k, n in counts.items()
        if n
    )
    alt = ", ".join(f"{n} {k}" for k, n in counts.items())
    return f'<div class="as2-balance" role="img" aria-label="{alt}">{bar}</div><div class="as2-shares">{legend}</div>'


def read_settings(frame: Frame, versions: Sequence[VersionView]) -> RetrainSettings:
    """Of the whole form. The base is the version in use until the form was drawn. `versions`: all, newest first."""
    names = _list_bases(versions)
    base = st.session_state.get("adapt_base")
    return selection.read_settings(frame.corpus.id, base if base in names else names[0])


def _list_bases(versions: Sequence[VersionView]) -> list[str]:
    """What a retrain of the chosen kind may start from, the version in use first. `versions`: all, newest first."""
    kind = RetrainSettings(kind=selection.read_kind()).version_kind
    usable = [v for v in versions if v.kind == kind and not v.problem]
    active = next((v.name for v in usable if v.state == "active"), "active")
    return [active, *(v.name for v in usable if v.name != active)]


def draw_start(frame: Frame, view: Readiness, versions: Sequence[VersionView], under_way: Sequence[JobView]) -> None:
    """Base, settings and the button; starting puts the job into the address. `versions`: all, newest first.
    `under_way`: the retrains that wait or run, of any corpus."""
    why = frame.explain_refusal("retrain")
    own = next((j for j in under_way if j.corpus_id == frame.corpus.id), None)
    _draw_settings(_list_bases(versions))
    if view.expectation:
        st.info(plain(view.expectation), icon=":material/school:")
    notice = f"A retrain of this corpus is under way (job {own.id})." if own is not None else ""
    st.button(
        "Retrain from labels",
        type="primary",
        icon=":material/model_training:",
        disabled=own is not None or not view.is_ready or bool(why),
        key="adapt_start",
        on_click=_start,
        args=(frame,),
        help=why
        or notice
        or plain(" ".join(view.problems))
        or "Runs in the background: you can go on working, or close the page.",
    )
    if own is not None:
        st.caption(notice)  # it may be paused without a new drawing
    elif view.is_ready:
        if ahead := min((j for j in under_way if not is_paused(j)), key=lambda j: j.state != "running", default=None):
            st.caption(f"Job {ahead.id} retrains from another corpus: this one starts when it has ended.")
        promotion, time = _describe_promotion(frame.wb), _describe_time(frame.wb)
        st.caption(f"{describe_training_questions(view)}; {promotion}. {time}")


def _describe_promotion(wb: Workbench) -> str:
    text = "nothing changes until you promote the result"
    kind = RetrainSettings(kind=selection.read_kind()).version_kind
    has_others = kind in registry.ANSWERING and len(list_corpora(wb)) > 1
    return f"{text}, which then answers for all corpora" if has_others else text


def _describe_time(wb: Workbench) -> str:
    """What the last retrain took, of any corpus: it tells most about this machine."""
    last = queue.find_newest(wb, JobKind.RETRAIN, None, "done")
    if last is None or not last.result:
        return "A retrain on up to 200 questions takes one to five minutes on two free cores."
    report = RetrainReport.from_json(last.result)
    questions = report.labels.useful_questions  # which results of older programs lack
    amount = f", with {count(questions, 'training question')}" if questions else ""
    return f"The last retrain took {describe_seconds(report.seconds)}{amount}."


def _draw_settings(bases: list[str]) -> None:
    _update_base(bases)
    active, is_fitted = bases[0], selection.read_kind() in FITTED
    with st.expander("Training settings", icon=":material/tune:", key="adapt_settings"):
        left, right = st.columns(2)
        with left:
            st.selectbox(
                "Start from", bases, key="adapt_base", format_func=lambda n: _describe_base(n, active),
                help="The version that is trained further; it stays as it is.",
            )  # fmt: skip
            st.number_input(
                "Epochs", 1, MAX_EPOCHS, None, key="adapt_epochs", disabled=is_fitted, placeholder=DEFAULT,
                help="Passes over the labels. Training may stop earlier, on the validation questions.",
            )  # fmt: skip
        with right:
            st.number_input(
                "Learning rate", 1e-6, MAX_LEARNING_RATE, None, step=5e-6, format="%.1e", key="adapt_rate",
                disabled=is_fitted, placeholder=DEFAULT, help="The size of a step. A large one forgets more.",
            )  # fmt: skip
            st.number_input("Seed", 0, 2**31 - 1, 0, key="adapt_seed",
                            help="The same labels, settings and seed give the same version.")  # fmt: skip
            st.text_input("Note", key="adapt_note", max_chars=MAX_NOTE_CHARS, placeholder="What is this version for?")


def _update_base(names: list[str]) -> None:
    """Once another version is in use, a form that had the one before starts from the new one. The choice is set again
    even if it stays: a browser keeps an option's words, and "(in use)" has moved."""
    form, active = st.session_state, names[0]
    before, base = form.get("_adapt_base_active", active), form.get("adapt_base", active)
    if (before != active and base in (before, active)) or base not in names:
        form["adapt_base"] = active
    form["_adapt_base_active"] = active


def _describe_base(name: str, active: str) -> str:
    if name == "active":
        return "a new ranker from the catalog"
    return f"{name} (in use)" if name == active else name


@guard
def _start(frame: Frame) -> None:
    """Reads the form as it is now: what was typed just before the click had no run of its own. The second click of two
    finds the retrain of the first."""
    wb, corpus_id = frame.wb, frame.corpus.id
    settings = read_settings(frame, registry.list_versions(wb, kind=None))
    job = retrain_job.find_same_retrain(wb, corpus_id, settings)
    job = job or retrain_job.start_retrain(wb, corpus_id, settings, by=frame.annotator.id)
    url.put(job=job.id, version=None, only=None)
    st.session_state[STARTED] = job.id
