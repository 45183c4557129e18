"""Charts as Vega-Lite, each made once: a page that is drawn again, as after any click, takes it from a cache."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeAlias

import altair as alt
import pandas as pd
import streamlit as st
from altair.typing import ChartType

Spec: TypeAlias = dict[str, Any]
P = ParamSpec("P")
MAX_CHARTS = 200  # of all pages and people

alt.data_transformers.enable("default", max_rows=None)  # rows go to the browser as Arrow, not in the specification


def make_spec(build: Callable[P, ChartType | None], *args: P.args, **kwargs: P.kwargs) -> Spec | None:
    """What `build` makes of these arguments, for `st.vega_lite_chart(spec=...)`; None where it makes nothing. It is
    kept by the values of the arguments: drawing Compare spends most of its time in Altair."""
    return _make_spec(f"{build.__module__}.{build.__qualname__}", args, kwargs, _build=build)


@st.cache_data(show_spinner=False, max_entries=MAX_CHARTS)
def _make_spec(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], *, _build: Callable[..., ChartType | None]
) -> Spec | None:
    """`name` stands for `_build`, which is not part of the cache's key. The tests check charts against the schema."""
    if (chart := _build(*args, **kwargs)) is None:
        return None
    spec: Spec = chart.to_dict(validate=False)
    spec["datasets"] = {data: pd.DataFrame(rows) for data, rows in spec["datasets"].items()}
    spec.pop("config", None)  # the size of charts outside Streamlit
    return spec
