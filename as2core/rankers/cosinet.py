"""Cosinet as a ranker: its network is `as2core.nn.cosinet`, all else it shares with its kin."""

from __future__ import annotations

from as2core.nn.cosinet import Cosinet
from as2core.rankers.word_ranker import WordRanker


class CosinetRanker(WordRanker):
    kind, encoder = "cosinet", Cosinet
