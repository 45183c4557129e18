"""Import of label sets, with a report for every line, and export."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import streamlit as st

from app.corpora import corpora
from app.corpora.corpora import CorpusView
from app.exchange import exports, imports
from app.exchange.report import ImportView
from app.ui.errors import boundary
from app.ui.page import use_corpus
from app.ui.roles import barred
from app.ui.text import count, plain
from app.versions import registry
from app.workbench.people import AnnotatorView
from app.workbench.workbench import Workbench

NEW_CORPUS = "A new corpus"
NAMES = {
    "jsonl": "JSONL",
    "csv": "CSV",
    "qrels": "Qrels",
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
           "pairs": ".pairs.jsonl", "triplets": ".triplets.jsonl"}  # fmt: skip
AUTO, RUN = "auto", "run"
MAX_LINES = 1000  # of the report on the page


def draw(wb: Workbench, corpus: CorpusView | None, me: AnnotatorView) -> None:
    left, right = st.columns(2, gap="large")
    with left:
        _draw_import(wb, corpus, me)
    with right:
        _draw_export(wb, corpus, me)


def _draw_import(wb: Workbench, corpus: CorpusView | None, me: AnnotatorView) -> None:
    st.subheader("Import", anchor=False)
    st.caption("Questions with labelled sentences, from your own file or a benchmark.")
    turn = st.session_state.setdefault("_data_import_turn", 0)
    file = st.file_uploader("A label file", key=f"data_label_file_{turn}", label_visibility="collapsed")
    fmt = st.selectbox("Format", (AUTO, *imports.IMPORTS), key="data_import_format", format_func=_format_name)
    targets = [NEW_CORPUS, corpus.name] if corpus else [NEW_CORPUS]
    about = ("With the documents and sentences of the file", "Labels for its sentences; CSV and qrels need this")
    target = st.radio("Into", targets, key="data_import_target", format_func=plain, captions=about[: len(targets)])
    signed = st.text_input("Annotator", value="import", key="data_import_name", max_chars=60,
                           help="The name for labels without one in the file. Only an admin can import "
                                "labels in the name of somebody else here")  # fmt: skip
    split = st.selectbox("Split", tuple(imports.SPLITS), key="data_import_split", format_func=_split_name)
    key = f"data_import_{corpus.id if corpus else 0}"  # a click meant for a corpus deleted meanwhile has no effect
    why = barred(me, "import")
    clicked = st.button("Import", type="primary", disabled=bool(why) or file is None, icon=":material/input:", key=key,
                 help=why)  # fmt: skip
    if clicked and file is not None:
        with boundary(), st.spinner(plain(f"Reading {file.name} …"), show_time=True):
            report = imports.import_labels(
                wb,
                corpus.id if corpus and target == corpus.name else None,
                file.name,
                file.getvalue(),
                fmt=fmt,
                annotator=" ".join(signed.split()) or "import",
                split=split,
                by=me.id,
            )
            st.session_state["_data_import_report"] = (file.name, report)
            st.session_state["_data_import_turn"] = turn + 1
            st.rerun()
    _draw_report(wb, corpus)


def _draw_report(wb: Workbench, corpus: CorpusView | None) -> None:
    if "_data_import_report" not in st.session_state:
        return
    name, report = st.session_state["_data_import_report"]
    with st.container(border=True, key="data_import_report"):
        st.markdown(f"**{plain(describe_import(name, report))}**")
        if report.malformed:
            rest = (
                "the others were imported" if report.new or report.same or report.verdicts else "nothing was imported"
            )
            st.caption(f"{count(len(report.malformed), 'line')} could not be read; {rest}.")
            st.dataframe(
                {"line": [n for n, _ in report.malformed], "reason": [reason for _, reason in report.malformed]},
                hide_index=True, key="data_malformed",
            )  # fmt: skip
        if report.conflicts:
            st.caption(
                "Not imported, because they differ from an earlier label of the same annotator or from a verdict:"
            )
            st.dataframe({"conflict": list(report.conflicts)}, hide_index=True, key="data_conflicts")
        _draw_lines(report)
        with st.container(horizontal=True, vertical_alignment="center"):
            target = next((c for c in corpora.list_corpora(wb) if c.id == report.corpus_id), None)
            if target is not None and (corpus is None or target.id != corpus.id):
                st.button(f"Use {plain(target.name)}", key="data_import_use", on_click=use_corpus, args=(target.name,))
            st.button("Dismiss", type="tertiary", key="data_import_away",
                      on_click=lambda: st.session_state.pop("_data_import_report", None))  # fmt: skip


def _draw_lines(report: ImportView) -> None:
    with st.expander("Line by line", key="data_import_lines"):
        shown = report.lines[:MAX_LINES]
        st.dataframe(
            {"line": [x.line or None for x in shown], "outcome": [x.outcome for x in shown],
             "detail": [x.what for x in shown]},
            hide_index=True, key="data_lines",
        )  # fmt: skip
        if len(report.lines) > len(shown):
            st.caption(
                f"Showing the first {len(shown):,} of {count(len(report.lines), 'line')}. "
                "`as2 labels import --json` prints them all."
            )


def describe_import(name: str, report: ImportView) -> str:
    """One sentence on the result of an import."""
    parts = [f"{count(report.new, 'new label')}", f"{report.same:,} unchanged"]
    if report.verdicts:
        parts.insert(1, count(report.verdicts, "new verdict"))
    if report.conflicting:
        parts.append(f"{report.conflicting:,} in conflict")
    if report.malformed:
        parts.append(f"{count(len(report.malformed), 'unreadable line')}")
    about = "; ".join(filter(None, (count(report.questions, "question"), report.describe_moved())))
    return f"{name} ({report.format}): {', '.join(parts)}; {about}."


def _draw_export(wb: Workbench, corpus: CorpusView | None, me: AnnotatorView) -> None:
    st.subheader("Export", anchor=False)
    if corpus is None or not corpus.labels:
        st.info(
            "There are no labels to export yet. Label sentences, or import a set.",
            icon=":material/checklist:",
        )
        return
    st.caption(f"The current labels of {plain(corpus.name)}: {count(corpus.labels, 'label')}.")
    st.caption("JSONL keeps every label, its annotator and the verdicts on conflicts, and can be imported again "
               "without loss. The other formats have one label per sentence, 1 or 0: they omit unsure and evenly "
               "disputed labels, and ratings above 1.")  # fmt: skip
    if me.role != "admin":
        st.caption("Not exported: others' labels of pairs that still wait for yours.")
    for fmt, about in exports.FORMATS.items():
        if fmt == RUN:
            _draw_run_export(wb, corpus, me)
            continue
        st.download_button(
            NAMES.get(fmt, fmt),
            _make_exporter(wb, corpus.id, fmt, me),
            file_name=f"{_to_file_name(corpus.name)}{SUFFIXES.get(fmt, '.txt')}",
            mime="application/octet-stream",
            icon=":material/download:",
            key=f"data_export_{fmt}",
            on_click="ignore",
            help=f"{about[:1].upper()}{about[1:]}.",
            width="stretch",
        )


def _draw_run_export(wb: Workbench, corpus: CorpusView, me: AnnotatorView) -> None:
    """A run file ranks every labelled question with the active model, which takes a while: it is made on request."""
    key, file = st.session_state.get("_data_run", (None, b""))
    current = (corpus.id, corpus.labels, registry.get_active(wb).name, me.id)
    if key != current:
        help_text = "How the active model ranks every labelled question: qid Q0 docid rank score tag. Takes a while."
        if not st.button(
            "Make a run file", key="data_make_run", icon=":material/sort:", width="stretch", help=help_text
        ):
            return
        with st.spinner(f"Ranking {count(corpus.questions, 'question')} with the active model …", show_time=True):
            file = exports.export_labels(wb, corpus.id, RUN, by=me.id)
        st.session_state["_data_run"] = (current, file)
        st.rerun()
    st.download_button(
        "Run file", file, file_name=f"{_to_file_name(corpus.name)}{SUFFIXES[RUN]}", mime="application/octet-stream",
        icon=":material/download:", key="data_export_run", on_click="ignore", width="stretch", type="primary",
    )  # fmt: skip


def _format_name(fmt: str) -> str:
    if fmt == AUTO:
        return "Detect from name and content"
    about = exports.FORMATS.get(fmt, "")
    return f"{NAMES.get(fmt, fmt)}: {about}" if about else NAMES.get(fmt, fmt)


def _split_name(split: str) -> str:
    about = imports.SPLITS[split]
    return f"{split.capitalize()}: {about}" if split else f"None: {about}"


def _to_file_name(name: str) -> str:
    """A corpus's name as a file name."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.").lower() or "labels"


def _make_exporter(wb: Workbench, corpus_id: int, fmt: str, me: AnnotatorView) -> Callable[[], bytes]:
    """The file is made when the button is clicked, not in every run of the page."""
    return partial(exports.export_labels, wb, corpus_id, fmt, by=me.id)
