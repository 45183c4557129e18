"""What there is to learn from, what stands in the way, and the form that starts a retrain."""

from __future__ import annotations

import streamlit as st

from app.components import adapt_choice, links, url
from app.components.errors import guarded
from app.components.figures import figures
from app.components.roles import barred
from app.components.text import count, percent, plain
from app.services import Workbench, adapting, versions
from app.services.adapt_views import Readiness
from app.services.views import AnnotatorView, CorpusView

SUITS = "what suits its kind"


def draw_labels(ready: Readiness) -> None:
    """Counts, balance, and how the questions are divided."""
    st.subheader("What there is to learn from", anchor=False)
    figures(
        (
            ("Labels", ready.labels, "Pairs of a question and a sentence that carry a label"),
            ("Questions to train on", ready.train_questions, "The ranker will learn from these"),
            ("Questions to steer by", ready.dev_questions, "Dev questions: they say when to stop"),
            ("Questions held out", ready.heldout_questions, "Never trained on: before and after is measured on these"),
        ),
        name="as2-ready",
    )
    if ready.labels:
        st.html(balance(ready))
    if parts := goes_in(ready):
        st.caption(parts)
    for problem in ready.problems:
        st.error(plain(problem), icon=":material/block:")
    for warning in ready.warnings:
        st.warning(plain(warning), icon=":material/info:")
    if ready.problems:
        with st.container(horizontal=True):
            links.to("label", "Label some sentences")
            links.to("ask", "Ask, and label there")
            if not ready.labels:
                links.to("data", "Let questions be proposed, or bring labels in")
        if not ready.labels:
            st.caption(
                "No labels yet? Type a question on **Ask** and say which sentences answer; let questions be proposed "
                "from your documents on **Data** and accept the good ones; or import labels that you have."
            )


def goes_in(ready: Readiness) -> str:
    """What is trained on, in a line; "" before there is anything."""
    if not ready.train_questions:
        return ""
    told = f"To train on: {ready.train_correct:,} correct and {ready.train_incorrect:,} incorrect labels"
    if ready.presumed:
        told += f", {ready.presumed:,} of them presumed"
    return told + (f"; {count(ready.replayed, 'shipped question')} mixed in." if ready.replayed else ".")


def balance(ready: Readiness) -> str:
    """The labels as one divided bar with its legend."""
    counts = {"correct": ready.correct, "incorrect": ready.incorrect, "unsure": ready.unsure}
    total = sum(counts.values()) or 1
    bar = "".join(f'<i class="{k}" style="flex: {n}"></i>' for k, n in counts.items() if n)
    legend = "".join(
        f'<span><i class="{k}"></i><b>{n:,}</b> {k} ({percent(n / total)})</span>' for k, n in counts.items() if n
    )
    spoken = ", ".join(f"{n} {k}" for k, n in counts.items())
    return (
        f'<div class="as2-balance" role="img" aria-label="{spoken}">{bar}</div><div class="as2-shares">{legend}</div>'
    )


def base(wb: Workbench) -> str:
    """What the form starts from, which says what was learnt from already; the first of its kind before it was drawn."""
    names = _bases(wb)
    chosen = st.session_state.get("adapt_base")
    return chosen if chosen in names else names[0]


def _bases(wb: Workbench) -> list[str]:
    """What a retrain of the chosen kind may start from, the version in use first."""
    kind = versions.kind_learnt(adapt_choice.kind())
    usable = [v for v in versions.list_versions(wb, kind=kind) if not v.problem]
    active = next((v.name for v in usable if v.state == "active"), "active")
    return [active, *(v.name for v in usable if v.name != active)]


def draw_start(wb: Workbench, corpus: CorpusView, ready: Readiness, me: AnnotatorView) -> None:
    """Base, settings and the button; starting puts the job into the address."""
    why = barred(me, "retrain")
    names = _bases(wb)
    active = names[0]
    _follow(names)
    under_way = adapting.active_jobs(wb, "retrain")
    busy = any(j.corpus_id == corpus.id for j in under_way)
    with st.expander("Settings", icon=":material/tune:", key="adapt_settings"):
        left, right = st.columns(2)
        with left:
            st.selectbox(
                "Start from", names, key="adapt_base", format_func=lambda n: _base_name(n, active),
                help="The version that is trained further; it stays as it is.",
            )  # fmt: skip
            fitted = adapt_choice.kind() in adapting.FITTED
            st.number_input(
                "Epochs", 1, 50, None, key="adapt_epochs", disabled=fitted, placeholder=SUITS,
                help="How often every label is seen. Dev questions stop it early.",
            )  # fmt: skip
        with right:
            st.number_input(
                "Learning rate", 1e-6, 1e-2, None, step=5e-6, format="%.1e", key="adapt_rate", disabled=fitted,
                placeholder=SUITS, help="How large a step is. Too large forgets what the base knew.",
            )  # fmt: skip
            st.number_input("Seed", 0, 2**31 - 1, 0, key="adapt_seed",
                            help="The same labels, settings and seed give the same version.")  # fmt: skip
            st.text_input("Note", key="adapt_note", max_chars=200, placeholder="What is this one for?")
    st.button(
        "Retrain from labels",
        type="primary",
        icon=":material/model_training:",
        disabled=busy or not ready.ready or bool(why),
        key="adapt_start",
        on_click=_start,
        args=(wb, corpus.id, me.id),
        help=why or "A job in a process of its own; you can go on working and close the page.",
    )
    if busy:
        st.caption("One is under way; its progress is above.")
    elif ready.ready:
        if under_way:
            st.caption(f"Job {under_way[0].id} retrains from another corpus: this one will wait until it has ended.")
        st.caption(
            f"Trains on {count(ready.train_questions, 'question')}; nothing changes until you promote the result."
        )


def _follow(names: list[str]) -> None:
    """Once another version is in use, who had chosen what was starts from that one. The choice is told anew then: a
    browser keeps an option's words, and "(in use)" has moved."""
    form, active = st.session_state, names[0]
    before, chosen = form.get("_adapt_base_active", active), form.get("adapt_base", active)
    if (before != active and chosen in (before, active)) or chosen not in names:
        form["adapt_base"] = active
    form["_adapt_base_active"] = active


def _base_name(name: str, active: str) -> str:
    if name == "active":
        return "a new one, as the catalog has it"
    return f"{name} (in use)" if name == active else name


@guarded
def _start(wb: Workbench, corpus_id: int, by: int) -> None:
    """Reads the form as it is now: what was typed just before the click had no run of its own."""
    form = st.session_state
    fitted = adapt_choice.kind() in adapting.FITTED
    job = adapting.start_retrain(
        wb,
        corpus_id,
        kind=adapt_choice.kind(),
        base=base(wb),
        choice=adapt_choice.choice(corpus_id),
        replay=adapt_choice.replay(),
        epochs=None if fitted else form["adapt_epochs"],
        learning_rate=None if fitted else form["adapt_rate"],
        seed=int(form["adapt_seed"]),
        note=form["adapt_note"].strip(),
        by=by,
    )
    url.put(job=job.id, version=None)
