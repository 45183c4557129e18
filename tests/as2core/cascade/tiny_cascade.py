"""A tiny cascade whose classifiers say something, and candidates for it."""

import torch

from as2core.nn.backbone import load_backbone
from as2core.rankers.cascade import CascadeRanker
from as2core.types import Candidate

QUESTION = "when was the tower built ?"
TEXTS = [
    "the tower was completed in 1889 .",
    "",
    "the bridge is 300 metres long and the water is high in winter .",
    "a river",
    "winter bread and music in the old city where people stand",
    "iron",
]


CANDIDATES = [Candidate(str(i), t) for i, t in enumerate(TEXTS * 3)]


def make_ranker(folder: str, **settings) -> CascadeRanker:
    """A cascade whose classifiers say something: they start at zero."""
    torch.manual_seed(3)
    ranker = CascadeRanker(load_backbone(folder), **settings)
    for head in ranker.module.heads:
        torch.nn.init.normal_(head.net[-1].weight, std=0.3)
    return ranker
