import copy
import json
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from as2core.data import starter
from as2core.data.catalog import CORPORA, load_questions
from as2core.errors import BadSetting, UnreadableFile
from as2core.nn.backbone import load_backbone
from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.rankers.catalog import get, load_version
from as2core.rankers.versions import read_card, save_version
from as2core.training import recipe_data, recipe_run
from as2core.training.loop import RunControl
from as2core.training.mining import VectorCache
from as2core.training.recipe_data import Material
from as2core.training.recipe_run import RecipeRun, run_recipe
from as2core.training.recipes import RECIPES
from as2core.types import Candidate, Question

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
NEAR = 0.85  # cosine: two wordings of one question


def test_an_unknown_recipe_names_the_known(tmp_path):
    with pytest.raises(BadSetting, match=", ".join(RECIPES)):
        run_recipe("best", tmp_path, tmp_path)


def test_missing_data_are_named(tmp_path):
    with pytest.raises(UnreadableFile, match=r"train-v1\.1\.json\.gz"):
        run_recipe("tiny", tmp_path, tmp_path)


def test_a_recipe_does_not_go_on_from_anothers_versions(tiny, tmp_path):
    save_version(get(f"cascade:backbone={tiny()}"), tmp_path / "cascade", {"recipe": "default"})
    with pytest.raises(BadSetting, match="made by the recipe 'default': choose another folder"):
        run_recipe("tiny", SHARED, tmp_path)


def test_what_the_card_tells_is_measured_again_and_the_weights_stay(tiny, tmp_path, monkeypatch):
    few = [q for q in load_questions("starter-dev").questions if q.positives][:2]
    monkeypatch.setattr(recipe_run, "load_questions", lambda part: SimpleNamespace(questions=few))
    save_version(get(f"cascade:backbone={tiny()}"), tmp_path / "cascade", {"seed": 3})
    weights = (tmp_path / "cascade" / "model.safetensors").read_bytes()
    assert recipe_run.measure_again(tmp_path) == [tmp_path / "cascade"]
    card = read_card(tmp_path / "cascade")
    assert (card["seed"], card["calibration"]["questions"], "typo" in card["robustness"]) == (3, 2, True)
    assert (tmp_path / "cascade" / "model.safetensors").read_bytes() == weights
    assert load_version(tmp_path / "cascade").is_calibrated


def test_a_cascade_of_other_data_or_another_teacher_does_not_go_on_from_the_former_s_steps(tiny, tmp_path, monkeypatch):
    shipped, few = tmp_path / "models", load_questions("starter-train").questions[:4]
    workdirs = []

    def fine_tune(base, *_, workdir, **__):
        workdirs.append(workdir)
        return SimpleNamespace(ranker=base, history=[])

    monkeypatch.setattr(
        recipe_data, "gather", lambda *_: Material([], [], few, [], [], VectorCache(lambda: None, tmp_path, "w"))
    )
    monkeypatch.setattr(recipe_run, "MODELS_DIR", shipped)
    monkeypatch.setattr(recipe_run, "load_backbone", lambda: load_backbone(tiny()))
    monkeypatch.setattr("as2core.training.recipe_data.add_far_negatives", lambda questions, *_, **__: questions)
    monkeypatch.setattr(recipe_run, "fine_tune", fine_tune)

    def teacher(path, seed: int) -> None:
        torch.manual_seed(seed)
        save_version(get(f"generative:backbone={tiny()}"), path / "generative", {})

    teacher(shipped, 0)
    made = []
    for data, own in (("one", None), ("one", None), ("other", None), ("other", 1)):
        monkeypatch.setattr(recipe_data, "data_sources", lambda *_, data=data: [{"name": "squad", "sha256": data}])
        if own is not None:
            teacher(tmp_path / "out", own)
        run = RecipeRun(RECIPES["tiny"], tmp_path, tmp_path / "out", {}, RunControl())
        made.append(recipe_run._train_cascade(run))
    assert made[0] == made[1] and len({*made}) == 3
    assert [w / "taught" for w in workdirs] == [made[0], *made[2:]]  # the second call found what the first had made
    assert read_card(made[2])["data"][0]["sha256"] == "other" and read_card(made[2])["sample"]["far"] == 4


def test_the_cascade_that_is_kept_is_the_mean_of_what_the_variants_teach(tiny, tmp_path, monkeypatch):
    taught = []

    def teach(job):
        torch.manual_seed(len(taught))
        ranker = get(f"cascade:backbone={tiny()}")
        for p in ranker.module.parameters():
            p.data += torch.randn_like(p) * 0.1
        run = {"settings": {"transfer": {"far": job.recipe.far}}, "sample": job.recipe.sample, "minutes": 1.5}
        run |= {"dev_ap": [{"6": job.recipe.far}]}
        data = [{"name": "squad", "sha256": "1"}, {"name": "written", "sha256": str(job.recipe.far)}]
        taught.append(job.out / str(job.recipe.far))
        save_version(ranker, taught[-1], {**job.card, **run, "data": data, "questions": 100 + job.recipe.far})
        return taught[-1]

    monkeypatch.setitem(RECIPES, "tiny", replace(RECIPES["tiny"], ensemble=None))
    monkeypatch.setattr(recipe_data, "data_files", lambda data_dir: {})
    monkeypatch.setattr(recipe_run, "_train_cascade", teach)
    monkeypatch.setattr(recipe_run, "_measure", lambda path: None)
    (made,) = run_recipe("tiny", tmp_path, tmp_path, stages=("cascade",))
    one, other = (load_version(p).module.state_dict() for p in taught)
    scales = {k: s[:, None] for k, s in load_file(made / "model.safetensors").items() if k.endswith(".scale")}
    for name, mean in load_version(made).module.state_dict().items():
        off = (mean.float() - (one[name].float() + other[name].float()) / 2).abs()
        stored = 0.51 * scales.get(f"{name}.scale", 0) + mean.float().abs() / 1000  # half a step, or half precision
        assert (off <= stored + 1e-6).all(), name
    assert [of["far"] for of in read_card(made)["sample"]] == [4, 0]
    card = read_card(made)
    assert (card["recipe"], card["questions"], card["minutes"]) == ("tiny", 104, 3.0)
    assert card["settings"] == {"transfer": [{"far": 4}, {"far": 0}]} and card["dev_ap"] == [{"6": 4}, {"6": 0}]
    assert [d["sha256"] for d in card["data"]] == ["1", "4", "0"]


def test_the_ensemble_s_result_is_the_mean_of_a_training_for_each_rate_and_seed_and_goes_on_after_the_last(
    tiny, tmp_path, monkeypatch
):
    stage = replace(RECIPES["tiny"].ensemble, learning_rates=(1e-5, 2e-5), seeds=(0, 1))
    start, asked = get(f"cascade:backbone={tiny()}"), []

    def distill(start, generative, material, stage, *, learning_rate, seed, workdir, control):
        if len(asked) == 3:
            asked.append("stopped")
            raise KeyboardInterrupt
        asked.append((learning_rate, seed))
        ranker = copy.deepcopy(start)
        for p in ranker.module.parameters():
            p.data += seed
        return SimpleNamespace(ranker=ranker), SimpleNamespace(questions=(None,) * (7 + seed))

    monkeypatch.setattr(recipe_data, "gather", lambda *_: None)
    monkeypatch.setattr(recipe_data, "data_sources", lambda *_: [])
    monkeypatch.setattr(recipe_run, "distill_ensemble", distill)
    save_version(get(f"generative:backbone={tiny()}"), tmp_path / "generative", {})
    run = RecipeRun(RECIPES["tiny"], tmp_path, tmp_path, {}, RunControl())
    with pytest.raises(KeyboardInterrupt):
        recipe_run._teach_by_ensemble(run, start, {"minutes": 1}, stage)
    ranker, card = recipe_run._teach_by_ensemble(run, start, {"minutes": 1}, stage)
    assert asked == [(1e-5, 0), (1e-5, 1), (2e-5, 0), "stopped", (2e-5, 1)]
    for before, after in zip(start.module.parameters(), ranker.module.parameters(), strict=True):
        assert torch.allclose(before + 0.5, after, atol=1e-6)
    assert (card["ensemble"]["questions"], card["ensemble"]["seeds"], card["minutes"] >= 1) == (8, (0, 1), True)


def test_a_small_recipe_reads_only_some_articles_of_squad_and_a_large_one_all(monkeypatch):
    rows = [(f"article {a}", f"{a}-{p}-{i}") for a in range(50) for p in range(2) for i in range(3)]
    questions = [Question(f"{n}", "?", (Candidate(place, "a", 1, title),)) for n, (title, place) in enumerate(rows)]
    passed = []

    def stream_all():
        for q in questions:
            passed.append(q)
            yield q

    monkeypatch.setattr(recipe_data, "stream_questions", lambda path: (stream_all(), []))
    for paragraphs, articles in ((60, 30), (5500, 50)):
        passed.clear()
        by_paragraph, dev = recipe_data._read_squad(Path("squad"), paragraphs, random.Random(0))
        assert [len(qs) for qs in by_paragraph.values()] == [3] * 2 * articles and len(dev) == 12
        assert len(passed) <= 6 * articles + 1


@pytest.mark.slow  # they change with the texts alone
@pytest.mark.parametrize(("folder", "questions"), [("reworded", 2045), ("asked", 7456)])
def test_what_was_written_to_learn_from_is_coherent_and_about_nothing_the_starter_corpus_is_about(folder, questions):
    built = starter.build(CORPORA / folder)
    assert len(built["train"]) == questions and not built["dev"] and not built["test"]
    assert all(q.positives for q in built["train"])
    titles = {a.title for a in starter.read_articles(CORPORA / folder).values()}
    assert not titles & {a.title for a in starter.read_articles(CORPORA / "starter").values()}


@pytest.mark.slow
def test_no_question_written_to_learn_from_nearly_repeats_one_that_judges():
    judges = [SHARED / "wikiqa" / "WikiQA-dev.tsv", SHARED / "trecqa" / "dev.jsonl"]
    judging = ["starter-dev", "starter-test", *(str(path) for path in judges if path.is_file())]
    asked = [q.text for name in judging for q in load_questions(name).questions]
    folders = {folder for told in RECIPES["default"].each_variant() for folder in told.written}
    files = [f for folder in folders for f in (CORPORA / folder).glob("questions-*.jsonl")]
    written = [json.loads(line)["question"] for f in files for line in f.open(encoding="utf-8")]
    encoder = BiEncoderRanker(load_backbone(), max_length=64)
    near = encoder.embed(written) @ encoder.embed(asked).T
    same = [(float(near[i, j]), written[i], asked[j]) for i, j in np.argwhere(near >= NEAR)]
    assert not same


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.timeout(1200)
def test_the_tiny_recipe_makes_two_versions_with_cards(tmp_path):
    if not SHARED.is_dir():
        pytest.skip("the shared data sets are not here")
    made = run_recipe("tiny", SHARED, tmp_path)
    assert [p.name for p in made] == ["generative", "cascade"]
    assert load_version(made[1]).is_calibrated
    assert {s["name"] for s in read_card(made[0])["data"]} >= {"SelQA dev (Apache-2.0)"}
