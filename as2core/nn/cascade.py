"""The cascade's network: an encoder walked exit by exit, with a classifier at each."""

from collections.abc import Callable, Sequence

from torch import Tensor, nn

from as2core.nn.backbone import Backbone
from as2core.nn.heads import ExitHead, Head
from as2core.nn.real_tokens import RealTokens


class CascadeModule(nn.Module):
    """Backbone and heads, for training and for saving; `head` makes a classifier for a hidden size."""

    def __init__(self, backbone: Backbone, exits: Sequence[int], head: Callable[[int], Head] = ExitHead) -> None:
        super().__init__()
        self.backbone, self.exits = backbone, tuple(exits)
        self.heads = nn.ModuleList(head(backbone.hidden) for _ in exits)

    def forward(
        self,
        ids: Tensor,
        mask: Tensor,
        second: Tensor,
        *,
        exits: Sequence[int] | None = None,
        stop_gradient: bool = False,
    ) -> dict[int, Tensor]:
        """Logits (batch,) for each of the layers in `exits`, walking only as deep as the deepest of them.

        `stop_gradient` lets an exit's gradient reach down to the exit before it and no further (section 4.3.1).
        """
        layers = self.exits if exits is None else exits
        real, below, out = RealTokens(mask), 0, {}
        hidden = real.take(self.backbone.embed(ids, second))
        for layer, head in zip(self.exits, self.heads, strict=True):
            if layer > max(layers):
                break
            hidden = self.backbone.run(hidden, real, below, layer)
            below = layer
            if layer in layers:
                out[layer] = head(real.put_back(hidden), mask, second)
            if stop_gradient:
                hidden = hidden.detach()
        return out
