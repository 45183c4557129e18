"""Values that no database holds."""

import pytest

from db.errors import BadValue
from db.models import Corpus
from db.repositories import corpora as rows


def test_half_a_character_is_refused_in_a_sentence(database):
    with pytest.raises(BadValue, match="half of a character"), database.read() as s:
        rows.find_corpus(s, "\ud800")


def test_a_number_beyond_64_bits_is_refused_in_a_sentence(database):
    if not database.sqlite:
        pytest.skip("PostgreSQL itself refuses it")
    with pytest.raises(BadValue, match="larger than any"), database.read() as s:
        s.get(Corpus, 2**70)
