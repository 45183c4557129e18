"""Rank in one line of Python: `as2core.Reranker("active").rank(query, documents, top_k=5)`.

`rank` and `predict` have the names, arguments and results of sentence-transformers' CrossEncoder. Scores are those that
`as2 serve` gives (`as2core.relevance`): between 0 and 1, probabilities where the ranker is calibrated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NotRequired, TypedDict

import numpy as np

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import Trace
from as2core.errors import BadSetting
from as2core.lookup import list_versions, load_ranker
from as2core.metrics import order
from as2core.rankers.base import ChoosesEngine, HasNetwork, KeepsTrace, Ranker, TracesTogether, require_any_question
from as2core.relevance import Relevance, score_relevance
from as2core.types import Candidate

ACTIVE, SHIPPED = "active", "cascade"
BATCH_PAIRS = 4096  # of several questions, scored together
Text = str | Candidate


class RankedDocument(TypedDict):
    """`corpus_id` is the document's place in the list, from 0."""

    corpus_id: int
    score: float
    text: NotRequired[str]


class Reranker:
    """`model` is a spec as `as2 rank --ranker` takes it: a catalog name with settings, a version's name or its
    directory; "active" is the version that answers in the workbench, or the shipped cascade where there is none.
    `device` is torch's ("cuda:1"); without it the fastest engine is chosen. Raises UnknownRanker, BadSetting (also its
    methods, for input that is no text), DamagedModel."""

    def __init__(self, model: str = ACTIVE, *, device: str | None = None) -> None:
        name, colon, settings = model.partition(":")
        if name == ACTIVE and ACTIVE not in list_versions():
            model = f"{SHIPPED}{colon}{settings}"
        self.ranker: Ranker = load_ranker(model)
        require_any_question(self.ranker, model)
        if device is not None:
            if isinstance(self.ranker, ChoosesEngine):
                self.ranker.use("torch")
            if not isinstance(self.ranker, HasNetwork):
                raise BadSetting(f"{model} computes without torch: leave out device={device!r}")
            try:
                self.ranker.to(device)
            except (AssertionError, RuntimeError) as error:  # torch's for a device that is not there
                raise BadSetting(f"device={device!r}: {str(error).splitlines()[0]}") from None

    def rank(
        self, query: str, documents: Sequence[Text], top_k: int | None = None, return_documents: bool = False
    ) -> list[RankedDocument]:
        """The documents, best first."""
        return self.rank_many([(query, documents)], top_k=top_k, return_documents=return_documents)[0]

    def rank_many(
        self,
        queries: Sequence[tuple[str, Sequence[Text]]],
        top_k: int | None = None,
        return_documents: bool = False,
    ) -> list[list[RankedDocument]]:
        """What `rank` gives for each (query, documents), in shared batches if the ranker can."""
        if top_k is not None and top_k < 1:
            raise BadSetting(f"top_k={top_k}: give 1 or more, or leave it out for all")
        read = [(_check_query(query), _to_candidates(documents)) for query, documents in queries]
        relevances = self._score(read)
        return [
            _list_best(relevance, candidates, top_k, return_documents)
            for relevance, (_, candidates) in zip(relevances, read, strict=True)
        ]

    def predict(self, pairs: Sequence[tuple[str, Text]] | tuple[str, str]) -> Any:
        """A score for each (query, document), float64 `(n,)`, or a float for a single pair. A cascade drops none. A
        ranker that compares documents (bm25, a fusion) compares those of the same query."""
        if isinstance(pairs, tuple) and len(pairs) == 2 and all(isinstance(p, str) for p in pairs):
            return float(self.predict([(str(pairs[0]), str(pairs[1]))])[0])
        places: dict[str, list[int]] = {}
        for place, pair in enumerate(pairs):
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise BadSetting(f"pair {place} is {pair!r:.60}: give (query, document)")
            places.setdefault(str(pair[0]), []).append(place)
        read = [(query, _to_candidates([pairs[i][1] for i in at])) for query, at in places.items()]
        scores = np.empty(len(pairs))
        for relevance, at in zip(self._score(read, drops=False), places.values(), strict=True):
            scores[at] = relevance.values
        return scores

    def trace(self, query: str, documents: Sequence[Text]) -> Trace:
        """Which documents were dropped where, and what it cost. Raises BadSetting if the ranker keeps no trace."""
        if not isinstance(self.ranker, KeepsTrace):
            raise BadSetting(f"{self.ranker.name} drops nothing, so it has no trace: a cascade has")
        return self.ranker.trace(query, _to_candidates(documents))

    def _score(self, queries: Sequence[tuple[str, list[Candidate]]], *, drops: bool = True) -> list[Relevance]:
        schedule = None
        if not drops and isinstance(self.ranker, TracesTogether):
            schedule = DropSchedule.constant(0.0, exits=len(self.ranker.exits))
        relevances: list[Relevance] = []
        batch: list[tuple[str, list[Candidate]]] = []
        for query in queries:
            if batch and sum(len(c) for _, c in batch) + len(query[1]) > BATCH_PAIRS:
                relevances += score_relevance(self.ranker, batch, schedule=schedule)
                batch = []
            batch.append(query)
        return relevances + score_relevance(self.ranker, batch, schedule=schedule)


def _check_query(query: str) -> str:
    if not isinstance(query, str):
        raise BadSetting(f"the query is {query!r:.60}: give a text")
    return query


def _to_candidates(documents: Sequence[Text]) -> list[Candidate]:
    if isinstance(documents, str | Candidate) or not isinstance(documents, Iterable):
        raise BadSetting(f"documents is {documents!r:.60}: give a list of texts")
    for i, d in enumerate(documents):
        if not isinstance(d, str | Candidate):
            raise BadSetting(f"document {i} is {d!r:.60}: give a text or a Candidate")
    return [d if isinstance(d, Candidate) else Candidate(str(i), d) for i, d in enumerate(documents)]


def _list_best(
    relevance: Relevance, candidates: Sequence[Candidate], top_k: int | None, return_documents: bool
) -> list[RankedDocument]:
    best: list[RankedDocument] = []
    for i in order(relevance.scores)[:top_k].tolist():
        document: RankedDocument = {"corpus_id": i, "score": float(relevance.values[i])}
        if return_documents:
            document["text"] = candidates[i].text
        best.append(document)
    return best
