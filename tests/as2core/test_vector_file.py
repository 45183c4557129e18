"""Passage vectors that come with a corpus: found by text, for the weights that made them, and for nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from as2core.errors import UnreadableFile
from as2core.retrieval.vector_file import VectorFile

TEXTS = ["The tower was finished in 1889.", "Its lifts were replaced.", "Élan vital 東京"]
VECTORS = np.eye(3, 8, dtype=np.float32) * 0.3125  # exact in half precision


@pytest.fixture
def vector_path(tmp_path):
    path = tmp_path / "vectors.npz"
    VectorFile(TEXTS, VECTORS, "abc").save(path)
    return path


def test_a_saved_vector_is_found_by_its_text(vector_path):
    file = VectorFile.load(vector_path)
    assert (len(file), file.weights) == (3, "abc")
    for text, vector in zip(TEXTS, VECTORS, strict=True):
        assert file.get(text).dtype == np.float32
        np.testing.assert_array_equal(file.get(text), vector)


def test_a_text_that_changed_by_a_letter_has_no_vector(vector_path):
    assert VectorFile.load(vector_path).get("The tower was finished in 1888.") is None


def test_the_same_vectors_give_the_same_bytes_in_whatever_order(vector_path, tmp_path):
    VectorFile(TEXTS[::-1], VECTORS[::-1], "abc").save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == vector_path.read_bytes()


def test_an_empty_file_holds_nothing(tmp_path):
    VectorFile([], np.zeros((0, 8)), "abc").save(tmp_path / "empty.npz")
    assert len(VectorFile.load(tmp_path / "empty.npz")) == 0


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no zip", b"\x80\x04\x95pickle"])
def test_another_file_is_refused_by_name(tmp_path, content):
    path = tmp_path / "vectors.npz"
    path.write_bytes(content)
    with pytest.raises(UnreadableFile, match=r"vectors\.npz: not a file of passage vectors"):
        VectorFile.load(path)


def test_half_a_file_is_refused(vector_path):
    vector_path.write_bytes(vector_path.read_bytes()[:300])
    with pytest.raises(UnreadableFile, match="not a file of passage vectors"):
        VectorFile.load(vector_path)
