"""What an evaluation is stored by: it must not outlive what made it."""

import numpy as np
import pytest
from fake_models import write_version
from sqlalchemy import select

from app.versions import evaluations
from as2core.types import Candidate, Question
from as2core.version import digest_code
from db.models import Evaluation

QUESTIONS = [
    Question(f"q{i}", f"what is {i} ?", tuple(Candidate(f"{i}-{j}", f"{i} {j} .", int(j == 3)) for j in range(4)))
    for i in range(3)
]


class Reversed:
    """Ranks the last candidate first, which here is the correct one."""

    name = "reversed"

    def score(self, question, candidates):
        return np.arange(len(candidates), dtype=float)


def test_a_ranker_without_weights_is_measured_again_by_another_program(wb, monkeypatch):
    before = evaluations.load_or_evaluate(wb, "rr", QUESTIONS, data="some")
    assert before.metrics["RR"] == pytest.approx(0.25)
    again = evaluations.load_or_evaluate(wb, "rr", QUESTIONS, data="some", ranker=Reversed())
    assert again.metrics == before.metrics
    monkeypatch.setattr(evaluations, "digest_code", lambda: "another")
    assert not evaluations.has_evaluation(wb, "rr", QUESTIONS)
    after = evaluations.load_or_evaluate(wb, "rr", QUESTIONS, data="some", ranker=Reversed())
    assert after.metrics["RR"] == 1.0


def test_what_an_earlier_release_measured_without_the_cuts_is_measured_again(wb):
    before = evaluations.load_or_measure(wb, "rr", QUESTIONS, data="some", ranker=Reversed())
    assert evaluations.has_measurement(wb, "rr", QUESTIONS)
    with wb.write() as s:
        [row] = s.scalars(select(Evaluation))
        row.result = {key: value for key, value in row.result.items() if key != "cuts"}
    assert not evaluations.has_measurement(wb, "rr", QUESTIONS) and not evaluations.has_evaluation(wb, "rr", QUESTIONS)
    again = evaluations.load_or_measure(wb, "rr", QUESTIONS, data="some", ranker=Reversed())
    assert again.evaluation.metrics == before.evaluation.metrics
    assert evaluations.has_measurement(wb, "rr", QUESTIONS)


@pytest.mark.parametrize(
    ("spec", "is_stale"),
    [
        ("cascade", False),
        ("cascade:drop_ratio=0.5", False),
        ("cross-encoder", False),
        ("generative", False),
        ("{path}", False),
        ("bm25:k1=1.5", True),
        ("bi-encoder", True),
        ("sequential:stages=jaccard@100+cascade", True),
        ("cascade:first=jaccard,keep=5", True),
    ],
)
def test_the_code_counts_where_no_weights_do(wb, tmp_path, monkeypatch, spec, is_stale):
    name = spec.format(path=write_version(tmp_path / "trained"))
    before = evaluations.hash_ranker(wb, name)
    assert before == evaluations.hash_ranker(wb, name)
    monkeypatch.setattr(evaluations, "digest_code", lambda: "another")
    assert (evaluations.hash_ranker(wb, name) != before) is is_stale


def test_the_code_is_all_that_ranks_and_measures(tmp_path):
    for name in ("text.py", "rankers/bm25.py", "commands/eval.py", "experiments/cells.py"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("a = 1\n")
    digests = [digest_code.__wrapped__(tmp_path)]
    for name in ("commands/eval.py", "experiments/cells.py", "rankers/bm25.py", "text.py"):
        (tmp_path / name).write_text("a = 2\n")
        digests.append(digest_code.__wrapped__(tmp_path))
    assert digests[0] == digests[1] == digests[2] and len(set(digests)) == 3
