"""A directory that sentence-transformers' `CrossEncoder(folder, trust_remote_code=True)` loads (version 5 and later).

It is the Hugging Face directory with two settings of that library added: scores are logits, as ours are (its default
would be their sigmoid), and pairs are cut at the same length.
"""

import json
from pathlib import Path

from as2core.export import hugging_face
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.versions import Card

IDENTITY = "torch.nn.modules.linear.Identity"


def write(ranker: CascadeRanker, folder: Path, card: Card) -> None:
    """Into an existing folder. Raises as `hugging_face.write`."""
    hugging_face.write(ranker, folder, card)
    file = folder / "config.json"
    config = json.loads(file.read_text())
    config["sentence_transformers"] = {"activation_fn": IDENTITY}
    file.write_text(json.dumps(config, indent=2) + "\n")
