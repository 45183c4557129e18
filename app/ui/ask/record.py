"""The record of an answered question for the picture: the browser gets it once, and replays it under any schedule.

`entered` are the positions of those who got into the encoder; `scores`, `again`, `costs`, `texts` and `sources` follow
their order. `retrieved` and the first stage's `ranks` have everyone. `costs` are FLOPs of one layer, `head` of a
classifier; a float holds their sums exactly.
"""

import json
from zlib import crc32

import numpy as np

from app.ask.asking import AskView
from app.ui.text import name_document, shorten
from as2core.cost import head_flops, layer_flops
from as2core.metrics import to_ranks

MAX_TEXT_CHARS = 160

Record = dict[str, object]


def make_record(view: AskView) -> Record:
    """`id` names the record: two of equal content are the same."""
    trace, entry_positions = view.trace, view.trace.entered
    candidates = [view.candidates[i] for i in entry_positions.tolist()]
    first = trace.first
    record: Record = {
        "question": view.question,
        "candidates": trace.candidates,
        "entered": entry_positions.tolist(),
        "exits": [
            {
                "title": e.title,
                "layer": e.layer,
                "scores": e.scores[np.argsort(e.alive)].tolist(),
                "again": np.searchsorted(entry_positions, e.again).tolist(),
            }
            for e in trace.exits
        ],
        "costs": [layer_flops(trace.lengths[i : i + 1], trace.shape) for i in entry_positions.tolist()],
        "head": head_flops(1, trace.shape),
        "texts": [shorten(c.text, MAX_TEXT_CHARS) for c in candidates],
        "sources": [f"{name_document(c.title, c.heading)}, sentence {c.position + 1}" for c in candidates],
        "retrieved": [c.retrieval_rank for c in view.candidates],
        "first": None if first is None else {"title": first.title, "ranks": to_ranks(first.scores).tolist()},
    }
    return record | {"id": f"{crc32(json.dumps(record).encode()):08x}"}
