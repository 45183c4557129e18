"""The choice of rankers in the form of a new comparison: the address keeps it, and a spec that is none is answered with
the nearest ones."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from app.compare.comparison_job import MAX_RANKERS
from app.compare.rankers import find_mistakes, list_choices, suggest_rankers, suggest_specs
from app.ui import errors, url
from app.ui.page import Frame
from app.ui.text import plain
from app.workbench.workbench import Workbench
from as2core.rankers.catalog import split_specs

RANKERS = "compare_rankers"  # of the form


def read_rankers() -> list[str]:
    """The specs of the address."""
    return split_specs(url.get("rankers"))[:MAX_RANKERS]


def follow_address(wb: Workbench, rankers: Sequence[str]) -> None:
    """The form starts with the address's rankers, else with these, which the page has a comparison of, else with those
    of a first comparison, and takes others when the address has others."""
    choices = list_choices(wb)
    start = list(rankers) or [name for name in suggest_rankers(wb) if name in choices]
    url.follow("rankers", RANKERS, lambda _: read_rankers() or start)


def draw(wb: Workbench) -> list[str]:
    """The box; returns what is chosen."""
    return st.multiselect(
        "Rankers",
        list_choices(wb),
        key=RANKERS,
        accept_new_options=True,
        on_change=_keep,
        help="The built-in rankers and your own versions. Choose two or more. To change settings, type a spec "
        "as on the command line: `bm25:k1=1.5`, `sequential:stages=wo@20+cascade`, `active:drop_ratio=0.5`. Admins "
        "can also type the directory that `as2 train` or `as2 versions export` wrote, `classifier:model=NAME` for "
        "a model of the hub, `onnx:model=DIR`, `run:file=FILE`, or `http:url=URL` for a reranker behind an "
        "address.",
    )


def _keep() -> None:
    """The address has what the form has, so that it can be passed on."""
    url.put(rankers=",".join(st.session_state[RANKERS]))


def draw_mistakes(frame: Frame, rankers: Sequence[str]) -> bool:
    """Why some of these cannot be compared, each with the nearest specs to take instead. Returns whether all can."""
    mistakes = find_mistakes(frame.wb, rankers, by_admin=frame.is_admin)
    for name, mistake in mistakes.items():
        errors.show(mistake)
        with st.container(horizontal=True, key=f"compare_mistake_{name}"):
            draw_suggestions(frame.wb, name, others=rankers, key=f"compare_use_{name}", use=partial(set_ranker, name))
            st.button("Remove", key=f"compare_remove_{name}", type="tertiary", icon=":material/close:",
                      on_click=set_ranker, args=(name,))  # fmt: skip
    return not mistakes


def draw_suggestions(wb: Workbench, name: str, *, others: Sequence[str], key: str, use: Callable[[str], None]) -> None:
    """The nearest specs to what was typed, but for `others`; `use` takes the one that is clicked."""
    for spec in suggest_specs(wb, name, others=others):
        st.button(plain(f"Use {spec}"), key=f"{key}_{spec}", type="tertiary", icon=":material/check:", on_click=use,
                  args=(spec,))  # fmt: skip


def add_ranker(name: str) -> None:
    """As the last one; called before the box is drawn."""
    st.session_state[RANKERS] = [*(r for r in st.session_state[RANKERS] if r != name), name]
    _keep()


def set_ranker(name: str, spec: str | None = None) -> None:
    """Put `spec`, or nothing, in place of `name`; the others stay. For a callback."""
    rankers = st.session_state.get(RANKERS, [])
    if name in rankers:
        others = (spec if ranker == name else ranker for ranker in rankers)
        st.session_state[RANKERS] = list(dict.fromkeys(filter(None, others)))
        _keep()
