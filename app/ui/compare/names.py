"""Labelled sets and settings in the words of the page. Addresses, jobs and the terminal have their raw names."""

from app.compare.comparison import ComparisonSettings
from app.corpora.corpora import CORPUS_PREFIX
from app.ui.text import count, plain
from as2core.data.catalog import SHIPPED_SETS

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
    """`Labels of handbook: cascade, bm25`."""
    return f"{name_dataset(settings.data)}: {', '.join(settings.rankers)}"


def describe_raw_names(data: str, setting: str) -> str:
    """As Markdown."""
    return f"In the terminal: {plain(data)}, with {plain(f'--setting {setting}')}"
