"""A recurrent layer over the candidates of a question in their original order (Bonadiman and Moschitti, 2020, 4.2).

The vector of each pair is replaced by a state that has seen the pairs before it (RNN, LSTM) or on both sides of it
(BiRNN, BiLSTM), so that a sentence is judged by where it stands and by what stands around it. The paper's text gives
the state the input's size; the parameter counts of its tables are those of 300 for Cosinet and 600 for
Compare-Aggregate. We take the counts. Bidirectional: half of the state a direction.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from as2core.errors import BadSetting
from as2core.nn.word_pairs import WordPairs

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
        layer, both = CONTEXTS[kind] or (None, False)
        each = hidden // 2 if both else hidden  # a direction
        self.size = (2 * each if both else each) if layer else size
        self.layer = layer and layer(size, each, batch_first=True, bidirectional=both)

    def forward(self, pairs: torch.Tensor, sizes: list[int]) -> torch.Tensor:
        if self.layer is None:
            return pairs
        lists = pad_sequence(pairs.split(sizes), batch_first=True)  # (questions, most candidates, size)
        packed = pack_padded_sequence(lists, torch.tensor(sizes), batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.layer(packed)[0], batch_first=True)
        return torch.cat([s[:n] for s, n in zip(states, sizes, strict=True)])


class ListScorer(nn.Module):
    """Pairs -> `encoder` -> `Context` -> the encoder's head: one logit a pair.

    An encoder has `size` (of a pair's vector), `state` (of the recurrent layer) and `head(size)`.
    """

    def __init__(self, encoder: nn.Module, context: str) -> None:
        super().__init__()
        self.encoder = encoder
        self.context = Context(context, encoder.size, encoder.state)
        self.head = encoder.head(self.context.size)

    def forward(self, pairs: WordPairs) -> torch.Tensor:
        """Logits (pairs,)."""
        return self.decide(self.encoder(pairs), pairs.sizes)

    def decide(self, encoded: torch.Tensor, sizes: list[int]) -> torch.Tensor:
        """Encoded pairs (pairs, size) -> logits (pairs,)."""
        return self.head(self.context(encoded, sizes)).squeeze(-1)
