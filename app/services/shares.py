"""How many of the pairs are correct, told from the fair sample, and beside it what the adaptive queues would say.

What an adaptive queue chooses is no sample of anything; its random share is one, and so is all of the queue "random".
Of a list that chance brought, the row it drew alone: the rest is labelled from the top and seldom to its end, so what
comes along (`queueing.ALONG`) counts nowhere here.
The interval is Wilson's (1927): it stays inside 0 and 1 and holds for few pairs. It takes pairs for independent, so
with several of one question the truth is somewhat wider.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.services.label_views import Estimate, SharesView
from app.services.labels import BINARY
from app.services.queueing import ADAPTIVE
from app.services.workbench import Workbench
from db.repositories import labels as rows
from db.repositories.leases import Pair


def shares(wb: Workbench, corpus_id: int) -> SharesView:
    """Pairs count once, as the verdict on them or the majority of their labels says; unsure and even ones not at all.
    A label that was changed later counts as it is now, where it was first dealt."""
    with wb.read() as s:
        found = rows.dealt(s, corpus_id, (*ADAPTIVE, "random"))
        verdicts = rows.verdicts(s, corpus_id=corpus_id)
    drawn = {(r.question_id, r.sentence_id, r.annotator_id) for r in found if r.control or r.queue == "random"}
    samples: dict[str, dict[Pair, dict[int, str]]] = {}
    for r in found:
        pair = (r.question_id, r.sentence_id)
        sample = "" if (*pair, r.annotator_id) in drawn else r.queue
        samples.setdefault(sample, {}).setdefault(pair, {})[r.annotator_id] = verdicts.get(pair, r.label)
    estimates = {name: _estimate(map(_came_to, said.values())) for name, said in samples.items()}
    fair = estimates.get("", Estimate(None, None, None, 0))
    return SharesView(fair, tuple((q, estimates[q]) for q in ADAPTIVE if q in estimates))


def wilson(correct: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    from scipy.stats import binomtest

    found = binomtest(correct, n).proportion_ci(0.95, method="wilson")
    return float(found.low), float(found.high)


def _came_to(said: dict[int, str]) -> bool | None:
    votes: Sequence[int] = [BINARY[label] for label in said.values() if label in BINARY]
    difference = 2 * sum(votes) - len(votes)
    return None if difference == 0 else difference > 0


def _estimate(pairs: Iterable[bool | None]) -> Estimate:
    judged = [p for p in pairs if p is not None]
    if not judged:
        return Estimate(None, None, None, 0)
    return Estimate(sum(judged) / len(judged), *wilson(sum(judged), len(judged)), len(judged))
