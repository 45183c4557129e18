"""Every benchmark runs, tiny: it prints its tables with what it counted, and leaves the documents alone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from _served import no_browser

ROOT = Path(__file__).resolve().parents[1]
DOCS = (ROOT / "docs" / "performance.md", ROOT / "docs" / "results.md", ROOT / "docs" / "performance.svg")
needs_browser = pytest.mark.skipif(no_browser() is not None, reason="no browser")


def run_benchmark(script: str, *options: str) -> str:
    """What a benchmark prints, having changed none of the documents."""
    before = [p.read_bytes() if p.exists() else None for p in DOCS]
    command = [sys.executable, f"benchmarks/{script}.py", *options]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert [p.read_bytes() if p.exists() else None for p in DOCS] == before
    return done.stdout


def rows(text: str) -> dict[str, list[str]]:
    """The cells of every table's rows by their first one."""
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {first: rest for first, *rest in cells if not re.fullmatch("-+", first)}


def number(cell: str) -> float:
    return float(cell.replace(",", ""))


def test_a_small_starter_corpus_keeps_questions_with_their_own_articles(tmp_path):
    from _served import starter

    folder = starter(tmp_path, (3, 2, 1)) / "starter"
    counted = {}
    for part in ("train", "dev", "test"):
        questions = [json.loads(line) for line in (folder / f"{part}.jsonl").read_text().splitlines()]
        counted[part] = len(questions)
        for q in questions:
            assert {c["label"] for c in q["candidates"]} == {0, 1}
            articles = {c["id"].rpartition("-")[0] for c in q["candidates"]}
            assert all((folder / "articles" / f"{a}.md").is_file() for a in articles)
    assert counted == {"train": 3, "dev": 2, "test": 1}
    assert starter(tmp_path, None) == ROOT / "corpora"


def test_a_command_that_fails_is_not_timed():
    from _served import AS2, _run

    with pytest.raises(SystemExit, match=r"failed:\n.*nowhere\.jsonl"):
        _run([*AS2, "data", "stats", "nowhere.jsonl"], os.environ)


def test_what_was_traced_is_not_scored_again(monkeypatch):
    import quality

    from as2core.rankers.base import KeepsTrace
    from as2core.types import Candidate

    class Traced(KeepsTrace):
        asked = 0

        def trace(self, question, candidates):
            self.asked += 1
            return self

        def scores(self):
            return np.array([0.5, self.asked])

        def score(self, question, candidates):
            return self.trace(question, candidates).scores()

    ranker = Traced()
    monkeypatch.setattr(quality, "get", lambda spec: ranker)
    once, two = quality.memoise("cascade"), [Candidate("a", "oak"), Candidate("b", "elm")]
    assert once.trace("which?", two) is ranker
    assert once.score("which?", two).tolist() == [0.5, 1.0]
    assert once.score("which?", two[::-1]).tolist() == [0.5, 2.0]


@pytest.mark.parametrize(
    ("seconds", "said"), [(59.4, "59 s"), (59.6, "1 min 0 s"), (96.2, "1 min 36 s"), (1437, "23 min 57 s")]
)
def test_a_walk_s_minutes_are_whole_ones(seconds, said):
    from walk import _time

    assert _time(seconds) == said


def test_a_corpus_is_drawn_up_to_the_size_wanted():
    from workbench import _of_size

    six = "One is. Two is. Three is. Four is. Five is. Six is."  # windows of five that share one: 1-5 and 5-6
    documents = [("", six), ("", "Seven is."), ("", "Eight is.")]
    chosen, texts = _of_size(documents, 3)
    assert chosen == documents[:2]
    assert texts == ["One is. Two is. Three is. Four is. Five is.", "Five is. Six is.", "Seven is."]
    assert _of_size(documents, 99)[0] == documents


def test_sentences_are_different_ones_of_the_small_sets_first(tmp_path, monkeypatch):
    import _texts

    def labelled(name: str, texts: list[str]) -> None:
        candidates = [{"id": str(i), "text": t, "label": 0} for i, t in enumerate(texts)]
        (tmp_path / name).write_text(json.dumps({"qid": name, "question": "q", "candidates": candidates}) + "\n")

    monkeypatch.setattr(_texts, "DATA", tmp_path)
    monkeypatch.setattr(_texts, "SENTENCES", ("large.jsonl", "small.jsonl", "missing.jsonl"))
    labelled("large.jsonl", ["one", "three", "four", "five"])
    labelled("small.jsonl", ["one", "two", "one"])
    assert _texts.sentences(3) == ["one", "two", "three"]
    assert _texts.sentences(99) == ["one", "two", "three", "four", "five"]


def test_generated_questions_are_of_the_words_of_their_documents():
    from ask_latency import generate

    documents, questions = generate(300)
    assert len(documents) == 300
    assert len(questions) == 200
    texts = [set(text.lower().rstrip(".").split()) for _, text in documents]
    for question in questions[:20]:
        words = set(question.removeprefix("What is ").rstrip("?").split())
        assert any(words <= text for text in texts)


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.timeout(1200)
@needs_browser
def test_a_question_is_timed_through_the_service_and_in_a_browser():
    text = run_benchmark("ask_latency", "--quick", "--only", "starter")
    rows_of_it = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| starter")]
    times = {what.strip(): [c.strip() for c in cells] for _, what, *cells in rows_of_it}
    assert {"service", "browser, the first ever", "browser, 4 people at once"} <= set(times)
    assert all(0 < number(p50) <= number(p95) for p50, p95 in times.values())


@pytest.mark.slow
def test_people_at_the_pages_are_timed_without_a_browser():
    text = run_benchmark("people_at_once", "--people", "2", "--seconds", "20", "--left", "1", "--visits", "1")
    times = rows(text)
    assert {"the page Ask, opened", "a question, until the answer is shown", "a probe"} <= set(times)
    assert all(0 < number(p50) <= number(p95) <= number(longest) for _, p50, p95, longest in list(times.values())[1:])
    assert "MB before they came" in text


@pytest.mark.slow
def test_words_that_carried_a_score_are_found_better_than_at_random():
    table = rows(run_benchmark("word_attribution", "--sentences", "3"))
    assert number(table["cut out"][0]) > number(table["at random"][0])
    assert number(table["cut out"][2]) < number(table["at random"][2])


@pytest.mark.slow
def test_fewer_questions_are_taken_for_another_one_with_the_words_than_by_the_cosine_alone():
    lines = run_benchmark("same_question", "--limit", "700").splitlines()
    cells = {
        tuple(c.strip() for c in line.strip("|").split("|")[:3:2]): line.split("|")[4]
        for line in lines
        if "cosine" in line
    }
    false = {key: number(cell.split("/")[1]) for key, cell in cells.items() if "/" in cell}
    assert false["asked", "words and cosine"] < false["asked", "cosine alone"] < 100


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_peers_run_the_very_weights_of_the_cascade(tmp_path):
    import _peers

    from as2core.rankers.catalog import get
    from as2core.types import Candidate

    cascade, whole = get("cascade:engine=torch"), get("cross-encoder:engine=torch")
    texts = ["The tower was finished in 1889.", "Nobody knows.", "It is a long bridge of iron over the river."]
    pairs = [(q, t) for q in ("When was the tower finished?", "how long is the bridge") for t in texts]
    expected = np.array([whole.score(q, [Candidate("0", t)])[0] for q, t in pairs])
    real, small = _peers.export(cascade, tmp_path)
    found = {
        "loop": _peers.plain_loop(cascade),
        "float32": _peers.onnx_runtime(cascade, real),
        "optimised": _peers.onnx_runtime(cascade, _peers.optimised(cascade, real)),
        "int8": _peers.onnx_runtime(cascade, small, batch=2),
    }
    if _peers.has("sentence_transformers"):
        found["cross-encoder"] = _peers.sentence_transformers(cascade, tmp_path / "peer")
    for name, score in found.items():
        # the quick GELU is an approximation, and 8 bits with a scale a batch a coarser one
        np.testing.assert_allclose(
            score(pairs), expected, atol={"int8": 1.5, "optimised": 0.05}.get(name, 1e-3), err_msg=name
        )


def test_a_part_that_is_none_is_refused_by_name(capsys):
    from workbench import main

    with pytest.raises(SystemExit):
        main(["--only", "ingestion,nothing"])
    assert "no part nothing; known: ingestion, retrieval" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_ingestion_and_retrieval_count_what_they_were_given():
    text = run_benchmark("workbench", "--quick", "--only", "ingestion,retrieval")
    made = rows(text)
    assert number(made["the background job, including storage"][0]) > 0
    sentences, passages = (number(c) for c in made["60"][:2])  # by the number of documents
    assert sentences > passages > 30
    first, p50, p95 = re.search(r"`retrieve`, total \| (\S+) \| (\S+) \| (\S+) \|", text).groups()
    assert 0 < number(p50) <= number(p95)
    assert number(first) > 0


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_parts_of_a_retrain_add_up_to_its_time():
    text = run_benchmark("workbench", "--quick", "--only", "retrain")
    table = rows(text)
    whole = int(table.pop("starter corpus, measured ahead")[6])
    parts = {name: int(cells[0]) for name, cells in table.items() if name not in ("step", "labels")}
    assert "training" in parts
    assert sum(parts.values()) == pytest.approx(whole, abs=len(parts))


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.timeout(1200)
@needs_browser
def test_the_page_and_a_cold_start_are_timed():
    made = rows(run_benchmark("workbench", "--quick", "--only", "page,cold-start"))
    answered, ranked = made["the answer is visible"], made["the generative ranks are visible"]
    assert 0 < number(answered[1]) <= number(ranked[1])
    served, stands = made["`as2 app`: the server answers"], made["`as2 app`: the Ask page is drawn in a browser"]
    assert 0 < number(served[0]) < number(stands[0])
    assert number(made["`as2 ask`: the answer is printed"][1]) > number(made["loading `bi-encoder`"][1])


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("script", "row"),
    [
        ("speed", "whole model, onnx engine"),
        ("gpu", "`cascade:drop_ratio=0.3`"),
        ("generative_cache", "cached, float32"),
    ],
)
def test_the_engine_s_benchmarks_run(script, row):
    assert number(rows(run_benchmark(script, "--quick"))[row][0]) > 0


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_first_stage_keeps_no_more_than_was_found():
    made = rows(run_benchmark("first_stage", "--limit", "2"))
    shares = [float(c.rstrip("%")) for c in made["first stage"]]
    assert shares[0] > 0
    assert shares == sorted(shares)


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("ranker", "ratios"), [("cascade", {"0", "0.3"}), ("generative", {""})])
def test_a_shipped_ranker_is_adapted_to_a_training_part(ranker, ratios):
    made = rows(run_benchmark("adapted", "--tiny", "--ranker", ranker, "--set", "WikiQA train"))
    assert set(made) == {"ratio", *ratios}
    for cells in (made[ratio] for ratio in ratios):
        assert all(0 < number(cell.partition(" ")[0]) <= 1 for cell in cells[:6])


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.timeout(1200)
def test_a_part_of_the_recipe_stands_beside_the_recipe():
    made = rows(run_benchmark("recipe_parts", "--tiny", "--only", "adapters"))
    said = list(made.values())[1:]
    assert len(said) == 2
    assert all(0 < float(ap) <= 1 for row in said for cell in row for ap in cell.split(" / "))


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.timeout(1200)
def test_an_ensemble_teaches_a_cascade_and_a_second_run_trains_nothing(tmp_path):
    options = ("--start", "models/cascade", "--out", str(tmp_path), "--tiny", "--variants", "slow", "--seeds", "1")
    first = run_benchmark("ensemble", *options)
    assert [row.split("|")[1:3] for row in first.splitlines() if row.startswith(("| the start", "| all"))] == [
        [" the start ", "  "],
        [" all three teach, rate 5e-5 ", " 0 "],
    ]
    second = run_benchmark("ensemble", *options)
    assert rows(second) == rows(first) and "start {" not in second


def test_questions_with_an_answer_are_told_from_the_same_without_it():
    from ensemble import tell_answerable

    from as2core.types import Candidate, Question

    pair = (Candidate("a", "an answer", 1), Candidate("b", "none", 0))
    questions = [Question(str(i), "which?", pair) for i in range(10)]
    assert tell_answerable(questions, {q.qid: np.array([1.0, -1.0]) for q in questions}) == 1.0
    assert tell_answerable(questions, {q.qid: np.array([-1.0, 1.0]) for q in questions}) == 0.5  # the best stays
    alone = [Question(str(i), "which?", pair[:1]) for i in range(5)]  # nothing is left without the answer
    assert tell_answerable([*questions, *alone], {q.qid: np.array([1.0, -1.0]) for q in questions}) == 1.0


def test_an_update_of_low_rank_is_nothing_at_first_learns_alone_and_is_merged():
    import torch
    from recipe_parts import adapt_by_low_rank, merge

    from as2core.nn.backbone import load_backbone
    from as2core.rankers.cascade import CascadeRanker
    from as2core.types import Candidate

    ranker = CascadeRanker(load_backbone())
    of_one = [Candidate("a", "the tower was built in 1889"), Candidate("b", "it is in the city")]
    before = ranker.score("when was the tower built ?", of_one)
    matrices = len([m for m in ranker.backbone.blocks.modules() if isinstance(m, torch.nn.Linear)])
    adapt_by_low_rank(ranker, 2)
    assert ranker.score("when was the tower built ?", of_one) == pytest.approx(before, abs=1e-6)
    learning = [n for n, p in ranker.backbone.named_parameters() if p.requires_grad]
    assert len(learning) == 2 * matrices
    with torch.no_grad():
        for name, p in ranker.backbone.named_parameters():
            if name in learning:
                p.add_(0.1)
    learnt = ranker.score("when was the tower built ?", of_one)
    merge(ranker)
    assert learnt != pytest.approx(before, abs=1e-3)
    assert ranker.score("when was the tower built ?", of_one) == pytest.approx(learnt, abs=1e-5)
    assert not any("parametrizations" in n for n, _ in ranker.module.named_parameters())


def test_a_verdict_is_wrong_where_the_other_is_better_or_neither():
    from decide import is_wrong

    wrong = {(kind, d) for kind in ("a", "b", "equal") for d in (-0.1, -0.01, 0.0, 0.1) if is_wrong(kind, d, 0.02)}
    assert wrong == {("a", -0.1), ("a", -0.01), ("a", 0.0), ("b", 0.0), ("b", 0.1), ("equal", -0.1), ("equal", 0.1)}


def test_the_tables_and_the_picture_of_deciding_are_those_of_the_stored_outcomes():
    from decide import OUTCOMES, PAGE, PICTURE, PLANS, draw, measure_all, read_cache, tabulate

    known = read_cache(OUTCOMES)
    measured = {name: measure_all(plan, name, dict(known), None) for name, plan in PLANS.items()}
    page = PAGE.read_text()
    for name, by_set in measured.items():
        assert "\n".join(tabulate(name, by_set)) in page
    assert f"]({PICTURE.name})" in page and PICTURE.read_text() == draw(measured)
    assert sum(plan.pairs * plan.seeds * len(plan.sets) for plan in PLANS.values()) == len(known)


@pytest.mark.slow
def test_deciding_takes_fewer_labels_than_whole_lists_do():
    text = run_benchmark("decide", "--sets", "handbook", "--pairs", "2", "--seeds", "1", "--measures", "P@1")
    by_set = rows(text)
    assert number(by_set["handbook"][5]) < number(by_set["handbook"][3]) <= number(by_set["handbook"][2])


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_server_is_put_under_the_same_load():
    table = rows(run_benchmark("serving", "--tiny"))
    assert table["2"][:2] == ["2", "FastAPI around CrossEncoder"]  # the last row; clients, then documents and server
    assert number(table["2"][2]) > 0


def test_the_similarity_of_input_embeddings_is_what_a_loop_over_tokens_computes():
    from input_embeddings import InputEmbeddingRanker

    from as2core.nn.backbone import DEFAULT_BACKBONE, load_backbone
    from as2core.types import Candidate

    backbone = load_backbone(DEFAULT_BACKBONE)
    texts = ["the tower was finished", "a loaf of bread", "the tower"]
    tokens = [set(backbone.tokenizer.tokenize(t)) for t in texts]

    def embed(token):
        row = backbone.embeddings.word_embeddings.weight[backbone.tokenizer.convert_tokens_to_ids(token)]
        return row.detach().numpy() / np.linalg.norm(row.detach().numpy())

    def weigh(token):
        n = sum(token in t for t in tokens)
        return np.log1p((3 - n + 0.5) / (n + 0.5))

    question = ["which", "tower"]
    weights = [weigh(q) for q in question]
    expected = [
        sum(w * max(embed(q) @ embed(t) for t in some) for q, w in zip(question, weights, strict=True)) / sum(weights)
        for some in tokens
    ]
    scores = InputEmbeddingRanker(backbone, "max").score("which tower", [Candidate(t, t) for t in texts])
    np.testing.assert_allclose(scores, expected, atol=1e-5)
