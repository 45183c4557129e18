"""The starter corpus: the documents and labelled questions that come with the program."""

import hashlib

from app.corpora.corpora import STARTER, CorpusView, get_corpus
from app.corpora.documents import ingest
from app.exchange.imports import index_import
from app.exchange.storage import ImportOptions, store_questions
from app.workbench.workbench import Workbench
from as2core.data import jsonl
from as2core.types import OnProgress, Progress
from db.models import Corpus
from db.repositories import corpora as rows
from db.repositories import people as people_rows


def ensure_starter(wb: Workbench, on_progress: OnProgress | None = None, *, again: bool = False) -> CorpusView | None:
    """The shipped corpus with its labelled questions, brought in unless it is there as it is shipped.

    None if somebody deleted it, or the program came without; `again` brings a deleted one back.
    """
    folder = wb.settings.starter_dir
    files = sorted((folder / "articles").glob("*"))
    if again:
        wb.settings.starter_removed_mark.unlink(missing_ok=True)
    if not files or wb.settings.starter_removed_mark.exists():
        return None
    digest = hashlib.sha256()
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(f"{file.relative_to(folder)}\0".encode() + file.read_bytes() + b"\0")
    with wb.write() as s:
        corpus = rows.find_corpus(s, STARTER) or rows.add_corpus(s, STARTER, wb.clock())
    if corpus.digest == digest.hexdigest():
        return get_corpus(wb, corpus.id)
    ingest(wb, corpus.id, [(f.name, f) for f in files], on_progress)
    for split in ("train", "dev", "test"):
        if on_progress:
            on_progress(Progress(0, 0, f"reading the {split} questions"))
        import_starter_questions(wb, corpus.id, split)
    with wb.write() as s:
        s.get_one(Corpus, corpus.id).digest = digest.hexdigest()
    return get_corpus(wb, corpus.id)


def import_starter_questions(wb: Workbench, corpus_id: int, split: str) -> None:
    """The shipped questions of a split, labelled by the annotator "starter"; a label that changed since is replaced."""
    file = wb.settings.starter_dir / f"{split}.jsonl"
    if not file.is_file():
        return
    questions, _ = jsonl.read(file, strict=True)
    with wb.write() as s:
        who = people_rows.ensure_annotator(s, STARTER, wb.clock(), is_imported=True)
    store_questions(wb, corpus_id, questions, ImportOptions(who.id, origin=STARTER, split=split, override=True))
    index_import(wb, corpus_id)
