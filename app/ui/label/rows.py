"""A question's list as the page shows it: a window of rows around the one in front, each with its three buttons."""

from collections.abc import Callable, Collection
from datetime import datetime

import streamlit as st

from app.labels.consensus import find_opposite
from app.labels.items import QuestionItem
from app.labels.queues import QUEUES
from app.ui.label.buttons import STYLES
from app.ui.label.item import (
    MAX_QUESTION_CHARS,
    draw_long_question,
    explain_choice,
    goes_by_probability,
    note_non_training,
)
from app.ui.label.list_desk import ListDesk
from app.ui.text import escape, name_document, shorten
from as2core.messages import count
from as2core.types import LABELS

CURRENT = '[data-testid="as2-candidate"][aria-current="true"]'  # the row in front, as a CSS selector

SOURCES = {"starter": "shipped with the corpus"}  # whose labels came how, where not by an import


def name_find_key(question_id: int) -> str:
    """Of the session state: the words to find in this question's list."""
    return f"label_find_{question_id}"


def draw(
    desk: ListDesk,
    *,
    now: datetime,
    scores_visible: bool,
    draw_moves: Callable[[], None],
    on_row: Callable[[str, str, int], None],
    on_find: Callable[[str, str], None],
    flagged_ids: Collection[int] = (),
    is_closed: bool = False,
) -> None:
    """`draw_moves` draws the buttons above the rows. `on_row(label, showing, place)` is called for a click, with the
    showing that the row was drawn for, `on_find("find", showing)` when words were typed. `flagged_ids`: of sentences.
    `is_closed`: for reading alone. Keys of the buttons are those of the place in the window: keys of the row would
    replay old clicks when a rerun interrupts the run."""
    item = desk.item
    if item is None:
        return
    st.html(
        f"""<div class="as2-item" data-testid="as2-item">
        <p class="why"><span>{explain_choice(item.why, QUEUES[desk.seat.queue].description)}</span></p>
        <h2 class="asked" dir="auto">{escape(shorten(item.question, MAX_QUESTION_CHARS))}</h2>{note_non_training(item)}
        <p class="source">{_describe_extent(item)}</p></div>"""
    )
    draw_long_question(item)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="label_list_head"):
        st.html(_head(desk, item, now), width="stretch")
        draw_moves()
    scores = scores_visible and not item.assignment.is_blind
    for slot, place in enumerate(desk.window):
        row = item.rows[place]
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"as2-candidate-{slot}"):
            is_flagged = row.sentence_id in flagged_ids
            st.html(_row(desk, item, place, scores=scores, is_flagged=is_flagged), width="stretch")
            for label in LABELS:
                name, icon = STYLES[label]
                st.button(
                    f"{name}, candidate {place + 1}",
                    icon=icon,
                    key=f"label_row_{slot}_{label}",
                    help=name,
                    type="primary" if row.label == label else "tertiary",
                    disabled=is_closed or not row.is_open,
                    on_click=on_row,
                    args=(label, desk.showing, place),
                )
    st.text_input("Find in this list", key=name_find_key(item.question_id), icon=":material/search:", width=380,
                  placeholder="Words of the sentence", on_change=on_find, args=("find", desk.showing))  # fmt: skip


def describe_question(desk: ListDesk) -> str:
    """Where some of the rest were not on the page yet."""
    return f"Also the {count(len(desk.hidden), 'candidate')} not shown yet? Press i again for all {len(desk.rest):,}."


def _head(desk: ListDesk, item: QuestionItem, now: datetime) -> str:
    """Which rows are on the page, or in its place what to do next; the question vanishes by itself."""
    first, last = desk.window.start + 1, desk.window.stop
    texts = [f"<p>{first} to {last} of {len(item.rows):,}</p>"]
    if not desk.rest:
        texts = ["<p>All that you can label here is labelled. Press → for the next.</p>"]
    elif desk.asks_about_hidden(now):
        texts.append(f'<p class="asks">{describe_question(desk)}</p>')
    return f'<div class="as2-list-head" data-testid="as2-list-head" data-turn="{desk.turn}">{"".join(texts)}</div>'


def _describe_extent(item: QuestionItem) -> str:
    """How many candidates are there to label, why the ranks are among more or fewer, if they are, and why some rows
    are closed."""
    labels, total = sum(r.label is not None for r in item.rows), len(item.rows)
    with_rank, missing = sum(r.rank is not None for r in item.rows), item.run_size - total
    parts = [f"{labels} of {count(total, 'candidate')} labelled by you"]
    if 0 < with_rank < total:
        others = f"{total - with_rank:,} of them without a rank: they came with labels or a file"
        parts = [f"{count(total, 'candidate')}, {others}; {labels:,} labelled by you"]
    if missing > 0:
        parts.append(f"Of the {item.run_size:,} that were ranked, {missing:,} left the corpus since.")
    if grey := sum(not r.is_open for r in item.rows):
        why = f"labelled by {escape(', '.join(item.labelled_by))}" if item.labelled_by else "others are at work there"
        parts.append(f"{count(grey, 'grey one is', 'grey ones are')} closed: {why}.")
    return parts[0] if len(parts) == 1 else f"{parts[0]}. {' '.join(parts[1:])}"


def _row(desk: ListDesk, item: QuestionItem, place: int, *, scores: bool, is_flagged: bool) -> str:
    row, here = item.rows[place], place == desk.row
    has_rank = scores and row.rank is not None
    parts = [] if has_rank else [f"candidate {place + 1}"]
    if has_rank:
        other = f", generative rank {row.generative_rank}" if row.generative_rank is not None else ""
        parts.append(f"cascade rank {row.rank}{other}")
        if goes_by_probability(item) and row.probability is not None:
            parts.append(f"own probability {row.probability:.2f}")
    parts += [f"{SOURCES.get(name, 'imported')}: {label}" for name, label in row.imports]
    parts += [f"{escape(name)}: {label}" for name, label in row.peers if row.label is not None]
    flag = ' <span class="as2-flagged">⚑ flagged</span>' if is_flagged else ""
    reason = row.why if scores else row.why_unscored
    why = explain_choice(reason, QUEUES[desk.seat.queue].description, of="candidate")
    why = f"<small>{why}</small>" if why else ""
    if (opposite := find_opposite([r.text for r in item.rows], [r.label for r in item.rows], place)) is not None:
        copy = item.rows[opposite]
        where = f"candidate {opposite + 1}, {escape(name_document(copy.title, copy.heading))}"
        why += f'<small class="opposite">You labelled the same words {copy.label}: {where}</small>'
    kind = " here" if here else "" if row.is_open else " locked"
    current = ' aria-current="true"' if here else ""
    return (
        f'<div class="as2-candidate{kind}" data-testid="as2-candidate"{current}>'
        f'<div dir="auto">{escape(row.text)}</div>{flag}'
        f"<small>{escape(name_document(row.title, row.heading))} · {' · '.join(parts)}</small>{why}</div>"
    )
