"""Vectors in clusters: as exact as they are read, on disk, and never a crash or half a file."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from as2core.errors import BadSetting
from as2core.retrieval import clusters, stored_vectors
from as2core.retrieval.clusters import DamagedClusters, VectorClusters, train, write_clusters
from as2core.retrieval.sqlite import SqliteIndex, remove_index
from as2core.types import Passage

WIDTH = 16


def draw(rows, seed=0, centres=12):
    """Unit vectors around a few centres, (rows, d)."""
    rng = np.random.default_rng(seed)
    places = np.random.default_rng(99).normal(size=(centres, WIDTH))
    vectors = places[rng.integers(centres, size=rows)] + 0.4 * rng.normal(size=(rows, WIDTH))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def rank_by_hand(vectors, query, k):
    return [int(i) for i in np.argsort(-(vectors.astype(np.float16).astype(np.float32) @ query), kind="stable")[:k]]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "7.db.vectors-1"


def test_all_lists_together_are_the_whole_comparison(path):
    vectors, queries = draw(600), draw(5, seed=1)
    assert write_clusters(path, [(np.arange(400), vectors[:400]), (np.arange(400, 600), vectors[400:])]) == 600
    file = VectorClusters(path)
    for query in queries:
        nearest = file.nearest(query, probes=10**6)
        assert nearest.numbers[:50].tolist() == rank_by_hand(vectors, query, 50)
        assert nearest.scores[:50] == pytest.approx(np.sort(vectors @ query)[::-1][:50], abs=1e-3)
    assert file.find_damage() == ""


def test_a_part_of_the_lists_finds_nearly_all_of_the_nearest(path):
    vectors, queries = draw(4000), draw(30, seed=1)
    write_clusters(path, [(np.arange(4000), vectors)])
    file = VectorClusters(path)
    shares = []
    for query in queries:
        nearest = file.nearest(query, probes=len(file.centroids) // 4)
        assert len(nearest.numbers) < 2400
        shares.append(len(set(nearest.numbers[:20].tolist()) & set(rank_by_hand(vectors, query, 20))) / 20)
    assert np.mean(shares) > 0.95


def test_centroids_have_length_1_and_lie_nearer_to_the_vectors_than_vectors_drawn_from_them():
    vectors = draw(2000)
    centroids = train(vectors, 24, seed=0)
    assert np.linalg.norm(centroids, axis=1) == pytest.approx(np.ones(24), abs=1e-5)
    assert (vectors @ centroids.T).max(1).mean() > (vectors @ vectors[:24].T).max(1).mean() + 0.02


def test_the_same_vectors_give_the_same_file(path):
    for name in (path, path.with_name("again")):
        write_clusters(name, [(np.arange(300), draw(300))])
    assert path.read_bytes() == path.with_name("again").read_bytes()


def test_no_vectors_give_no_file(path):
    assert write_clusters(path, []) == 0
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("damage", ["cut", "longer", "empty", "other", "centroid", "number", "gone"])
def test_a_damaged_file_is_an_error_that_names_it(path, damage):
    write_clusters(path, [(np.arange(300), draw(300))])
    content = bytearray(path.read_bytes())
    match damage:
        case "cut":
            content = content[:-1]
        case "longer":
            content += b"\0\0"
        case "empty":
            content = bytearray()
        case "other":
            content = bytearray(b"not vectors at all, but long enough to be looked at" * 9)
        case "centroid":
            content[60] ^= 0xFF
        case "number":
            content[len(content) - 2 * 300 * WIDTH - 8] ^= 0xFF
    path.write_bytes(content)
    if damage == "gone":
        path.unlink()
    with pytest.raises(DamagedClusters, match=r"7\.db\.vectors-1"):
        VectorClusters(path)


def test_a_file_that_is_cut_short_under_a_reader_is_an_error_and_no_crash(path):
    write_clusters(path, [(np.arange(300), draw(300))])
    file = VectorClusters(path)
    with path.open("r+b") as content:
        content.truncate(path.stat().st_size // 2)
    with pytest.raises(DamagedClusters, match="cut short"):
        file.nearest(draw(1)[0])
    assert "cut short" in file.find_damage()


def test_a_vector_that_is_no_number_is_found(path):
    write_clusters(path, [(np.arange(300), draw(300))])
    content = bytearray(path.read_bytes())
    content[-2:] = np.float16(np.nan).tobytes()
    path.write_bytes(content)
    assert "no number" in VectorClusters(path).find_damage()


def test_vectors_of_two_widths_are_refused_and_leave_no_file(path):
    with pytest.raises(BadSetting, match="same model"):
        write_clusters(path, [(np.arange(2), draw(2)), (np.arange(2, 4), draw(2)[:, :3])])
    assert list(path.parent.iterdir()) == []


# --- beside an index -------------------------------------------------------------------------------------------------


def add(index, first, end, seed=0):
    """A document a passage, `d<number>`, with vectors; returns them."""
    vectors = draw(end - first, seed)
    index.upsert_docs([(f"d{i}", [Passage(f"p{i}", f"d{i}", f"word{i}", 0, 0)]) for i in range(first, end)])
    index.set_vectors({f"p{i}": v for i, v in zip(range(first, end), vectors, strict=True)})
    return vectors


@pytest.fixture
def index(tmp_path):
    index = SqliteIndex(tmp_path / "7.db", exact_limit=100)
    yield index
    index.close()


def list_passages(index, query, k):
    return [h.passage_id for h in index.search_vectors(query, k)]


def list_names(index):
    return sorted(p.name for p in index.path.parent.glob("*.vectors-*"))


def test_few_vectors_need_no_file(index):
    add(index, 0, 100)
    assert index.is_optimized()
    index.optimize()
    assert list_names(index) == []


def test_many_vectors_go_into_a_file_and_a_tenth_of_new_ones_into_the_next(index):
    vectors = add(index, 0, 150)
    assert not index.is_optimized()
    index.optimize()
    assert index.is_optimized()
    [name] = list_names(index)
    query = draw(1, seed=5)[0]
    assert list_passages(index, query, 20) == [f"p{i}" for i in rank_by_hand(vectors, query, 20)]
    add(index, 150, 165, seed=1)
    assert index.is_optimized()
    add(index, 165, 167, seed=2)
    assert not index.is_optimized()
    index.optimize()
    assert index.is_optimized() and len(list_names(index)) == 1 and list_names(index) != [name]


def test_removed_passages_are_not_found_and_many_of_them_are_due_for_a_new_file(index):
    vectors = add(index, 0, 200)
    index.optimize()
    query = draw(1, seed=5)[0]
    best = rank_by_hand(vectors, query, 30)
    index.upsert_docs([(f"d{i}", []) for i in best[:15]])
    assert index.is_optimized()
    assert list_passages(index, query, 15) == [f"p{i}" for i in best[15:]]
    index.upsert_docs([(f"d{i}", []) for i in best[15:21]])
    assert not index.is_optimized()
    index.optimize()
    assert list_passages(index, query, 9) == [f"p{i}" for i in best[21:]]
    index.upsert_docs([(f"d{i}", []) for i in range(200) if i % 2])
    index.optimize()
    assert index.count() < 100 and list_names(index) == [] and index.is_optimized()


def test_a_vector_that_is_written_again_counts_as_it_is_now(index):
    add(index, 0, 150)
    index.optimize()
    query = draw(1, seed=5)[0]
    index.set_vectors({"p3": query, "p4": -query})
    hits = list_passages(index, query, 150)
    assert (hits[0], hits[-1], len(hits)) == ("p3", "p4", 150)


@pytest.mark.parametrize("is_open", [True, False])
def test_a_damaged_file_costs_time_and_no_hit_and_is_written_anew(index, is_open, caplog):
    vectors = add(index, 0, 150)
    index.optimize()
    query = draw(1, seed=5)[0]
    expected = [f"p{i}" for i in rank_by_hand(vectors, query, 20)]
    if is_open:
        assert list_passages(index, query, 20) == expected
    [name] = list_names(index)
    with (index.path.with_name(name)).open("r+b") as content:
        content.truncate(1000)
    with caplog.at_level(logging.WARNING):
        assert set(list_passages(index, query, 20)) == set(expected)
    assert name in caplog.text
    assert name in index.find_damage()
    assert not index.is_optimized()
    index.optimize()
    assert index.is_optimized() and index.find_damage() == ""
    assert list_passages(index, query, 20) == expected


KILLED = """
import os, sys
from as2core.retrieval import clusters, stored_vectors
from as2core.retrieval.sqlite import SqliteIndex

place = {"while it is written": (clusters, "os"), "before it is named": (stored_vectors, "write_clusters")}[sys.argv[2]]
if place[1] == "os":
    clusters.os = type("Os", (), {**vars(os), "fsync": lambda file: os._exit(9)})
else:
    real = clusters.write_clusters
    stored_vectors.write_clusters = lambda *a, **k: (real(*a, **k), os._exit(9))
SqliteIndex(sys.argv[1], exact_limit=100).optimize()
"""


@pytest.mark.parametrize("moment", ["while it is written", "before it is named"])
def test_a_process_that_is_killed_leaves_the_old_file(index, moment):
    add(index, 0, 150)
    index.optimize()
    [old] = list_names(index)
    add(index, 150, 200, seed=1)
    done = subprocess.run([sys.executable, "-c", KILLED, str(index.path), moment], cwd=Path(__file__).parents[2])
    assert done.returncode == 9
    assert old in list_names(index) and index.find_damage() == ""
    assert len(list_passages(index, draw(1)[0], 300)) == 200
    index.optimize()
    names = [name for name in list_names(index) if not name.endswith(".part")]
    assert len(names) == 1 and names != [old] and index.is_optimized()


def test_a_part_that_nobody_writes_to_is_deleted_after_an_hour(index, monkeypatch):
    add(index, 0, 150)
    part = index.path.with_name("7.db.vectors-1.part")
    part.touch()
    index.optimize()
    assert part.exists()
    now = stored_vectors.time.time() + 3700
    monkeypatch.setattr(stored_vectors.time, "time", lambda: now)
    index.optimize()
    assert not part.exists() and len(list_names(index)) == 1


def test_an_older_file_does_not_replace_a_newer_one(index, monkeypatch):
    add(index, 0, 150)
    other = SqliteIndex(index.path, exact_limit=100)
    real = stored_vectors.write_clusters

    def write_slowly(*arguments, **settings):
        monkeypatch.setattr(stored_vectors, "write_clusters", real)
        rows = real(*arguments, **settings)
        add(other, 150, 200, seed=1)
        other.optimize()
        return rows

    monkeypatch.setattr(stored_vectors, "write_clusters", write_slowly)
    index.optimize()
    [name] = list_names(index)
    assert VectorClusters(index.path.with_name(name)).rows == 200
    other.close()


def test_an_index_of_an_earlier_release_opens(index):
    add(index, 0, 5)
    index.close()
    db = sqlite3.connect(index.path)
    db.execute("DROP TABLE clusters")
    db.close()
    again = SqliteIndex(index.path, exact_limit=3)
    assert len(list_passages(again, draw(1)[0], 9)) == 5
    again.optimize()
    assert again.is_optimized()
    again.close()


def test_a_deleted_index_leaves_no_file(index):
    add(index, 0, 150)
    index.optimize()
    index.close()
    remove_index(index.path)
    assert list(index.path.parent.iterdir()) == []


def test_as_many_lists_as_before_do_until_there_are_twice_as_many_vectors(index, monkeypatch):
    trained = []
    monkeypatch.setattr(clusters, "train", lambda *a: trained.append(a[1]) or train(*a))
    add(index, 0, 144)
    index.optimize()
    add(index, 144, 200, seed=1)
    index.optimize()
    assert trained == [48]  # 4 times the root of 144
    add(index, 200, 324, seed=2)
    index.optimize()
    assert trained == [48]
    add(index, 324, 400, seed=3)
    add(index, 400, 676, seed=4)
    index.optimize()
    assert trained == [48, 104]
