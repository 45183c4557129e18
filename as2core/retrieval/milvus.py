"""An index on a Milvus server, for more passages than one machine holds.

All corpora are in one collection, a partition each. Milvus ranks words by its own BM25 function and vectors by HNSW, on
as many machines as it has (Milvus 2.5 or later; https://milvus.io/docs/full-text-search.md). Different from the
embedded index: how rare a word is is counted over all corpora, words are split by Milvus's own analyzer, and replacing
a document is not one transaction: the new passages are written first, then the old ones are deleted.

Milvus Lite, which the tests run, has fewer analyzers (no stemming), and ignores the partition where rows are counted
without a filter.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from as2core.errors import As2Error, BadSetting
from as2core.retrieval.clusters import check_width
from as2core.retrieval.index import list_content_words
from as2core.types import Hit, Passage

COLLECTION = "as2_passages"
MAX_TEXT_BYTES = 65_000  # of a VARCHAR; a longer passage is searched by its beginning
MAX_HITS = 16_384  # of a search or a query, Milvus's own limit
BATCH_ROWS = 200
BATCH_IDS = 500  # in one filter
SEARCH_WIDTH = 256  # HNSW's `ef`, at least
_ANALYZERS: tuple[dict[str, Any], ...] = (
    {"tokenizer": "standard", "filter": ["lowercase", "asciifolding", {"type": "stemmer", "language": "english"}]},
    {"tokenizer": "standard", "filter": ["lowercase"]},
)
_FIELDS = ["id", "doc_id", "text", "first", "last", "has_vector", "vector"]
Row = dict[str, Any]


class IndexUnavailable(As2Error):
    """The index server does not answer, or refuses."""


class MilvusIndexes:
    """The partitions of one server. `url`: as `http://user:password@host:19530`, or a file of Milvus Lite. Raises
    IndexUnavailable, BadSetting where `pymilvus` is missing."""

    def __init__(self, url: str, *, width: int, collection: str = COLLECTION) -> None:
        if find_spec("pymilvus") is None:
            raise BadSetting("an index server needs the package pymilvus: pip install -e '.[milvus]' in the checkout")
        self._url, self._token = split_credentials(url)
        self._width, self._collection = width, collection
        self._lock = threading.Lock()
        self._client: Any = None

    def open(self, corpus_id: int) -> MilvusIndex:
        """The corpus's index, with an empty partition where there was none."""
        name = _name_partition(corpus_id)
        with translate_errors(self._url):
            client = self._connect()
            if not client.has_partition(self._collection, name):
                client.create_partition(self._collection, name)
        return MilvusIndex(client, self._url, self._collection, name, self._width)

    get = open

    def exists(self, corpus_id: int) -> bool:
        with translate_errors(self._url):
            return bool(self._connect().has_partition(self._collection, _name_partition(corpus_id)))

    def delete(self, corpus_id: int) -> None:
        """None is no error."""
        from pymilvus import MilvusException

        name = _name_partition(corpus_id)
        with translate_errors(self._url):
            client = self._connect()
            if not client.has_partition(self._collection, name):
                return
            try:
                client.release_partitions(self._collection, [name])
            except (MilvusException, _rpc_error()):  # Milvus Lite has no such call, and needs none
                pass
            client.drop_partition(self._collection, name)

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = None

    def _connect(self) -> Any:
        with self._lock:
            if self._client is None:
                from pymilvus import MilvusClient

                logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it logs what it raises, with a traceback
                client = MilvusClient(self._url, token=self._token)
                if not client.has_collection(self._collection):
                    _create(client, self._collection, self._width)
                client.load_collection(self._collection)
                self._client = client
            return self._client


class MilvusIndex:
    """One partition. What is written is found at once (consistency level Strong)."""

    def __init__(self, client: Any, url: str, collection: str, partition: str, width: int) -> None:
        self._client, self._url, self._collection, self._partition = client, url, collection, partition
        self._width = width

    def upsert_docs(self, docs: Sequence[tuple[str, Sequence[Passage]]]) -> None:
        docs = list(dict(docs).items())
        with translate_errors(self._url):
            for at in range(0, len(docs), BATCH_ROWS):
                batch = docs[at : at + BATCH_ROWS]
                old = {r["id"]: r for r in self._list_rows(_match("doc_id", [d for d, _ in batch]), _FIELDS)}
                rows = [self._make_row(p, doc_id, old.get(p.id)) for doc_id, passages in batch for p in passages]
                self._write(rows)
                self._delete(old.keys() - {r["id"] for r in rows})

    def set_vectors(self, vectors: Mapping[str, np.ndarray]) -> None:
        ids = list(vectors)
        with translate_errors(self._url):
            for at in range(0, len(ids), BATCH_IDS):
                rows = list(self._list_rows(_match("id", ids[at : at + BATCH_IDS]), _FIELDS))
                for row in rows:
                    check_width(vectors[row["id"]], self._width)
                    row |= {"vector": [float(x) for x in vectors[row["id"]]], "has_vector": True}
                self._write(rows)

    def search_words(self, question: str, k: int) -> list[Hit]:
        words = list_content_words(question)
        return self._search("words", " ".join(words), k, {"metric_type": "BM25"}, "") if words else []

    def search_vectors(self, vector: np.ndarray, k: int, docs: Sequence[str] | None = None) -> list[Hit]:
        vector = np.asarray(vector, dtype=np.float32)
        check_width(vector, self._width)
        if docs is not None and not docs:
            return []
        those = "" if docs is None else f" and {_match('doc_id', docs)}"
        parameters = {"metric_type": "IP", "params": {"ef": max(SEARCH_WIDTH, min(k, MAX_HITS))}}
        return self._search("vector", vector.tolist(), k, parameters, f"has_vector == true{those}")

    def is_optimized(self) -> bool:
        """Milvus does that by itself."""
        return True

    def optimize(self) -> None:
        """Nothing to do."""

    def list_pending(self, limit: int) -> list[Passage]:
        with translate_errors(self._url):
            rows = self._query("has_vector == false", ["id", "doc_id", "text", "first", "last"], limit=limit)
        return [Passage(r["id"], r["doc_id"], r["text"], r["first"], r["last"]) for r in rows]

    def count(self) -> int:
        return self._count('id != ""')

    def count_vectors(self) -> int:
        return self._count("has_vector == true")

    def find_damage(self) -> str:
        try:
            self.count()
        except IndexUnavailable as error:
            return str(error)
        return ""

    def close(self) -> None:
        """The connection is that of all."""

    def _make_row(self, passage: Passage, doc_id: str, old: Row | None) -> Row:
        """`old`: the row of the same id, whose vector holds."""
        text = passage.text.encode("utf-8", "replace")[:MAX_TEXT_BYTES].decode("utf-8", "ignore")
        row = {"id": passage.id, "doc_id": doc_id, "text": text, "first": passage.first, "last": passage.last}
        if old is None:
            return row | {"has_vector": False, "vector": [0.0] * self._width}
        return row | {"has_vector": old["has_vector"], "vector": [float(x) for x in old["vector"]]}

    def _write(self, rows: Sequence[Row]) -> None:
        for at in range(0, len(rows), BATCH_ROWS):
            self._client.upsert(self._collection, rows[at : at + BATCH_ROWS], partition_name=self._partition)

    def _delete(self, ids: Iterable[str]) -> None:
        ids = list(ids)
        for at in range(0, len(ids), BATCH_IDS):
            some = _match("id", ids[at : at + BATCH_IDS])
            self._client.delete(self._collection, filter=some, partition_name=self._partition)

    def _search(self, field: str, data: object, k: int, parameters: Row, condition: str) -> list[Hit]:
        if k < 1:
            return []
        with translate_errors(self._url):
            [hits] = self._client.search(
                self._collection,
                data=[data],
                anns_field=field,
                limit=min(k, MAX_HITS),
                filter=condition,
                output_fields=["doc_id"],
                search_params=parameters,
                partition_names=[self._partition],
            )
        return [Hit(h["id"], h["entity"]["doc_id"], rank) for rank, h in enumerate(hits, 1)]

    def _list_rows(self, condition: str, fields: list[str]) -> Iterator[Row]:
        """All rows, however many: a document may have more than one query gives."""
        pages = self._client.query_iterator(
            self._collection, batch_size=1000, filter=condition, output_fields=fields,
            partition_names=[self._partition],
        )  # fmt: skip
        try:
            while page := pages.next():
                yield from page
        finally:
            pages.close()

    def _query(self, condition: str, fields: list[str], **settings: int) -> list[Row]:
        return self._client.query(
            self._collection, filter=condition, output_fields=fields, partition_names=[self._partition], **settings
        )

    def _count(self, condition: str) -> int:
        with translate_errors(self._url):
            return int(self._query(condition, ["count(*)"])[0]["count(*)"])


@contextmanager
def translate_errors(url: str) -> Iterator[None]:
    """Raises IndexUnavailable for what the client raises."""
    from pymilvus import MilvusException

    try:
        yield
    except (MilvusException, _rpc_error()) as error:
        reason = getattr(error, "message", "") or str(error)
        raise IndexUnavailable(
            f"the index server {url} does not answer as it should ({reason[:200]}): see that it runs, and that "
            "AS2_INDEX_URL is right"
        ) from error


def split_credentials(url: str) -> tuple[str, str]:
    """The address without user and password, for messages and the client, and these as `user:password`."""
    parts = urlsplit(url)
    if parts.username is None:
        return url, ""
    address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return address, f"{unquote(parts.username)}:{unquote(parts.password or '')}"


def _rpc_error() -> type[Exception]:
    from grpc import RpcError

    return RpcError


def _name_partition(corpus_id: int) -> str:
    return f"corpus_{corpus_id}"


def _match(field: str, values: Sequence[str]) -> str:
    """A filter; JSON's strings are those of Milvus's expressions."""
    return f"{field} in {json.dumps(list(values), ensure_ascii=False)}"


def _create(client: Any, name: str, width: int) -> None:
    """The collection, with the best analyzer that the server has."""
    from pymilvus import MilvusException

    for analyzer in _ANALYZERS:
        try:
            client.create_collection(
                name, schema=_make_schema(client, width, analyzer), index_params=_make_indexes(client),
                consistency_level="Strong",
            )  # fmt: skip
            return
        except (MilvusException, _rpc_error()):
            if analyzer is _ANALYZERS[-1]:
                raise


def _make_schema(client: Any, width: int, analyzer: Row) -> Any:
    from pymilvus import DataType, Function, FunctionType

    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, max_length=256, is_primary=True)
    schema.add_field("doc_id", DataType.VARCHAR, max_length=192)
    schema.add_field("text", DataType.VARCHAR, max_length=65_535, enable_analyzer=True, analyzer_params=analyzer)
    schema.add_field("first", DataType.INT64)
    schema.add_field("last", DataType.INT64)
    schema.add_field("has_vector", DataType.BOOL)
    schema.add_field("words", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=width)
    schema.add_function(Function("bm25", FunctionType.BM25, input_field_names=["text"], output_field_names=["words"]))
    return schema


def _make_indexes(client: Any) -> Any:
    """BM25 with FTS5's k1 and b, so that both rank alike."""
    indexes = client.prepare_index_params()
    bm25 = {"bm25_k1": 1.2, "bm25_b": 0.75}
    indexes.add_index("words", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=bm25)
    indexes.add_index("vector", index_type="HNSW", metric_type="IP", params={"M": 16, "efConstruction": 200})
    for field in ("doc_id", "has_vector"):
        indexes.add_index(field, index_type="INVERTED")
    return indexes
