"""Charts as pages draw them: made once for the same values, with their rows beside the specification."""

import altair as alt
import pandas as pd
import pytest
import streamlit as st

from app.ui.charts.spec import make_spec


@pytest.fixture(autouse=True)
def empty_cache():
    st.cache_data.clear()
    yield
    st.cache_data.clear()


def test_a_chart_is_built_once_for_the_same_values_and_anew_for_others():
    built = []

    def build(frame, *, title):
        built.append(title)
        return alt.Chart(frame).mark_bar().encode(alt.X("a:Q", title=title))

    frame = pd.DataFrame({"a": [1, 2]})
    first = make_spec(build, frame, title="one")
    assert make_spec(build, frame.copy(), title="one")["encoding"] == first["encoding"] and built == ["one"]
    assert make_spec(build, frame, title="two")["encoding"]["x"]["title"] == "two"
    assert make_spec(build, frame + 1, title="one") is not None and built == ["one", "two", "one"]


def test_what_a_page_does_to_its_copy_is_not_in_the_next_one():
    def build():
        return alt.Chart(pd.DataFrame({"a": [1]})).mark_bar().encode(x="a:Q")

    make_spec(build)["encoding"].clear()
    assert make_spec(build)["encoding"]["x"]["field"] == "a"


def test_nothing_to_draw_is_no_chart():
    def build():
        return None

    assert make_spec(build) is None


def test_a_chart_may_have_more_rows_than_altair_would_write_into_it():
    def build(rows):
        return alt.Chart(pd.DataFrame({"a": range(rows), "b": [None, *[0.5] * (rows - 1)]})).mark_bar().encode(x="a:Q")

    spec = make_spec(build, 6000)
    [frame] = spec["datasets"].values()
    assert len(frame) == 6000 and frame["b"].isna().sum() == 1 and "config" not in spec
