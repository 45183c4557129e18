"""The labelled sets that rankers are compared on: the shipped ones, and the labels of every corpus."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from app.corpora.corpora import CORPUS_PREFIX, CorpusView, UnknownCorpus, find_corpus, list_corpora
from app.corpora.synonyms import read_synonyms
from app.exchange.exports import load_labelled_questions
from app.labels import progress
from app.labels.consensus import LabelRequest
from app.versions.uploaded_runs import count_matches, find_run
from app.workbench.workbench import Workbench
from as2core import chance
from as2core.data import catalog as datasets
from as2core.data.run_matching import RunMatch, keep_common, match_run
from as2core.messages import count
from as2core.questions.synonyms import Synonyms
from as2core.rankers.catalog import list_run_files
from as2core.types import Question
from db.repositories import candidates as candidate_rows

COUNT_UNLABELLED = "Count sentences without a label as incorrect, or label more of each list"


def list_datasets(wb: Workbench) -> list[str]:
    """The shipped sets that are there, and the labels of every corpus that has some."""
    names = [n for n in datasets.SHIPPED_SETS if datasets.find_shipped(n, wb.settings.corpora_dir).is_file()]
    return [*names, *(f"{CORPUS_PREFIX}{c.name}" for c in list_corpora(wb) if c.labels)]


def get_own_corpus(wb: Workbench, data: str) -> CorpusView | None:
    """The corpus whose labels these are; None for a shipped set or a file. Raises UnknownCorpus."""
    return find_corpus(wb, data.removeprefix(CORPUS_PREFIX)) if data.startswith(CORPUS_PREFIX) else None


def find_own_corpus(wb: Workbench, data: str) -> CorpusView | None:
    """The same; None also where it was deleted or renamed since."""
    with suppress(UnknownCorpus):
        return get_own_corpus(wb, data)
    return None


def load_questions(wb: Workbench, data: str, *, with_unlabelled: bool = False) -> list[Question]:
    """A shipped set, a corpus's labels, or a file. `with_unlabelled`: of a corpus, the sentences that were ranked for
    these questions and have no label, too. Raises UnknownData, UnknownCorpus, UnreadableFile."""
    corpus = get_own_corpus(wb, data)
    if corpus is not None:
        return load_labelled_questions(wb, corpus.id, LabelRequest(with_unlabelled=with_unlabelled))
    return list(datasets.load_questions(data, corpora=wb.settings.corpora_dir).questions)


def select_questions(questions: Sequence[Question], setting: str, *, with_unlabelled: bool = False) -> list[Question]:
    """Those that a setting keeps. `with_unlabelled`: a sentence without a label counts as incorrect there, too."""
    if not with_unlabelled or setting != "clean":
        return datasets.apply_setting(questions, setting)
    return [q for q in questions if 0 < q.positives < len(q.candidates)]


def describe_short_lists(wb: Workbench, data: str, setting: str, *, with_unlabelled: bool) -> str:
    """What the length of the lists of a corpus's labels means for the figures, counted without reading them; "" where
    they are long enough, and for other sets."""
    corpus = find_own_corpus(wb, data)
    if corpus is None:
        return ""
    labels = progress.count_outcomes_by_question(wb, corpus.id)
    with wb.read() as s:
        candidates = candidate_rows.count_candidates(s, corpus.id, with_unlabelled=with_unlabelled)
    sizes = [(candidates.get(row.external_id, 0), row.correct, row.incorrect) for row in labels]
    if setting != "raw":
        sizes = [(n, r, wrong) for n, r, wrong in sizes if r]
    if setting == "clean":
        sizes = [(n, r, wrong) for n, r, wrong in sizes if (r < n if with_unlabelled else wrong)]
    is_complete = with_unlabelled and all(n == r + wrong for n, r, wrong in sizes)
    lists = [(n, r) for n, r, _ in sizes]
    return explain_short_lists(lists, with_unlabelled=with_unlabelled, is_complete=is_complete)


def explain_short_lists(sizes: Sequence[tuple[int, int]], *, with_unlabelled: bool, is_complete: bool) -> str:
    """As `chance.describe_short_lists`, with what to do about it on a corpus's labels: nothing where `is_complete`,
    with a label on each sentence of the lists, as in the ratings of a search team."""
    text = chance.describe_short_lists(sizes)
    if not text or is_complete:
        return text
    remedy = "Label more sentences of each list" if with_unlabelled else COUNT_UNLABELLED
    return f"{text} They favour the ranker whose first sentences were labelled. {remedy}."


def keep_common_questions(
    wb: Workbench, rankers: Sequence[str], questions: Sequence[Question]
) -> tuple[list[Question], list[str]]:
    """The questions that every run among these rankers, or in them, has a candidate of, so that all are measured on the
    same ones, and a note on each run that lacks some. Raises BadSetting where no question is left, UnknownRanker where
    an uploaded one was deleted, UnreadableFile."""
    matches: dict[str, RunMatch] = {}
    for name in rankers:
        if find_run(wb, name):
            matches[name] = count_matches(wb, name, questions)
        else:
            matches |= {str(file): match_run(file, questions) for file in list_run_files(name)}
    return keep_common(matches, questions)


def list_changes(before: Sequence[Question], now: Sequence[Question], *, is_sample: bool) -> list[str]:
    """In words, what differs in the questions, their labels and their sentences. `is_sample`: `before` are some of
    those that there were, so that others are not new."""
    old, new = ({q.qid: q for q in questions} for questions in (before, now))
    both = [(old[qid], new[qid]) for qid in old.keys() & new.keys()]
    more, fewer = 0 if is_sample else len(new) - len(both), len(old) - len(both)
    labels = sum(_read_labels(a) != _read_labels(b) for a, b in both)
    sentences = sum(_read_labels(a) == _read_labels(b) and _read_texts(a) != _read_texts(b) for a, b in both)
    parts = {
        count(more, "more question"): more,
        f"{count(fewer, 'question')} fewer": fewer,
        f"other labels on {count(labels, 'question')}": labels,
        f"other sentences for {count(sentences, 'question')}": sentences,
    }
    return [text for text, n in parts.items() if n]


def _read_labels(question: Question) -> set[tuple[str, int]]:
    return {(c.text, c.label) for c in question.candidates if c.label is not None}


def _read_texts(question: Question) -> set[tuple[str, str]]:
    return {(c.text, c.title) for c in question.candidates}


def read_synonyms_of(wb: Workbench, data: str) -> Synonyms:
    """A corpus's; a shipped set and a file have none. Raises UnknownCorpus."""
    corpus = get_own_corpus(wb, data)
    return Synonyms() if corpus is None else read_synonyms(wb, corpus.id)
