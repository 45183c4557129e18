"""After an upgrade with other shipped weights: whether the version in use was compared with them."""

import pytest
from comparison_runs import run_comparison, view_job
from fake_models import write_version

from app.compare import comparison_job, new_weights
from app.jobs import queue
from app.versions import promotion, registry, startup
from db.repositories import jobs as job_rows
from db.repositories import versions as rows

BOTH = ("towers-2", "cascade")


def describe(wb):
    return comparison_job.describe_changes(wb, queue.load_job(wb, view_job(wb)))


@pytest.fixture
def own(wb, clock):
    """Two versions, the second made from the first and in use."""
    for name, parent in (("towers-1", "cascade"), ("towers-2", "towers-1")):
        clock.advance(days=1)
        path = write_version(wb.settings.versions_dir / name, parent=parent)
        with wb.write() as s:
            rows.add_version(s, name, kind="cascade", path=str(path), state="candidate", parent=parent, now=clock())
    promotion.promote(wb, "towers-2")
    clock.advance(days=1)


def upgrade(wb):
    """As the first start of a release with other weights does."""
    with wb.write() as s:
        rows.find_version(s, name="cascade").metrics = {"sha256": "old"}
    card = wb.settings.models_dir / "cascade" / "card.json"
    card.write_text('{"name": "cascade", "sha256": "new"}')
    startup.register_shipped(wb)


def find_uncompared(wb, kind="cascade"):
    return new_weights.find_uncompared(wb, registry.list_versions(wb, kind))


def put_comparison(wb, *rankers, state="done"):
    with wb.write() as s:
        settings = {"rankers": list(rankers), "data": "starter-test"}
        job_rows.add_job(s, "compare", settings, wb.clock()).state = state


def test_only_an_upgrade_asks_for_a_comparison_which_ends_it(wb, own, clock):
    assert find_uncompared(wb) is None
    put_comparison(wb, *BOTH)  # with the weights of before
    clock.advance(hours=1)
    upgrade(wb)
    assert find_uncompared(wb) == BOTH
    clock.advance(hours=1)
    put_comparison(wb, "towers-2", "bm25")
    put_comparison(wb, *BOTH, state="failed")
    assert find_uncompared(wb) == BOTH
    put_comparison(wb, "cascade:drop_ratio=0.5", "towers-1")
    assert find_uncompared(wb) is None


def test_a_version_retrained_from_an_old_one_after_the_upgrade_is_still_of_the_old_weights(wb, own, clock):
    upgrade(wb)
    clock.advance(hours=1)
    with wb.write() as s:
        rows.find_version(s, name="towers-2").created = clock()
    assert find_uncompared(wb) == BOTH


def test_one_trained_from_the_new_weights_needs_no_comparison_nor_does_the_shipped_one(wb, own, clock):
    upgrade(wb)
    assert find_uncompared(wb, "generative") is None
    clock.advance(hours=1)
    with wb.write() as s:
        version = rows.find_version(s, name="towers-2")
        version.created, version.parent = clock(), "cascade"
    assert find_uncompared(wb) is None
    promotion.promote(wb, "cascade")
    assert find_uncompared(wb) is None


def test_a_comparison_of_before_says_that_its_figures_are_of_the_earlier_weights(wb, data, clock):
    run_comparison(wb, ["cascade:drop_ratio=0.5", "bm25"], data)
    assert describe(wb) == ""
    clock.advance(hours=1)
    upgrade(wb)
    assert describe(wb) == "new weights of cascade from an update of the program"
    clock.advance(hours=1)
    run_comparison(wb, ["cascade:drop_ratio=0.5", "bm25"], data)
    assert describe(wb) == ""
