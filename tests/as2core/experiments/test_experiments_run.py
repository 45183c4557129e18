"""The cascade's and the reranking experiment on tiny models and made-up questions."""

import dataclasses
import random

import numpy as np
import pytest

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.tune import trace_all
from as2core.experiments import cascade, rerank, twins
from as2core.experiments.base import Options
from as2core.experiments.twins import Twins, at_ratio, exit_ap
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.rankers.sequential import SequentialRanker, Stage
from as2core.types import Candidate, Question

WORDS = "tower bridge river iron steel city engineer people water winter bread music heart cell".split()


def questions(n, *, seed, candidates=7):
    rng, made = random.Random(seed), []
    for i in range(n):
        about = rng.choice(WORDS)
        texts = [" ".join(rng.sample(WORDS, 4)) for _ in range(candidates)]
        labels = [int(c == 2) for c in range(candidates)]
        texts[2] = f"the {about} stands {texts[2]}"
        rows = tuple(Candidate(f"{i}-{c}", t, y) for c, (t, y) in enumerate(zip(texts, labels, strict=True)))
        made.append(Question(f"q {seed} {i}", f"where is the {about} ?", rows))
    return made


@dataclasses.dataclass(frozen=True, slots=True)
class MadeUp(Options):
    def questions(self, name, setting="clean"):
        return questions(6, seed=sum(map(ord, name)))


@pytest.fixture
def models(backbone):
    """A cascade and monolithic models of two depths, untrained, over the same questions."""
    asked = questions(5, seed=3)
    exits = (2, 6)
    cascade_traces = trace_all(CascadeRanker(backbone, exits=exits), asked)
    return asked, Twins(cascade_traces, {d: trace_all(CrossEncoderRanker(backbone, depth=d), asked) for d in exits})


def test_the_recorded_sequential_ranker_is_the_one_that_runs_its_models(models, backbone):
    asked, both = models
    stages = [Stage(CrossEncoderRanker(backbone, depth=2), 0.6), Stage(CrossEncoderRanker(backbone, depth=6))]
    runs = [SequentialRanker(stages).trace(q.text, q.candidates) for q in asked]
    ap, cost = both.sequential(0.4)
    places = [1 + int(np.flatnonzero(run.ranking() == 2)[0]) for run in runs]
    assert ap == pytest.approx(np.mean([1 / p for p in places]))
    assert cost == pytest.approx(sum(r.flops for r in runs) / sum(r.full_flops for r in runs))


def test_one_ratio_at_every_exit_is_a_replay(models):
    _, both = models
    runs = [t.replay(DropSchedule((0.5,))) for _, t in both.cascade]
    values = at_ratio(both.cascade, 0.5)
    assert values["P@1"] == pytest.approx(np.mean([run.ranking()[0] == 2 for run in runs]))
    assert values["cost"] == pytest.approx(sum(r.flops for r in runs) / sum(r.full_flops for r in runs))
    untrained = [exit_ap(both.monolithic[d], 0) for d in (2, 6)]
    assert both.exits() == pytest.approx(untrained)  # the same layers, and heads that start alike
    assert both.depths() == pytest.approx(untrained)


def test_exits_rise_while_none_is_clearly_below_the_one_before():
    assert cascade.rises([0.5, 0.6, 0.595, 0.7])
    assert not cascade.rises([0.5, 0.7, 0.68, 0.71])  # between the ends it falls by two points


@pytest.mark.slow
def test_the_cascade_experiment_runs_and_draws(monkeypatch, tmp_path, backbone, tiny):
    monkeypatch.setattr(cascade, "get", lambda spec: CascadeRanker(backbone))
    monkeypatch.setattr(twins, "untuned", lambda make, seed: make(backbone))
    seen = []
    options = MadeUp(tmp_path, pictures=tmp_path / "img")
    sizes = cascade.Sizes(target=6, epochs=1, seeds=1)
    report = cascade.run(options, seen.append, sizes)
    assert len(report.rows) == 11 and all(r.ours and r.paper and r.differs for r in report.rows)
    assert all(r.holds in (True, False) for r in report.rows)
    assert (tmp_path / "img" / "cascade-grid.svg").read_text().startswith("<svg")
    assert report.notes[-1] == "![AP against cost for every schedule of the grid](img/cascade-grid.svg)"
    assert [p.done for p in seen] == sorted(p.done for p in seen) and seen[-1].done <= seen[-1].total


def test_the_reranking_experiment_counts_by_recorded_scores_what_a_real_run_gives(monkeypatch, tmp_path):
    chosen = {"jaccard": "jaccard", "rel-cnn": "wo-rr", "compare-aggregate": "bm25"}
    monkeypatch.setattr(rerank, "_first_ranker", lambda name, *_: get(chosen[name]))
    monkeypatch.setattr(rerank, "get", lambda spec: get("rr"))
    monkeypatch.setattr(rerank, "KS", (3, 5, 9))
    report = rerank.run(MadeUp(tmp_path), None, rerank.Sizes(sets=((8, 6), (14, 4)), epochs=1, timed=2))
    assert len(report.rows) == 5 and all(r.ours and r.paper and r.differs for r in report.rows)
    made = MadeUp(tmp_path)
    train, dev = made.questions("wikiqa-train"), made.questions("wikiqa-dev")
    asked = list(rerank.extend([*train[1::2], *dev], dev[:6], candidates=8))
    for name, spec in chosen.items():
        real = get(f"sequential:stages={spec}@3+rr")
        right = np.mean([real.trace(q.text, q.candidates).ranking()[0] == 2 for q in asked])
        assert f"| {name} | {right:.3f}," in report.notes[0]
    assert "| 3 | 5 | all 8 |" in report.notes[0] and "| 3 | 5 | 9 | all 14 |" in report.notes[1]
