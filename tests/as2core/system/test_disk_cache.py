"""The bound on a cache's size, which every put must hold without reading all that is stored."""

import random
import sqlite3

import pytest

from as2core.system.disk_cache import DiskCache


def make_cache(path, max_bytes=1 << 20) -> DiskCache:
    return DiskCache(path, max_bytes=max_bytes, content="numbers")


def add_up(path) -> int:
    with sqlite3.connect(path) as c:
        return c.execute("SELECT coalesce(sum(length(tensors)), 0) FROM state").fetchone()[0]


def test_two_processes_that_store_replace_and_drop_agree_on_the_size(tmp_path):
    path, rng = tmp_path / "numbers.db", random.Random(3)
    caches = [make_cache(path, 2000), make_cache(path, 2000)]
    for _ in range(200):
        values = {b"%d" % rng.randrange(60): bytes(rng.randrange(120)) for _ in range(rng.randrange(1, 9))}
        rng.choice(caches).put_bytes(values)
        assert {cache.size_bytes for cache in caches} == {add_up(path)}
        assert add_up(path) <= 2000
    assert add_up(path) > 1500  # and no more was dropped than had to go


def count_steps(cache, values) -> int:
    """In thousands of SQLite's instructions that a put takes."""
    steps = []
    cache.size_bytes  # noqa: B018  # opens the file
    cache._connection.set_progress_handler(lambda: steps.append(1) and None, 1000)
    cache.put_bytes(values)
    return len(steps)


def test_a_put_takes_no_longer_when_there_is_much_already(tmp_path):
    full, empty = make_cache(tmp_path / "full.db"), make_cache(tmp_path / "empty.db")
    full.put_bytes({b"%d" % i: b"value" for i in range(30_000)})
    few = {b"new %d" % i: b"value" for i in range(20)}
    assert count_steps(full, few) <= count_steps(empty, few) + 3


@pytest.mark.parametrize("entries", [0, 3])
def test_a_file_of_an_older_program_is_added_up_once(tmp_path, entries):
    path = tmp_path / "numbers.db"
    cache = make_cache(path)
    assert cache.size_bytes == 0
    cache.put_bytes({b"%d" % i: b"four" for i in range(entries)})
    cache.close()
    with sqlite3.connect(path) as c:
        for name in ("insert", "delete"):
            c.execute(f"DROP TRIGGER entry_{name}")
        c.execute("DROP TABLE total")
    again = make_cache(path)
    assert again.size_bytes == 4 * entries
    again.put_bytes({b"0": b"eight..."})
    assert again.size_bytes == add_up(path)
