"""Where one ranker's questions were lost, by which they have something in common, and a link that labels them."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.compare import findings
from app.compare.comparison import ComparisonView
from app.compare.findings import ANSWERED, DROP, RANKER, SEARCH, UNKNOWN
from app.corpora.corpora import CorpusView
from app.labels.queues import TOPS
from app.ui import navigation, url
from app.ui.errors import catch_errors
from app.ui.text import format_percent, plain
from app.workbench.workbench import Workbench
from as2core.evaluation.error_slices import OWN, SliceResult
from as2core.evaluation.slice_rules import SliceRule
from as2core.messages import count

TITLES = {
    UNKNOWN: "No sentence is labelled correct",
    SEARCH: "Lost by the search: no correct sentence was retrieved",
    DROP: "Lost by a drop: the last correct candidate was dropped before the last exit",
    RANKER: "Lost by the ranker: an incorrect candidate is first",
    ANSWERED: "Answered: a correct candidate is first",
}
CHOICES = {UNKNOWN: "without a correct sentence", SEARCH: "lost by the search", DROP: "lost by a drop",
           RANKER: "lost by the ranker"}  # fmt: skip
NOTHING_OPEN = "Every candidate of these questions has a label. A wrong label looks like an error of the ranker, too."
LEARNING = (
    "A retrain never learns from held-out questions. Of the others it does, and Compare then says that the version's "
    "figures on them are too high."
)


def draw(wb: Workbench, view: ComparisonView, corpus: CorpusView, *, by: int) -> None:
    """`corpus`: whose questions are linked where the labelled set is a file. `by`: who would label them."""
    names = [r.ranker for r in view.distinct_results]
    st.header("What went wrong, and what to label", anchor=False)
    ranker = st.selectbox("Ranker", names, key="compare_findings_ranker") if len(names) > 1 else names[0]
    losses = findings.find_losses(wb, view, ranker)
    total = sum(len(loss.qids) for loss in losses)
    if not total:
        st.caption("No question was evaluated.")
        return
    rows = [(TITLES[loss.kind], len(loss.qids), format_percent(len(loss.qids) / total)) for loss in losses]
    st.dataframe(pd.DataFrame(rows, columns=["questions", "number", "share"]), hide_index=True,
                 key="compare_losses")  # fmt: skip
    st.caption(
        "By P@1, whatever metric is chosen above: a question is lost if its first candidate is not correct. Each "
        "counts once, where it was lost first: one that the search lost is not counted as dropped."
    )
    rules = _load_rules(wb)
    slices = findings.measure_slices(view, ranker, rules)
    _draw_slices(slices, [rule.name for rule in rules])
    sets = {f"{count(len(loss.qids), 'question')} {CHOICES[loss.kind]}": loss.qids
            for loss in losses if loss.qids and loss.kind != ANSWERED}  # fmt: skip
    sets |= {f"{count(len(r.errors), 'error')} in {r.group}: {r.name}": r.errors for r in slices if r.errors}
    if sets:
        _draw_link(wb, view, corpus, sets, by=by)


def _load_rules(wb: Workbench) -> tuple[SliceRule, ...]:
    """Of the user's own slices; a file with a mistake is reported, and the others are shown."""
    with catch_errors():
        return findings.load_slice_rules(wb)
    return ()


def _draw_slices(slices: tuple[SliceResult, ...], own_names: Sequence[str]) -> None:
    """`own_names`: of the user's slices, of which some may have no question here."""
    if not slices:
        return
    frame = pd.DataFrame(
        [(r.group, r.name, r.questions, 100 * r.share, f"{format_percent(r.low)} – {format_percent(r.high)}",
          len(r.errors)) for r in slices],
        columns=["group", "slice", "questions", "answered", "95 %", "errors"],
    )  # fmt: skip
    config = {"answered": st.column_config.NumberColumn(format="%.0f %%")}
    st.dataframe(frame, hide_index=True, column_config=config, key="compare_slices")
    st.caption(
        "Answered: a correct candidate is first (P@1), with Wilson's 95 % interval. With this many slices, some look "
        "bad by chance: trust those whose interval lies below the others'. The file slices.toml in the home adds your "
        "own."
    )
    if empty := [name for name in own_names if name not in {r.name for r in slices if r.group == OWN}]:
        st.caption(f"None of these questions is in your slices {plain(', '.join(empty))}.")


def _draw_link(
    wb: Workbench, view: ComparisonView, corpus: CorpusView, sets: dict[str, tuple[str, ...]], *, by: int
) -> None:
    """The chosen set, its questions, and the way to the label queue."""
    title = st.selectbox("Questions to label", list(sets), key="compare_findings_set")
    texts = findings.list_texts(view, sets[title])
    target = findings.find_target_corpus(wb, view, corpus.id)
    ids = findings.find_question_ids(wb, target.id, set(texts))
    with st.expander(plain(title), icon=":material/list:", key="compare_findings_questions"):
        st.dataframe(pd.DataFrame({"question": texts}), hide_index=True, key="compare_findings_list")
    if not ids:
        st.caption(f"None of them is a question of the corpus {plain(target.name)}, so there is nothing to label.")
        return
    only, with_labels = url.format_numbers(ids), findings.count_with_labels(wb, ids)
    is_open = findings.has_open_candidates(wb, view, sets[title], target.id, ids, by=by)
    with st.container(horizontal=True, vertical_alignment="center", key="compare_findings_links"):
        label = f"Label candidates of {count(len(ids), 'question')}"
        if is_open:
            navigation.to("label", label, corpus=target.name, queue=TOPS, mode="list", only=only)
        else:
            st.button(label, key="compare_label_none", icon=navigation.PAGES["label"], type="tertiary", disabled=True,
                      help=NOTHING_OPEN)  # fmt: skip
            navigation.to("data", "Look for wrong labels", corpus=target.name, view="list")
        if with_labels:
            navigation.to("adapt", "Retrain with these questions", corpus=target.name, only=only)
    st.caption(describe_labels(with_labels, len(ids)) if is_open else f"{NOTHING_OPEN} {LEARNING}")
    if len(ids) < len(texts):
        st.caption(f"{count(len(texts) - len(ids), 'question')} of this set are not linked: they are not in the corpus "
                   f"{plain(target.name)}, have the text of another, or exceed {findings.MAX_TARGETS}.")  # fmt: skip


def describe_labels(with_labels: int, total: int) -> str:
    """How many of the linked questions have labels, and what a retrain with them leaves out."""
    if not with_labels:
        return "None of them has labels yet. Once some do, a retrain can learn from them."
    share = "All of them have" if with_labels == total else f"{with_labels:,} of the {total:,} have"
    return f"{share} labels. {LEARNING}"
