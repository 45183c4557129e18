"""The page Ask with two answers to one question, side by side; on a phone one below the other."""

import streamlit as st

from app.ask.asking import AskView
from app.ask.pair import PairSide, rank_side
from app.labels import consensus
from app.ui import errors
from app.ui.ask import drops
from app.ui.ask.pair import choice
from app.ui.ask.pair.moves import draw_moves
from app.ui.ask.pair.side import draw_side
from app.ui.page import Frame
from app.ui.text import plain
from as2core.errors import As2Error
from as2core.metrics import to_ranks

_CACHE = "_as2_pair_sides"  # of the session: (the answered question, name -> its side)


def draw_pair(frame: Frame, view: AskView) -> None:
    """Both answers to an answered question under the page's drop ratio, and what moved between them."""
    errors.show_pending()
    if choice.read(choice.BASE) == view.version:
        choice.choose(base="")  # it is the default
    base, against = choice.read(choice.BASE) or view.version, choice.read(choice.AGAINST)
    options = choice.list_options(frame.wb, view)
    ratios = [percent / 100 for percent in drops.read_percents(len(view.trace.exits))]
    mine = consensus.read_labels(frame.wb, view.question_id, frame.annotator.id)
    visible = consensus.read_visible_labels(frame.wb, view.question_id, frame.annotator.id)
    st.button("Back to one answer", icon=":material/arrow_back:", key="as2_pair_close", type="tertiary",
              on_click=choice.leave)  # fmt: skip
    sides = []
    columns = st.container(key="as2_pair").columns(2, gap="medium")
    places = ((choice.BASE, "First", base), (choice.AGAINST, "Second", against))
    for column, (name, title, value) in zip(columns, places, strict=True):
        with column:
            choice.draw_choice(name, title, options, value)
            if value not in options:
                _report_unknown(value)
                continue
            side = _load_side(frame, view, value)
            if side is not None:
                run = side.replay(ratios)
                draw_side(frame, side, run, mine, visible, where=name)
                sides.append((side, to_ranks(run.scores())))
    if base == against:
        st.caption("Both are the same. Choose another one to see what differs.")
    elif len(sides) == 2:
        (first, before), (second, after) = sides
        draw_moves((first, second), (before, after), visible)
        amount = len(first.view.candidates)
        st.caption(f"Both ranked the same {amount:,} sentences, which were retrieved once.")


def _report_unknown(name: str) -> None:
    st.warning(f"There is no ranker or version called “{plain(name)}” here. Choose one above.",
               icon=":material/search_off:")  # fmt: skip


def _load_side(frame: Frame, view: AskView, name: str) -> PairSide | None:
    """Ranked once for an answered question; an error is shown in its place, and the other answer stays."""
    asked_view, sides = st.session_state.get(_CACHE, (None, {}))
    if asked_view is not view:
        sides = {}
        st.session_state[_CACHE] = (view, sides)
    if name not in sides:
        try:
            with st.spinner(f"Ranking with {plain(name)} …"):
                sides[name] = rank_side(frame.wb, view, name)
        except As2Error as error:
            errors.show(error)
            return None
    return sides[name]
