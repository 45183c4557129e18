"""Labels in and out, in the formats others use.

JSONL keeps every label with who gave it, and the verdicts on them, so importing what was exported changes nothing. The
other formats hold what labels come to, correct or incorrect: they lose what is unsure or evenly disputed, and what
comes back is signed by whoever imports it. Only an admin brings in what others here sign. A grade that came in (a
rating or relevance other than 0 and 1, JSONL's `grade`) leaves again as long as the label it came with stands.
"""

from __future__ import annotations

import io
import tempfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from lzma import LZMAError
from pathlib import Path, PurePath, PurePosixPath

import numpy as np
from sqlalchemy.orm import Session

from app.services import import_report, labels, versions
from app.services.corpora import create_corpus, get_corpus, list_corpora
from app.services.importing import store_questions
from app.services.indexing import index_pending, request_vectors
from app.services.people import ADMIN, MAX_NAME, NO_PERSON, NotAllowed, require
from app.services.views import CORRECT, INCORRECT, ImportView
from app.services.workbench import Workbench, storable
from as2core.errors import As2Error, BadSetting, UnreadableFile
from as2core.types import Question
from db.repositories import labels as label_rows

FORMATS = {
    "jsonl": "a question a line with its candidates, who labelled them what, unsure and disputed too, and verdicts",
    "csv": "query, docid, rating (1 or 0)",
    "qrels": "qid 0 docid rel (1 or 0)",
    "wikiqa": "WikiQA's TSV",
    "beir": "corpus, queries and qrels, zipped",
    "run": "the active version's ranking: qid Q0 docid rank score tag",
    "pairs": "question and sentence pairs for sentence-transformers",
    "triplets": "question, correct and incorrect sentence, for sentence-transformers",
}
IMPORTS = (
    "jsonl", "csv", "qrels", "wikiqa", "trecqa", "squad", "beir", "pairs", "triplets",
    "asnq", "selqa", "selqa-tsv", "qed", "natural-questions", "yahooqa",
)  # fmt: skip
BY_NAME = {".csv": "csv", ".jsonl": "jsonl", ".qrels": "qrels"}  # where the content says nothing
TEXTLESS, BY_TEXT = ("csv", "qrels"), ("csv", "pairs", "triplets")
STARTER, IMPORT = NO_PERSON
SPLITS = {
    "": "divided here when a model is adapted",
    "train": "learnt from",
    "dev": "steered and judged by, never learnt from",
    "test": "kept out of every retrain, for Compare",
}


def import_labels(
    wb: Workbench,
    corpus_id: int | None,
    name: str,
    data: bytes | Path,
    fmt: str = "auto",
    annotator: str = IMPORT,
    *,
    split: str = "",
    by: int | None = None,
) -> ImportView:
    """Bring labels in as this annotator's, or as theirs whom the file names. Without a corpus the file makes one of its
    own, named after it. `split`, of SPLITS: which part of a set that comes divided this is. `by` None is the command
    line: whoever has the home may sign for everybody.

    A line that cannot be read, or names what the corpus does not have, is reported; so is one that contradicts an
    earlier label of the same annotator, or the verdict on the pair, which stays.

    Raises NotAllowed if `by` is a viewer, or is no admin and the file holds verdicts or signs as somebody else who is
    known here; UnreadableFile, BadSetting, UnknownCorpus, Gone.
    """
    if split not in SPLITS:
        raise BadSetting(f"no split {split!r}; known: {', '.join(filter(None, SPLITS))}")
    content = _content(name, data)
    fmt = _format(name, content, fmt)
    questions, problems, lines = _read(name, content, fmt)
    if corpus_id is None and fmt in TEXTLESS:
        raise BadSetting(f"{name}: {fmt} holds no texts; choose the corpus whose sentences it labels")
    if not questions and not problems:
        raise UnreadableFile(f"{name}: no labelled question in it")
    corpus = get_corpus(wb, corpus_id) if corpus_id is not None else None
    if not questions:
        malformed = tuple(sorted(problems))
        return ImportView(0, 0, 0, malformed, 0, corpus_id, fmt, lines=import_report.by_line(lines, (), malformed))
    judges = {c.verdict.by for q in questions for c in q.candidates if c.verdict is not None}
    names = sorted(judges | {name for q in questions for c in q.candidates for name, _ in c.said})
    with wb.write() as s:
        if by is not None:
            _check(s, by, name, [annotator, *names], verdicts=bool(judges))
        who = _annotator(s, wb, annotator)
        signers = {name: _annotator(s, wb, name) for name in names}
    corpus = corpus or create_corpus(wb, _free_name(wb, name))
    whose = {"annotator_id": who, "signers": signers, "unsigned": annotator == IMPORT}
    outcome = store_questions(wb, corpus.id, questions, **whose, split=split, by_text=fmt in BY_TEXT)
    _index(wb, corpus.id)
    refused = [import_report.told_at(lines, qid, c, reason) for qid, c, reason in outcome.refused]
    malformed = tuple(sorted([*problems, *refused]))
    return ImportView(
        new=outcome.new,
        same=outcome.same,
        conflicting=len(outcome.conflicts),
        malformed=malformed,
        questions=outcome.questions,
        corpus_id=corpus.id,
        format=fmt,
        conflicts=tuple(outcome.conflicts),
        lines=import_report.by_line(lines, outcome.taken, malformed),
        verdicts=outcome.verdicts,
        moved=tuple((before, now, n) for (before, now), n in sorted(outcome.moved.items())),
    )


def export_labels(
    wb: Workbench, corpus_id: int, fmt: str, annotator: str | None = None, *, by: int | None = None
) -> bytes:
    """The corpus's current labels, all or one annotator's, as a file of that format. `by`: whoever exports; unless an
    admin, they get nothing of what others say of a pair that waits for a label of their own. None is the command line.
    Raises BadSetting, As2Error."""
    from as2core.data import beir, csv_ratings, jsonl, pairs, qrels, wikiqa

    if fmt not in FORMATS:
        raise BadSetting(f"no export format {fmt!r}; known: {', '.join(FORMATS)}")
    questions = labelled_questions(wb, corpus_id, annotator, signed=fmt == "jsonl", by=by)
    if not questions:
        if by is not None and labelled_questions(wb, corpus_id, annotator):
            raise As2Error("what others said here waits for labels of your own: label some of the same pairs first")
        raise As2Error("nothing is labelled in this corpus yet: there is nothing to export")
    if fmt == "beir":
        return _zipped(beir.dumps(questions))
    if fmt == "run":
        return _run(wb, questions).encode()
    writers = {
        "jsonl": jsonl.dumps,
        "csv": csv_ratings.dumps,
        "qrels": qrels.dumps,
        "wikiqa": wikiqa.dumps,
        "pairs": pairs.dumps_pairs,
        "triplets": pairs.dumps_triplets,
    }
    return writers[fmt](questions).encode()


def labelled_questions(
    wb: Workbench, corpus_id: int, annotator: str | None = None, *, signed: bool = False, by: int | None = None
) -> list[Question]:
    """Questions as they are labelled now, in the order they came: those that were imported and those with a label.
    Candidates are the imported ones and the labelled ones. `signed`: with who said what, where that is more than a
    label that came in unsigned, and with the verdicts. `by`: as in `export_labels`."""
    get_corpus(wb, corpus_id)
    found = labels.load(wb, corpus_id, annotator, signed=signed, by=by)
    return [
        _unsigned(x.question)
        for x in found
        if (annotator is None and x.origin != "asked")
        or any(c.label is not None or c.said for c in x.question.candidates)
    ]


def _unsigned(question: Question) -> Question:
    """Without the signature that an import without any gives."""
    plain = (((IMPORT, CORRECT),), ((IMPORT, INCORRECT),))
    candidates = (replace(c, said=()) if c.said in plain and c.verdict is None else c for c in question.candidates)
    return replace(question, candidates=tuple(candidates))


def _check(s: Session, by: int, file: str, names: Sequence[str], *, verdicts: bool) -> None:
    """Whether `by` may bring in what these people sign. Raises NotAllowed, Gone."""
    if require(s, by).role == ADMIN:
        return
    for name in names:
        known = label_rows.annotator_named(s, _signed(name))
        if known is not None and not known.imported and known.id != by:
            raise NotAllowed(f"{file}: only {known.name} or an admin may bring in labels signed {known.name}")
    if verdicts:
        raise NotAllowed(f"{file}: it holds verdicts on conflicts, and only an admin may bring those in")


def _signed(name: str) -> str:
    return " ".join(storable(name).split())[:MAX_NAME] or IMPORT


def _annotator(s: Session, wb: Workbench, name: str) -> int:
    signed = _signed(name)
    role = wb.settings.newcomers
    return label_rows.ensure_annotator(s, signed, wb.clock(), imported=signed in NO_PERSON, role=role).id


def bring_starter_questions(wb: Workbench, corpus_id: int, split: str) -> None:
    """The shipped questions of a split, labelled by the annotator "starter"; a label that changed since is replaced."""
    from as2core.data import jsonl

    file = wb.settings.corpora_dir / "starter" / f"{split}.jsonl"
    if not file.is_file():
        return
    questions, _ = jsonl.read(file, strict=True)
    with wb.write() as s:
        who = label_rows.ensure_annotator(s, STARTER, wb.clock(), imported=True)
    store_questions(wb, corpus_id, questions, annotator_id=who.id, origin=STARTER, split=split, override=True)
    _index(wb, corpus_id)


def _index(wb: Workbench, corpus_id: int) -> None:
    """Also where nothing is new: an import that was killed is finished by repeating it."""
    index_pending(wb, corpus_id)
    request_vectors(wb, corpus_id)


def _content(name: str, data: bytes | Path) -> bytes:
    from as2core.data.source import read_bytes

    try:
        return read_bytes(data)
    except UnreadableFile as e:
        raise UnreadableFile(f"{name}: {str(e).partition(': ')[2] or e}") from e


def _format(name: str, content: bytes, fmt: str) -> str:
    from as2core.data.catalog import sniff

    if not content.strip():
        raise UnreadableFile(f"{name}: the file is empty")
    if fmt == "auto":
        try:
            fmt = "beir" if content[:2] == b"PK" else import_report.kind_of_pairs(content) or sniff(content) or ""
            fmt = fmt or BY_NAME.get(PurePath(name).suffix.lower(), "")  # its reader says what is wrong with it
        except UnreadableFile as e:
            raise _named(name, e) from e
        if fmt == "run":
            raise UnreadableFile(f"{name}: a run file holds a model's scores, no labels; import qrels instead")
        if not fmt:
            raise UnreadableFile(f"{name}: in no format known here; known: {', '.join(IMPORTS)}")
    if fmt in ("wikipassageqa", "insuranceqa"):
        raise UnreadableFile(
            f"{name}: {fmt} is several files; make one of them with `as2 data convert {name} labels.jsonl`"
        )
    if fmt not in IMPORTS:
        raise BadSetting(f"no import format {fmt!r}; known: auto, {', '.join(IMPORTS)}")
    return fmt


def _read(name: str, content: bytes, fmt: str) -> tuple[list[Question], list[tuple[int, str]], import_report.Lines]:
    """The questions, the malformed lines, and where each label stands."""
    from as2core.data import beir, csv_ratings, pairs, qrels
    from as2core.data.catalog import STREAMS
    from as2core.data.source import collect

    others = {
        "csv": csv_ratings.stream,
        "qrels": qrels.stream,
        "pairs": pairs.stream_pairs,
        "triplets": pairs.stream_triplets,
    }
    try:
        if fmt == "beir":
            with tempfile.TemporaryDirectory() as folder:
                _unzip(content, Path(folder))
                questions, problems = beir.read(folder, split=None)
                lines = import_report.beir_lines(folder)
        else:
            questions, problems = collect(others.get(fmt) or STREAMS[fmt], content)
            lines = import_report.line_numbers(content, fmt)
    except UnreadableFile as e:
        raise _named(name, e) from e
    return questions, [(p.line, p.reason) for p in problems], lines


def _named(name: str, error: UnreadableFile) -> UnreadableFile:
    return UnreadableFile(f"{name}: {str(error).removeprefix('the data given: ')}")


def _unzip(content: bytes, folder: Path) -> None:
    """BEIR's files only, wherever in the archive they stand."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.namelist():
                path = PurePosixPath(member)
                if path.name.startswith("."):  # what macOS adds is no split
                    continue
                inside = path.name if path.parent.name != "qrels" else f"qrels/{path.name}"
                if path.name in ("corpus.jsonl", "queries.jsonl") or inside.startswith("qrels/"):
                    target = folder / inside
                    target.parent.mkdir(exist_ok=True)
                    target.write_bytes(archive.read(member))
    except (zipfile.BadZipFile, zlib.error, LZMAError, EOFError, OSError, RuntimeError, ValueError) as e:
        raise UnreadableFile(f"the archive cannot be unpacked ({e})") from e


def _zipped(files: Mapping[str, str]) -> bytes:
    """The same files give the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text.encode(), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _run(wb: Workbench, questions: list[Question]) -> str:
    from as2core.data.qrels import dumps_run

    chosen = versions.choose(wb)
    scores = {q.qid: np.asarray(chosen.ranker.score(q.text, q.candidates)) for q in questions}
    return dumps_run(questions, scores, tag=chosen.name)


def _free_name(wb: Workbench, name: str) -> str:
    stem = PurePosixPath(name).name.partition(".")[0].replace("_", " ").strip()[:60] or "labels"
    taken = {c.name for c in list_corpora(wb)}
    return next(n for n in (stem, *(f"{stem} {i}" for i in range(2, len(taken) + 3))) if n not in taken)
