"""Passages and the fusion of ranks, by hand."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from as2core.errors import BadSetting
from as2core.retrieval.passages import count_passages, find_first_sentence, split_passages
from as2core.retrieval.ranks import fuse_ranks, top_documents
from as2core.types import Hit, Sentence


def hits(*names):
    return [Hit(name, name[0], rank) for rank, name in enumerate(names, 1)]


def test_nine_sentences_make_two_passages_of_five_that_share_one():
    made = split_passages("doc", [f"S{i}." for i in range(9)])
    assert [(p.first, p.last, p.text) for p in made] == [(0, 4, "S0. S1. S2. S3. S4."), (4, 8, "S4. S5. S6. S7. S8.")]
    assert {p.doc_id for p in made} == {"doc"} and len({p.id for p in made}) == 2


def test_a_tenth_sentence_needs_a_third_passage():
    assert [(p.first, p.last) for p in split_passages("doc", ["x"] * 10)] == [(0, 4), (4, 8), (8, 9)]


@pytest.mark.parametrize(("count", "expected"), [(0, []), (1, [(0, 0)]), (5, [(0, 4)]), (6, [(0, 4), (4, 5)])])
def test_few_sentences_make_few_passages(count, expected):
    assert [(p.first, p.last) for p in split_passages("doc", ["x"] * count)] == expected


def test_passages_are_counted_without_the_texts():
    assert all(count_passages(n) == len(split_passages("doc", ["x"] * n)) for n in range(30))


@given(st.integers(0, 40), st.integers(1, 7), st.data())
def test_every_sentence_is_in_a_passage_and_no_passage_lies_within_another(count, size, data):
    overlap = data.draw(st.integers(0, size - 1))
    made = split_passages("doc", [str(i) for i in range(count)], size, overlap)
    assert {i for p in made for i in range(p.first, p.last + 1)} == set(range(count))
    assert all(a.first < b.first and a.last < b.last for a, b in pairwise(made))


def test_the_title_heads_each_passage_and_an_id_changes_with_the_text():
    sentence = Sentence("It is long.", 0, 11, 0)
    (plain,), (titled,) = split_passages("doc", [sentence]), split_passages("doc", [sentence], title="Danube")
    assert (plain.text, titled.text) == ("It is long.", "Danube It is long.")
    assert plain.id != titled.id


def test_an_id_tells_the_first_sentence_even_where_the_document_s_id_has_colons():
    made = split_passages("law:2:b", ["x"] * 10)
    assert [find_first_sentence(p.id) for p in made] == [p.first for p in made] == [0, 4, 8]


def test_an_overlap_as_large_as_the_passage_is_refused():
    with pytest.raises(BadSetting, match="overlapping by 5"):
        split_passages("doc", ["x"], 5, 5)


def test_fusion_adds_one_over_sixty_plus_rank():
    # a1: 1/61 + 1/63 = .03227, b1: 1/62 + 1/61 = .03252, c1: 1/63 = .01587, d1: 1/62 = .01613
    fused = fuse_ranks([hits("a1", "b1", "c1"), hits("b1", "d1", "a1")], 3)
    assert fused == [Hit("b1", "b", 1), Hit("a1", "a", 2), Hit("d1", "d", 3)]


def test_fusion_of_equals_keeps_the_order_they_were_met_in():
    assert [h.passage_id for h in fuse_ranks([hits("x"), hits("b"), hits("a")], 9)] == ["x", "b", "a"]


def test_fusion_of_nothing_is_nothing():
    assert fuse_ranks([], 5) == fuse_ranks([[], []], 5) == []


def test_documents_come_by_their_best_passage():
    assert top_documents(hits("b1", "a1", "b2", "c1", "a2"), 2) == ["b", "a"]
