"""A recurrent layer over the candidates of a question in their original order (Bonadiman and Moschitti, 2020, 4.2).

The vector of each pair is replaced by a state that has seen the pairs before it (RNN, LSTM) or on both sides of it
(BiRNN, BiLSTM), so that a sentence is scored by its position and its neighbours. The paper's text gives
the state the input's size; the parameter counts of its tables are those of 300 for Cosinet and 600 for
Compare-Aggregate. We take the counts. Bidirectional: half of the state a direction.
"""

from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from as2core.errors import BadSetting
from as2core.nn.bilstm_compare_aggregate import BiLSTMCompareAggregate
from as2core.nn.compare_aggregate import CompareAggregate
from as2core.nn.cosinet import Cosinet
from as2core.nn.rel_cnn import RelCNN
from as2core.nn.word_pairs import WordPairs

PairEncoder: TypeAlias = Cosinet | CompareAggregate | BiLSTMCompareAggregate | RelCNN

CONTEXTS = {
    "none": None,
    "rnn": (nn.RNN, False),
    "birnn": (nn.RNN, True),
    "lstm": (nn.LSTM, False),
    "bilstm": (nn.LSTM, True),
}


class Context(nn.Module):
    """(pairs, size) of several questions, `sizes` candidates each -> (pairs, `self.size`). `kind`: a key of CONTEXTS.

    Raises BadSetting for another kind.
    """

    def __init__(self, kind: str, size: int, hidden: int) -> None:
        super().__init__()
        if kind not in CONTEXTS:
            raise BadSetting(f"no context {kind!r}; known: {', '.join(CONTEXTS)}")
        layer, bidirectional = CONTEXTS[kind] or (None, False)
        directions = 2 if bidirectional else 1
        per_direction = hidden // directions
        self.size = directions * per_direction if layer else size
        self.layer = layer and layer(size, per_direction, batch_first=True, bidirectional=bidirectional)

    def forward(self, pairs: Tensor, sizes: list[int]) -> Tensor:
        if self.layer is None:
            return pairs
        lists = pad_sequence(pairs.split(sizes), batch_first=True)  # (questions, most candidates, size)
        packed = pack_padded_sequence(lists, torch.tensor(sizes), batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.layer(packed)[0], batch_first=True)
        return torch.cat([s[:n] for s, n in zip(states, sizes, strict=True)])


class ListScorer(nn.Module):
    """Pairs -> `encoder` -> `Context` -> the encoder's head: one logit a pair."""

    def __init__(self, encoder: PairEncoder, context: str) -> None:
        super().__init__()
        self.encoder = encoder
        self.context = Context(context, encoder.size, encoder.state)
        self.head = encoder.head(self.context.size)

    def forward(self, pairs: WordPairs) -> Tensor:
        """Logits (pairs,)."""
        return self.decide(self.encoder(pairs), pairs.sizes)

    def decide(self, encoded: Tensor, sizes: list[int]) -> Tensor:
        """Encoded pairs (pairs, size) -> logits (pairs,)."""
        return self.head(self.context(encoded, sizes)).squeeze(-1)
