"""The comparison that comes with the program: the shipped rankers on the starter test questions, so that the page shows
one before any was made. `benchmarks/prepared_comparison.py` writes it.

The file names the data and the models by their hashes. With other data or other weights it is not shown.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from app.compare import comparison, question_sets
from app.compare.comparison import ComparisonSettings, ComparisonView
from app.compare.rankers import find_twins
from app.compare.sweeps import SWEEP_RATIOS, make_spec
from app.jobs import queue
from app.versions.evaluations import hash_questions
from app.workbench.workbench import Workbench
from as2core.data import catalog as datasets
from as2core.errors import As2Error
from as2core.types import Question

SETTINGS = ComparisonSettings(
    ("cascade", "bi-encoder", "bm25", *(make_spec("cascade", ratio) for ratio in SWEEP_RATIOS)), "starter-test"
)
FILE = "comparison.json"  # beside the starter corpus
DIGITS = 5


def find_shipped_comparison(wb: Workbench) -> ComparisonView | None:
    """None where it does not come with these data and weights."""
    file = wb.settings.starter_dir / FILE
    if not file.is_file():
        return None
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        questions = _load_questions(wb)
        if record["data_hash"] != hash_questions(questions) or record["weights"] != _read_weights_hash(wb):
            return None
    except (As2Error, OSError, ValueError, KeyError, TypeError):
        return None
    qids = [q.qid for q in questions]
    per_question = {
        name: {metric: dict(zip(qids, values, strict=True)) for metric, values in metrics.items()}
        for name, metrics in record["per_question"].items()
    }
    scores = {
        name: {qid: [-float(rank) for rank in ranks] for qid, ranks in zip(qids, lists, strict=True)}
        for name, lists in record["ranks"].items()
    }
    twins = find_twins(wb, [row["ranker"] for row in record["rows"]])
    return comparison.make_view(SETTINGS, record, questions, per_question, scores, twins=twins)


def write_shipped_comparison(wb: Workbench, job_id: int, file: Path) -> None:
    """A finished comparison of `SETTINGS` as the file. Seconds are another machine's and stay out. Ranks are those of
    the rankers without settings, which the picture of one question shows."""
    view, result = comparison.load_comparison(wb, job_id), queue.load_job(wb, job_id).result
    qids = [q.qid for q in _load_questions(wb)]
    by_ranker = {name: rows.set_index("qid") for name, rows in view.per_question.groupby("ranker", sort=False)}
    frames = {qid: view.ranks[qid] for qid in qids}
    content = {
        "data_hash": result["data_hash"],
        "weights": _read_weights_hash(wb),
        "questions": result["questions"],
        "notes": result["notes"],
        "rows": [{**row, "seconds_per_question": None} for row in result["rows"]],
        "paired": result["paired"],
        "per_question": {
            name: {m: [round(v, DIGITS) for v in rows.loc[qids, m]] for m in rows.columns.drop(["question", "ranker"])}
            for name, rows in by_ranker.items()
        },
        "ranks": {name: [frames[qid][name].tolist() for qid in qids] for name in SETTINGS.rankers if ":" not in name},
    }
    file.write_text(json.dumps(_round(content), separators=(",", ":")) + "\n", encoding="utf-8")


def _load_questions(wb: Workbench) -> Sequence[Question]:
    return datasets.apply_setting(question_sets.load_questions(wb, SETTINGS.data), SETTINGS.setting)


def _read_weights_hash(wb: Workbench) -> str:
    """Of the shipped cascade, as its card has it. Its calibration changes no order."""
    card = json.loads((wb.settings.models_dir / "cascade" / "card.json").read_text(encoding="utf-8"))
    return card.get("sha256", "")


def _round(value: object) -> object:
    """Shorter numbers: intervals are resampled, so digits after the fifth mean nothing."""
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {key: _round(v) for key, v in value.items()}
    return [_round(v) for v in value] if isinstance(value, list) else value
