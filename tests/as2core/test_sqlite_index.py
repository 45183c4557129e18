"""The embedded index beyond what every index promises (test_index_contract.py): stemming, its order, its file."""

import sqlite3
import subprocess
import sys
import unicodedata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from as2core.errors import UnreadableFile
from as2core.retrieval.index import list_content_words
from as2core.retrieval.matrix import VectorMatrix
from as2core.retrieval.passages import split_passages
from as2core.retrieval.sqlite import SqliteIndex, build_match_expression
from as2core.types import Hit, Passage

DOCS = {
    "danube": ["The Danube rises in the Black Forest.", "It flows into the Black Sea through a delta."],
    "rhine": ["The Rhine rises in the Alps.", "Cologne stands on the Rhine."],
    "haydn": ["Haydn wrote more than a hundred symphonies.", "He taught Beethoven for a while."],
}


@pytest.fixture
def index(tmp_path):
    made = SqliteIndex(tmp_path / "sub" / "index.db")
    made.upsert_docs([(name, split_passages(name, sentences)) for name, sentences in DOCS.items()])
    yield made
    made.close()


def documents(found):
    return [hit.doc_id for hit in found]


def test_words_are_stemmed_and_accents_do_not_matter(index):
    assert documents(index.search_words("symphony writing", 5)) == ["haydn"]
    assert documents(index.search_words("the Dánubé", 5)) == ["danube"]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_name_with_a_dotted_capital_i_is_found_as_it_is_written_and_without_the_dot(form, index):
    sentence = unicodedata.normalize(form, "İzmir lies on the Aegean coast.")
    index.upsert_docs([("izmir", split_passages("izmir", [sentence]))])
    for question in ("Where is İzmir?", "Where is I\u0307zmir?", "Where is Izmir?", "izmir"):
        assert documents(index.search_words(question, 5)) == ["izmir"]


def test_stop_words_alone_are_searched_for_rather_than_nothing(index):
    assert index.search_words("what is in the", 5)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
@example("AND")
@example("x" * 60)
def test_any_text_is_a_query_sqlite_understands(text):
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'porter unicode61 remove_diacritics 2')")
    expression = build_match_expression(list_content_words(text))
    if expression:
        assert db.execute("SELECT count(*) FROM words WHERE words MATCH ?", (expression,)).fetchone() == (0,)
    assert bool(expression) == any(character.isalnum() for character in text.lower())
    db.close()


def test_a_question_of_two_thousand_different_words_is_answered(index):
    assert documents(index.search_words("cologne " + " ".join(f"w{i}" for i in range(2000)), 5)) == ["rhine"]


def test_the_word_index_stays_sound_through_many_replacements(index):
    for turn in range(5):
        index.upsert_docs([(name, split_passages(name, [*s, f"Turn {turn}."])) for name, s in DOCS.items()])
        index.upsert_docs([("danube", [])])
    db = sqlite3.connect(index.path)
    db.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")  # raises when it disagrees
    db.close()
    assert index.count() == len(DOCS) - 1 and len(index.search_words("Turn 4", 5)) == len(DOCS) - 1


def test_upserting_all_or_nothing(index):
    broken = [("new", [Passage("n1", "new", "Fresh words.", 0, 0)]), ("bad", [Passage("n1", "bad", "Twice.", 0, 0)])]
    with pytest.raises(sqlite3.IntegrityError):
        index.upsert_docs(broken)
    assert index.search_words("fresh", 5) == [] and index.count() == 3


def test_pending_passages_get_vectors_and_are_found_by_the_nearest(index):
    waiting = index.list_pending(10)
    assert [p.doc_id for p in waiting] == ["danube", "rhine", "haydn"] and index.list_pending(2) == waiting[:2]
    index.set_vectors({p.id: np.eye(3, dtype=np.float32)[i] for i, p in enumerate(waiting)})
    assert index.count_vectors() == 3 and index.list_pending(10) == []
    found = index.search_vectors(np.array([0.1, 0.9, 0.2]), 2)
    assert found == [Hit(waiting[1].id, "rhine", 1), Hit(waiting[2].id, "haydn", 2)]


ANOTHER_PROCESS = """
import sys
import numpy as np
from as2core.retrieval.index import list_content_words
from as2core.retrieval.passages import split_passages
from as2core.retrieval.sqlite import SqliteIndex

index = SqliteIndex(sys.argv[1])
made = split_passages("oder", ["The Oder is a border."])
index.upsert_docs([("oder", made)])
index.set_vectors({made[0].id: np.array([0.0, 1.0])})
index.upsert_docs([("haydn", [])])
"""


def nearest(vectors, query, k):
    """Brute force, by exact arithmetic over small whole numbers; equal ones by their turn."""
    return sorted(vectors, key=lambda pid: -sum(int(a) * int(b) for a, b in zip(vectors[pid], query, strict=True)))[:k]


@pytest.mark.parametrize("seed", range(4))
def test_dense_search_follows_every_change_two_users_of_the_file_make(tmp_path, seed):
    rng = np.random.default_rng(seed)
    users = [SqliteIndex(tmp_path / "i.db"), SqliteIndex(tmp_path / "i.db")]
    expected: dict[str, np.ndarray] = {}
    for step in range(60):
        writer = users[rng.integers(2)]
        name = f"d{rng.integers(12)}"
        old = [pid for pid in expected if pid.startswith(f"{name}:")]
        if rng.random() < 0.35:
            writer.upsert_docs([(name, [])])
            made = []
        else:
            made = split_passages(name, [f"step {step} {i}" for i in range(rng.integers(1, 8))], 2, 0)
            writer.upsert_docs([(name, made)])
        for pid in old:
            del expected[pid]
        vectors = {p.id: rng.integers(-9, 9, 6) for p in made}
        writer.set_vectors(vectors)
        expected |= vectors
        query, k = rng.integers(-9, 9, 6), int(rng.integers(1, 9))
        for user in users:
            assert [h.passage_id for h in user.search_vectors(query, k)] == nearest(expected, query, k)
            assert user.count_vectors() == len(expected)
    for user in users:
        user.close()


def test_vectors_that_were_removed_leave_nothing_in_memory():
    matrix, vector = VectorMatrix(), np.ones(2, dtype=np.float32)
    matrix.put(1, ("passage", "document-1"), vector)
    matrix.put(2, ("passage", "document-1"), vector)
    matrix.put(1, ("passage", "document-2"), vector)  # it moved
    matrix.retain({1})
    assert [row.name[1] for row in matrix.nearest(vector, 9, ["document-1", "document-2"])] == ["document-2"]
    matrix.retain(set())
    assert "document" not in str(list(vars(matrix).values()))


def test_what_another_process_writes_is_found_at_once(index):
    index.set_vectors({p.id: np.array([1.0, 0.0]) for p in index.list_pending(9)})
    assert len(index.search_vectors(np.array([0.0, 1.0]), 9)) == 3
    subprocess.run([sys.executable, "-c", ANOTHER_PROCESS, str(index.path)], check=True, cwd=Path(__file__).parents[2])
    found = documents(index.search_vectors(np.array([0.0, 1.0]), 9))
    assert found[0] == "oder" and "haydn" not in found
    assert documents(index.search_words("border", 5)) == ["oder"]


def test_what_was_written_is_there_after_reopening(index):
    index.set_vectors({p.id: np.ones(2) for p in index.list_pending(9)})
    index.close()
    again = SqliteIndex(index.path)
    assert again.count() == again.count_vectors() == 3 and documents(again.search_words("cologne", 5)) == ["rhine"]
    again.close()


def test_a_file_that_is_no_index_is_refused_by_name(tmp_path):
    (tmp_path / "notes.db").write_bytes(b"not a database, but long enough to look at" * 40)
    with pytest.raises(UnreadableFile, match=r"notes\.db: not a search index"):
        SqliteIndex(tmp_path / "notes.db")


def test_an_index_that_a_full_disk_keeps_from_opening_says_so(tmp_path, monkeypatch):
    (tmp_path / "index.db").mkdir()  # which SQLite cannot open either
    with pytest.raises(UnreadableFile, match="cannot be used"):
        SqliteIndex(tmp_path / "index.db")
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=0))
    with pytest.raises(UnreadableFile, match="the disk is full: free some space"):
        SqliteIndex(tmp_path / "index.db")


def test_an_index_of_another_version_is_refused(index):
    db = sqlite3.connect(index.path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(UnreadableFile, match="another version"):
        SqliteIndex(index.path)


@pytest.mark.parametrize("asked", ["NFC", "NFD"])
@pytest.mark.parametrize("stored", ["NFC", "NFD"])
def test_accents_written_apart_or_together_find_each_other(index, stored, asked):
    texts = [unicodedata.normalize(stored, "The café in Zürich opens."), "A tea house."]
    index.upsert_docs([(f"d{i}", split_passages(f"d{i}", [text])) for i, text in enumerate(texts)])
    assert [h.doc_id for h in index.search_words(unicodedata.normalize(asked, "Zürich"), 5)] == ["d0"]


def test_passages_are_counted_again_once_the_file_has_changed(index):
    total = index.count()
    assert index.count_vectors() == 0
    pending = index.list_pending(99)
    index.set_vectors({pending[0].id: np.array([1.0, 0.0])})
    assert (index.count(), index.count_vectors()) == (total, 1)
    gone = pending[0].doc_id
    index.upsert_docs([(gone, [])])
    left = [p for p in pending if p.doc_id != gone]
    assert (index.count(), index.count_vectors()) == (len(left), 0)


def test_a_question_is_compared_once_and_ranked_in_its_documents_after_that(index):
    pending = index.list_pending(99)
    draw = np.random.default_rng(0)
    vectors = {p.id: draw.normal(size=8).astype(np.float32) for p in pending}
    index.set_vectors(vectors)
    query = draw.normal(size=8).astype(np.float32)
    index.search_vectors(query, 1)
    some = sorted({p.doc_id for p in pending})[:2]
    by_hand = sorted((p.id for p in pending if p.doc_id in some), key=lambda i: -float(vectors[i] @ query))
    assert [h.passage_id for h in index.search_vectors(query, 99, some)] == by_hand
    index.set_vectors({by_hand[-1]: query * 9})  # what was computed before does not hold any more
    assert index.search_vectors(query, 99, some)[0].passage_id == by_hand[-1]


def test_only_passages_with_one_of_the_rarest_words_are_ranked_where_there_are_many(tmp_path, monkeypatch):
    monkeypatch.setattr("as2core.retrieval.sqlite.MAX_MATCHES", 12)
    texts = [f"river {'delta' if i % 5 == 0 else 'bank'} n{i}" for i in range(50)]
    for limit, expected in ((10, set(range(0, 50, 5))), (50, set(range(50)))):
        index = SqliteIndex(tmp_path / f"{limit}.db", limit)
        index.upsert_docs([(str(i), split_passages(str(i), [text])) for i, text in enumerate(texts)])
        assert {int(d) for d in documents(index.search_words("river delta", 99))} == expected
        assert documents(index.search_words("river n7 zebra", 1)) == ["7"]
        assert len(index.search_words("river zebra", 99)) == 50  # the only word that is there at all
        index.close()


def test_frequent_words_still_decide_between_passages_that_share_a_rare_one(tmp_path, monkeypatch):
    monkeypatch.setattr("as2core.retrieval.sqlite.MAX_MATCHES", 5)
    texts = [*(f"river n{i}" for i in range(30)), "delta lake lake", "delta river", *(f"lake m{i}" for i in range(30))]
    texts += [f"hill h{i}" for i in range(40)]  # in half of all passages, a word would weigh nothing
    index = SqliteIndex(tmp_path / "many.db", 10)
    index.upsert_docs([(str(i), split_passages(str(i), [text])) for i, text in enumerate(texts)])
    assert documents(index.search_words("river delta", 9)) == ["31", "30"]
    assert documents(index.search_words("lake delta", 9)) == ["30", "31"]
    index.close()
