"""Import of label sets, with a report for every line, and export."""

import re
from functools import partial

import streamlit as st

from app.corpora import corpora
from app.corpora.synonyms import read_synonyms
from app.exchange import exports, imports
from app.exchange.report import ImportView
from app.ui import signin
from app.ui.data.reasons import draw_reasons
from app.ui.errors import catch_errors
from app.ui.page import Frame, use_corpus
from app.ui.text import capitalize, count, plain
from app.ui.uploads import offer_upload
from app.versions import registry
from app.workbench import sessions
from app.workbench.sessions import Login

NEW_CORPUS = "A new corpus"
NAMES = {
    "jsonl": "JSONL",
    "csv": "Ratings (CSV)",
    "qrels": "Qrels",
    "table": "Table (CSV)",
    "wikiqa": "WikiQA TSV",
    "trecqa": "TREC-QA XML",
    "squad": "SQuAD JSON",
    "asnq": "ASNQ TSV",
    "selqa": "SelQA JSON",
    "selqa-tsv": "SelQA TSV",
    "qed": "QED",
    "natural-questions": "Natural Questions",
    "yahooqa": "YahooQA",
    "beir": "BEIR, zipped",
    "run": "Run file",
    "pairs": "Pairs",
    "triplets": "Triplets",
}
SUFFIXES = {"jsonl": ".jsonl", "csv": ".csv", "qrels": ".qrels", "run": ".run", "wikiqa": ".tsv", "beir": ".beir.zip",
           "table": ".table.csv", "pairs": ".pairs.jsonl", "triplets": ".triplets.jsonl"}  # fmt: skip
AUTO, RUN = "auto", "run"
MAX_LINES = 1000  # of the report on the page
REPORT, RUN_FILE = "_data_import_report", "_data_run"  # of the session


def draw(frame: Frame) -> None:
    left, right = st.columns(2, gap="large")
    with left:
        _draw_import(frame)
    with right:
        _draw_export(frame)


def _draw_import(frame: Frame) -> None:
    corpus, why = frame.corpus, frame.explain_refusal("import")
    st.header("Import", anchor=False)
    st.caption("Questions with labelled sentences, from your own file or a benchmark.")
    turn = st.session_state.setdefault("_data_import_turn", 0)
    file = offer_upload("A label file", is_allowed=not why, key=f"data_label_file_{turn}", label_visibility="collapsed")
    fmt = st.selectbox("Format", (AUTO, *imports.IMPORTS), key="data_import_format", format_func=_format_name)
    targets = [NEW_CORPUS, corpus.name] if corpus else [NEW_CORPUS]
    about = (
        "With the documents and sentences of the file",
        "Labels for its sentences, and what it lacks as new documents; ratings and qrels need this",
    )
    target = st.radio("Into", targets, key="data_import_target", format_func=plain, captions=about[: len(targets)])
    signer = st.text_input("Annotator", value="import", key="data_import_name", max_chars=60,
                           help="The name for labels without one in the file. Only an admin can import "
                                "labels in the name of somebody else here")  # fmt: skip
    split = st.selectbox("Split", tuple(imports.SPLITS), key="data_import_split", format_func=_format_split)
    key = f"data_import_{corpus.id if corpus else 0}"  # a click meant for a corpus deleted meanwhile has no effect
    is_closed = bool(why) or file is None
    is_clicked = st.button("Import", type="primary", disabled=is_closed, icon=":material/input:", key=key, help=why)
    if is_clicked and file is not None:
        st.session_state.pop(REPORT, None)  # a file that cannot be read must not look like the one before
        with catch_errors(), st.spinner(plain(f"Reading {file.name} …"), show_time=True):
            report = imports.import_labels(
                frame.wb,
                corpus.id if corpus and target == corpus.name else None,
                file.name,
                file.getvalue(),
                fmt=fmt,
                annotator=" ".join(signer.split()) or "import",
                split=split,
                by=frame.annotator.id,
            )
            st.session_state[REPORT] = (file.name, report)
            st.session_state["_data_import_turn"] = turn + 1
            st.rerun()
    if REPORT in st.session_state:
        _draw_report(frame, *st.session_state[REPORT])


def _draw_report(frame: Frame, name: str, report: ImportView) -> None:
    with st.container(border=True, key="data_import_report"):
        st.markdown(f"**{plain(describe_import(name, report))}**")
        if report.malformed:
            others = (
                "The others were read." if report.new or report.same or report.verdicts else "Nothing was imported."
            )
            st.caption(f"{count(len(report.malformed), 'line')} could not be read. {others}")
            draw_reasons(("line", "reason"), report.malformed)
        if report.conflicts:
            st.caption("Not imported, because they differ from a label that stands here already, or from a verdict:")
            draw_reasons(("conflict",), [(conflict,) for conflict in report.conflicts])
        _draw_lines(report)
        with st.container(horizontal=True, vertical_alignment="center"):
            target = next((c for c in corpora.list_corpora(frame.wb) if c.id == report.corpus_id), None)
            if target is not None and (frame.corpus is None or target.id != frame.corpus.id):
                st.button(f"Use {plain(target.name)}", key="data_import_use", on_click=use_corpus, args=(target.name,))
            st.button("Dismiss", type="tertiary", key="data_import_away", on_click=st.session_state.pop,
                      args=(REPORT, None))  # fmt: skip


def _draw_lines(report: ImportView) -> None:
    with st.expander("Line by line", key="data_import_lines"):
        lines = [(x.line or "", x.outcome, x.what) for x in report.lines[:MAX_LINES]]
        draw_reasons(("line", "outcome", "detail"), lines, limit=MAX_LINES)
        if len(report.lines) > MAX_LINES:
            st.caption(
                f"Showing the first {MAX_LINES:,} of {count(len(report.lines), 'line')}. "
                "`as2 labels import --json` prints them all."
            )


def describe_import(name: str, report: ImportView) -> str:
    parts, additions = [count(report.new, "new label"), f"{report.same:,} unchanged"], report.describe_additions()
    if report.verdicts:
        parts.insert(1, count(report.verdicts, "new verdict"))
    if report.conflicting:
        parts.append(f"{report.conflicting:,} in conflict")
    if report.malformed:
        parts.append(count(len(report.malformed), "unreadable line"))
    more = (
        count(report.questions, "question"),
        additions and f"{additions} in {report.corpus}",
        report.describe_textless(),
        report.describe_moved(),
    )
    about = "; ".join(filter(None, more))
    return f"{name} ({report.format}): {', '.join(parts)}; {about}."


def _draw_export(frame: Frame) -> None:
    corpus = frame.corpus
    st.header("Export", anchor=False)
    if corpus is None or not corpus.labels:
        st.info("There are no labels to export yet. Label sentences, or import a set.", icon=":material/checklist:")
        return
    st.caption(f"The current labels of {plain(corpus.name)}: {count(corpus.labels, 'labelled pair')}.")
    st.caption("JSONL keeps every label with its annotator, the verdicts on conflicts, and which questions are for "
               "training, validation and test; importing it again changes nothing, but takes an admin where others "
               "gave labels or verdicts. Flags, times and removals from the "
               "label queue are only in a backup. The other formats have one label per sentence, 1 or 0: they omit "
               "unsure and evenly disputed labels, and ratings above 1.")  # fmt: skip
    if not frame.is_admin:
        st.caption("Not exported: others' labels of pairs that still wait for yours.")
    missing = exports.find_missing(frame.wb, corpus.id)
    login = _read_login()
    for fmt, about in exports.FORMATS.items():
        if fmt == RUN:
            _draw_run_export(frame)
            st.caption(f"{capitalize(about)}. Takes a while.")
            continue
        st.download_button(
            NAMES.get(fmt, fmt),
            partial(_export, frame, fmt, login),  # called for a click
            file_name=_to_file_name(corpus.name, fmt),
            mime="application/octet-stream",
            icon=":material/download:",
            key=f"data_export_{fmt}",
            on_click="ignore",
            disabled=fmt in missing,
            width="stretch",
        )
        st.caption(f"{capitalize(about)}. {missing.get(fmt, '')}")


def _read_login() -> Login | None:
    """Of whoever is at the page; None where no log-in is configured."""
    return Login.from_claims(signin.read_claims()) if signin.has_provider() else None


def _export(frame: Frame, fmt: str, login: Login | None) -> bytes:
    """For a click, which Streamlit serves without a run of the page and without its session: `login` is that of the run
    that drew the button. Raises SessionEnded, NotAllowed."""
    if login is not None:
        sessions.admit(frame.wb, login)
    return exports.export_labels(frame.wb, frame.corpus.id, fmt, by=frame.annotator.id)


def _draw_run_export(frame: Frame) -> None:
    """A run file ranks every labelled question with the model in use, which takes a while: it is made on request."""
    corpus = frame.corpus
    key, file = st.session_state.get(RUN_FILE, (None, b""))
    synonyms = str(read_synonyms(frame.wb, corpus.id))
    current = (corpus.id, corpus.labels, registry.get_active(frame.wb).name, frame.annotator.id, synonyms)
    if key != current:
        if st.button("Make a run file", key="data_make_run", icon=":material/sort:", width="stretch"):
            ranking = f"Ranking {count(corpus.questions, 'question')} with the model in use …"
            with st.spinner(ranking, show_time=True):
                st.session_state[RUN_FILE] = (current, _export(frame, RUN, _read_login()))
            st.rerun()
        return
    st.download_button(
        "Run file", file, file_name=_to_file_name(corpus.name, RUN), mime="application/octet-stream",
        icon=":material/download:", key="data_export_run", on_click="ignore", width="stretch", type="primary",
    )  # fmt: skip


def _format_name(fmt: str) -> str:
    if fmt == AUTO:
        return "Detect from name and content"
    name, about = NAMES.get(fmt, fmt), exports.FORMATS.get(fmt)
    return f"{name}: {about}" if about else name


def _format_split(split: str) -> str:
    return f"{split.capitalize() or 'None'}: {imports.SPLITS[split]}"


def _to_file_name(corpus: str, fmt: str) -> str:
    stem = re.sub(r"[^\w.-]+", "-", corpus).strip("-.").lower() or "labels"
    return stem + SUFFIXES.get(fmt, ".txt")
