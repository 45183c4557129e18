import gzip
import warnings

import numpy as np
import pytest

from as2core.errors import BadSetting, UnreadableFile
from as2core.nn.backbone import load_backbone
from as2core.nn.word_vectors import backbone_vectors, text_vectors, word_vectors

LINES = "tower 1 2 3\nbridge 4 5.5 -6\n"


def write_file(tmp_path, text: str, name: str = "vectors.txt"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz"])
@pytest.mark.parametrize("header", ["", "2 3\n"])
def test_a_text_file_gives_its_words_with_or_without_a_first_line_plain_or_packed(name, header, tmp_path):
    table = text_vectors(write_file(tmp_path, header + LINES, name))
    assert table.size == 3
    np.testing.assert_array_equal(table(["bridge", "river", "tower"]), [[4, 5.5, -6], [0, 0, 0], [1, 2, 3]])


def test_a_packed_file_is_closed_once_it_is_unpacked(tmp_path):
    path = write_file(tmp_path, LINES, "vectors.txt.gz")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        table = text_vectors(path)
    assert not [str(w.message) for w in said if w.category is ResourceWarning]
    np.testing.assert_array_equal(table(["tower"]), [[1, 2, 3]])


def test_word2vec_s_space_at_the_end_glove_s_words_with_spaces_and_a_blank_last_line_are_read(tmp_path):
    table = text_vectors(write_file(tmp_path, "tower 1 2 3 \n. . . 7 8 9\nbridge 4 5 6\n\n"))
    np.testing.assert_array_equal(table(["tower", ". . .", "bridge"]), [[1, 2, 3], [7, 8, 9], [4, 5, 6]])


def test_numberbatch_s_addresses_and_digits_are_known(tmp_path):
    table = text_vectors(write_file(tmp_path, "4 2\n/c/de/turm 9 9\n/c/en/tower 1 2\n/c/en/#### 3 4\n/c/en/b2 5 6\n"))
    np.testing.assert_array_equal(
        table(["tower", "1889", "b2", "turm", "12"]), [[1, 2], [3, 4], [5, 6], [0, 0], [0, 0]]
    )


def test_only_the_words_asked_for_are_parsed(tmp_path):
    table = text_vectors(write_file(tmp_path, "tower 1 2\nbridge no number\n"))
    np.testing.assert_array_equal(table(["tower"]), [[1, 2]])
    with pytest.raises(UnreadableFile, match=r"line 2: .*numbers"):
        table(["bridge"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tower 1 2 3\nbridge 4 5\n", "line 2: 2 numbers instead of 3"),
        ("2 3\ntower 1 2 3\nbridge 4\n", "line 3: 1 numbers instead of 3"),
        ("tower\n", "line 1"),
        ("", "holds no word vectors"),
        ("5 300\n", "holds no word vectors"),
    ],
)
def test_a_malformed_file_is_refused_by_line(text, says, tmp_path):
    with pytest.raises(UnreadableFile, match=says):
        text_vectors(write_file(tmp_path, text))


def test_a_missing_or_damaged_file_is_refused(tmp_path):
    with pytest.raises(UnreadableFile, match="No such file"):
        text_vectors(tmp_path / "none.txt")
    path = write_file(tmp_path, LINES, "cut.gz")
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(UnreadableFile, match="cannot be read"):
        text_vectors(path)


def test_a_backbone_s_word_is_the_mean_of_its_pieces_less_the_mean_of_all(tiny):
    backbone = load_backbone(tiny())
    matrix = backbone.embeddings.word_embeddings.weight.detach().numpy()
    ids = backbone.tokenizer.get_vocab()
    table = backbone_vectors(tiny())
    expected = [
        matrix[ids["tower"]] - matrix.mean(0),
        (matrix[ids["g"]] + matrix[ids["##o"]]) / 2 - matrix.mean(0),
        np.zeros(32),
    ]
    np.testing.assert_allclose(table(["tower", "go", "塔"]), expected, atol=1e-6)


def test_a_file_and_a_backbone_at_once_are_refused(tiny, tmp_path):
    with pytest.raises(BadSetting, match="not both"):
        word_vectors(backbone=tiny(), path=write_file(tmp_path, LINES))
