"""Example questions of a corpus: those that come with it, else questions that people answered, else questions made of
its sentences by rule."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.corpora.corpora import SHIPPED_CORPORA, name_corpus
from app.workbench.workbench import Workbench
from as2core.generation.rules import ask_by_rule, lowercase_words
from db.models import Question
from db.repositories import documents as document_rows
from db.repositories import questions as rows
from db.repositories import sentences as sentence_rows

MAX_SENTENCES = 60  # of a document that are turned into questions
DOCUMENTS_PER_EXAMPLE = 5  # most sentences give no question
PREFERRED_WORDS = 9  # a short question says little of its document, a long one is hard to read
_ENDS = re.compile(r"[.!][\"'”’)\]]*$")  # a text without marks is cut by its length: that is no sentence
_PLURAL = re.compile(r"(\w+ (?:are|were|have) )([A-Z])([a-z]+s)(?= [a-z]|\?)")
_PLAIN = re.compile(r"[A-Za-zÀ-ɏ'’ ,-]+\?")  # figures, signs and other scripts are often what is left of a table
_BARE_NAME = re.compile(r"Wh(?:o|at) (?:is|are|was|were)(?: [A-Z][\w'’-]*)+\?")
LOSING_DROP_RATIO = 0.7  # at each exit: with it, the answer to the example `dropped` is lost
_STIFF = re.compile(  # the rules know neither what an "as" compares nor what "-ing" names
    r"What (?:is|are|was|were) .*\b(?:after|against|as|by|into)\?|\w+ (?:is|are|was|were) (?:the |an? )?\w+ing\b.*"
)


@dataclass(frozen=True, slots=True)
class Examples:
    """`unanswerable`: a question that the documents do not answer. `dropped`: one whose answer an early exit drops at
    LOSING_DROP_RATIO. Both are "" unless the corpus comes with them."""

    questions: tuple[str, ...]
    unanswerable: str = ""
    dropped: str = ""


def list_examples(wb: Workbench, corpus_id: int, n: int = 6) -> Examples:
    """At most `n` questions to begin with. Raises UnknownCorpus."""
    name = name_corpus(wb, corpus_id)
    file = wb.settings.shipped_dir(name) / "examples.json"
    if name in SHIPPED_CORPORA and file.is_file():
        content = json.loads(file.read_text(encoding="utf-8"))
        return Examples(tuple(content["questions"][:n]), content.get("unanswerable", ""), content.get("dropped", ""))
    with wb.read() as s:
        questions = rows.list_answered_questions(s, corpus_id, 40 * n)
        return Examples(tuple(_vary(questions)[:n] if questions else _make_questions(s, corpus_id, n)))


def _vary(questions: Iterable[Question]) -> list[str]:
    """In an order that repeats neither kind nor document at first."""
    first: list[str] = []
    rest: list[str] = []
    kinds: set[str | tuple[str, str]] = set()
    for q in sorted(questions, key=lambda q: hashlib.blake2b(q.text.encode()).digest()):
        about = q.external_id.rpartition("-")[0] or q.external_id
        keys = {("kind", q.kind) if q.kind else about, about}
        (first if kinds.isdisjoint(keys) else rest).append(q.text)
        kinds |= keys
    return first + rest


def _make_questions(s: Session, corpus_id: int, n: int) -> list[str]:
    """One of each document, the first ones first; none where no sentence can be turned."""
    documents = document_rows.find_documents(s, corpus_id, "", DOCUMENTS_PER_EXAMPLE * n)
    texts: dict[int, list[str]] = {d.id: [] for d in documents}
    for sentence in sentence_rows.list_sentences(s, list(texts)):
        if len(texts[sentence.document_id]) < MAX_SENTENCES and _ENDS.search(sentence.text):
            texts[sentence.document_id].append(sentence.text)
    every = [t for own in texts.values() for t in own]
    lowercase, names = lowercase_words(every), {name for t in every for name in _find_names(t)}
    questions = ([_lower_plural(q, names) for t in own for q in ask_by_rule(t, lowercase)] for own in texts.values())
    by_document = ([q for q in own if _reads_well(q)] for own in questions)
    best = (min(own, key=lambda q: abs(len(q.split()) - PREFERRED_WORDS)) for own in by_document if own)
    return list(dict.fromkeys(best))[:n]


def _reads_well(question: str) -> bool:
    return bool(_PLAIN.fullmatch(question)) and not (_BARE_NAME.fullmatch(question) or _STIFF.fullmatch(question))


def _find_names(text: str) -> list[str]:
    """The words with a capital inside the sentence."""
    return re.findall(r"(?<=[a-z,] )[A-Z][\w'-]*", text)


def _lower_plural(question: str, names: Collection[str]) -> str:
    """A plural has a capital because it began its sentence, unless it is a name elsewhere."""
    match = _PLURAL.match(question)
    if match is None or match[2] + match[3] in names:
        return question
    return f"{match[1]}{match[2].lower()}{match[3]}{question[match.end() :]}"
