"""The papers' experiments, made again small or in full: `as2 reproduce NAME`. Modules load when one is run."""

from __future__ import annotations

EXPERIMENTS = {
    "cascade": "exits, drop ratios, monolithic depths and the sequential reranker (Soldaini and Moschitti 2020)",
    "exit_draws": "ways to train a cascade's exits (Soldaini and Moschitti 2020, section 4.3.1)",
    "structure": "Cosinet and Compare-Aggregate, listwise and recurrent (Bonadiman and Moschitti 2020)",
    "generation": "no tuning, MLE, LUL and RLL, both directions (Nogueira dos Santos et al. 2020)",
    "tanda": "fine-tuning against transfer and adapt, with label noise (Garg et al. 2020)",
    "rerank": "a cheap first ranker before the transformer (Matsubara et al. 2020)",
}
