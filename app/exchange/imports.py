"""Labels of a file into a corpus.

JSONL keeps every label with its annotator, and the adjudications, so importing an export changes nothing. The files of
labelling tools name annotators, too. What other formats hold is signed by whoever imports it. Only an admin imports
what other people here sign.
"""

import gc
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from sqlalchemy.orm import Session

from app.corpora.corpora import CorpusView, create_corpus, get_corpus, list_corpora
from app.corpora.indexing import index_pending, request_vectors
from app.exchange import report
from app.exchange.label_files import TABLES, TEXTLESS_FORMATS, LabelFile
from app.exchange.own_labels import OwnLabels, drop_labels_of_others
from app.exchange.sentence_matching import find_by_text, tidy_spaces
from app.exchange.storage import ImportCounts, ImportOptions, store_questions
from app.workbench import audit
from app.workbench.names import fold_name, tidy_name
from app.workbench.people import ADMIN, MAX_NAME_CHARS, NO_PERSON, NotAllowed, find_alike, require
from app.workbench.sessions import find_by_address
from app.workbench.workbench import DatabaseContention, Workbench, make_storable
from as2core.data.catalog import TOOLS
from as2core.errors import BadSetting
from as2core.messages import count, name_some
from as2core.types import OnProgress, Progress, Question
from db.models import Annotator
from db.repositories import people as people_rows
from db.repositories.labels import find_heir

FORMATS_WITHOUT_IDS = ("csv", "quepid", "pairs", "triplets", *TABLES, *TOOLS)  # of questions
IMPORT = NO_PERSON[1]
IMPORT_LABELS = "import labels"  # in the audit log
UNSIGNED = "; an export as a table (CSV) has no names and no verdicts"  # so annotators may import it
SPLIT_USES = {
    "": "split automatically when a ranker is adapted",
    "train": "used for training",
    "dev": "used for validation, and for before and after if there is no test part; never for training",
    "test": "never used for training: for Compare, and for before and after unless other questions are held out",
}


class ImportInterrupted(KeyboardInterrupt):
    """Ctrl-C during an import into `corpus`. The same import into it stores the rest."""

    def __init__(self, corpus: str, questions: int, total: int) -> None:
        super().__init__(f"{questions:,} of {total:,} questions are in")
        self.corpus = corpus


def list_unknown_sentences(wb: Workbench, corpus_id: int, file: LabelFile) -> tuple[str, ...]:
    """The file's sentences that the corpus does not have, in the order of the file."""
    if file.fmt in TEXTLESS_FORMATS:
        return ()
    texts = {tidy_spaces(t): t for q in file.questions for c in q.candidates if (t := make_storable(c.text))}
    with wb.read() as s:
        by_text = find_by_text(s, corpus_id, texts.values())
    return tuple(text for tidy, text in texts.items() if tidy not in by_text)


def store_labels(
    wb: Workbench,
    corpus_id: int | None,
    file: LabelFile,
    annotator: str = IMPORT,
    *,
    split: str = "",
    add_sentences: bool = True,
    by: int | None = None,
    on_progress: OnProgress | None = None,
) -> report.ImportView:
    """Import a label file as this annotator's labels, or as those of the annotators the file names. Without a corpus
    one is made, named after the file. `split`, of SPLIT_USES: which part of a divided set the file is. `add_sentences`:
    those that the corpus does not have become documents; otherwise their labels are left out. `by`: who imports; None
    is the command line, which may sign for everybody. What `on_progress` raises ends the import: what was stored stays.

    Reported and left out: a line that cannot be read or names what the corpus does not have, and a label that differs
    from an earlier one of the same annotator or from the verdict on the pair.

    Raises NotAllowed if `by` is a viewer, or is no admin and the file holds verdicts that are not here already, or such
    labels signed by somebody else who is known here; BadSetting, UnknownCorpus, Gone; ImportInterrupted where a part is
    stored.
    """
    if split not in SPLIT_USES:
        raise BadSetting(f"no split {split!r}; known: {', '.join(filter(None, SPLIT_USES))}")
    if corpus_id is None and file.fmt in TEXTLESS_FORMATS:
        raise BadSetting(f"{file.name}: {file.fmt} holds no texts; choose the corpus whose sentences it labels")
    corpus = get_corpus(wb, corpus_id) if corpus_id is not None else None
    counts = ImportCounts()
    signers: tuple[str, ...] = ()
    own = OwnLabels(file.questions)
    if corpus is not None and by is not None:
        own = drop_labels_of_others(wb, corpus.id, file.questions, by)
    if file.questions:
        options, signers = _sign(wb, file.name, own.questions, annotator, by)
        options = replace(options, split=split, by_text=file.fmt in FORMATS_WITHOUT_IDS, add_sentences=add_sentences)
        corpus = corpus or create_corpus(wb, _free_name(wb, file.name))
        is_untitled = file.fmt in (*TABLES, *TOOLS) and corpus_id is not None
        questions = _add_titles(own.questions, file.name) if is_untitled else own.questions
        counts = _store(wb, by, file.name, corpus, questions, options, on_progress)
    view = _build_view(counts, file, corpus)
    return replace(
        view,
        textless=file.textless,
        notes=(*file.notes, *filter(None, [own.note])),
        signers=signers,
        is_new_corpus=corpus is not None and corpus_id is None,
    )


def _add_titles(questions: Sequence[Question], file: str) -> list[Question]:
    """For sentences of a table or a labelling tool among other documents: those without a title get the file's name, as
    documents do."""
    title = PurePosixPath(file).stem.replace("_", " ")
    return [replace(q, candidates=tuple(replace(c, title=c.title or title) for c in q.candidates)) for q in questions]


def _build_view(counts: ImportCounts, file: LabelFile, corpus: CorpusView | None) -> report.ImportView:
    rejections = [report.locate_reason(file.lines, qid, c, reason) for qid, c, reason in counts.rejections]
    malformed = tuple(sorted([*file.problems, *dict.fromkeys(rejections)]))  # a line may have several labels
    texts = {
        (make_storable(q.qid), make_storable(c.id)): (make_storable(q.text), make_storable(c.text))
        for q in file.questions
        for c in q.candidates
    }
    return report.ImportView(
        new=counts.new,
        same=counts.same,
        conflicting=len(counts.conflicts),
        malformed=malformed,
        questions=counts.questions,
        corpus_id=corpus.id if corpus else None,
        corpus=corpus.name if corpus else None,
        new_questions=counts.new_questions,
        new_documents=counts.new_documents,
        new_sentences=counts.new_sentences,
        format=file.fmt,
        conflicts=tuple(counts.conflicts),
        lines=report.report_lines(file.lines, counts.outcomes, malformed, texts),
        verdicts=counts.verdicts,
        moved=tuple((before, now, n) for (before, now), n in sorted(counts.moved.items())),
    )


def _store(
    wb: Workbench,
    by: int | None,
    file: str,
    corpus: CorpusView,
    questions: Sequence[Question],
    options: ImportOptions,
    on_progress: OnProgress | None,
) -> ImportCounts:
    """Store and index the questions, and record what was stored, also where that stops before the end. Raises
    ImportInterrupted for Ctrl-C."""
    counts, is_interrupted = ImportCounts(), False

    def record(*, is_whole: bool) -> None:
        stop = "" if is_whole else f", stopped after {counts.questions:,} of {len(questions):,} questions"
        audit.write(wb, by, IMPORT_LABELS, corpus.name, f"{file}: {count(counts.new, 'new label')}{stop}")

    def report_progress() -> None:
        if on_progress is not None:
            on_progress(Progress(counts.questions, len(questions), "questions"))

    try:
        store_questions(wb, corpus.id, questions, options, counts, report_progress)
        index_import(wb, corpus.id)
    except KeyboardInterrupt:
        is_interrupted = True
    except BaseException as e:  # also what a page's Stop raises
        if counts.questions:
            record(is_whole=False)
        if isinstance(e, DatabaseContention) and counts.questions:
            rest = f"{counts.questions:,} of {len(questions):,} questions are stored; importing the file again goes on"
            raise DatabaseContention(f"{e} ({rest})") from e
        raise
    if is_interrupted:
        gc.collect()  # the statement that was interrupted: until it is freed, SQLite lets nobody else write
    if not is_interrupted or counts.questions:
        record(is_whole=not is_interrupted)
    if is_interrupted:
        raise ImportInterrupted(corpus.name, counts.questions, len(questions))
    return counts


def _sign(
    wb: Workbench, file: str, questions: Sequence[Question], annotator: str, by: int | None
) -> tuple[ImportOptions, tuple[str, ...]]:
    """Who signs the labels of these questions, and what of it the report says. Raises NotAllowed, Gone where `by` may
    not import what they sign."""
    judges = {c.verdict.by for q in questions for c in q.candidates if c.verdict is not None}
    names = sorted(judges | {name for q in questions for c in q.candidates for name, _ in c.annotations})

    def ensure(s: Session, name: str) -> int:
        if (person := find_person(s, name)) is not None:
            return person.id
        name, role = _tidy_name(name), wb.settings.newcomers
        return people_rows.ensure_annotator(s, name, wb.clock(), is_imported=name in NO_PERSON, role=role).id

    with wb.write() as s:
        if by is not None and (importer := require(s, by, IMPORT_LABELS)).role != ADMIN:
            if judges:
                message = f"{file}: it holds verdicts on conflicts, and only an admin may import those{UNSIGNED}"
                raise NotAllowed(message, actor=importer.name, act=IMPORT_LABELS, target=file)
            for name in [annotator, *names]:
                person = find_person(s, name)
                if person is not None and not person.imported and person.id != by:
                    message = f"{file}: only {person.name} or an admin may import labels signed {person.name}{UNSIGNED}"
                    raise NotAllowed(message, actor=importer.name, act=IMPORT_LABELS, target=file)
        notes = _describe_signers(names, {name: find_person(s, name) for name in names})
        signers = {name: ensure(s, name) for name in names}
        return ImportOptions(ensure(s, annotator), signers, unsigned=annotator == IMPORT), notes


def _describe_signers(names: Sequence[str], persons: Mapping[str, Annotator | None]) -> tuple[str, ...]:
    """Who is somebody here under another name, and who was not known before: somebody here, perhaps, who would then
    count twice."""
    aliases = [f"{n} is {p.name}" for n in names if (p := persons[n]) and p.name.casefold() != _tidy_name(n).casefold()]
    strangers = [name for n in names if persons[n] is None and (name := _tidy_name(n)) not in NO_PERSON]
    new = f"{count(len(strangers), 'annotator')} not known here before: {name_some(strangers)}"
    return (*aliases, *([new] if strangers else []))


def find_person(s: Session, name: str) -> Annotator | None:
    """Whoever has the name by which a file calls an annotator, in other capitals perhaps, or logs in with this address,
    or was given its labels."""
    name = _tidy_name(name)
    person = people_rows.find_annotator(s, name=name) or find_alike(s, name) or find_by_address(s, name)
    return find_heir(s, person.id) if person is not None else None


def _tidy_name(name: str) -> str:
    name = tidy_name(make_storable(name))[:MAX_NAME_CHARS] or IMPORT
    return name.casefold() if name.casefold() in NO_PERSON else name


def index_import(wb: Workbench, corpus_id: int) -> None:
    """Index also where nothing is new: repeating an interrupted import finishes it."""
    index_pending(wb, corpus_id)
    request_vectors(wb, corpus_id)


def _free_name(wb: Workbench, name: str) -> str:
    stem = PurePosixPath(name).name.partition(".")[0].replace("_", " ").strip()[:60] or "labels"
    names = {fold_name(c.name) for c in list_corpora(wb)}
    choices = (stem, *(f"{stem} {i}" for i in range(2, len(names) + 3)))
    return next(n for n in choices if fold_name(n) not in names)
