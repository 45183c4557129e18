"""Labels first: what people labelled correct for the same question stands before the model's own answer, which is one
click away, and what they labelled incorrect is no answer.

What is shown stays while the page is open, so that no label button changes its sentence under the pointer: labels given
meanwhile take effect when the question is asked again, or with **Apply labels**.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import streamlit as st

from app.ask.asking import Answer, AskView
from app.ask.pins import Arrangement, Pin, PinnedSentence, arrange
from app.ui import navigation, url
from app.ui.ask import result
from app.ui.ask.answer import (
    BELOW_ANSWERS,
    NO_ANSWER,
    NONE_BY_THE_RANKER,
    draw_answer,
    draw_card,
    render_context,
    render_percent,
)
from app.ui.ask.notes.overlooked import describe_rank
from app.ui.page import Frame
from app.ui.text import capitalize, escape, name_document, plain, shorten
from as2core.cascade.attribution import Attribution
from as2core.cascade.trace import CascadeTrace
from as2core.messages import join
from as2core.types import CORRECT, UNSURE

MAX_QUESTION_CHARS, MAX_TEXT_CHARS, MAX_MORE, MAX_NAMES = 120, 90, 3, 3
_IS_ON, _SWITCH, OFF = "_as2_labels_first", "as2_labels_first", "off"


def read_is_on() -> bool:
    """Whether labels come first. Writes it to the address as `labels=off`."""
    is_on = url.follow("labels", _IS_ON, lambda text: text != OFF)
    url.put(labels=None if is_on else OFF)
    return is_on


def draw_switch(
    frame: Frame, view: AskView, run: CascadeTrace, arrangement: Arrangement, present: Mapping[int, Pin]
) -> None:
    """The switch where there is something to switch; a button where the labels at present, `present`, would change the
    arrangement that is shown; and where to move a label that could come first if its sentence were not gone."""
    current = arrange(frame.wb, view, run, present)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content", key="as2-pins"):
        if current.orphans and not current.top:
            _draw_way_to_label(frame, current.orphans[0])
        parts = (current.top, current.bottom, current.conflicts, arrangement.top, arrangement.rejections)
        if not any(parts):
            return
        is_on = read_is_on()
        st.session_state[_SWITCH] = is_on
        st.toggle(
            "Labels first",
            key=_SWITCH,
            help="What was labelled correct for this question comes first, what was labelled incorrect last",
            on_change=_switch,
        )
        if is_on and current.outline(view) != arrangement.outline(view):
            st.button(
                "Apply labels",
                key="as2_apply_labels",
                type="tertiary",
                icon=":material/vertical_align_top:",
                help="Labels of this question have changed since it was asked",
                on_click=result.forget_pins,
            )


def _draw_way_to_label(frame: Frame, pin: Pin) -> None:
    text = ":material/label_off: The sentence labelled correct for this question is in no document any more."
    if frame.is_admin or pin.own or frame.annotator.name in pin.by:
        st.caption(text, width="content")
        navigation.to("data", "Move the label", corpus=frame.corpus.name, view="list", where="gone")
    else:
        st.caption(f"{text} Whoever labelled it, or an admin, can move the label.", width="content")


def _switch() -> None:
    st.session_state[_IS_ON] = st.session_state[_SWITCH]


def draw_arranged(
    answer: Answer,
    run: CascadeTrace,
    arrangement: Arrangement,
    me: str,
    attribute: Callable[[int], Attribution | None] = lambda position: None,
    *,
    own_label: str | None = None,
    labels: Mapping[int, str] = MappingProxyType({}),
) -> None:
    """The first sentence of the arrangement, and the model's own answer where that is another. `me`: the viewer's name.
    `attribute`: the words that carried the score of the candidate at a position. `own_label`: what the viewer has
    labelled the sentence that comes first. `labels` of this question by sentence id, as the viewer may see them: where
    one is correct, only the model finds no answer."""
    own, first = arrangement.own, arrangement.first
    none = NONE_BY_THE_RANKER if arrangement.top or CORRECT in labels.values() else NO_ANSWER
    if arrangement.top:
        top, *more = arrangement.top
        also = render_also(more)
        if arrangement.is_own:
            mark = f"<b>{describe_label(top.pin, me)}</b>{render_source(top.pin)}{also}"
            draw_answer(answer, own, attribute(own), mark=mark, is_confirmed=top.pin.is_current)
        else:
            note = f"{render_source(top.pin)} By the ranker: {escape(describe_rank(run, top.position))}.{also}"
            context = render_context(top.sentence, attribution=None if first is None else attribute(first))
            verdict = f"{describe_label(top.pin, me)}"
            draw_card("as2-answer as2-answer-labelled", "Labelled answer", verdict, "", context, note.strip())
    elif arrangement.is_own:
        note = {UNSURE: "you are unsure"}.get(own_label or "", f"labelled {own_label} by you" if own_label else "")
        label = labels.get(answer.candidates[own].sentence_id)
        is_overlooked = label == CORRECT and not answer.is_answer[own]
        is_confirmed = own_label == CORRECT or is_overlooked
        draw_answer(answer, own, attribute(own), own_label=note, is_confirmed=is_confirmed, none=none)
    else:
        _draw_remaining(answer, arrangement, me, None if first is None else attribute(first), none)
    for dispute in arrangement.conflicts[:1]:
        text = plain(shorten(dispute.sentence.text, MAX_TEXT_CHARS))
        st.caption(f":material/group: People disagree on “{text}”: it stays where the ranker puts it.")
    if not arrangement.is_own:
        _draw_own(answer, arrangement, me, none)


def _draw_remaining(
    answer: Answer, arrangement: Arrangement, me: str, attribution: Attribution | None, none: str
) -> None:
    """The best candidate that nobody labelled incorrect, if there is one."""
    rejections = arrangement.rejections
    if arrangement.answer is None:
        note = f"All {len(rejections):,} candidates that reached the last exit are labelled incorrect."
        best = render_context(answer.candidates[arrangement.own], quiet=True)
        draw_card("as2-answer as2-answer-none", "No answer", none, "", best, note)
        return
    better = "What the ranker puts higher is" if len(rejections) > 1 else "The ranker’s own answer is"
    note = f"{better} {describe_label(rejections[0].pin, me, lower=True)}.{render_source(rejections[0].pin)}"
    kind, label, verdict = "as2-answer", "Answer", "Best candidate not labelled incorrect"
    if answer.is_calibrated and not answer.is_answer[arrangement.answer]:
        kind, label, verdict = f"{kind} as2-answer-none", "No answer", none
        note += f" {BELOW_ANSWERS}"
    elif answer.is_calibrated:
        verdict += f" <span>probability {render_percent(float(answer.probability[arrangement.answer]))}</span>"
    context = render_context(answer.candidates[arrangement.answer], quiet=label == "No answer", attribution=attribution)
    draw_card(kind, label, verdict, "", context, note)


def _draw_own(answer: Answer, arrangement: Arrangement, me: str, none: str) -> None:
    own = answer.candidates[arrangement.own]
    label = next((x.pin for x in arrangement.rejections if x.position == arrangement.own), None)
    with st.expander(f"The ranker’s own answer: “{plain(shorten(own.text, MAX_TEXT_CHARS))}”"):
        mark = "" if label is None else f"<b>{describe_label(label, me)}</b>"
        draw_answer(answer, arrangement.own, name="the ranker’s own", mark=mark, none=none)


def render_also(more: Sequence[PinnedSentence]) -> str:
    """The other sentences labelled correct, as HTML."""
    if not more:
        return ""
    texts = [
        f"“{escape(shorten(x.text, MAX_TEXT_CHARS))}” ({escape(name_document(x.title, x.heading))})"
        for x in (pin.sentence for pin in more[:MAX_MORE])
    ]
    rest = f" and {len(more) - MAX_MORE:,} more" if len(more) > MAX_MORE else ""
    return f" Also labelled correct: {', '.join(texts)}{rest}."


def render_source(pin: Pin) -> str:
    """The question it was labelled for, as HTML, where that has other words."""
    if pin.is_same_wording:
        return ""
    return f" Labelled for the question “{escape(shorten(pin.question, MAX_QUESTION_CHARS))}”."


def describe_label(pin: Pin, me: str, *, lower: bool = False) -> str:
    """`Labelled correct by you` or `Settled as incorrect by ada (you: correct)`, as HTML."""
    label = pin.label or CORRECT
    if not pin.is_current:
        text = f"no longer labelled {label}"
    elif pin.settled_by:
        other = f" (you: {pin.own})" if pin.own not in ("", label) else ""
        text = f"settled as {label} by {'you' if pin.settled_by == me else pin.settled_by}{other}"
    else:
        names = ["you" if name == me else name for name in sorted(dict.fromkeys(pin.by), key=lambda name: name != me)]
        if len(names) > MAX_NAMES:
            names = [*names[: MAX_NAMES - 1], f"{len(names) - MAX_NAMES + 1} others"]
        text = f"labelled {label} by {join(names)}"
    return escape(text if lower else capitalize(text))
