"""The cascade run on torch: a span of layers, an exit's classifier, a cut, the survivors packed anew.

Pairs are sorted by length and run in micro-batches of a token budget; between exits the hidden states lie unpadded,
one tensor a candidate, so that the next segment packs only who is left.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord, select_dropped
from as2core.cost import head_flops, layer_flops
from as2core.nn.backbone import Backbone, Packed, micro_batches


@torch.inference_mode()
def run_cascade(
    backbone: Backbone, heads: nn.ModuleList, exits: Sequence[int], packed: Packed, schedule: DropSchedule
) -> CascadeTrace:
    """One question's pairs through the cascade. Logits per exit; the trace's positions are those of `packed`."""
    lengths = np.array(packed.lengths, dtype=np.int64)
    alive, below = np.arange(len(lengths)), 0
    states: dict[int, torch.Tensor] = {}  # candidate -> (length, hidden)
    records = []
    for i, (layer, head) in enumerate(zip(exits, heads, strict=True)):
        start = time.perf_counter()
        scores = np.empty(len(alive), dtype=np.float32)
        for rows in micro_batches([int(lengths[a]) for a in alive]):
            members = [int(alive[r]) for r in rows]
            if below == 0:
                ids, mask, second = backbone.pad(packed, members)
                hidden = backbone.embed(ids)
            else:
                hidden = nn.utils.rnn.pad_sequence([states[m] for m in members], batch_first=True)
                mask, second = backbone.masks([int(lengths[m]) for m in members], [packed.second[m] for m in members])
            hidden = backbone.run(hidden, mask, below, layer)
            scores[rows] = head(hidden, mask, second).float().cpu().numpy()
            if layer != exits[-1]:
                states.update({m: hidden[j, : lengths[m]] for j, m in enumerate(members)})
        dropped = select_dropped(alive, scores, schedule.kept(i, len(alive)))
        records.append(
            ExitRecord(
                layer=layer,
                alive=alive,
                scores=scores,
                dropped=dropped,
                seconds=time.perf_counter() - start,
                tokens=int(lengths[alive].sum()),
                flops=(layer - below) * layer_flops(lengths[alive], backbone.shape)
                + head_flops(len(alive), backbone.shape),
            )
        )
        alive = np.setdiff1d(alive, dropped)
        below = layer
    return CascadeTrace(lengths, tuple(records), schedule, backbone.shape)
