"""`as2 tune` on a tiny cascade and on a fusion of lexical rankers."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from as2core import cli
from as2core.rankers.catalog import get, load_version
from as2core.rankers.versions import save_version


@pytest.fixture
def questions(tmp_path):
    rows = []
    for n, (word, other) in enumerate([("tower", "bread"), ("bridge", "music"), ("river", "winter")]):
        texts = [f"the {other}", f"the {word} stands", f"{other} in the city", "people", "iron", "a high engineer"]
        candidates = [{"id": f"{n}-{i}", "text": t, "label": int(i == 1)} for i, t in enumerate(texts)]
        rows.append(json.dumps({"qid": str(n), "question": f"where is the {word} ?", "candidates": candidates}))
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_a_cascade_gets_a_schedule_that_a_spec_can_take(questions, tmp_path, tiny, capsys):
    tiny_cascade = f"cascade:keep=2,drop_ratio=0.6,backbone={tiny()}"
    out, picture = tmp_path / "schedule.json", tmp_path / "grid.svg"
    argv = ["tune", questions, "--ranker", tiny_cascade, "--max-loss", "0.1", "--out", out, "--picture", picture]
    assert cli.main([*map(str, argv), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schedules"] == 1297 and found["questions"] == 3
    assert found["best"]["AP"] >= found["full"]["AP"] - 0.1 and found["best"]["relative_cost"] < 1
    ratios = found["best"]["ratios"]
    again = get(found["spec"])
    assert (again.drop_ratio, again.keep, again.backbone.name) == (tuple(ratios), 2, tiny())
    assert json.loads(out.read_text())["ratios"] == ratios
    drawn = ET.fromstring(picture.read_text())
    assert len(drawn.findall("{http://www.w3.org/2000/svg}circle")) > 1297


def test_a_version_gets_a_schedule_that_its_spec_can_take(questions, tmp_path, tiny, capsys):
    save_version(get(f"cascade:backbone={tiny()}"), tmp_path / "spring", {})
    spec = f"{tmp_path / 'spring'}:keep=2,drop_ratio=0.6"
    assert cli.main(["tune", str(questions), "--ranker", spec, "--max-loss", "0.1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    again = get(found["spec"])
    assert (again.drop_ratio, again.keep, again.name) == (tuple(found["best"]["ratios"]), 2, "spring")


def test_a_schedule_that_could_not_be_written_leaves_the_one_before(questions, tmp_path, tiny, monkeypatch, capsys):
    def full(self, target):
        raise OSError(28, "No space left on device", str(target))

    out = tmp_path / "schedule.json"
    out.write_text("before")
    monkeypatch.setattr(Path, "replace", full)
    spec = f"cascade:keep=2,backbone={tiny('bert', 2)}"
    assert cli.main(["tune", str(questions), "--ranker", spec, "--out", str(out)]) == 1
    assert "the disk is full" in capsys.readouterr().err
    assert out.read_text() == "before"


def test_a_fusion_gets_weights_and_becomes_a_version(questions, tmp_path, capsys):
    spec = "fusion:method=zscore,rankers=wo+rr"
    assert cli.main(["tune", str(questions), "--ranker", spec, "--out", str(tmp_path / "fused")]) == 0
    assert "wo" in capsys.readouterr().out
    fused = load_version(tmp_path / "fused")
    assert fused.weights[0] > abs(fused.weights[1])  # shared words tell, the place does not


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (["--picture", "p.svg"], "a fusion has none"),
        (["--out", "taken"], "exists already"),
        (["--max-loss", "0"], "a fusion has none"),
        (["--measure", "AP"], "a fusion has none"),
    ],
)
def test_what_a_fusion_cannot_be_told_is_said_before_it_is_fitted(questions, monkeypatch, capsys, told, said):
    monkeypatch.chdir(questions.parent)
    Path("taken").mkdir()
    monkeypatch.setattr("as2core.training.fusion.fit_fusion", None)
    assert cli.main(["tune", str(questions), "--ranker", "fusion:method=zscore,rankers=wo+rr", *told]) == 1
    assert said in capsys.readouterr().err


def test_a_cascade_cannot_be_told_how_weights_are_found(questions, tiny, capsys):
    argv = ["tune", str(questions), "--ranker", f"cascade:backbone={tiny('bert', 2)}", "--how", "search"]
    assert cli.main(argv) == 1
    assert "a cascade has none" in capsys.readouterr().err


def test_a_ranker_without_anything_to_tune_is_refused_with_what_can_be(questions, capsys):
    assert cli.main(["tune", str(questions), "--ranker", "bm25"]) == 1
    assert "a cascade of several exits, or a fusion" in capsys.readouterr().err
