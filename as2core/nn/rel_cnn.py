"""Rel-CNN (Severyn and Moschitti, 2015 and 2016): a convolution a text over word vectors that carry a learnt embedding
of whether the word also stands in the other text; the pair is [q ; q' M c ; c], with a hidden layer before the score.
"""

import torch
from torch import Tensor, nn

from as2core.nn.convolution import WordConvolution
from as2core.nn.word_pairs import Side, WordPairs


class RelCNN(nn.Module):
    """Pairs of word vectors of `size` -> (pairs, 2 x hidden + 1)."""

    def __init__(self, size: int, *, hidden: int = 100, kernel: int = 5, relation: int = 5) -> None:
        super().__init__()
        self.relation = nn.Embedding(2, relation)  # of a word not shared, and of one that is
        self.question = WordConvolution(size, relation, hidden, kernel)
        self.candidate = WordConvolution(size, relation, hidden, kernel)
        self.similar = nn.Linear(hidden, hidden, bias=False)  # M
        self.size, self.state = 2 * hidden + 1, 2 * hidden

    def forward(self, pairs: WordPairs) -> Tensor:
        q = self._encode(self.question, pairs, pairs.question)  # (pairs, hidden)
        c = self._encode(self.candidate, pairs, pairs.candidate)
        return torch.cat([q, (q * self.similar(c)).sum(1, keepdim=True), c], dim=1)

    def _encode(self, convolution: WordConvolution, pairs: WordPairs, side: Side) -> Tensor:
        return convolution(pairs.vectors, side.ids, self.relation(side.shared.long()))

    def head(self, size: int) -> nn.Module:
        return nn.Sequential(nn.Linear(size, size), nn.Tanh(), nn.Linear(size, 1))
