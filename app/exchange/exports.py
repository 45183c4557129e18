"""Exports labels in the formats others use.

JSONL keeps every label with its annotator, the verdicts and the split, so importing an export changes nothing. The
formats of labelling tools keep every label with its annotator. The others hold the consensus, correct or incorrect;
labels that are unsure or evenly disputed are lost. An imported grade (a rating or relevance other than 0 and 1, JSONL's
`grade`) is exported as long as its label stands, but for labelling tools.
"""

import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import cast

import numpy as np

from app.corpora.corpora import get_corpus, name_corpus
from app.corpora.synonyms import read_synonyms
from app.exchange.imports import IMPORT
from app.labels import consensus, progress
from app.labels.consensus import ALL_LABELS, LabelRequest
from app.versions import loading
from app.versions.evaluations import trace_in_batches
from app.workbench import audit, people
from app.workbench.workbench import Workbench
from as2core.data import beir
from as2core.data.catalog import TOOLS, WRITERS, select_writable
from as2core.data.label_files import argilla, label_studio
from as2core.data.label_files.tool_records import Predictions
from as2core.data.qrels import run_to_lines
from as2core.errors import As2Error, BadSetting
from as2core.messages import count
from as2core.rankers.cascade import CascadeRanker
from as2core.types import CORRECT, INCORRECT, OnProgress, Question
from db.repositories.questions import WRITTEN_HERE

FORMATS = {
    "jsonl": "a question per line with its candidates, every annotator's labels, the verdicts and the split",
    "csv": "for Quepid: query, docid, rating (1, 0 or as imported); an apostrophe begins what looks like a formula",
    "table": "for a spreadsheet: question, sentence, label, title; an apostrophe begins what looks like a formula",
    "qrels": "for trec_eval: question id, 0, sentence id, label (1, 0 or as imported)",
    "wikiqa": "question, document, sentence and label (1 or 0) per line, divided by tabs",
    "beir": "for BEIR: corpus, queries and qrels, zipped",
    "run": "for trec_eval, the labelled sentences alone, as the version in use ranks them: question id, Q0, sentence "
    "id, rank, score, name",
    "pairs": "a question, a labelled sentence and 1 or 0 per line, to train a cross-encoder of sentence-transformers",
    "triplets": "a question, a correct and an incorrect sentence per line, to train an embedder of the same library",
    "label-studio": "a task per sentence, with every annotator's labels, and the ranker's scores as predictions",
    "argilla": "a record per sentence, with every annotator's responses, and the ranker's scores as suggestions",
    "prodigy": "an answer per line, accept or reject, with its annotator",
}
SIGNED_FORMATS = ("jsonl", *TOOLS)  # with every annotator's labels
SCORED_WRITERS = {"label-studio": label_studio.to_lines, "argilla": argilla.to_lines}  # with the model's scores
NEEDS = {  # format -> without which its file would be empty
    **dict.fromkeys(("csv", "table", "qrels", "pairs"), "Needs a sentence labelled correct or incorrect."),
    "triplets": "Needs a question with a sentence labelled correct and one labelled incorrect.",
}


def find_needs(wb: Workbench, corpus_id: int) -> dict[str, str]:
    """Format -> what it needs, of those whose file would be empty. Cached for some seconds where counting is slow."""
    kinds = progress.count_outcomes_by_question(wb, corpus_id)
    has_label = any(r.correct or r.incorrect for r in kinds)
    has_both = any(r.correct and r.incorrect for r in kinds)
    return {fmt: need for fmt, need in NEEDS.items() if not (has_both if fmt == "triplets" else has_label)}


def export_labels(
    wb: Workbench,
    corpus_id: int,
    fmt: str,
    annotator: str | None = None,
    *,
    by: int | None = None,
    on_progress: OnProgress | None = None,
) -> bytes:
    """The corpus's current labels, all or one annotator's, as a file of that format. `by`: who exports, None for the
    command line; unless an admin, they do not get others' labels of a pair that they have still to label. A run and
    a model's scores are made with the corpus's synonyms; the scoring reports, and an exception from `on_progress` ends
    it. Raises BadSetting; As2Error where there is nothing to export,
    or nothing of this annotator, or nothing of what the format holds; NotAllowed for somebody who is blocked."""
    if fmt not in FORMATS:
        raise BadSetting(f"no export format {fmt!r}; known: {', '.join(FORMATS)}")
    with wb.read() as s:
        people.allow(s, by, "export labels", people.VIEWER)
    name = name_corpus(wb, corpus_id)
    if annotator is not None:
        by_annotator = consensus.count_annotators(wb, corpus_id)
        if reason := consensus.explain_missing_annotators([annotator], name, by_annotator):
            raise As2Error(reason)
    which = LabelRequest(annotator, signed=fmt in SIGNED_FORMATS, by=by)
    questions = load_labelled_questions(wb, corpus_id, which)
    if not questions:
        if by is not None and load_labelled_questions(wb, corpus_id, replace(which, by=None)):
            raise As2Error(f"the labels here are hidden until {_describe_remedy(wb, by)}")
        raise As2Error("nothing is labelled in this corpus yet: there is nothing to export")
    parts = select_parts(questions, fmt)
    if not parts:
        raise As2Error(f"the file would be empty. {NEEDS.get(fmt, 'Label some sentences first.')}")
    audit.write(wb, by, "export labels", name, f"{fmt}, {count(len(questions), 'question')}")
    if fmt == "beir":
        return _zip(beir.dumps(parts))
    if fmt == "run":
        return _run_file(wb, read_synonyms(wb, corpus_id).expand_all(parts)).encode()
    if fmt in SCORED_WRITERS:
        return "".join(SCORED_WRITERS[fmt](parts, _predict(wb, corpus_id, parts, on_progress))).encode()
    return "".join(WRITERS[fmt](parts)).encode()


def _predict(
    wb: Workbench, corpus_id: int, questions: Sequence[Question], on_progress: OnProgress | None
) -> Predictions:
    """What the model in use says about each sentence by itself, as in the queue "uncertain"."""
    version = loading.load_version(wb)
    ranker = cast("CascadeRanker", version.ranker)
    queries = read_synonyms(wb, corpus_id).expand_all(questions)
    traces = chain.from_iterable(trace_in_batches(ranker, queries, on_progress))
    probabilities = {q.qid: ranker.probability(t.scores()).tolist() for q, t in zip(queries, traces, strict=True)}
    return Predictions(version.name, probabilities, float(ranker.threshold))


def _describe_remedy(wb: Workbench, by: int) -> str:
    """What shows others' labels to this person: a viewer gives none."""
    with wb.read() as s:
        if people.has_role(s, by, people.VIEWER):
            return "as many people as are wanted have labelled the same pairs"
    return "you have labelled the same pairs: label some of them first"


def select_parts(questions: Iterable[Question], fmt: str) -> list[Question]:
    """What a file of that format holds of the questions."""
    if fmt not in WRITERS:
        return list(questions)
    return [part for q in questions if (part := select_writable(q, fmt)) is not None]


def load_labelled_questions(wb: Workbench, corpus_id: int, which: LabelRequest = ALL_LABELS) -> list[Question]:
    """Questions with their current labels, oldest first: those with a label, and of those without one the imported ones
    that the label queues offer, with their imported and labelled candidates. Signed ones have the split, too, and no
    signatures of unsigned imports."""
    get_corpus(wb, corpus_id)
    return [
        _drop_import_signature(x.question) if which.signed else replace(x.question, split="")
        for x in consensus.load_questions(wb, corpus_id, which)
        if (which.annotator is None and x.queued and x.origin not in WRITTEN_HERE)
        or any(c.label is not None or c.annotations for c in x.question.candidates)
    ]


def _drop_import_signature(question: Question) -> Question:
    """Without the signature that an unsigned import gives."""
    plain = (((IMPORT, CORRECT),), ((IMPORT, INCORRECT),))
    candidates = (
        replace(c, annotations=()) if c.annotations in plain and c.verdict is None else c for c in question.candidates
    )
    return replace(question, candidates=tuple(candidates))


def _zip(files: Mapping[str, str]) -> bytes:
    """The same files give the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text.encode(), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _run_file(wb: Workbench, questions: Sequence[Question]) -> str:
    version = loading.load_version(wb)
    scores = {q.qid: np.asarray(version.ranker.score(q.text, q.candidates)) for q in questions}
    return "".join(run_to_lines(questions, scores, tag=version.name))
