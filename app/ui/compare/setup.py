"""The form of a new comparison, and the list of earlier ones."""

from collections.abc import Sequence

import streamlit as st

from app.compare import comparison_job, question_sets
from app.compare.comparison import ComparisonSettings
from app.compare.question_sets import describe_short_lists
from app.compare.rankers import describe_destinations, describe_rankers
from app.compare.sweeps import SWEEP_RATIOS, make_spec
from app.corpora.corpora import CORPUS_PREFIX
from app.jobs.queue import JobView
from app.ui import errors, navigation, url
from app.ui.compare import own_ranking, ranker_choice
from app.ui.compare.names import (
    CONDITIONS,
    RAW_DATASETS,
    RAW_SETTINGS,
    describe_questions,
    describe_raw_names_of,
    name_comparison,
    name_dataset,
    name_setting,
)
from app.ui.compare.own_ranking import QuestionChoice
from app.ui.compare.ranker_choice import RANKERS
from app.ui.data.reasons import draw_reasons
from app.ui.page import Frame
from app.ui.text import format_percent, format_time, plain
from app.ui.wording import describe_seconds
from app.versions import registry
from app.workbench.workbench import Workbench

STARTER_TEST = "starter-test"
UNLABELLED = {False: "Leave out", True: "Count as incorrect"}


def draw(frame: Frame, open_job: JobView | None) -> None:
    """The form; starting puts the job into the address. `open_job`: the comparison on the page, with whose rankers and
    questions the form starts."""
    wb, corpus_name, by = frame.wb, frame.corpus.name, frame.annotator.id
    sets = question_sets.list_datasets(wb)
    if not sets:
        _draw_absence()
        return
    own = f"{CORPUS_PREFIX}{corpus_name}"
    _follow_corpus(own, sets)
    ranker_choice.follow_address(wb, _follow_comparison(wb, open_job, sets))
    own_ranking.choose_upload()
    left_column, right_column = st.columns([1.3, 1], gap="large")
    with left_column:
        rankers = ranker_choice.draw(wb)
        with st.container(horizontal=True):
            own_place = st.container(width="content")
            with st.popover("Rankers and their settings", icon=":material/tune:", type="tertiary"):
                draw_reasons(("ranker", "what it does", "paper", "settings, with their defaults"), describe_rankers())
        matches = st.container()
        if warning := describe_destinations(rankers):
            st.warning(plain(warning), icon=":material/upload:")
        can_compare = ranker_choice.draw_mistakes(frame, rankers)
        sweep = st.toggle("Compare shares dropped at each exit", key="compare_sweep",
                          help=f"Adds the cascade in use with {', '.join(map(format_percent, SWEEP_RATIOS))} of the "
                          "candidates dropped at each exit: what the saved compute costs in accuracy. The "
                          "setting is `drop_ratio`.")  # fmt: skip
    with right_column:
        data = st.selectbox("Labelled set", sets, key="compare_data", format_func=name_dataset, help=RAW_DATASETS)
        if data != own and own not in sets:
            st.caption(f"The corpus {plain(corpus_name)} has no labels yet, so another set is chosen.")
        setting = st.selectbox("Questions to include", list(CONDITIONS), key="compare_setting",
                               format_func=name_setting, help=RAW_SETTINGS)  # fmt: skip
        _draw_unlabelled(wb, data, setting)
        choice = _get_choice(wb, data, setting)
        st.number_input("Maximum number of questions (0: all)", 0, 100_000, step=50, key="compare_limit",
                        help="Fewer questions are quicker, and the result is less certain.")  # fmt: skip
    with own_place:
        own_ranking.draw(wb, choice, by=by, refusal=frame.explain_refusal("upload a ranking"))
    with matches:
        can_match = own_ranking.draw_matches(wb, rankers, choice)
    enough = len(add_sweep(rankers, sweep)) >= 2
    st.button("Compare", type="primary", icon=":material/stacked_line_chart:", key="compare_start",
              disabled=not (enough and can_compare and can_match), on_click=_start, args=(wb, by))  # fmt: skip
    if not enough:
        st.caption("Choose at least two rankers.")


def _draw_absence() -> None:
    st.info("There is no labelled set yet. Label some sentences, or import a set on the Data page.",
            icon=":material/checklist:")  # fmt: skip
    with st.container(horizontal=True):
        navigation.to("label", "Label")
        navigation.to("data", "Import a set", view="labels")


def _get_choice(wb: Workbench, data: str, setting: str) -> QuestionChoice:
    corpus = question_sets.find_own_corpus(wb, data)
    if corpus is None:
        return QuestionChoice(data, setting, with_unlabelled=False)
    with_unlabelled = bool(st.session_state.get("compare_unlabelled"))
    return QuestionChoice(data, setting, with_unlabelled, (corpus.id, corpus.labels))


def _draw_unlabelled(wb: Workbench, data: str, setting: str) -> None:
    """Of a corpus's labels: whether the sentences without one count. They do from the start where the labels alone make
    lists too short to compare on."""
    corpus = question_sets.find_own_corpus(wb, data)
    if corpus is None:
        return
    form, labels = st.session_state, (corpus.id, corpus.labels)
    if form.get("_compare_unlabelled_of") != data or "compare_unlabelled" not in form:
        form["compare_unlabelled"] = bool(_warn_of_short_lists(wb, data, labels, "no-all-neg", False))
        form["_compare_unlabelled_of"] = data
    with_unlabelled = st.selectbox(
        "Sentences without a label",
        list(UNLABELLED),
        key="compare_unlabelled",
        format_func=UNLABELLED.__getitem__,
        help="Those that were ranked for a question when it was asked or labelled. Counted as incorrect, as in a "
        "retrain, a correct one among them makes a ranker that finds it look worse than it is. Those of an imported "
        "list always count as incorrect.",
    )
    if warning := _warn_of_short_lists(wb, data, labels, setting, with_unlabelled):
        st.warning(plain(warning), icon=":material/warning:")


@st.cache_data(ttl=10, show_spinner=False)
def _warn_of_short_lists(
    _wb: Workbench, data: str, labels: tuple[int, int], setting: str, with_unlabelled: bool
) -> str:
    """Counting 100,000 candidates takes a while. A change of `labels`, the corpus and how many it has, is seen at once,
    others in 10 s."""
    return describe_short_lists(_wb, data, setting, with_unlabelled=with_unlabelled)


def _follow_corpus(own: str, sets: Sequence[str]) -> None:
    """Choose the labels of the corpus in use, until another set is chosen here. Without labels it is the starter
    corpus's test questions: the shipped models were trained on the train questions."""
    form = st.session_state
    if form.get("_compare_followed") != own or form.get("compare_data") not in sets:
        form["compare_data"] = next((data for data in (own, STARTER_TEST) if data in sets), sets[0])
    form["_compare_followed"] = own


def _follow_comparison(wb: Workbench, job: JobView | None, sets: Sequence[str]) -> list[str]:
    """Choose what a comparison that was just opened has compared, which the next one mostly changes in one thing; what
    is chosen here afterwards stays. Returns its rankers. The address goes before them."""
    if job is None:
        return []
    form, settings = st.session_state, ComparisonSettings.of(job)
    rankers, has_sweep = split_sweep(settings.rankers, registry.get_active(wb).name)
    if form.get("_compare_opened") == job.id and RANKERS in form:
        return rankers
    form["_compare_opened"] = job.id
    if settings.data in sets:
        form["compare_data"] = form["_compare_unlabelled_of"] = settings.data
    form["compare_setting"], form["compare_unlabelled"] = settings.setting, settings.with_unlabelled
    form["compare_limit"] = settings.limit or 0
    if not ranker_choice.read_rankers():
        form[RANKERS], form["compare_sweep"] = rankers, has_sweep
    return rankers


def add_sweep(rankers: Sequence[str], sweep: bool) -> list[str]:
    """The rankers, and with a `sweep` the active cascade at every ratio of it."""
    return [*rankers, *(make_spec("active", ratio) for ratio in SWEEP_RATIOS)] if sweep else list(rankers)


def split_sweep(rankers: Sequence[str], active: str) -> tuple[list[str], bool]:
    """What `add_sweep` was given. `active`: the name of the cascade in use."""
    sweep = [make_spec(active, ratio) for ratio in SWEEP_RATIOS]
    if not set(sweep) <= set(rankers):
        return list(rankers), False
    return [name for name in rankers if name not in sweep], True


@errors.guard
def _start(wb: Workbench, by: int) -> None:
    """Reads the form at the click: a choice made just before it had no run of its own."""
    form = st.session_state
    job = comparison_job.start_compare(
        wb,
        add_sweep(form[RANKERS], form["compare_sweep"]),
        form["compare_data"],
        setting=form["compare_setting"],
        by=by,
        limit=int(form["compare_limit"]) or None,
        with_unlabelled=bool(form.get("compare_unlabelled")),
    )
    url.put(job=job.id, rankers=None, prepared=None)


def draw_changes(frame: Frame, job: JobView) -> None:
    """That the labels of a comparison, or its rankers' weights, are others now, and a way to compare with these."""
    if not (changes := comparison_job.describe_changes(frame.wb, job)):
        return
    with st.container(horizontal=True, vertical_alignment="center", key="compare_changes"):
        st.markdown(f":material/update: Since this comparison: {changes}. The figures are from before.",
                    width="stretch")  # fmt: skip
        st.button("Compare again", key="compare_repeat", icon=":material/replay:", on_click=_repeat,
                  args=(frame.wb, job, frame.annotator.id),
                  help="Today’s weights of the same rankers, on today’s labels")  # fmt: skip


@errors.guard
def _repeat(wb: Workbench, job: JobView, by: int) -> None:
    s = ComparisonSettings.of(job)
    again = comparison_job.start_compare(
        wb, s.rankers, s.data, s.setting, s.limit, by=by, with_unlabelled=s.with_unlabelled
    )
    url.put(job=again.id, rankers=None, prepared=None)


def draw_elsewhere(job: JobView) -> None:
    """One line for a comparison under way on another corpus's labels."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"compare_elsewhere_{job.id}"):
        st.caption(
            f"Under way, on another corpus: {plain(name_comparison(ComparisonSettings.of(job)))}", width="stretch"
        )
        st.button("Open", key=f"compare_elsewhere_open_{job.id}", type="tertiary", on_click=url.put,
                  kwargs={"job": job.id, "prepared": None})  # fmt: skip


def draw_earlier(jobs: Sequence[JobView], current: int | None) -> None:
    others = [j for j in jobs if j.id != current]
    if not others:
        return
    with st.expander("Earlier comparisons", icon=":material/history:", key="compare_earlier"):
        for job in others:
            with st.container(horizontal=True, vertical_alignment="center"):
                settings = ComparisonSettings.of(job)
                st.markdown(plain(name_job(job)), width="stretch",
                            help=describe_raw_names_of(settings))  # fmt: skip
                st.caption(format_time(job.created))
                st.button("Open", key=f"compare_open_{job.id}", on_click=url.put,
                          kwargs={"job": job.id, "prepared": None})  # fmt: skip


def name_job(job: JobView) -> str:
    """`Labels of handbook: cascade, bm25 (all questions, at most 50; failed)`."""
    end = "" if job.state == "done" else job.state
    if job.state == "done" and job.started and job.finished:
        end = describe_seconds((job.finished - job.started).total_seconds())
    settings = ComparisonSettings.of(job)
    return f"{name_comparison(settings)} ({'; '.join(filter(None, (describe_questions(settings), end)))})"
