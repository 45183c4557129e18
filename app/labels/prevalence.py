"""The share of correct pairs, estimated from the fair sample, and beside it from each adaptive queue.

What an adaptive queue chooses is no sample of anything; its random share is one, and so is all of a queue that draws at
random.
Of a list that was drawn at random only the drawn row counts: lists are labelled from the top and seldom to the end.
The interval is Wilson's (1927): it stays inside 0 and 1 and holds for few pairs. It takes pairs for independent, so
with several of one question the truth is somewhat wider.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.labels.agreement import Estimate
from app.labels.queues import ADAPTIVE, QUEUES, is_sample
from app.workbench.workbench import Workbench
from as2core.metrics import wilson_interval
from as2core.types import CORRECT, INCORRECT
from db.repositories import labels as rows
from db.repositories.pairs import Pair, read_pair

FAIR = ""  # in place of a queue's name: what was drawn at random, whichever queue drew it


@dataclass(frozen=True, slots=True)
class PrevalenceView:
    """Share of correct pairs. `fair`: among those drawn at random; `by_queue`: adaptive queue -> among those it chose,
    a biased estimate."""

    fair: Estimate
    by_queue: tuple[tuple[str, Estimate], ...]


def estimate_prevalence(wb: Workbench, corpus_id: int) -> PrevalenceView:
    """A pair counts once, as its verdict or the majority of its labels; unsure and even ones not at all. A label that
    was changed later counts as it is now, where it was first assigned."""
    with wb.read() as s:
        labels = rows.list_assigned_labels(s, corpus_id, (*ADAPTIVE, *filter(is_sample, QUEUES)))
        verdicts = rows.find_verdicts(s, corpus_id=corpus_id)
    random_keys = {(*read_pair(r), r.annotator_id) for r in labels if r.control or is_sample(r.queue)}
    samples: dict[str, dict[Pair, dict[int, str]]] = {}
    for r in labels:
        pair = read_pair(r)
        sample = FAIR if (*pair, r.annotator_id) in random_keys else r.queue
        samples.setdefault(sample, {}).setdefault(pair, {})[r.annotator_id] = verdicts.get(pair, r.label)
    estimates = {name: _estimate_share([[*by.values()] for by in pairs.values()]) for name, pairs in samples.items()}
    fair = estimates.get(FAIR, Estimate(None, None, None, 0))
    return PrevalenceView(fair, tuple((q, estimates[q]) for q in ADAPTIVE if q in estimates))


def _estimate_share(pairs: Sequence[Sequence[str]]) -> Estimate:
    """The share of the pairs whose labels, one list a pair, say more often correct than incorrect; even ones apart."""
    leads = [labels.count(CORRECT) - labels.count(INCORRECT) for labels in pairs]
    correct, n = sum(lead > 0 for lead in leads), sum(lead != 0 for lead in leads)
    return Estimate(correct / n, *wilson_interval(correct, n), n) if n else Estimate(None, None, None, 0)
