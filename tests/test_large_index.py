"""The benchmark of a large index runs, small: exact stays exact, and clusters find nearly all of it."""

from __future__ import annotations

import pytest
from test_benchmarks import run_benchmark


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_large_index_is_searched_exactly_and_by_clusters():
    rows = [line.split("|")[1:-1] for line in run_benchmark("large_index", "--quick").splitlines() if "3,000 |" in line]
    assert [cells[1].strip() for cells in rows] == ["exact, vectors in memory", "clusters, shorter search"]
    recall = [float(cells[2]) for cells in rows]
    assert recall[0] == 1.0
    assert recall[1] > 0.95
