"""A reranker behind an HTTP address, in the shape of Cohere's API, which Jina, vLLM, LiteLLM and `as2 serve` have, too:
`{"model", "query", "documents", "top_n"}` out, `{"results": [{"index", "relevance_score"}]}` back.

Question and sentences leave this machine, so nothing calls it unless a spec names it: no default does, and no saved
version can hold it. The key comes from an environment variable whose name begins with KEY_PREFIX, so that a spec cannot
send another secret of the environment away.
"""

from __future__ import annotations

import ipaddress
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPException, HTTPResponse
from urllib.parse import SplitResult, urlsplit

import numpy as np

from as2core.errors import BadSetting, EndpointFailed
from as2core.metrics import to_float32
from as2core.rankers.base import SendsTexts
from as2core.rankers.specs import Entry
from as2core.system.hosts import LOOPBACK
from as2core.system.pauses import pause
from as2core.types import Candidate
from as2core.version import __version__

HTTP = "http"
KEY_PREFIX = "AS2_RERANK_KEY"
MAX_BATCH_DOCUMENTS = 1000  # what Cohere takes in a request
MAX_ANSWER_BYTES = 32 * 2**20
MAX_TRIES = 4
RETRY_STATUS = (429, 502, 503, 504)
FIRST_WAIT_SECONDS = 1.0  # doubled before each further try
MAX_WAIT_SECONDS = 30.0  # also where the server asks for more
MAX_MESSAGE_CHARS = 200  # of a server's error


@dataclass(frozen=True, slots=True)
class Reply:
    """`retry_after`: the seconds that the server asks to wait; None where it does not say."""

    status: int
    body: bytes
    retry_after: float | None = None


Post = Callable[[bytes], Reply]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go. `timeout`: seconds, for the connection and for the whole answer. Raises BadSetting."""

    url: str
    key: str | None = field(default=None, repr=False)
    timeout: float = 60.0

    def __post_init__(self) -> None:
        parts = _split(self.url)
        if parts.username or parts.password:
            raise BadSetting(f"an address holds no password: name a variable with the key, key={KEY_PREFIX}")
        if self.key is not None and parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
            raise BadSetting(f"{self.url}: a key over http can be read on its way: use https, or leave key out")
        if not 0 < self.timeout <= 3600:
            raise BadSetting(f"timeout={self.timeout:g}: give seconds, above 0 and at most 3600")

    @property
    def host(self) -> str:
        return find_host(self.url)

    def post(self, body: bytes) -> Reply:
        """Raises EndpointFailed where no answer comes."""
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": f"as2/{__version__}"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        request = urllib.request.Request(self.url, body, headers, method="POST")
        give_up = time.monotonic() + self.timeout
        try:
            with _OPENER.open(request, timeout=self.timeout) as answer:  # http or https alone  # nosec B310
                return Reply(answer.status, self._read(answer, give_up))
        except urllib.error.HTTPError as error:
            message = b""
            with error, suppress(OSError, HTTPException):
                message = error.read(MAX_MESSAGE_CHARS * 10)
            return Reply(error.code, message, _read_seconds(error.headers))
        except TimeoutError as error:
            raise EndpointFailed(f"{self.host} gave no answer in {self.timeout:g} s: set timeout higher") from error
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error or type(error).__name__
            raise EndpointFailed(f"{self.host} cannot be reached ({reason}): is the address right?") from error

    def _read(self, answer: HTTPResponse, give_up: float) -> bytes:
        """In pieces: a server that sends a byte now and then would never reach the timeout of the connection."""
        parts: list[bytes] = []
        size = 0
        while piece := answer.read1(2**16):
            parts.append(piece)
            size += len(piece)
            if size > MAX_ANSWER_BYTES:
                raise EndpointFailed(f"{self.host} answers with more than {MAX_ANSWER_BYTES:,} bytes: set batch lower")
            if time.monotonic() > give_up:
                raise TimeoutError
        return b"".join(parts)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take sentences and key to a server that nobody named."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


class HttpRanker(SendsTexts):
    """`model`: of several on the server. `post` sends one request, `destination` is its host, for people. A list longer
    than `batch` goes in several requests, whose scores are taken as comparable."""

    def __init__(
        self,
        post: Post,
        destination: str,
        *,
        model: str | None = None,
        batch: int = 500,
        sleep: Callable[[float], None] = time.sleep,
        name: str = HTTP,
    ) -> None:
        if not 1 <= batch <= MAX_BATCH_DOCUMENTS:
            raise BadSetting(f"batch={batch}: give 1 to {MAX_BATCH_DOCUMENTS} documents a request")
        self._post, self._destination, self.model, self.batch = post, destination, model, batch
        self._sleep, self.name = sleep, name

    @property
    def destination(self) -> str:
        return self._destination

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        """Raises EndpointFailed."""
        scores = np.zeros(len(candidates), dtype=np.float32)
        for start in range(0, len(candidates), self.batch):
            texts = [c.titled_text for c in candidates[start : start + self.batch]]
            pause(len(texts))
            scores[start : start + len(texts)] = self._rerank(question, texts)
        return scores

    def _rerank(self, question: str, texts: list[str]) -> np.ndarray:
        model = {} if self.model is None else {"model": self.model}
        request = {**model, "query": question, "documents": texts, "top_n": len(texts)}
        reply = self._send(json.dumps(request).encode())
        if reply.status != 200:
            raise EndpointFailed(f"{self.destination} refused ({reply.status}): {_read_message(reply.body)}")
        try:
            return read_scores(reply.body, len(texts))
        except ValueError as error:
            raise EndpointFailed(f"{self.destination} gave no rerank answer: {error}; is the address right?") from error

    def _send(self, body: bytes) -> Reply:
        """Tried again where the server is busy, later each time."""
        reply = self._post(body)
        for seconds in _waits():
            if reply.status not in RETRY_STATUS:
                break
            self._sleep(min(max(seconds, reply.retry_after or 0.0), MAX_WAIT_SECONDS))
            reply = self._post(body)
        return reply


def read_scores(body: bytes, n: int) -> np.ndarray:
    """The scores of a rerank answer, in the documents' order: float32 `(n,)`. Raises ValueError, saying why, unless it
    has one finite score for each of them."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    results = document.get("results") if isinstance(document, dict) else None
    if not isinstance(results, list):
        raise ValueError('it has no list "results"')
    scores = np.full(n, np.nan, dtype=np.float64)
    for result in results:
        index, score = (result.get(k) for k in ("index", "relevance_score")) if isinstance(result, dict) else (0, None)
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < n:
            raise ValueError(f"its index {str(index)[:20]} is none of {n} documents")
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise ValueError(f"document {index} has no relevance_score")
        if not np.isnan(scores[index]):
            raise ValueError(f"document {index} comes twice")
        scores[index] = _to_finite(score, index)
    if missing := int(np.isnan(scores).sum()):
        raise ValueError(f"{missing} of {n} documents have no score")
    return to_float32(scores)


def _to_finite(score: int | float, index: int) -> float:
    try:
        value = float(score)
    except OverflowError:
        value = float("inf")
    if not abs(value) < float(np.finfo(np.float32).max):  # NaN is not either
        raise ValueError(f"the score of document {index} is no finite number of 32 bits")
    return value


def _waits() -> Iterator[float]:
    return (FIRST_WAIT_SECONDS * 2**i for i in range(MAX_TRIES - 1))


def _read_seconds(headers: Message) -> float | None:
    value = str(headers.get("Retry-After", ""))
    return float(value) if value.isascii() and value.isdigit() else None


def _read_message(body: bytes) -> str:
    """What the server says of its error, without control characters."""
    text = body.decode("utf-8", "replace")
    with suppress(ValueError, AttributeError, RecursionError):
        document = json.loads(text)
        text = str(document.get("message") or document.get("detail") or document.get("error") or text)
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain[:MAX_MESSAGE_CHARS] or "it does not say why"


def find_host(url: str) -> str:
    """The host of an address, with its port. Raises BadSetting for what is none."""
    return _split(url).netloc.rpartition("@")[2]


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0  # reading it checks it
    except ValueError:
        is_web = False
    if not is_web or not url.isascii() or not url.isprintable() or " " in url:
        raise BadSetting(f"url={url!r} is no address: write it as https://HOST/v2/rerank")
    return parts


def _is_loopback(host: str) -> bool:
    try:
        return host in LOOPBACK or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_key(variable: str | None) -> str | None:
    """The key in an environment variable. Raises BadSetting for one that is not set, or whose name is not allowed."""
    if variable is None:
        return None
    if not variable.startswith(KEY_PREFIX):
        raise BadSetting(f"key={variable}: name the variable {KEY_PREFIX}, or {KEY_PREFIX}_ and a word of your own")
    value = os.environ.get(variable, "").strip()
    if not value or not value.isascii() or not value.isprintable():
        raise BadSetting(f"key={variable}: set this environment variable to the key of the reranker")
    return value


def build(
    *, url: str = "", model: str | None = None, key: str | None = None, batch: int = 500, timeout: float = 60.0
) -> HttpRanker:
    endpoint = Endpoint(url, read_key(None if key is None else str(key)), timeout)
    return HttpRanker(endpoint.post, endpoint.host, model=None if model is None else str(model), batch=batch)


RANKER = Entry(HTTP, "a reranker behind an address, in Cohere's shape", "Cohere's API", build, required="url")
