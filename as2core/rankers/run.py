"""A ranking that another program made, as a ranker: a run in any form that `as2core.data.runs` reads.

A run knows questions and candidates by their ids, a ranker by their texts; so it is bound to the questions before it
scores. Candidates that it does not have come last, where trec_eval counts them as not retrieved. Scores are read as
32-bit numbers, as trec_eval reads them; equal ones are told apart by their rank in the run, which trec_eval does not
read (it goes by document id).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from as2core.data.runs import read_run_and_ties
from as2core.errors import BadSetting
from as2core.rankers.base import NeedsQuestions
from as2core.rankers.specs import Entry
from as2core.system.files import is_file
from as2core.types import Candidate, Question

RUN = "run"  # its name in the catalog
ENDINGS = (".run", ".trec", ".json", ".csv", ".tsv")  # of a path alone; also with .gz behind


class RunRanker(NeedsQuestions):
    def __init__(self, file: Path, *, name: str = "run") -> None:
        self.file, self.name = file, name
        self.missing = self.ties = 0  # candidates
        self._scores: dict[str, dict[str, float]] = {}  # question -> candidate's id -> score

    def bind(self, questions: Sequence[Question]) -> None:
        """Raises UnreadableFile, and BadSetting for a question that the run has no candidate of, or two questions of
        one text that it scores otherwise."""
        (rows, ties), scores, missing = read_run_and_ties(self.file, questions), dict[str, dict[str, float]](), 0
        for q in questions:
            if not q.candidates:
                continue
            own, is_missing = scores.setdefault(q.text, {}), np.isnan(rows[q.qid])
            missing += int(is_missing.sum())
            values = np.where(is_missing, _find_last(rows[q.qid]), rows[q.qid])
            for c, score in zip(q.candidates, values.tolist(), strict=True):
                if own.setdefault(c.id, score) != score:
                    raise BadSetting(f"{self.file} scores candidate {c.id!r} of {q.text!r} twice, under two ids")
        self._scores, self.missing, self.ties = scores, missing, ties

    def describe_differences(self) -> list[str]:
        text = f"{self.ties:,} tied scores are ordered by their rank in the run; trec_eval orders them by document id"
        return super().describe_differences() + ([text] if self.ties else [])

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        """Raises BadSetting for a question that it is not bound to."""
        if not candidates:
            return np.zeros(0, dtype=np.float32)
        own = self._scores.get(question)
        if own is None:
            raise BadSetting(
                f"{self.file} is a run, which ranks the questions of one set alone, and {question[:60]!r} is none of "
                "them: use it in as2 eval, as2 decide, as2 train --teacher or Compare"
            )
        last = _find_last(np.array(list(own.values()), dtype=np.float32))
        return np.array([own.get(c.id, last) for c in candidates], dtype=np.float32)


def _find_last(scores: np.ndarray) -> np.float32:
    """A score below all of these, also where 1 is too little to make a difference to them."""
    least = np.float32(np.nanmin(scores))
    return min(least - np.float32(1), np.nextafter(least, np.float32(-np.inf)))


def is_run(path: Path) -> bool:
    """Whether a path alone is taken as a run."""
    return has_ending(path) and is_file(path)


def has_ending(path: Path) -> bool:
    """Whether its name is one of a run."""
    return path.name.removesuffix(".gz").endswith(ENDINGS)


def build(*, file: str = "") -> RunRanker:
    path = Path(file)
    if not is_file(path):
        raise BadSetting(f"file={file}: there is no such file; give a run")
    return RunRanker(path)


RANKER = Entry(RUN, "the file of a run (TREC, JSON or a table)", "trec_eval", build, required="file")
