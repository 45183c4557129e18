"""Compare-Aggregate (Wang and Jiang, 2017), in the form whose parameters Bonadiman and Moschitti (2020) count: a gated
projection of the words, soft attention both ways, element-wise products, convolutions of widths 1 to 5 a text.

Word vectors are about one long, so each number in one is small. The projections' weights start so large that a sigmoid
and a tanh tell words apart from the first step on; with torch's own start they are nearly constant, products of two of
them nearly nothing, and three epochs teach little.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from as2core.nn.convolution import TextConvolution
from as2core.nn.word_pairs import WordPairs


class CompareAggregate(nn.Module):
    """Pairs of word vectors of `size` -> (pairs, 2 x hidden x number of kernels)."""

    def __init__(self, size: int, *, hidden: int = 300, kernels: Sequence[int] = (1, 2, 3, 4, 5)) -> None:
        super().__init__()
        self.gate, self.content = nn.Linear(size, hidden), nn.Linear(size, hidden)
        with torch.no_grad():
            for layer in (self.gate, self.content):
                layer.weight *= math.sqrt(size)
        self.question = TextConvolution(hidden, hidden, kernels)
        self.candidate = TextConvolution(hidden, hidden, kernels)
        self.size, self.state = 2 * hidden * len(kernels), 2 * hidden

    def forward(self, pairs: WordPairs) -> Tensor:
        vectors = self.gate(pairs.vectors).sigmoid() * self.content(pairs.vectors).tanh()  # (different words, hidden)
        q, c = vectors[pairs.question.ids], vectors[pairs.candidate.ids]  # (pairs, length, hidden)
        near = q @ c.transpose(1, 2)  # (pairs, question words, candidate words)
        about_q = attend(near, c, pairs.candidate.mask)  # what the candidate says to each word of the question
        about_c = attend(near.transpose(1, 2), q, pairs.question.mask)
        return torch.cat(
            [self.question(q * about_q, pairs.question.mask), self.candidate(c * about_c, pairs.candidate.mask)], dim=1
        )

    def head(self, size: int) -> nn.Module:
        return nn.Linear(size, 1)


def attend(near: Tensor, words: Tensor, mask: Tensor) -> Tensor:
    """Softmax of near (pairs, m, n) over the n real words, times words (pairs, n, hidden) -> (pairs, m, hidden)."""
    return near.masked_fill(~mask[:, None, :], -torch.inf).softmax(2) @ words
