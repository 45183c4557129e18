"""Import of a label file: the choices, a question where the corpus lacks some of its sentences, and a report for every
line. What an import has to say is drawn above its choices, in sight of its button.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.corpora import corpora
from app.exchange import exports, file_annotators, imports, label_files
from app.exchange.label_files import LabelFile
from app.exchange.report import ImportView
from app.ui import navigation
from app.ui.data.exchange.import_questions import (
    NO_ANSWERS,
    Answers,
    NumberedAnnotators,
    UnknownSentences,
    draw_question,
    find_question,
)
from app.ui.data.progress import show_progress
from app.ui.data.reasons import draw_reasons
from app.ui.errors import catch_errors
from app.ui.page import Frame, use_corpus
from app.ui.scripts import scroll_to
from app.ui.session import acts
from app.ui.text import plain
from app.ui.uploads import offer_upload
from as2core.data import source
from as2core.data.catalog import TOOLS
from as2core.messages import count
from as2core.sources.spreadsheet import mark_utf_8
from as2core.types import Progress

NEW_CORPUS = "A new corpus"
NAMES = {
    "jsonl": "JSONL",
    "csv": "Ratings (CSV)",
    "qrels": "Qrels",
    "table": "Table (CSV)",
    "records": "Rows as JSON",
    "wikiqa": "WikiQA TSV",
    "trecqa": "TREC-QA XML",
    "squad": "SQuAD JSON",
    "asnq": "ASNQ TSV",
    "selqa": "SelQA JSON",
    "selqa-tsv": "SelQA TSV",
    "qed": "QED",
    "natural-questions": "Natural Questions",
    "beir": "BEIR, zipped",
    "run": "Run file",
    "quepid": "Quepid JSON",
    "pairs": "Pairs",
    "triplets": "Triplets",
    **TOOLS,
}
AUTO = "auto"
MAX_LINES = 1000  # of the report on the page
REPORT, QUESTION, IMPORTS = "_data_import_report", "_data_import_question", "_data_imports"  # of the session
STORING, STOPPING = "_data_import_storing", "_data_import_stopping"  # of the session, while an import goes on
TEMPLATE = (
    ("question", "sentence", "label"),
    ("How long is the reset link valid?", "The link is valid for 30 minutes.", "correct"),
    ("How long is the reset link valid?", "Open Settings to change your password.", "incorrect"),
)


@dataclass(frozen=True, slots=True)
class _Choices:
    """Of the form. `target`: the id of a corpus, None for a new one; `name`: its name."""

    target: int | None
    name: str
    fmt: str
    annotator: str
    split: str
    min_correct: int


@dataclass(frozen=True, slots=True)
class _Question:
    """What is to be asked `about` a file, and what was answered before."""

    file_id: str
    choices: _Choices
    answers: Answers
    about: UnknownSentences | NumberedAnnotators


@dataclass(frozen=True, slots=True)
class _Storing:
    """An import as it goes, for the run of the page after the one that it was stopped in; `done` of its questions."""

    file: str
    is_new_corpus: bool
    total: int
    done: int = 0


class _Stop(BaseException):
    """Somebody clicked on Stop."""


def draw(frame: Frame) -> None:
    corpus, why = frame.corpus, frame.explain_refusal("import")
    st.header("Import", anchor=False)
    messages = st.container(key="data_import_messages")
    st.caption(
        "A table (CSV or Excel) with the columns question, sentence and label (correct or incorrect), a benchmark's "
        "file, or an export of Label Studio, Argilla, Prodigy, doccano or Quepid."
    )
    template = mark_utf_8(source.format_rows(TEMPLATE).encode())
    st.download_button("Table to fill in", template, "labels-template.csv", "text/csv", key="data_import_template",
                       type="tertiary", icon=":material/download:", on_click="ignore")  # fmt: skip
    turn = st.session_state.setdefault("_data_import_turn", 0)
    file = offer_upload("A label file", is_allowed=not why, key=f"data_label_file_{turn}", label_visibility="collapsed",
                        max_upload_size=label_files.MAX_SENT_BYTES // 1_000_000)  # fmt: skip
    choices = _draw_choices(frame)
    key = f"data_import_{corpus.id if corpus else 0}"  # a click meant for a corpus deleted meanwhile has no effect
    is_closed = bool(why) or file is None
    is_clicked = st.button("Import", type="primary", disabled=is_closed, icon=":material/input:", key=key,
                           help=why or ("Choose a file first" if file is None else None))  # fmt: skip
    with messages:
        _await_end()
        _draw_interruption()
        if is_clicked and file is not None and turn == st.session_state["_data_import_turn"]:
            _import(frame, file, choices)
        _draw_question(frame, file, choices)
        if REPORT in st.session_state:
            _draw_report(frame, *st.session_state[REPORT])
        if IMPORTS in st.session_state:  # on a phone the button is below what it has to say
            scroll_to(".st-key-data_import_messages", f"import {st.session_state[IMPORTS]}", block="nearest")


def _draw_choices(frame: Frame) -> _Choices:
    corpus = frame.corpus
    abouts = {NEW_CORPUS: "With the documents and sentences of the file"}
    if corpus:
        own = {corpus.name: "Labels its sentences, and asks before it adds others"}
        abouts = abouts | own if corpus.is_shipped else own | abouts  # the first is the default
    names, captions = list(abouts), list(abouts.values())
    key = f"data_import_target_{corpus.id if corpus else 0}"
    target = st.radio("Into", names, key=key, format_func=plain, captions=captions)
    with st.expander("Format, annotator, ratings and split"):
        fmt = st.selectbox("Format", (AUTO, *label_files.IMPORTS), key="data_import_format", format_func=_format_name)
        signer = st.text_input("Annotator", value="import", key="data_import_name", max_chars=60,
                               help="The name for labels without one in the file. Only an admin can import "
                                    "labels in the name of somebody else here")  # fmt: skip
        min_correct = st.number_input("Correct from a rating of", value=1, step=1, key="data_import_min_correct",
                                      help="Of files with ratings, as 0 to 3: lower ones are incorrect")  # fmt: skip
        split = st.selectbox("Split", tuple(imports.SPLIT_USES), key="data_import_split", format_func=_format_split)
    corpus_id = corpus.id if corpus and target == corpus.name else None
    return _Choices(corpus_id, target, fmt, " ".join(signer.split()) or "import", split, int(min_correct))


def _import(frame: Frame, file: Any, choices: _Choices, answers: Answers = NO_ANSWERS) -> None:
    """Import the file, or ask what has to be known before."""
    with acts.finish(IMPORTS), catch_errors(), suppress(_Stop):
        st.session_state.pop(REPORT, None)  # a file that cannot be read must not look like the one before
        st.session_state.pop(QUESTION, None)
        st.session_state[IMPORTS] = st.session_state.get(IMPORTS, 0) + 1
        with st.spinner(plain(f"Reading {file.name} …"), show_time=True):
            labels = label_files.read_labels(file.name, file.getvalue(), choices.fmt, min_correct=choices.min_correct)
            if about := find_question(frame, labels, (choices.target, choices.name), answers):
                st.session_state[QUESTION] = _Question(file.file_id, choices, answers, about)
                return
            labels = file_annotators.rename_annotators(labels, answers.names or {})
        st.session_state[REPORT] = file.name, _store(frame, labels, choices, answers.add_sentences is not False)
        st.session_state["_data_import_turn"] += 1
    if REPORT in st.session_state:
        st.rerun()


def _store(frame: Frame, labels: LabelFile, choices: _Choices, add_sentences: bool) -> ImportView:
    """Only Stop ends it, and the run that Stop began finds STORING; a click on anything else leaves it alone."""
    state, slot = st.session_state, st.empty()
    state[STORING] = progress = _Storing(labels.name, choices.target is None, len(labels.questions))
    state.pop(STOPPING, None)
    _draw_stop(slot)
    try:
        with show_progress(f"Importing {labels.name} …") as show:

            def note(p: Progress) -> None:
                state[STORING] = replace(progress, done=p.done)
                show(p)
                if STOPPING in state:
                    raise _Stop

            report = imports.store_labels(
                frame.wb,
                choices.target,
                labels,
                choices.annotator,
                split=choices.split,
                add_sentences=add_sentences,
                by=frame.annotator.id,
                on_progress=note,
            )
    except Exception:
        del state[STORING]  # the error says what became of it
        raise
    finally:
        slot.empty()
    del state[STORING]
    return report


def _draw_stop(slot: DeltaGenerator) -> None:
    slot.button("Stop", key="data_import_stop", icon=":material/stop_circle:", help="What is stored by then stays",
                on_click=request_stop)  # fmt: skip


def request_stop() -> None:
    st.session_state[STOPPING] = True


def _await_end() -> None:
    """Of an import that a click before this one began: it may have been for the same file."""
    running: _Storing | None = st.session_state.get(STORING)
    if running is None:
        acts.await_end(IMPORTS)
        return
    slot = st.empty()
    _draw_stop(slot)
    with st.spinner(plain(f"Importing {running.file} …"), show_time=True):
        acts.await_end(IMPORTS)
    slot.empty()


def _draw_interruption() -> None:
    stopped: _Storing | None = st.session_state.pop(STORING, None)
    if stopped is None:
        return
    place = ", in a new corpus with the name of the file" if stopped.is_new_corpus else ""
    target = "Choose that corpus, and import the file into it" if place else "Import the file again"
    text = f"{stopped.done:,} of {count(stopped.total, 'question')} are stored{place}. {target} to go on."
    st.warning(f"The import of “{plain(stopped.file)}” was stopped. {text}", icon=":material/stop_circle:")


def _draw_question(frame: Frame, file: Any, choices: _Choices) -> None:
    """As long as the file and the choices are those that Import was clicked for."""
    question: _Question | None = st.session_state.get(QUESTION)
    if question is None:
        return
    if file is None or (file.file_id, choices) != (question.file_id, question.choices):
        del st.session_state[QUESTION]
        return
    slot = st.empty()
    with slot.container(border=True, key="data_import_question"):
        answers = draw_question(frame, question.about, question.answers, _withdraw_question)
    if answers:
        slot.empty()
        _import(frame, file, choices, answers)
        if QUESTION in st.session_state:  # the next one takes the place of this one
            st.rerun()


def _withdraw_question() -> None:
    del st.session_state[QUESTION]


def _draw_report(frame: Frame, name: str, report: ImportView) -> None:
    with st.container(border=True, key="data_import_report"):
        st.markdown(f"**{plain(describe_import(name, report))}**")
        if report.malformed:
            others = (
                "The others were read." if report.new or report.same or report.verdicts else "Nothing was imported."
            )
            st.caption(others)
            draw_reasons((report.unit, "reason"), report.malformed)
        if report.conflicts:
            st.caption(
                "Not imported, because they differ from a label that stands here already, or from a verdict. Change a "
                "label of yours under Labels; an admin withdraws those of others there, and changes verdicts on "
                "Agreement."
            )
            draw_reasons(("conflict",), [(conflict,) for conflict in report.conflicts])
        _draw_lines(report)
        with st.container(horizontal=True, vertical_alignment="center"):
            target = next((c for c in corpora.list_corpora(frame.wb) if c.id == report.corpus_id), None)
            if target is not None and (frame.corpus is None or target.id != frame.corpus.id):
                st.button(f"Use {plain(target.name)}", key="data_import_use", on_click=use_corpus, args=(target.name,))
            elif report.new or report.same:
                navigation.to("compare", "Compare rankers on these labels")
            st.button("Dismiss", type="tertiary", key="data_import_away", on_click=st.session_state.pop,
                      args=(REPORT, None))  # fmt: skip


def _draw_lines(report: ImportView) -> None:
    with st.expander("Line by line", key="data_import_lines"):
        lines = [(x.line or "", x.outcome, x.text or x.what) for x in report.lines[:MAX_LINES]]
        draw_reasons((report.unit, "outcome", "detail"), lines, limit=MAX_LINES)
        if len(report.lines) > MAX_LINES:
            st.caption(
                f"Showing the first {MAX_LINES:,} of {count(len(report.lines), 'line')}. "
                "`as2 labels import --json` prints them all."
            )


def describe_import(name: str, report: ImportView) -> str:
    parts, additions = [count(report.new, "new label")], report.describe_additions()
    if report.verdicts:
        parts.append(count(report.verdicts, "new verdict"))
    if report.same:
        parts.append(f"{report.same:,} unchanged")
    if report.conflicting:
        parts.append(f"{report.conflicting:,} in conflict")
    if report.malformed:
        parts.append(f"{count(len(report.malformed), report.unit)} left out")
    more = (
        count(report.questions, "question"),
        additions and f"{additions} in {report.corpus}",
        report.describe_textless(),
        report.describe_moved(),
        *report.notes,
        *report.signers,
    )
    about = "; ".join(filter(None, more))
    return f"{name} ({NAMES.get(report.format, report.format)}): {', '.join(parts)}; {about}."


def _format_name(fmt: str) -> str:
    if fmt == AUTO:
        return "Detect from name and content"
    name, about = NAMES.get(fmt, fmt), exports.FORMATS.get(fmt)
    return f"{name}: {about}" if about else name


def _format_split(split: str) -> str:
    return f"{split.capitalize() or 'None'}: {imports.SPLIT_USES[split]}"
