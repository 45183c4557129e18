"""What clients send and expect, each read tolerantly: an answer holds the fields of all of them.

The shape with `documents` is that of Cohere, Jina and vLLM, the one with `texts` that of Hugging Face's Text Embeddings
Inference (TEI). Fields that are not here are ignored; `"true"` is a boolean, as some clients send it.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field, Tag

from as2core.types import MAX_TEXT_CHARS, Candidate

MAX_DOCUMENTS = 10_000  # in a request
MAX_SENT_CHARS = 100_000_000  # the body's limit is lower; pydantic refuses invalid Unicode in strings with a limit
MAX_PRIORITY = 999
MAX_MODEL_CHARS = 4096  # of a name: the answer repeats one that is not served

Text = Annotated[str, Field(max_length=MAX_SENT_CHARS)]
QueryText = Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARS)]
ModelName = Annotated[str, Field(max_length=MAX_MODEL_CHARS)]
Priority = Annotated[int | None, Field(ge=0, le=MAX_PRIORITY)]


class Document(BaseModel):
    text: Text
    title: Text | None = None


class RerankRequest(BaseModel):
    """`model` is one of those served, the first if it is left out; a document is its text, or text and title, which is
    read before it. `max_tokens_per_doc` counts words. The lower the `priority`, the larger the share of the machine.
    No documents have no results, so that an application whose search was in vain goes on."""

    model: ModelName | None = None
    query: QueryText
    documents: Annotated[list[Text | Document], Field(max_length=MAX_DOCUMENTS)]
    top_n: Annotated[int | None, Field(ge=1)] = None
    return_documents: bool | None = None
    max_tokens_per_doc: Annotated[int | None, Field(ge=1)] = None
    priority: Priority = None

    def list_documents(self) -> list[Document]:
        """The documents, each with its text."""
        return [d if isinstance(d, Document) else Document(text=d) for d in self.documents]

    def list_candidates(self) -> list[Candidate]:
        """What is to be ranked, no longer than it should be."""
        return [
            Candidate(
                str(i), cut(d.text[:MAX_TEXT_CHARS], self.max_tokens_per_doc), title=(d.title or "")[:MAX_TEXT_CHARS]
            )
            for i, d in enumerate(self.list_documents())
        ]


class TextsRequest(BaseModel):
    """As TEI takes it. `raw_scores`: the ranker's own scores instead of numbers from 0 to 1. `truncate` may be given:
    a ranker cuts what is too long for it, whatever is said."""

    query: QueryText
    texts: Annotated[list[Text], Field(max_length=MAX_DOCUMENTS)]
    return_text: bool | None = None
    raw_scores: bool | None = None
    truncate: bool | None = None
    model: ModelName | None = None
    top_n: Annotated[int | None, Field(ge=1)] = None
    priority: Priority = None

    def list_candidates(self) -> list[Candidate]:
        return [Candidate(str(i), text[:MAX_TEXT_CHARS]) for i, text in enumerate(self.texts)]


def _name_shape(body: Any) -> str:
    has_texts = isinstance(body, TextsRequest) or (isinstance(body, dict) and "texts" in body)
    return "texts" if has_texts else "documents"


EitherRequest = Annotated[
    Annotated[RerankRequest, Tag("documents")] | Annotated[TextsRequest, Tag("texts")], Discriminator(_name_shape)
]


class RerankResult(BaseModel):
    """`index` is the document's place in the request, from 0; `relevance_score` is between 0 and 1."""

    index: int
    relevance_score: float
    document: Document | None = None


class Usage(BaseModel):
    """Tokens that were read; words, where the ranker has no tokens."""

    total_tokens: int
    prompt_tokens: int


class ApiVersion(BaseModel):
    version: str


class BilledUnits(BaseModel):
    search_units: int = 1


class Tokens(BaseModel):
    input_tokens: int
    output_tokens: int = 0


class Meta(BaseModel):
    """What Cohere's clients read; nothing is billed."""

    api_version: ApiVersion
    billed_units: BilledUnits = BilledUnits()
    tokens: Tokens


class RerankResponse(BaseModel):
    id: str
    model: str
    results: list[RerankResult]
    usage: Usage
    meta: Meta


class TextScore(BaseModel):
    """A result as TEI gives it, in a bare list."""

    index: int
    score: float
    text: str | None = None


class Model(BaseModel):
    """`version` and `weights`: the name on its card, and their SHA-256; of code without weights, its release. `task`:
    for which of the paths it is."""

    id: str
    version: str | None
    weights: str | None
    task: Literal["rerank", "embeddings"] = "rerank"
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "as2"


class Models(BaseModel):
    object: Literal["list"] = "list"
    data: list[Model]


class Info(BaseModel):
    """The server in TEI's words, of the model that answers by default."""

    model_id: str
    model_sha: str | None
    model_dtype: str = "float32"
    model_type: dict[str, dict[str, dict[str, int] | dict[str, str]]]
    max_concurrent_requests: int
    max_input_length: int
    max_batch_tokens: int
    max_client_batch_size: int
    auto_truncate: bool = True
    version: str


class Problem(BaseModel):
    """What was wrong and what to do; `detail` may be a list of places in the request."""

    detail: str | list[dict[str, Any]]
    message: str


def cut(text: str, words: int | None) -> str:
    """The text's first so many words; the whole of it with None."""
    if words is None or len(text) <= words:
        return text
    last = next(islice(re.finditer(r"\S+", text), words - 1, None), None)
    return text if last is None else text[: last.end()]
