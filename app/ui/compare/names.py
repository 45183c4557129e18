"""Labelled sets and settings in the words of the page. Addresses, jobs and the terminal have their raw names."""

from collections import Counter
from collections.abc import Sequence

from app.compare.comparison import ComparisonSettings
from app.compare.short_names import shorten_paths
from app.compare.sweeps import find_sweep_rankers, parse_ratio
from app.corpora.corpora import CORPUS_PREFIX
from app.ui.text import plain
from as2core.data.catalog import SHIPPED_SETS
from as2core.messages import count

CONDITIONS = {  # setting -> which questions count; all in "raw"
    "clean": "with correct and incorrect candidates",
    "no-all-neg": "with a correct candidate",
    "raw": "",
}
RAW_DATASETS = "On the command line, write `labels:NAME` for a corpus's labels, or a set such as `starter-test`."
RAW_SETTINGS = (
    "On the command line, write `--setting clean`, `no-all-neg` or `raw`, in the order of this list. Of all questions, "
    "one without a correct candidate counts as 0."
)


def name_dataset(data: str) -> str:
    """`labels:handbook` as `Labels of handbook`, `starter-test` as `Starter corpus, test questions`, a file as is."""
    if data.startswith(CORPUS_PREFIX):
        return f"Labels of {data.removeprefix(CORPUS_PREFIX)}"
    if data in SHIPPED_SETS:
        corpus, _, split = data.partition("-")
        return f"{corpus.capitalize()} corpus, {split} questions"
    return data


def name_setting(setting: str) -> str:
    return f"Questions {CONDITIONS[setting]}" if CONDITIONS[setting] else "All questions"


def count_questions(questions: int, setting: str) -> str:
    """`40 questions with a correct candidate`."""
    return f"{count(questions, 'question')} {CONDITIONS[setting]}".rstrip()


def name_comparison(settings: ComparisonSettings) -> str:
    """`Labels of handbook: cascade, bm25, cascade at 7 shares dropped`."""
    unlabelled = ", unlabelled as incorrect" if settings.with_unlabelled else ""
    return f"{name_dataset(settings.data)}{unlabelled}: {', '.join(_fold_sweeps(settings.rankers))}"


def describe_questions(settings: ComparisonSettings) -> str:
    """`questions with a correct candidate, at most 50`: which of the set."""
    limit = f", at most {settings.limit:,}" if settings.limit else ""
    return f"{name_setting(settings.setting).lower()}{limit}"


def _fold_sweeps(rankers: Sequence[str]) -> list[str]:
    """The rankers by short names, each sweep as one."""
    in_sweeps, paths = find_sweep_rankers(rankers), shorten_paths(rankers)
    singles = [paths.get(name, name) for name in rankers if name not in in_sweeps]
    return singles + describe_sweeps(rankers)


def describe_sweeps(rankers: Sequence[str]) -> list[str]:
    """`cascade at 7 shares dropped` for each sweep."""
    ratios = [parse_ratio(name) for name in rankers if name in find_sweep_rankers(rankers)]
    counts = Counter(ratio[0] for ratio in ratios if ratio)
    paths = shorten_paths(list(counts))
    return [f"{paths.get(cascade, cascade)} at {n} shares dropped" for cascade, n in counts.items()]


def count_rankers(rankers: Sequence[str]) -> str:
    """`3 rankers, cascade at 7 shares dropped`: a sweep is one ranker."""
    in_sweeps = find_sweep_rankers(rankers)
    names = {(parse_ratio(name) or (name,))[0] if name in in_sweeps else name for name in rankers}
    return ", ".join([count(len(names), "ranker"), *describe_sweeps(rankers)])


def describe_raw_names_of(settings: ComparisonSettings) -> str:
    """As Markdown: all that the terminal calls otherwise, the rankers included."""
    raw = describe_raw_names(settings.data, settings.setting)
    return f"{raw}. Rankers: {plain(', '.join(settings.rankers))}"


def describe_raw_names(data: str, setting: str) -> str:
    """As Markdown."""
    return f"In the terminal: {plain(data)}, with {plain(f'--setting {setting}')}"
