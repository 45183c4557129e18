"""The frozen benchmarks: questions that no retrain trains on, by which every version is evaluated."""

import logging
from pathlib import Path

from app.workbench.workbench import Workbench
from as2core.data import jsonl
from as2core.data.catalog import apply_setting, load_questions
from as2core.errors import As2Error
from as2core.types import Question

log = logging.getLogger(__name__)

FROZEN, WIKIQA = "starter-test", "wikiqa-dev"
TITLES = {FROZEN: "Starter test", WIKIQA: "WikiQA dev"}


def load_starter(wb: Workbench, part: str) -> list[Question]:
    """The shipped questions of a part that have a correct candidate, [] where the corpus is not there. Every base was
    trained on the train part; the test part is the frozen benchmark."""
    file = wb.settings.starter_dir / f"{part}.jsonl"
    return list(jsonl.read(file)[0]) if file.is_file() else []


def load_benchmarks(wb: Workbench) -> dict[str, list[Question]]:
    """The frozen questions that are available, by name: no retrain trains on them or on near-duplicates of them."""
    benchmarks = {FROZEN: load_starter(wb, "test"), WIKIQA: _load_wikiqa(wb.settings.data_dir)}
    return {name: questions for name, questions in benchmarks.items() if questions}


def _load_wikiqa(data_dir: Path | None) -> list[Question]:
    file = data_dir / "wikiqa" / "WikiQA-dev.tsv" if data_dir else None
    if file is None or not file.is_file():
        return []
    try:
        return apply_setting(load_questions(file).questions, "clean")
    except As2Error as e:
        log.warning("WikiQA dev is no benchmark now: %s", e)
        return []
