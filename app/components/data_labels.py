"""Labels in and out: label sets imported with a report a line, and the exports."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import streamlit as st

from app.components.errors import boundary
from app.components.page import use_corpus
from app.components.roles import barred
from app.components.text import count, plain
from app.services import Workbench, corpora, exchange, versions
from app.services.views import AnnotatorView, CorpusView, ImportView

NEW = "a label set of its own"
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
ENDINGS = {"jsonl": ".jsonl", "csv": ".csv", "qrels": ".qrels", "run": ".run", "wikiqa": ".tsv", "beir": ".beir.zip",
           "pairs": ".pairs.jsonl", "triplets": ".triplets.jsonl"}  # fmt: skip
AUTO, RUN = "auto", "run"
LINES = 1000  # of the report on the page


def draw(wb: Workbench, corpus: CorpusView | None, me: AnnotatorView) -> None:
    left, right = st.columns(2, gap="large")
    with left:
        _import(wb, corpus, me)
    with right:
        _export(wb, corpus, me)


def _import(wb: Workbench, corpus: CorpusView | None, me: AnnotatorView) -> None:
    st.subheader("Import", anchor=False)
    st.caption("Questions with labelled sentences, from a file of yours or a benchmark.")
    turn = st.session_state.setdefault("_data_import_turn", 0)
    file = st.file_uploader("A label file", key=f"data_label_file_{turn}", label_visibility="collapsed")
    fmt = st.selectbox("Format", (AUTO, *exchange.IMPORTS), key="data_import_format", format_func=_format_name)
    targets = [NEW, corpus.name] if corpus else [NEW]
    about = ("its documents and sentences as the file gives them", "for its own sentences; CSV and qrels need it")
    target = st.radio("Into", targets, key="data_import_target", format_func=plain, captions=about[: len(targets)])
    signed = st.text_input("Signed as", value="import", key="data_import_name", max_chars=60,
                           help="Who gave those labels that the file does not sign itself. "
                                "What others here sign takes an admin")  # fmt: skip
    split = st.selectbox(
        "Its part of a divided set", tuple(exchange.SPLITS), key="data_import_split", format_func=_split_name
    )
    key = f"data_import_{corpus.id if corpus else 0}"  # a click meant for a corpus deleted meanwhile is none
    why = barred(me, "import")
    if st.button("Import", type="primary", disabled=bool(why) or file is None, icon=":material/input:", key=key,
                 help=why):  # fmt: skip
        with boundary(), st.spinner(plain(f"Reading {file.name} …"), show_time=True):
            report = exchange.import_labels(
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
    _report(wb, corpus)


def _report(wb: Workbench, corpus: CorpusView | None) -> None:
    told = st.session_state.get("_data_import_report")
    if told is None:
        return
    name, report = told
    with st.container(border=True, key="data_import_report"):
        st.markdown(f"**{plain(import_in_words(name, report))}**")
        if report.malformed:
            rest = "the rest went in" if report.new or report.same or report.verdicts else "nothing went in"
            st.caption(f"{count(len(report.malformed), 'line')} could not be taken; {rest}.")
            st.dataframe(
                {"line": [n for n, _ in report.malformed], "why": [why for _, why in report.malformed]},
                hide_index=True, key="data_malformed",
            )  # fmt: skip
        if report.conflicts:
            st.caption(
                "These differ from labels the same annotator gave before, or from a verdict, and were not taken."
            )
            st.dataframe({"conflict": list(report.conflicts)}, hide_index=True, key="data_conflicts")
        _lines(report)
        with st.container(horizontal=True, vertical_alignment="center"):
            made = next((c for c in corpora.list_corpora(wb) if c.id == report.corpus_id), None)
            if made is not None and (corpus is None or made.id != corpus.id):
                st.button(f"Use {plain(made.name)}", key="data_import_use", on_click=use_corpus, args=(made.name,))
            st.button("Put the report away", type="tertiary", key="data_import_away",
                      on_click=lambda: st.session_state.pop("_data_import_report", None))  # fmt: skip


def _lines(report: ImportView) -> None:
    with st.expander("Line by line", key="data_import_lines"):
        shown = report.lines[:LINES]
        st.dataframe(
            {"line": [x.line or None for x in shown], "outcome": [x.outcome for x in shown],
             "what": [x.what for x in shown]},
            hide_index=True, key="data_lines",
        )  # fmt: skip
        if len(report.lines) > len(shown):
            st.caption(f"The first {len(shown):,} of {count(len(report.lines), 'line')}; the whole report: "
                       "`as2 labels import --json`.")  # fmt: skip


def import_in_words(name: str, report: ImportView) -> str:
    """One sentence on what an import did."""
    parts = [f"{count(report.new, 'new label')}", f"{report.same:,} there already"]
    if report.verdicts:
        parts.insert(1, count(report.verdicts, "new verdict"))
    if report.conflicting:
        parts.append(f"{report.conflicting:,} in conflict")
    if report.malformed:
        parts.append(f"{count(len(report.malformed), 'line')} not taken")
    about = "; ".join(filter(None, (count(report.questions, "question"), report.moved_in_words)))
    return f"{name} ({report.format}): {', '.join(parts)}; {about}."


def _export(wb: Workbench, corpus: CorpusView | None, me: AnnotatorView) -> None:
    st.subheader("Export", anchor=False)
    if corpus is None or not corpus.labels:
        st.info("There are no labels to export yet. Label some, or import a set.", icon=":material/checklist:")
        return
    st.caption(f"The current labels of {plain(corpus.name)}: {count(corpus.labels, 'label')}.")
    st.caption("JSONL keeps every label, who gave it and how conflicts were settled, and comes back exactly. The "
               "others hold what the labels come to, as 1 or 0: none that is unsure or evenly disputed, no rating "
               "above 1.")  # fmt: skip
    if me.role != "admin":
        st.caption("What others said of a pair that waits for your label, too, is left out.")
    for fmt, about in exchange.FORMATS.items():
        if fmt == RUN:
            _export_run(wb, corpus, me)
            continue
        st.download_button(
            NAMES.get(fmt, fmt),
            _maker(wb, corpus.id, fmt, me),
            file_name=f"{_slug(corpus.name)}{ENDINGS.get(fmt, '.txt')}",
            mime="application/octet-stream",
            icon=":material/download:",
            key=f"data_export_{fmt}",
            on_click="ignore",
            help=f"{about[:1].upper()}{about[1:]}.",
            width="stretch",
        )


def _export_run(wb: Workbench, corpus: CorpusView, me: AnnotatorView) -> None:
    """A run file ranks every labelled question with the active model, which takes a while: made first, then offered."""
    made, of = st.session_state.get("_data_run"), (corpus.id, corpus.labels, versions.active(wb).name, me.id)
    if made is None or made[0] != of:
        help_text = (
            "The active version's ranking of every labelled question: qid Q0 docid rank score tag. Takes a while."
        )
        if not st.button(
            "Make a run file", key="data_make_run", icon=":material/sort:", width="stretch", help=help_text
        ):
            return
        with st.spinner(f"Ranking {count(corpus.questions, 'question')} with the active model …", show_time=True):
            made = (of, exchange.export_labels(wb, corpus.id, RUN, by=me.id))
        st.session_state["_data_run"] = made
        st.rerun()
    st.download_button(
        "Run file", made[1], file_name=f"{_slug(corpus.name)}{ENDINGS[RUN]}", mime="application/octet-stream",
        icon=":material/download:", key="data_export_run", on_click="ignore", width="stretch", type="primary",
    )  # fmt: skip


def _format_name(fmt: str) -> str:
    if fmt == AUTO:
        return "Recognise it by name and content"
    about = exchange.FORMATS.get(fmt, "")
    return f"{NAMES.get(fmt, fmt)}: {about}" if about else NAMES.get(fmt, fmt)


def _split_name(split: str) -> str:
    about = exchange.SPLITS[split]
    return f"{split.capitalize()}: {about}" if split else f"None: {about}"


def _slug(name: str) -> str:
    """A corpus's name as a file's."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.").lower() or "labels"


def _maker(wb: Workbench, corpus_id: int, fmt: str, me: AnnotatorView) -> Callable[[], bytes]:
    """Made when clicked, not on every run of the page."""
    return partial(exchange.export_labels, wb, corpus_id, fmt, by=me.id)
