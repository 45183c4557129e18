"""Rank in one line of Python: `as2core.Reranker("active").rank(query, documents, top_k=5)`.

`rank` and `predict` have the names and results of sentence-transformers' CrossEncoder, and the arguments that its users
give most. Scores are those that `as2 serve` gives (`as2core.relevance`): between 0 and 1, probabilities where the
ranker is calibrated.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from numbers import Integral
from typing import Any, NotRequired, Protocol, TypedDict, overload

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
TEXT_FIELDS = ("text", "page_content", "content")  # of documents: FlashRank's and LlamaIndex', LangChain's, Haystack's


class HasText(Protocol):
    """A document of LlamaIndex or of rerankers, for instance."""

    @property
    def text(self) -> str: ...


class HasPageContent(Protocol):
    """A document of LangChain."""

    @property
    def page_content(self) -> str: ...


class HasContent(Protocol):
    """A document of Haystack."""

    @property
    def content(self) -> str | None: ...


Text = str | Candidate | Mapping[str, Any] | HasText | HasPageContent | HasContent
"""A document. Its text is read from the first of `TEXT_FIELDS` that it has, as a key of a mapping or as an attribute,
and a title before it from "title", or from "title" in "metadata" or "meta"."""


class RankedDocument(TypedDict):
    """`corpus_id` is the document's place in the list, from 0; `score` from 0 to 1; `text` with `return_documents`."""

    corpus_id: int
    score: float
    text: NotRequired[str]


class Reranker:
    """`model` is a spec as `as2 rank --ranker` takes it: a catalog name with settings, a version's name, its directory,
    or what `as2 versions export` wrote; "active" is the version that answers in the workbench, or the shipped cascade
    where there is none. `device` is torch's ("cuda:1"); without it the fastest engine is chosen.

    Threads may share one. A copy in another process, by pickle, loads the model again. A process cannot load or rank if
    it was forked after one with a network was loaded, or any ranked: use multiprocessing's "spawn", or fork before.
    Raises UnknownRanker, DamagedModel, and BadSetting, also in its methods, for input that is no text and in such a
    process.
    """

    def __init__(self, model: str | os.PathLike[str] = ACTIVE, *, device: str | None = None) -> None:
        if isinstance(model, os.PathLike):
            model = os.fspath(model)
        if not isinstance(model, str) or not model:
            raise BadSetting(f"the model is {model!r:.60}: give the name or the directory of a ranker")
        _refuse_fork()
        self.model, self.device = model, device
        name, colon, settings = model.partition(":")
        if name == ACTIVE and ACTIVE not in list_versions():
            model = f"{SHIPPED}{colon}{settings}"
        self.ranker: Ranker = load_ranker(model)
        require_any_question(self.ranker, model)
        if isinstance(self.ranker, HasNetwork):
            _remember_process()
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

    def __reduce__(self) -> tuple[Callable[[str, str | None], Reranker], tuple[str, str | None]]:
        """By name: a copy has the same engine, and so the same scores and speed."""
        return _load_copy, (self.model, self.device)

    def rank(
        self,
        query: str,
        documents: Iterable[Text],
        top_k: int | None = None,
        return_documents: bool = False,
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
    ) -> list[RankedDocument]:
        """The documents, best first: all, or the first `top_k`. The last two arguments are CrossEncoder's, and without
        effect."""
        _check_top_k(top_k)
        return self._rank([(_read_query(query), _read_documents(documents))], top_k, return_documents)[0]

    def rank_many(
        self,
        queries: Iterable[tuple[str, Iterable[Text]]],
        top_k: int | None = None,
        return_documents: bool = False,
    ) -> list[list[RankedDocument]]:
        """What `rank` gives for each (query, documents), in shared batches if the ranker can."""
        _check_top_k(top_k)
        each = _read_list(queries, "queries", "(query, documents)")
        _check_pairs(each, "query", "(query, documents)")
        pairs = [
            (_read_query(query, f"query {i}"), _read_documents(documents, f" of query {i}"))
            for i, (query, documents) in enumerate(each)
        ]
        return self._rank(pairs, top_k, return_documents)

    @overload
    def predict(
        self, pairs: tuple[str, Text], batch_size: int | None = None, show_progress_bar: bool | None = None
    ) -> float: ...
    @overload
    def predict(
        self,
        pairs: Iterable[tuple[str, Text] | list[str]],
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
    ) -> np.ndarray: ...
    def predict(
        self,
        pairs: Iterable[tuple[str, Text] | list[str]] | tuple[str, Text],
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
    ) -> float | np.ndarray:
        """A score for each (query, document), float64 `(n,)`, or a float for a single pair, also if that is a list. A
        cascade drops none; in int8 it scores the best of a query again in float32, so that a pair alone may get another
        score, by some 0.01. A ranker that compares documents (bm25, a fusion) compares those of the same query. The
        last two arguments are CrossEncoder's, and without effect."""
        each = _read_list(pairs, "pairs", "(query, document)")
        if len(each) == 2 and isinstance(each[0], str):
            return float(self.predict([(each[0], each[1])])[0])
        _check_pairs(each, "pair", "(query, document)")
        documents = _read_documents([document for _, document in each])
        places: dict[str, list[int]] = {}
        for place, (query, _) in enumerate(each):
            places.setdefault(_read_query(query, f"the query of pair {place}"), []).append(place)
        queries = [(query, [documents[i] for i in at]) for query, at in places.items()]
        scores = np.empty(len(each))
        for relevance, at in zip(self._score(queries, drops=False), places.values(), strict=True):
            scores[at] = relevance.values
        return scores

    def trace(self, query: str, documents: Iterable[Text]) -> Trace:
        """Which documents were dropped where, and what it cost. Raises BadSetting if the ranker keeps no trace."""
        _refuse_fork()
        if not isinstance(self.ranker, KeepsTrace):
            raise BadSetting(f"{self.ranker.name} drops nothing, so it has no trace: a cascade has")
        return self.ranker.trace(_read_query(query), _read_documents(documents))

    def _rank(
        self, queries: Sequence[tuple[str, list[Candidate]]], top_k: int | None, return_documents: bool
    ) -> list[list[RankedDocument]]:
        return [
            _list_best(relevance, candidates, top_k, return_documents)
            for relevance, (_, candidates) in zip(self._score(queries), queries, strict=True)
        ]

    def _score(self, queries: Sequence[tuple[str, list[Candidate]]], *, drops: bool = True) -> list[Relevance]:
        _refuse_fork()
        _remember_process()
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


_first_process: int | None = None  # that loaded or ranked: its threads are not in a child that is forked later


def _remember_process() -> None:
    global _first_process
    _first_process = _first_process or os.getpid()


def _refuse_fork() -> None:
    """Raises BadSetting in a process forked from one that loaded a network or ranked: there the libraries crash, or
    wait for ever for threads that stayed behind."""
    if _first_process not in (None, os.getpid()):
        raise BadSetting(
            "this process was forked from one that had loaded a ranker: use "
            'multiprocessing.get_context("spawn"), or fork first'
        )


def _load_copy(model: str, device: str | None) -> Reranker:
    """Where a forked process cannot load it, one whose methods say so: a pool whose worker raises while it unpickles
    its task gives no answer."""
    if _first_process in (None, os.getpid()):
        return Reranker(model, device=device)
    copy = object.__new__(Reranker)
    copy.model, copy.device = model, device
    return copy


def _check_top_k(top_k: int | None) -> None:
    if top_k is not None and (isinstance(top_k, bool) or not isinstance(top_k, Integral) or top_k < 1):
        raise BadSetting(f"top_k={top_k!r}: give 1 or more, a whole number, or leave it out for all")


def _read_query(query: object, name: str = "the query") -> str:
    if not isinstance(query, str):
        raise BadSetting(f"{name} is {query!r:.60}: give a text")
    return _read_text(query)


def _read_documents(documents: Iterable[object], owner: str = "") -> list[Candidate]:
    """`owner`: whose they are, for the message of an error."""
    if _is_table(documents):
        raise BadSetting(f'documents{owner} is a table: give a list of texts, such as its column table["text"]')
    if isinstance(documents, str | bytes | Candidate | Mapping | Set) or not isinstance(documents, Iterable):
        raise BadSetting(f"documents{owner} is {documents!r:.60}: give a list of texts")
    return [_read_document(i, d, owner) for i, d in enumerate(documents)]


def _read_document(place: int, document: object, owner: str) -> Candidate:
    if isinstance(document, Candidate):
        return replace(document, text=_read_text(document.text), title=_read_text(document.title))
    if isinstance(document, str):
        return Candidate(str(place), _read_text(document))
    text = next((text for name in TEXT_FIELDS if isinstance(text := _get(document, name), str)), None)
    title = _find_title(document)
    if text is None or not isinstance(title, str):
        remedy = 'give a text, {"text", "title"} or a Candidate'
        raise BadSetting(f"document {place}{owner} is {document!r:.60}: {remedy}")
    return Candidate(str(place), _read_text(text), title=_read_text(title))


def _find_title(document: object) -> object:
    title = _get(document, "title")
    if title and title == title:  # pandas has nan where there is none
        return title
    metadata = [_get(document, name) for name in ("metadata", "meta")]
    titles = [m.get("title") for m in metadata if isinstance(m, Mapping)]
    return next((title for title in titles if isinstance(title, str)), "")


def _get(document: object, name: str) -> object:
    return document.get(name) if isinstance(document, Mapping) else getattr(document, name, None)


def _read_list(pairs: object, name: str, form: str) -> list[Any]:
    if _is_table(pairs):
        raise BadSetting(f"{name} is a table: give {form} from its rows, such as table[[FIRST, SECOND]].values")
    if isinstance(pairs, str | bytes | Mapping | Set) or not isinstance(pairs, Iterable):
        raise BadSetting(f"{name} is {pairs!r:.60}: give a list of {form}")
    return list(pairs)


def _check_pairs(pairs: Sequence[object], name: str, form: str) -> None:
    """Each is a list, a tuple or the row of an array."""
    for place, pair in enumerate(pairs):
        if not isinstance(pair, list | tuple | np.ndarray) or len(pair) != 2:
            raise BadSetting(f"{name} {place} is {pair!r:.60}: give {form}")


def _is_table(value: object) -> bool:
    """Whether it is a DataFrame, of pandas or polars: to walk through one gives the names of its columns, or these."""
    return hasattr(value, "columns") and hasattr(value, "shape")


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
