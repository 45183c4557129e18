"""RelCNN as a ranker: its network is `as2core.nn.rel_cnn`, all else it shares with its kin."""

from __future__ import annotations

from as2core.nn.rel_cnn import RelCNN
from as2core.rankers.word_ranker import WordRanker


class RelCNNRanker(WordRanker):
    kind, encoder = "rel-cnn", RelCNN
