"""Rank in one line of Python: `as2core.Reranker("active").rank(query, documents, top_k=5)`.

`rank` and `predict` have the names and results of sentence-transformers' CrossEncoder, and the arguments that its users
give most. Scores are those that `as2 serve` gives (`as2core.relevance`): between 0 and 1, probabilities where the
ranker is calibrated.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, NotRequired, TypedDict, overload

import numpy as np

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import Trace
from as2core.errors import BadSetting
from as2core.lookup import ACTIVE, list_versions, load_ranker
from as2core.metrics import order
from as2core.rankers.base import ChoosesEngine, HasNetwork, KeepsTrace, Ranker, TracesTogether, require_any_question
from as2core.relevance import Relevance, score_relevance
from as2core.types import MAX_TEXT_CHARS, Candidate

SHIPPED = "cascade"  # what stands in for the active version where there is none
BATCH_PAIRS = 4096  # of several questions, scored together
Text = str | Candidate | Mapping[str, str]  # the last: {"text": ..., "title": ...}


class RankedDocument(TypedDict):
    """`corpus_id` is the document's place in the list, from 0."""

    corpus_id: int
    score: float
    text: NotRequired[str]


class Reranker:
    """`model` is a spec as `as2 rank --ranker` takes it: a catalog name with settings, a version's name, its directory,
    or what `as2 versions export` wrote; "active" is the version that answers in the workbench, or the shipped cascade
    where there is none. `device` is torch's ("cuda:1"); without it the fastest engine is chosen.

    Threads may share one. A copy in another process, by pickle, loads the model again. A process forked after the first
    ranking cannot rank: use multiprocessing's "spawn", or fork before. Raises UnknownRanker, DamagedModel, and
    BadSetting, also in its methods, for input that is no text and in such a process.
    """

    def __init__(self, model: str | os.PathLike[str] = ACTIVE, *, device: str | None = None) -> None:
        if isinstance(model, os.PathLike):
            model = os.fspath(model)
        if not isinstance(model, str) or not model:
            raise BadSetting(f"the model is {model!r:.60}: give the name or the directory of a ranker")
        self.model, self.device = model, device
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
                is_cpu_build = "not compiled with CUDA" in str(error)
                hint = (
                    "; install the CUDA build of torch (docs/running.md), or leave device out" if is_cpu_build else ""
                )
                raise BadSetting(f"device={device!r}: {str(error).splitlines()[0]}{hint}") from None

    def __repr__(self) -> str:
        device = "" if self.device is None else f", device={self.device!r}"
        return f"Reranker({self.model!r}{device})"

    def __reduce__(self) -> tuple[partial[Reranker], tuple[str]]:
        """By name: a copy has the same engine, and so the same scores and speed."""
        return partial(Reranker, device=self.device), (self.model,)

    def rank(
        self,
        query: str,
        documents: Iterable[Text],
        top_k: int | None = None,
        return_documents: bool = False,
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
    ) -> list[RankedDocument]:
        """The documents, best first. The last two arguments are CrossEncoder's, and without effect."""
        return self.rank_many([(query, documents)], top_k=top_k, return_documents=return_documents)[0]

    def rank_many(
        self,
        queries: Iterable[tuple[str, Iterable[Text]]],
        top_k: int | None = None,
        return_documents: bool = False,
    ) -> list[list[RankedDocument]]:
        """What `rank` gives for each (query, documents), in shared batches if the ranker can."""
        if top_k is not None and (isinstance(top_k, bool) or not isinstance(top_k, Integral) or top_k < 1):
            raise BadSetting(f"top_k={top_k!r}: give 1 or more, a whole number, or leave it out for all")
        pairs = [(_read_query(query), _read_documents(documents)) for query, documents in queries]
        relevances = self._score(pairs)
        return [
            _list_best(relevance, candidates, top_k, return_documents)
            for relevance, (_, candidates) in zip(relevances, pairs, strict=True)
        ]

    @overload
    def predict(
        self, pairs: tuple[str, Text], batch_size: int | None = None, show_progress_bar: bool | None = None
    ) -> float: ...
    @overload
    def predict(
        self, pairs: Iterable[tuple[str, Text]], batch_size: int | None = None, show_progress_bar: bool | None = None
    ) -> np.ndarray: ...
    def predict(
        self,
        pairs: Iterable[tuple[str, Text]] | tuple[str, Text],
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
    ) -> float | np.ndarray:
        """A score for each (query, document), float64 `(n,)`, or a float for a single pair, also if that is a list. A
        cascade drops none; in int8 it scores the best of a query again in float32, so that a pair alone may get another
        score, by some 0.01. A ranker that compares documents (bm25, a fusion) compares those of the same query. The
        last two arguments are CrossEncoder's, and without effect."""
        if not isinstance(pairs, Iterable):
            raise BadSetting(f"pairs is {pairs!r:.60}: give (query, document) pairs")
        each: list[Any] = list(pairs)
        if len(each) == 2 and isinstance(each[0], str) and isinstance(each[1], str | Candidate | Mapping):
            return float(self.predict([(each[0], each[1])])[0])
        places: dict[str, list[int]] = {}
        for place, pair in enumerate(each):
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise BadSetting(f"pair {place} is {pair!r:.60}: give (query, document)")
            places.setdefault(_read_query(pair[0]), []).append(place)
        queries = [(query, _read_documents([each[i][1] for i in at])) for query, at in places.items()]
        scores = np.empty(len(each))
        for relevance, at in zip(self._score(queries, drops=False), places.values(), strict=True):
            scores[at] = relevance.values
        return scores

    def trace(self, query: str, documents: Iterable[Text]) -> Trace:
        """Which documents were dropped where, and what it cost. Raises BadSetting if the ranker keeps no trace."""
        if not isinstance(self.ranker, KeepsTrace):
            raise BadSetting(f"{self.ranker.name} drops nothing, so it has no trace: a cascade has")
        _refuse_fork()
        return self.ranker.trace(_read_query(query), _read_documents(documents))

    def _score(self, queries: Sequence[tuple[str, list[Candidate]]], *, drops: bool = True) -> list[Relevance]:
        _refuse_fork()
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


_ranking_process: int | None = None  # the first that ranked: its threads are not in a child that is forked later


def _refuse_fork() -> None:
    """Raises BadSetting in a process forked from one that ranked: there the libraries wait for ever for threads that
    stayed behind."""
    global _ranking_process
    if _ranking_process is None:
        _ranking_process = os.getpid()
    elif _ranking_process != os.getpid():
        raise BadSetting(
            'this process was forked from one that had ranked: use multiprocessing.get_context("spawn"), or fork first'
        )


def _read_query(query: object) -> str:
    if not isinstance(query, str):
        raise BadSetting(f"the query is {query!r:.60}: give a text")
    return _read_text(query)


def _read_documents(documents: Iterable[object]) -> list[Candidate]:
    if isinstance(documents, str | bytes | Candidate | Mapping | Set) or not isinstance(documents, Iterable):
        raise BadSetting(f"documents is {documents!r:.60}: give a list of texts")
    return [_read_document(i, d) for i, d in enumerate(documents)]


def _read_document(place: int, document: object) -> Candidate:
    if isinstance(document, Candidate):
        return replace(document, text=_read_text(document.text), title=_read_text(document.title))
    if isinstance(document, str):
        return Candidate(str(place), _read_text(document))
    if isinstance(document, Mapping) and isinstance(document.get("text"), str):
        title = document.get("title") or ""
        if isinstance(title, str):
            return Candidate(str(place), _read_text(document["text"]), title=_read_text(title))
    raise BadSetting(f'document {place} is {document!r:.60}: give a text, {{"text", "title"}} or a Candidate')


def _read_text(text: str) -> str:
    """Its beginning, which is all that is read, with a mark for what is no character (half a surrogate pair)."""
    return text[:MAX_TEXT_CHARS].encode("utf-16", "surrogatepass").decode("utf-16", "replace")


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
