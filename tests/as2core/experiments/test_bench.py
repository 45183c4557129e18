"""Cells are measured once, and a run that was stopped goes on after them."""

import json
from dataclasses import replace

import pytest
import torch

from as2core.data import jsonl
from as2core.errors import UnreadableFile
from as2core.experiments.base import Options, count_steps
from as2core.experiments.bench import Bench, Target, list_changes, read_target, score, untuned
from as2core.experiments.cells import Cell
from as2core.nn.backbone import load_backbone
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.training.settings import ADAPT, TRANSFER, TrainSettings
from as2core.types import Candidate, Question


def ask(n: int) -> list[Question]:
    rows = tuple(Candidate(str(i), f"the tower {w}", int(i == 1)) for i, w in enumerate(("river", "stands", "iron")))
    return [Question(f"q{i}", f"where does the tower {i} stand ?", rows) for i in range(n)]


def make_bench(folder, **options) -> Bench:
    target = Target(ask(2), [], ask(4), "made up dev")
    return Bench("tanda", Options(folder, **options), target, {"epochs": 1}, count_steps(None, 4))


def write_set(folder, part, questions):
    path = folder / "trecqa" / f"{part}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text(jsonl.dumps(questions))


def test_without_a_test_part_the_train_questions_that_nothing_learns_from_are_measured_too(tmp_path):
    train = [replace(q, qid=f"train {q.qid}") for q in ask(5)]
    write_set(tmp_path, "train-all", train)
    write_set(tmp_path, "dev", ask(2))
    options = Options(tmp_path, data_dir=tmp_path, target="trecqa")
    target = read_target(options, 3)
    assert target.title == "TREC-QA dev and the 2 train questions that nothing is trained on" and not target.dev
    measured = {q.qid for q in target.test}
    assert measured == {"q0", "q1"} | {q.qid for q in train} - {q.qid for q in target.train}
    assert read_target(options).title == "TREC-QA dev"  # all are trained on
    write_set(tmp_path, "test", ask(1))
    target = read_target(options, 3)
    assert target.title == "TREC-QA test" and (len(target.dev), len(target.test)) == (2, 1)


def test_layers_drawn_anew_make_another_cell_and_another_start(tmp_path, tiny):
    make_bench(tmp_path).cell("x", None, lambda work: Cell({}))
    with pytest.raises(AssertionError, match="again"):
        make_bench(tmp_path, reset_layers=1).cell("x", None, never)
    options = Options(tmp_path, backbone=str(tiny("bert")), reset_layers=1)
    starts = [untuned(CascadeRanker, options, seed=seed).backbone.state_dict() for seed in (0, 1)]
    assert all(torch.equal(a, b) for a, b in zip(*(s.values() for s in starts), strict=True))  # the same for all seeds


def never(work):
    raise AssertionError("measured again")


def test_a_cell_is_measured_once_and_then_read(tmp_path):
    def measure(work):
        return score("jaccard", get("jaccard"), ask(4))

    first = make_bench(tmp_path).cell("jaccard", 1, measure)
    bench = make_bench(tmp_path)
    again = bench.cell("jaccard", 1, never)
    assert again == first and bench.samples.seeds(["jaccard"]) == [1]
    assert [*again.values["jaccard"]["AP"]] == ["q0", "q1", "q2", "q3"]


@pytest.mark.parametrize("other", [{"seed": 2}, {"settings": (TRANSFER,)}, {"name": "another"}])
def test_another_seed_setting_or_system_is_another_cell(tmp_path, other):
    given = {"name": "x", "seed": 1, "settings": (ADAPT,), **other}
    make_bench(tmp_path).cell("x", 1, lambda work: Cell({}), ADAPT)
    with pytest.raises(AssertionError, match="again"):
        make_bench(tmp_path).cell(given["name"], given["seed"], never, *given["settings"])


def test_another_encoder_is_another_cell_and_again_measures_a_stored_one(tmp_path):
    make_bench(tmp_path).cell("x", None, lambda work: Cell({}))
    for options in ({"backbone": "bert"}, {"again": True}, {"full": True}):
        with pytest.raises(AssertionError, match="again"):
            make_bench(tmp_path, **options).cell("x", None, never)


def test_a_directory_with_other_weights_is_another_encoder_and_its_place_does_not_matter(tmp_path):
    for name, content in {"a": "same", "b": "same", "c": "other"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_text(content)
    cells = tmp_path / "cells"
    make_bench(cells, backbone=str(tmp_path / "a")).cell("x", None, lambda work: Cell({}))
    make_bench(cells, backbone=str(tmp_path / "b")).cell("x", None, never)
    with pytest.raises(AssertionError, match="again"):
        make_bench(cells, backbone=str(tmp_path / "c")).cell("x", None, never)


def test_a_stopped_cell_leaves_its_work_and_a_finished_one_does_not(tmp_path):
    def stop(work):
        work.folder.mkdir(parents=True)
        (work.folder / "checkpoint").write_text("half")
        raise KeyboardInterrupt

    def finish(work):
        assert (work.folder / "checkpoint").read_text() == "half"
        return Cell({}, {"seconds": 1.0})

    with pytest.raises(KeyboardInterrupt):
        make_bench(tmp_path).cell("x", 0, stop)
    make_bench(tmp_path).cell("x", 0, finish)
    assert [p.suffix for p in (tmp_path / "tanda").iterdir()] == [".json"]


def test_no_cell_is_begun_when_the_minutes_are_over_but_stored_ones_count(tmp_path):
    make_bench(tmp_path).cell("x", 0, lambda work: score("x", get("rr"), ask(4)))
    late = make_bench(tmp_path, minutes=0)
    late.started -= 1
    assert late.cell("x", 0, never) is not None and late.cell("y", 0, never) is None
    assert late.report([]).measured["AP"]["x"].endswith(", 1 seed")


def test_a_cell_says_of_which_code_it_is(tmp_path):
    bench = make_bench(tmp_path)
    cell = bench.cell("x", 0, lambda work: Cell({}))
    assert bench.report([]).codes == (f"{cell.day} {cell.code}",) and len(cell.code) == 10


def test_chance_document_order_and_word_overlap_are_always_measured(tmp_path):
    measured = make_bench(tmp_path).report([]).measured["RR"]
    assert set(measured) == {"chance", "document order", "word overlap"}
    assert measured["document order"].startswith(".500")  # the correct one stands second
    assert measured["chance"].startswith(".611")  # (1 + 1/2 + 1/3) / 3


def test_a_damaged_cell_is_named(tmp_path):
    bench = make_bench(tmp_path)
    bench.cell("x", 0, lambda work: Cell({}))
    [path] = (tmp_path / "tanda").glob("*.json")
    path.write_text(json.dumps({"values": {}}))
    with pytest.raises(UnreadableFile, match="is damaged: delete it"):
        make_bench(tmp_path).cell("x", 0, never)


def test_a_model_is_trained_once_also_when_everything_is_measured_again(tmp_path, tiny):
    made = []

    def make(work):
        made.append(1)
        return CascadeRanker(load_backbone(tiny()))

    for options in ({}, {}, {"again": True}):
        bench = make_bench(tmp_path, **options)
        assert bench.model("transferred", 0, make).kind == bench.model("transferred", 0, make).kind == "cascade"
    assert len(made) == 2


def test_a_cell_is_named_by_the_settings_that_differ_from_the_defaults_alone():
    assert list_changes(TrainSettings()) == {}
    assert list_changes(TrainSettings(epochs=7, negatives_from=(2, 3))) == {"epochs": 7, "negatives_from": [2, 3]}
