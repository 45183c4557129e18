"""Does the same model rank the same in another form: torch in float32 against its ONNX file, against int8?

Three figures, since none says it all: on how many questions the first place is the same, AP in each form, and the
largest difference of a score. A difference of 0.1 may move nothing where candidates are far apart, and everything where
they are not. A cascade is compared at every exit, because each drops candidates by its own scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from as2core.errors import BadSetting
from as2core.metrics import measure_mean, order
from as2core.rankers.base import Ranker, bind_questions
from as2core.types import OnProgress, Progress, Question

if TYPE_CHECKING:
    from as2core.rankers.cascade import CascadeRanker

FILE, INT8 = "onnx file", "int8"
Scores = Mapping[str, np.ndarray]  # question id -> (n,)


@dataclass(frozen=True, slots=True)
class Parity:
    """One form against the reference, over questions with candidates. `same_first`: of `questions`, those whose first
    candidate is the same. `largest`: the largest difference of a score. `exit`: the layer, None for a whole ranker.
    `ap` is the form's, NaN without labels."""

    form: str
    exit: int | None
    questions: int
    candidates: int
    same_first: int
    largest: float
    ap: float
    reference_ap: float


def compare(form: str, layer: int | None, questions: Sequence[Question], reference: Scores, scores: Scores) -> Parity:
    """Raises BadSetting without a question that has candidates."""
    questions = [q for q in questions if q.candidates]
    if not questions:
        raise BadSetting("no question has candidates: there is nothing to compare the forms on")
    pairs = [(np.asarray(reference[q.qid], np.float64), np.asarray(scores[q.qid], np.float64)) for q in questions]
    return Parity(
        form=form,
        exit=layer,
        questions=len(questions),
        candidates=sum(len(a) for a, _ in pairs),
        same_first=sum(int(order(a)[0] == order(b)[0]) for a, b in pairs),
        largest=max(float(np.abs(a - b).max()) for a, b in pairs),
        ap=measure_mean(questions, scores, ("AP",))["AP"],
        reference_ap=measure_mean(questions, reference, ("AP",))["AP"],
    )


def compare_forms(
    reference: Ranker, forms: Mapping[str, Ranker], questions: Sequence[Question], *, on_progress: OnProgress | None
) -> list[Parity]:
    """Rankers that are said to be the same, each against the first. Raises BadSetting."""
    expected = _score_all(reference, questions, on_progress)
    return [
        compare(name, None, questions, expected, _score_all(ranker, questions, on_progress))
        for name, ranker in forms.items()
    ]


def compare_engines(
    ranker: CascadeRanker, questions: Sequence[Question], *, on_progress: OnProgress | None = None
) -> list[Parity]:
    """A cascade or cross-encoder on torch against its int8 graphs, at every exit and without dropping, and its last
    exit against the ONNX file that is exported of it. The ranker is on torch afterwards. Raises BadSetting where it has
    no int8 graphs or cannot be exported."""
    from as2core.export import export_ranker
    from as2core.rankers.onnx import load_onnx

    ranker.use("torch")
    expected = _score_exits(ranker, questions, on_progress)
    last = ranker.exits[-1]
    with TemporaryDirectory(prefix="as2-parity-") as folder:
        export_ranker(ranker, "onnx", Path(folder) / "onnx", card={})
        file = load_onnx(Path(folder) / "onnx")
    prepared_questions = [replace_texts(q, ranker.list_texts(q.candidates)) for q in questions]
    rows = [compare(FILE, last, questions, expected[last], _score_all(file, prepared_questions, on_progress))]
    ranker.use("onnx")
    try:
        quantised = _score_exits(ranker, questions, on_progress)
    finally:
        ranker.use("torch")
    return rows + [compare(INT8, e, questions, expected[e], quantised[e]) for e in ranker.exits]


def replace_texts(q: Question, texts: Sequence[str]) -> Question:
    """The question with what a ranker reads of each candidate, its title included, as its text."""
    candidates = (replace(c, text=text, title="") for c, text in zip(q.candidates, texts, strict=True))
    return replace(q, candidates=tuple(candidates))


def _score_all(ranker: Ranker, questions: Sequence[Question], on_progress: OnProgress | None) -> Scores:
    bind_questions(ranker, questions)
    return _each(questions, lambda q: ranker.score(q.text, q.candidates), on_progress)


def _score_exits(
    ranker: CascadeRanker, questions: Sequence[Question], on_progress: OnProgress | None
) -> dict[int, Scores]:
    """By layer."""
    from as2core.training.calibrate import exit_logits

    logits = _each(questions, lambda q: exit_logits(ranker, [(q.text, q.candidates)])[0], on_progress)
    return {layer: {qid: rows[i] for qid, rows in logits.items()} for i, layer in enumerate(ranker.exits)}


def _each(
    questions: Sequence[Question], score: Callable[[Question], np.ndarray], on_progress: OnProgress | None
) -> dict[str, np.ndarray]:
    scores: dict[str, np.ndarray] = {}
    for q in questions:
        if on_progress:
            on_progress(Progress(len(scores), len(questions), q.text))
        scores[q.qid] = score(q)
    return scores
