"""Convolution over the words of a text and the maximum over their positions: any text becomes one vector.

A text is padded with zero vectors on both sides, so it has as many outputs as words whatever its length; padding of a
batch changes nothing.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, pad


class TextConvolution(nn.Module):
    """`filters` of each width in `kernels`: words (texts, length, size) -> (texts, filters x kernels), after ReLU."""

    def __init__(self, size: int, filters: int, kernels: Sequence[int]) -> None:
        super().__init__()
        self.kernels = tuple(kernels)
        self.layers = nn.ModuleList(nn.Conv1d(size, filters, k) for k in kernels)

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        """`mask` (texts, length) marks the words; other positions count as zero."""
        x = (words * mask[:, :, None]).transpose(1, 2)
        outside = ~mask[:, None, :]
        pooled = [
            layer(pad(x, _padding(kernel))).masked_fill(outside, -torch.inf).amax(2)
            for kernel, layer in zip(self.kernels, self.layers, strict=True)
        ]
        return torch.cat(pooled, dim=1).relu()


class WordConvolution(nn.Module):
    """The same with one width, for words that are a static vector (size) and their relation to the other text
    (`related`): (texts, filters), after ReLU.

    A word's vector adds the same at each place of the kernel wherever the word stands, so this is computed once for
    each different word and summed by position. Equal to `TextConvolution` over the concatenated vectors.
    """

    def __init__(self, size: int, related: int, filters: int, kernel: int) -> None:
        super().__init__()
        self.kernel = kernel
        self.words = nn.Linear(size, kernel * filters, bias=False)
        self.related = nn.Linear(related * kernel, filters)
        bound = ((size + related) * kernel) ** -0.5  # as one convolution would start
        for p in self.parameters():
            nn.init.uniform_(p, -bound, bound)

    def forward(self, vectors: Tensor, ids: Tensor, related: Tensor) -> Tensor:
        """`vectors` (different words + 1, size), row 0 zeros; `ids` (texts, length), 0 for padding; `related` (texts,
        length, related)."""
        used, places = ids.unique(return_inverse=True)
        taps = self.words(vectors[used]).view(len(used) * self.kernel, -1)  # row w x kernel + k: word w at place k
        ends = _padding(self.kernel)
        outer = len(used)  # positions beyond the text, which add nothing
        around = pad(places, ends, value=outer).unfold(1, self.kernel, 1)  # (texts, length, kernel)
        rows = around * self.kernel + torch.arange(self.kernel, device=ids.device)
        taps = pad(taps, (0, 0, 0, self.kernel))
        x = embedding_bag(rows.reshape(-1, self.kernel), taps, mode="sum").view(*ids.shape, -1)
        outside = (ids == 0)[:, :, None]
        marks = pad(related.masked_fill(outside, 0), (0, 0, *ends)).unfold(1, self.kernel, 1)
        return (x + self.related(marks.flatten(2))).masked_fill(outside, -torch.inf).amax(1).relu()


def _padding(kernel: int) -> tuple[int, int]:
    """Positions to add before and after a text so that it has one output a word."""
    return (kernel - 1) // 2, kernel // 2
