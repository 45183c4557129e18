"""A rerun sends the database few statements: each takes a while to make, and a wait where it is another machine's."""

import pytest
from app_pages import open_page
from sql_statements import record_statements


@pytest.mark.parametrize(
    ("page", "query", "most"),
    [
        ("label", {"mode": "list"}, 24),
        ("label", {"mode": "one", "queue": "uncertain"}, 23),
        ("adapt", {}, 26),
        ("compare", {}, 36),
        ("ask", {}, 21),
        ("data", {}, 24),
        ("agreement", {}, 15),
    ],
)
def test_a_rerun_sends_few_statements(wb, page, query, most):
    at = open_page(page, query).run()  # what is cached is there from then on
    with record_statements() as statements:
        at.run()
    assert 0 < len(statements) <= most, "\n".join(sorted(statements))
