"""Every experiment runs to its end on tiny models and made-up questions, is judged, and is not measured twice."""

import gzip
import json
import os
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.tune import trace_all
from as2core.data import asnq, jsonl
from as2core.experiments import cascade, exit_draws, generation, qnli, rerank, structure, tanda
from as2core.experiments.base import NAMES, Options, find_part
from as2core.experiments.cells import CellStore
from as2core.experiments.report.findings import NOT_RUN, VERDICTS
from as2core.experiments.report.tables import TABLES
from as2core.experiments.twins import Twins, at_ratio, name_exit, name_monolithic
from as2core.metrics import order
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
        rows = tuple(Candidate(f"{seed}-{i}-{c}", t, y) for c, (t, y) in enumerate(zip(texts, labels, strict=True)))
        made.append(Question(f"q {seed} {i}", f"where is the {about} ?", rows))
    return made


@pytest.fixture
def options(tiny, tmp_path):
    """Every set is a file of a few questions; the encoder is a tiny one."""
    data = tmp_path / "data"
    for at, name in enumerate(("wikiqa-train", "wikiqa-dev", "selqa-dev", "selqa-test", "qed-dev")):
        file = data / NAMES.get(name, f"{name.replace('-', '/')}.jsonl")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(jsonl.dumps(questions(6, seed=at)))
    context = "The tower was built in 1889. The tower was high. Bread is old."
    qas = [
        {"id": str(i), "question": "When was the tower built", "answers": [{"text": "1889", "answer_start": 23}]}
        for i in range(4)
    ]
    file = data / NAMES["squad-train"]
    file.parent.mkdir()
    squad = {"data": [{"title": "T", "paragraphs": [{"context": context, "qas": qas}]}]}
    file.write_bytes(gzip.compress(json.dumps(squad).encode()))
    return Options(tmp_path / "cells", data_dir=data, backbone=str(tiny("bert", 6)), seeds=2)


def add_asnq(options):
    graded = [
        replace(q, candidates=tuple(Candidate(str(g), f"the tower {g}", int(g == 4), grade=g) for g in (1, 2, 3, 4)))
        for q in questions(4, seed=9)
    ]
    file = options.data_dir / tanda.ASNQ_FILE
    file.parent.mkdir()
    file.write_text("".join(asnq.to_lines(graded)))


def check(name, report):
    """Each row is judged, and every system that the paper's tables name for this set was measured, or has a reason."""
    assert all(r.verdict in VERDICTS and r.ours and r.paper and r.differs for r in report.rows)
    run = [r for r in report.rows if r.verdict != NOT_RUN]
    assert run and all(r.why for r in report.rows)
    named = {s for t in TABLES[name] if not t.missing for _, s, _ in t.rows if s}
    assert named <= set(report.measured["AP"]), named - set(report.measured["AP"])
    assert {"chance", "document order", "word overlap"} <= set(report.measured["AP"])


@pytest.mark.slow
def test_tanda_with_asnq_and_its_courses(options):
    add_asnq(options)
    sizes = tanda.Sizes(target=4, general=4, asnq=4, epochs=2, seeds=2, shipped=False)
    seen = []
    report = tanda.run(options, seen.append, sizes)
    check("tanda", report)
    by_finding = {r.finding: r for r in report.rows}
    assert by_finding["negatives 2 and 3 alone teach as much as all, 2 alone least"].verdict != NOT_RUN
    assert "between epochs" in by_finding["from epoch to epoch the adapted model moves less"].ours
    assert {"ASNQ negatives 1,2,3", "fine-tuned, 20% noise"} <= set(report.measured["RR"])
    assert [p.done for p in seen] == sorted(p.done for p in seen) and seen[-1].done <= seen[-1].total
    stored = sorted(options.store.rglob("*.json"))
    times = [p.stat().st_mtime_ns for p in stored]
    assert tanda.run(options, None, sizes) == report  # nothing is trained again
    assert [p.stat().st_mtime_ns for p in stored] == times


@pytest.mark.slow
def test_tanda_without_asnq_says_what_is_missing(options):
    sizes = tanda.Sizes(target=4, general=4, asnq=4, epochs=1, seeds=2, shipped=False)
    [row] = [r for r in tanda.run(replace(options, seeds=1), None, sizes).rows if r.finding.startswith("negatives 2")]
    assert row.verdict == NOT_RUN and "asnq/train.tsv below --data, which is not at hand" in row.why


@pytest.mark.slow
def test_qnli_transfers_and_adapts_from_both_sets(options):
    add_asnq(options)
    report = qnli.run(options, None, qnli.Sizes(general=4, target=4, epochs=1, seeds=2))
    check("qnli", report)
    assert {r.verdict for r in report.rows} <= set(VERDICTS) - {NOT_RUN}
    assert {"QNLI alone", "adapted after ASNQ"} <= set(report.measured["AP"])


@pytest.mark.slow
def test_every_way_to_train_a_generative_ranker_is_measured(options):
    sizes = generation.Sizes(general=2, target=2, dev=4, negatives=2, epochs=1, seeds=1)
    report = generation.run(replace(options, seeds=1), None, sizes)
    check("generation", report)
    ways = (generation.TRANSFERRED, generation.BACKWARDS, generation.DISCRIMINATIVE, *generation.TUNE)
    assert set(ways) <= set(report.measured["AP"])
    assert report.rows[1].why == "one seed says nothing about another training"


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "has_twin"), [("gpt2", False), ("bart", True)])
def test_a_language_model_of_the_papers_kinds_is_measured(kind, has_twin, options, tiny):
    sizes = generation.Sizes(general=2, target=2, dev=4, negatives=2, epochs=1, seeds=1)
    report = generation.run(replace(options, backbone=tiny(kind), seeds=1), None, sizes)
    assert {generation.UNTUNED, generation.BACKWARDS, *generation.TUNE} <= set(report.measured["AP"])
    assert (generation.DISCRIMINATIVE in report.measured["AP"]) is has_twin
    [twin] = [r for r in report.rows if "discriminative twin" in r.finding]
    assert (twin.verdict == NOT_RUN) is not has_twin


@pytest.mark.slow
def test_every_exit_draw_is_measured(options):
    report = exit_draws.run(replace(options, seeds=1), None, {"target": 4, "epochs": 1})
    check("exit_draws", report)
    assert all(f"| {name} |" in report.notes[0] for name in exit_draws.VARIANTS)


@pytest.mark.slow
def test_every_model_of_the_structure_paper_is_trained(options):
    sizes = structure.Sizes(structure.FULL.variants, {"cosinet": 4, "compare-aggregate": 4}, seeds=2)
    report = structure.run(replace(options, seeds=1), None, sizes)
    check("structure", report)
    costs = dict(zip(structure.PAPER_COSTS, report.notes[0].splitlines()[4:], strict=True))
    # Cosinet of width 4 and kernel 5 over the encoder's 32 numbers and a cosine: two convolutions and a line
    assert f"| {2 * (33 * 5 * 4 + 4) + 9:,} |" in costs["Cosinet"]


@pytest.mark.slow
@pytest.mark.parametrize("full", [False, True])
def test_the_cascade_experiment_runs_and_draws(monkeypatch, tmp_path, backbone, options, full):
    monkeypatch.setattr(cascade, "get", lambda spec: CascadeRanker(backbone))
    options = replace(options, pictures=tmp_path / "img", full=full, seeds=1)
    report = cascade.run(options, None, cascade.Sizes(target=6, epochs=1, seeds=1))
    check("cascade", report)
    assert (tmp_path / "img" / "cascade-grid.svg").read_text().startswith("<svg")
    assert report.notes[-1] == "![AP against cost for every schedule of the grid](img/cascade-grid.svg)"


def test_the_reranking_experiment_counts_by_recorded_scores_what_a_real_run_gives(monkeypatch, options):
    chosen = {"jaccard": "jaccard", "rel-cnn": "wo-rr", "compare-aggregate": "bm25"}
    monkeypatch.setattr(rerank._Selector, "_train", lambda self, name, seed, work: get(chosen[name]))
    monkeypatch.setattr(rerank, "SELECTOR", "rr")
    monkeypatch.setattr(rerank, "KS", (3, 5))
    monkeypatch.setattr(rerank, "PAPER_K", 5)
    monkeypatch.setattr(rerank, "DEV_QUESTIONS", 1)
    sizes = rerank.Sizes(candidates=8, questions=4, epochs=1, timed=2, seeds=1)
    report = rerank.run(replace(options, seeds=1), None, sizes)
    train, dev = options.questions("wikiqa-train"), options.questions("wikiqa-dev")
    asked = list(rerank.extend([*train[1::2], *dev], dev[:4], candidates=8))
    for name, spec in chosen.items():
        real = get(f"sequential:stages={spec}@3+rr")
        right = np.mean([q.candidates[real.trace(q.text, q.candidates).ranking()[0]].label for q in asked])
        found = report.measured["P@1"][rerank.name_best(rerank.FIRST[name], 3)]
        assert float(found.split()[0]) == pytest.approx(right)
    assert "| first ranker | 3 | 5 | all |" in report.notes[0]
    assert " s with Jaccard (" in report.rows[-1].ours


def test_a_stopped_scoring_goes_on_after_its_last_whole_question(tmp_path):
    class Stopping:
        def __init__(self, after):
            self.after, self.asked = after, []

        def score(self, question, candidates):
            if len(self.asked) == self.after:
                raise KeyboardInterrupt
            self.asked.append(question)
            return np.arange(len(candidates), dtype=np.float32) / 3

    asked, file = [replace(q, text=q.qid) for q in questions(4, seed=5)], tmp_path / "scores.jsonl"
    with pytest.raises(KeyboardInterrupt):
        rerank.score_each(Stopping(2), asked, file=file)
    with file.open("a") as stream:
        stream.write('{"qid": "q 5 2", "sco')  # as a kill leaves it
    again = Stopping(9)
    scores = rerank.score_each(again, asked, file=file)
    assert again.asked == [q.qid for q in asked[2:]] and len(scores) == 4
    fresh = rerank.score_each(Stopping(9), asked)
    assert all((scores[qid] == values).all() for qid, values in fresh.items())
    assert len(file.read_text().splitlines()) == 4


def test_two_rankers_in_a_row_keep_the_best_of_the_first_in_the_order_of_the_second():
    scores = rerank.select(np.array([5.0, 1.0, 4.0, 3.0]), np.array([0.1, 0.9, 0.3, 0.2]), 3)
    assert order(scores)[:3].tolist() == [2, 3, 0] and order(scores)[3] == 1


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
    measured, cost = both.sequential(0.4)
    places = [1 + int(np.flatnonzero(run.ranking() == 2)[0]) for run in runs]
    assert [*measured["AP"].values()] == pytest.approx([1 / p for p in places])
    assert cost == pytest.approx(sum(r.flops for r in runs) / sum(r.full_flops for r in runs))


def test_one_ratio_at_every_exit_is_a_replay_and_twins_start_alike(models):
    _, both = models
    runs = [t.replay(DropSchedule((0.5,))) for _, t in both.cascade]
    measured, cost = at_ratio(both.cascade, 0.5)
    assert np.mean([*measured["P@1"].values()]) == pytest.approx(np.mean([run.ranking()[0] == 2 for run in runs]))
    assert cost == pytest.approx(sum(r.flops for r in runs) / sum(r.full_flops for r in runs))
    values = both.score().values
    for i in range(2):
        assert values[name_exit(i)]["AP"] == pytest.approx(values[name_monolithic(i)]["AP"])


def test_a_stopped_experiment_goes_on_after_its_last_cell(options, monkeypatch):
    begun = []

    def measure(self, name, seed, run, *settings):
        begun.append(name)
        if len(begun) == 3:
            raise KeyboardInterrupt
        return original(self, name, seed, lambda work: structure.score(name, get("rr"), self.target.test), *settings)

    original = structure.Bench.cell
    monkeypatch.setattr(structure.Bench, "cell", measure)
    with pytest.raises(KeyboardInterrupt):
        structure.run(options)
    written = {p.name for p in CellStore(options.store).folder.rglob("*.json")}
    assert len(written) == 2
    monkeypatch.setattr(structure.Bench, "cell", original)
    late = replace(options, minutes=0.0)
    monkeypatch.setattr(structure.Bench, "is_out_of_time", True)
    report = structure.run(late)
    assert {p.name for p in CellStore(options.store).folder.rglob("*.json")} == written
    assert [*report.measured["AP"]][-2:] == ["Cosinet", "Cosinet listwise"]
    assert report.rows[1].verdict == NOT_RUN


@pytest.mark.shared
def test_the_shared_data_is_found_by_these_names():
    folder = Path(os.environ.get("AS2_TEST_DATA", "/nowhere"))
    if not folder.is_dir():
        pytest.skip("AS2_TEST_DATA names no folder")
    for name in ("wikiqa-train", "wikiqa-dev", "trecqa-train", "trecqa-dev", "squad-train", "selqa-test", "qed-dev"):
        assert find_part(folder, name).is_file()
