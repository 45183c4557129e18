"""Whatever an address says, the page is drawn, or says in one sentence why not."""

import pytest
from app_pages import open_page
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.ui import navigation

SEVERAL = [pytest.param(4, id="some"), pytest.param(150, id="many", marks=pytest.mark.slow)]
NAMES = ("corpus", "q", "against", "mode", "queue", "view", "version", "job", "data", "rankers", "doc", "search",
         "sentence", "model", "question", "pos", "only", "page", "find", "words", "x")  # fmt: skip
values = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=40),
    st.sampled_from(["", "0", "-1", str(2**63), "9" * 400, "1e999", "nan", "active", "cascade", "../..", "x" * 3000]),
    st.sampled_from(["Towers", "labels", "questions", "documents", "list", "random", "\u0661", "=1", "<b>", "%00"]),
)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("times", SEVERAL)
def test_addresses(wb, times, caplog):
    @settings(
        max_examples=times, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.sampled_from(list(navigation.PAGES)), st.dictionaries(st.sampled_from(NAMES), values, max_size=5))
    def visit(page, query):
        caplog.clear()
        at = open_page(page, query)
        assert not at.exception
        assert not [e.value for e in at.error if "Something went wrong" in e.value], caplog.text[-2000:]

    visit()
