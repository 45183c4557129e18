"""Cosinet (Bonadiman and Moschitti, 2020, section 4.1): each word's vector is given its largest cosine with the words
of the other text; one convolution a text; the pair is [q * c ; q - c].
"""

import torch
from torch import Tensor, nn

from as2core.nn.convolution import WordConvolution
from as2core.nn.word_pairs import WordPairs


class Cosinet(nn.Module):
    """Pairs of word vectors of `size` -> (pairs, 2 x hidden)."""

    def __init__(self, size: int, *, hidden: int = 300, kernel: int = 5) -> None:
        super().__init__()
        self.question = WordConvolution(size, 1, hidden, kernel)
        self.candidate = WordConvolution(size, 1, hidden, kernel)
        self.size, self.state = 2 * hidden, hidden

    def forward(self, pairs: WordPairs) -> Tensor:
        q = self.question(pairs.vectors, pairs.question.ids, pairs.question.cosine[:, :, None])  # (pairs, hidden)
        c = self.candidate(pairs.vectors, pairs.candidate.ids, pairs.candidate.cosine[:, :, None])
        return torch.cat([q * c, q - c], dim=1)

    def head(self, size: int) -> nn.Module:
        return nn.Linear(size, 1)
