"""The shipped corpora: labelled sets to train, test and demonstrate with, made from articles and questions.

`python -m as2core.data.starter` checks the articles and questions by their authors and writes train, dev and
test.jsonl of corpora/starter and corpora/handbook. A question's candidates are the sentences of its own article and of
the two other articles that match its words best, document by document in the order of their names, so that the position
in the list carries no information.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from as2core.data import jsonl
from as2core.data.catalog import CORPORA, SHIPPED_CORPORA
from as2core.data.source import Report, stream_records
from as2core.documents.reading import read_documents
from as2core.documents.sections import split_document
from as2core.errors import As2Error, UnreadableFile
from as2core.retrieval.passages import split_passages
from as2core.retrieval.ranks import top_documents
from as2core.retrieval.sqlite import SqliteIndex
from as2core.types import SPLITS, Candidate, Document, Question

KINDS = ("who", "when", "where", "how-many", "why", "how", "definition", "list", "comparison", "what")
OTHER_ARTICLES = 2  # whose sentences are candidates, too


@dataclass(frozen=True, slots=True)
class AuthoredQuestion:
    """A question as its author wrote it; `answers` are (article, sentence) pairs."""

    where: str
    qid: str
    article: str
    kind: str
    text: str
    answers: tuple[tuple[str, str], ...]


def read_articles(folder: Path) -> dict[str, Document]:
    """Articles by slug, in the order of their names. Raises UnreadableFile."""
    paths = sorted((folder / "articles").glob("*.md"))
    if not paths:
        raise UnreadableFile(f"{folder}: no articles/*.md in it")
    return {path.stem: next(read_documents(path)) for path in paths}


def read_questions(folder: Path) -> Iterator[AuthoredQuestion]:
    """The authors' questions, file by file. Raises UnreadableFile at the first malformed line."""
    for path in sorted(folder.glob("questions-*.jsonl")):
        for number, parts in stream_records(path, Report(path, strict=True), _parse):
            yield AuthoredQuestion(f"{path.name} line {number}", *parts)


def _parse(r: dict) -> tuple[str, str, str, str, tuple[tuple[str, str], ...]]:
    answers = tuple((a["article"], a["text"]) for a in r["answers"])
    return r["qid"], r["article"], r["kind"], r["question"], answers


def build(folder: Path) -> dict[str, list[Question]]:
    """Labelled questions by split. Raises As2Error with every inconsistency, one a line."""
    articles = read_articles(folder)
    sentences = {slug: [s.text for s in split_document(a)] for slug, a in articles.items()}
    questions = list(read_questions(folder))
    problems = [*_article_problems(articles), *_question_problems(questions, articles, sentences)]
    if problems:
        raise As2Error(f"{len(problems)} problems in {folder.name}:\n" + "\n".join(problems))
    splits: dict[str, list[Question]] = {split: [] for split in SPLITS}
    with TemporaryDirectory() as scratch:
        index = SqliteIndex(Path(scratch) / "starter.db")
        index.upsert_docs(
            [(slug, split_passages(slug, s, title=articles[slug].title)) for slug, s in sentences.items()]
        )
        for a in questions:
            others = [d for d in top_documents(index.search_words(a.text, 200), OTHER_ARTICLES + 1) if d != a.article]
            slugs = sorted([a.article, *others[:OTHER_ARTICLES]])
            candidates = (
                Candidate(f"{slug}-{i}", text, int((slug, text) in a.answers), articles[slug].title)
                for slug in slugs
                for i, text in enumerate(sentences[slug])
            )
            question = Question(a.qid, a.text, tuple(candidates), kind=a.kind)
            splits[articles[a.article].meta["split"]].append(question)
        index.close()
    return splits


def _article_problems(articles: dict[str, Document]) -> Iterator[str]:
    for slug, article in articles.items():
        for key in ("field", "split"):
            if not article.meta.get(key):
                yield f"{slug}.md: no {key} in its front matter"
        if article.meta.get("split") not in (*SPLITS, None):
            yield f"{slug}.md: split {article.meta['split']!r} is not {', '.join(SPLITS)}"
    titles = Counter(a.title for a in articles.values())
    yield from (f"{n} articles are titled {title!r}" for title, n in titles.items() if n > 1)


def _question_problems(
    questions: list[AuthoredQuestion], articles: dict[str, Document], sentences: dict[str, list[str]]
) -> Iterator[str]:
    qids, texts = Counter(a.qid for a in questions), Counter(a.text.casefold() for a in questions)
    for a in questions:
        if qids[a.qid] > 1:
            yield f"{a.where}: qid {a.qid!r} appears {qids[a.qid]} times"
        if texts[a.text.casefold()] > 1:
            yield f"{a.where}: the question {a.text!r} appears {texts[a.text.casefold()]} times"
        if a.article not in articles:
            yield f"{a.where}: no article {a.article!r}"
            continue
        if a.kind not in KINDS:
            yield f"{a.where}: kind {a.kind!r} is not {', '.join(KINDS)}"
        if a.answers and all(slug != a.article for slug, _ in a.answers):
            yield f"{a.where}: no answer is in its own article"
        for slug, text in a.answers:
            times = sentences.get(slug, []).count(text)
            if times != 1:
                yield f"{a.where}: found {times} times as a sentence of {slug!r}: {text!r}"
            elif articles[slug].meta.get("split") != articles[a.article].meta.get("split"):
                yield f"{a.where}: an answer is in {slug!r}, which is in another split"


def main() -> int:
    """Write the three files beside the articles of each shipped corpus."""
    for name in SHIPPED_CORPORA:
        folder = CORPORA / name
        try:
            splits = build(folder)
        except As2Error as error:
            sys.stderr.write(f"{error}\n")
            return 1
        for split, questions in splits.items():
            jsonl.write(questions, folder / f"{split}.jsonl")
            answer_count = sum(q.positives > 0 for q in questions)
            candidates = sum(len(q.candidates) for q in questions)
            counts = f"{len(questions)} questions, {answer_count} answered, {candidates} candidates"
            sys.stdout.write(f"{name}, {split}: {counts}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
