"""The shipped corpora: the documents and labelled questions that come with the program. The starter corpus is the one
shown first; the handbook is one whose words the shipped model cannot know."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path

from app.corpora.corpora import HANDBOOK, STARTER, CorpusView, get_corpus
from app.corpora.ingestion import ingest
from app.exchange.imports import index_import
from app.exchange.storage import ImportOptions, store_questions
from app.workbench import audit, people
from app.workbench.workbench import Workbench
from as2core.data import jsonl
from as2core.documents.sections import SPLIT_RULES
from as2core.types import SPLITS, OnProgress, Progress, Question
from db.models import Corpus
from db.repositories import corpora as rows
from db.repositories import people as people_rows

UNFINISHED = "unfinished"  # the digest of a shipped corpus that is being read


def ensure_shipped(wb: Workbench, on_progress: OnProgress | None = None) -> None:
    """Both shipped corpora, the starter corpus first."""
    ensure_starter(wb, on_progress)
    ensure_handbook(wb, on_progress)


def ensure_starter(wb: Workbench, on_progress: OnProgress | None = None) -> CorpusView | None:
    """The shipped corpus with its labelled questions, brought in unless it is there as it is shipped. None if somebody
    deleted it, or the program came without."""
    return _ensure(wb, STARTER, on_progress)


def ensure_handbook(wb: Workbench, on_progress: OnProgress | None = None) -> CorpusView | None:
    """As `ensure_starter`. None also where a corpus of that name is somebody's own."""
    return _ensure(wb, HANDBOOK, on_progress)


def bring_back(
    wb: Workbench, name: str, on_progress: OnProgress | None = None, *, by: int | None = None
) -> CorpusView | None:
    """A shipped corpus that somebody deleted, or what is missing of it. `by` None is the command line. None where the
    program came without it, or a corpus of that name is somebody's own. Raises NotAllowed for a viewer."""
    act = "bring back a shipped corpus"
    with wb.write() as s:
        people.allow(s, by, act)
        audit.record(s, wb.clock(), by, act, name)
    wb.settings.removed_mark(name).unlink(missing_ok=True)
    return _ensure(wb, name, on_progress)


class ShippedState(Enum):
    """Whether a shipped corpus can be used: ready, still to be read by `ensure_shipped`, or deleted here, not shipped,
    or a corpus of somebody's own has its name."""

    READY = "ready"
    PENDING = "pending"
    ABSENT = "absent"


def find_state(wb: Workbench, name: str) -> ShippedState:
    with wb.read() as s:
        corpus = rows.find_corpus(s, name)
    if corpus is not None and corpus.digest not in ("", UNFINISHED):
        return ShippedState.READY
    is_own = corpus is not None and name != STARTER and not corpus.digest
    is_here = (wb.settings.shipped_dir(name) / "articles").is_dir() and not wb.settings.removed_mark(name).exists()
    return ShippedState.PENDING if is_here and not is_own else ShippedState.ABSENT


def _ensure(wb: Workbench, name: str, on_progress: OnProgress | None) -> CorpusView | None:
    folder, mark = wb.settings.shipped_dir(name), wb.settings.removed_mark(name)
    files = sorted((folder / "articles").glob("*"))
    if not files or mark.exists():
        return None
    digest = _digest(folder)
    with wb.write() as s:
        corpus = rows.find_corpus(s, name)
        if corpus is None:
            corpus = rows.add_corpus(s, name, wb.clock())
            corpus.digest = UNFINISHED
        elif name != STARTER and not corpus.digest:
            return None
        corpus_id, last_digest = corpus.id, corpus.digest
    if last_digest == digest:
        return get_corpus(wb, corpus_id)
    ingest(wb, corpus_id, [(f.name, f) for f in files], on_progress)
    for split in SPLITS:
        if on_progress:
            on_progress(Progress(0, 0, f"reading the {split} questions"))
        _import_questions(wb, corpus_id, name, split)
    with wb.write() as s:
        s.get_one(Corpus, corpus_id).digest = digest
    return get_corpus(wb, corpus_id)


def _digest(folder: Path) -> str:
    """Of what the corpus is made of: its files, and the rules that divide them into sentences."""
    digest = hashlib.sha256(f"{SPLIT_RULES}\0".encode())
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(f"{file.relative_to(folder)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _import_questions(wb: Workbench, corpus_id: int, name: str, split: str) -> None:
    """The shipped questions of a split, labelled by the annotator "starter"; a label that changed since is replaced.
    The handbook's train questions come without labels: whoever tries a retrain gives them, or accepts some."""
    questions = load_shipped_questions(wb, name, split)
    if (name, split) == (HANDBOOK, "train"):
        questions = [drop_labels(q) for q in questions]
    store_shipped(wb, corpus_id, questions, origin=name, split=split)


def load_shipped_questions(wb: Workbench, name: str, split: str) -> list[Question]:
    """With their labels, as they are in the file; none where the program came without it."""
    file = wb.settings.shipped_dir(name) / f"{split}.jsonl"
    return jsonl.read(file, strict=True)[0] if file.is_file() else []


def drop_labels(question: Question, *, keep: int | None = None) -> Question:
    """The question with its candidates unlabelled, but for the label to `keep`."""
    candidates = (c if c.label == keep else replace(c, label=None) for c in question.candidates)
    return replace(question, candidates=tuple(candidates))


def store_shipped(wb: Workbench, corpus_id: int, questions: Sequence[Question], *, origin: str, split: str) -> int:
    """Store questions and their labels as those of the annotator "starter"; returns how many labels are new."""
    if not questions:
        return 0
    with wb.write() as s:
        who = people_rows.ensure_annotator(s, STARTER, wb.clock(), is_imported=True)
    options = ImportOptions(who.id, origin=origin, split=split, override=True)
    counts = store_questions(wb, corpus_id, questions, options)
    index_import(wb, corpus_id)
    return counts.new
