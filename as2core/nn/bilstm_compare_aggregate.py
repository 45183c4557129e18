"""Compare-Aggregate as Matsubara et al. (2020, section 4.1.4) use it: Wang and Jiang's model (2017) with a BiLSTM of
300 for its preprocessing.

Each word of the candidate attends to the question's words (Wang and Jiang, Eq. 2), is multiplied element-wise with what
it gets ("Mult", their best on WikiQA), and convolutions of widths 1 to 5 with the maximum over positions make the
pair's vector. The papers do not say whether the 300 are those of a direction; here they are.
"""

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from as2core.nn.compare_aggregate import attend
from as2core.nn.convolution import TextConvolution
from as2core.nn.word_pairs import Side, WordPairs


class BiLSTMCompareAggregate(nn.Module):
    """Pairs of word vectors of `size` -> (pairs, hidden x number of kernels)."""

    def __init__(self, size: int, *, hidden: int = 300, kernels: Sequence[int] = (1, 2, 3, 4, 5)) -> None:
        super().__init__()
        self.read = nn.LSTM(size, hidden, batch_first=True, bidirectional=True)
        self.attention = nn.Linear(2 * hidden, 2 * hidden)
        self.aggregate = TextConvolution(2 * hidden, hidden, kernels)
        self.size, self.state = hidden * len(kernels), 2 * hidden

    def forward(self, pairs: WordPairs) -> Tensor:
        q = self._states(pairs.vectors, pairs.question)  # (pairs, question words, 2 x hidden)
        c = self._states(pairs.vectors, pairs.candidate)
        near = c @ self.attention(q).transpose(1, 2)  # (pairs, candidate words, question words)
        return self.aggregate(c * attend(near, q, pairs.question.mask), pairs.candidate.mask)

    def _states(self, vectors: Tensor, side: Side) -> Tensor:
        lengths = side.mask.sum(1).cpu()
        packed = pack_padded_sequence(vectors[side.ids], lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.read(packed)[0], batch_first=True, total_length=side.ids.shape[1])[0]

    def head(self, size: int) -> nn.Module:
        return nn.Linear(size, 1)
