"""The classifier at an exit (Cascade Transformer, sections 4.3 and 5.2): three feed-forward layers with tanh over the
mean of all token encodings.

Where we differ. One logit where the paper has two classes: the sigmoid of one is the softmax of two. And the logit has
a second term, a weighted cosine of the question's and the candidate's mean encodings. The default backbone was trained
to make that cosine large for pairs that belong together, so the cascade starts from what the bi-encoder knows instead
of from chance: the feed-forward part starts at zero and learns what the cosine misses.

A head works in float32, also where autocast has the encoder in bfloat16: after training cosine and bias are some 30 and
-28, and bfloat16's steps between 16 and 32 are 0.125, which would give many candidates one logit.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

COSINE_SCALE = 10.0  # the cosine's first weight: cosines differ by tenths, logits by ones


class Head(nn.Module):
    """(batch, length, hidden) -> logit (batch,), by `classify` without autocast on the states in float32."""

    def forward(self, hidden: Tensor, mask: Tensor, second: Tensor) -> Tensor:
        """`mask` (batch, length) marks real tokens, `second` those of the candidate."""
        with torch.autocast(hidden.device.type, enabled=False):
            return self.classify(hidden.float(), mask, second)

    def classify(self, hidden: Tensor, mask: Tensor, second: Tensor) -> Tensor:
        """Shapes as in `forward`, `hidden` in float32."""
        raise NotImplementedError


class ExitHead(Head):
    """Feed-forward layers over the mean state, and the weighted cosine. Dropout as the encoder's, 0.1."""

    def __init__(self, hidden: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.net = _feed_forward(hidden, 1, dropout)
        for parameter in self.net[-1].parameters():
            nn.init.zeros_(parameter)
        self.cosine = nn.Parameter(torch.full((hidden,), COSINE_SCALE))

    def classify(self, hidden: Tensor, mask: Tensor, second: Tensor) -> Tensor:
        question = normalize(mean_pool(hidden, mask & ~second), dim=1)
        candidate = normalize(mean_pool(hidden, mask & second), dim=1)
        similarity = (question * candidate) @ self.cosine
        return self.net(mean_pool(hidden, mask)).squeeze(-1) + similarity


class PaperHead(Head):
    """The paper's own: the three feed-forward layers over the mean state, and two classes. The logit is the difference
    of theirs, whose sigmoid is their softmax."""

    def __init__(self, hidden: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.hidden, self.net = hidden, _feed_forward(hidden, 2, dropout)

    def classify(self, hidden: Tensor, mask: Tensor, second: Tensor) -> Tensor:
        wrong, right = self.net(mean_pool(hidden, mask)).unbind(-1)
        return right - wrong

    @torch.no_grad()
    def to_exit_head(self) -> ExitHead:
        """The same function with one logit, its cosine of weight 0: what graphs and exports are made of."""
        head = ExitHead(self.hidden)
        state = {f"net.{name}": t.clone() for name, t in self.net.state_dict().items()}
        last = len(self.net) - 1
        for name in (f"net.{last}.weight", f"net.{last}.bias"):
            state[name] = state[name][1:] - state[name][:1]
        head.load_state_dict({**state, "cosine": torch.zeros(self.hidden)})
        return head.to(next(self.parameters()).device).train(self.training)


def _feed_forward(hidden: int, outputs: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        nn.Dropout(dropout),
        nn.Linear(hidden, hidden),
        nn.Tanh(),
        nn.Dropout(dropout),
        nn.Linear(hidden, hidden),
        nn.Tanh(),
        nn.Dropout(dropout),
        nn.Linear(hidden, outputs),
    )


class ClsHead(Head):
    """BERT's classifier (Devlin et al., 2019): a tanh layer over the first token's state, then one number. The
    discriminative twin of Nogueira dos Santos et al. (2020)."""

    def __init__(self, hidden: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh(), nn.Dropout(dropout), nn.Linear(hidden, 1))

    def classify(self, hidden: Tensor, mask: Tensor, second: Tensor) -> Tensor:
        return self.net(hidden[:, 0]).squeeze(-1)


def mean_pool(hidden: Tensor, mask: Tensor) -> Tensor:
    """The mean over the marked tokens: (batch, length, hidden), (batch, length) -> (batch, hidden)."""
    weight = mask[:, :, None].to(hidden.dtype)
    return (hidden * weight).sum(1) / weight.sum(1).clamp(min=1)
