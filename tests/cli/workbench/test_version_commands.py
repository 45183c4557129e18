"""Versions are listed, promoted and rolled back."""

from __future__ import annotations

import json

import pytest

from app.cli import version_directories
from as2core.rankers.catalog import MODELS_DIR


def test_a_promotion_of_another_kind_is_rolled_back_by_its_kind(as2):
    from app.cli.context import workbench
    from app.versions import registry
    from db.repositories import versions as rows

    with workbench(starter=False) as wb:
        shipped = registry.get_active(wb, "generative").id
        with wb.write() as s:
            rows.add_activation(s, "generative", shipped, "", wb.clock())
    assert as2("versions", "roll-back")[0] == 1
    assert as2("versions", "roll-back", "--kind", "generative") == (0, "generative is active again\n", "")
    assert as2("versions", "roll-back", "--kind", "generative")[0] == 1


def test_the_words_of_a_promotion_stand_beside_the_card(as2, as2_json):
    from app.cli.context import workbench
    from db.repositories import versions as rows

    with workbench(starter=False) as wb, wb.write() as s:
        for words in ("our field", "", "the other one is slow"):
            rows.add_activation(s, "cascade", rows.find_version(s, name="cascade").id, words, wb.clock())
    said = as2_json("versions", "show", "cascade")["promotions"]
    assert [p["words"] for p in said] == ["our field", "the other one is slow"]
    assert all(p["at"][:2] == "20" for p in said)


@pytest.mark.slow
def test_the_gates_of_the_home_are_checked_alone_and_a_miss_is_exit_code_3(as2, as2_json, tmp_path):
    from app.workbench.settings import Settings
    from as2core.data import jsonl
    from as2core.types import Candidate, Question

    assert as2("versions", "check", "cascade") == (0, "no gate is set for its kind\n", "")
    candidates = (Candidate("a", "It rained all day.", 0), Candidate("b", "The tower was finished in 1889.", 1))
    data = tmp_path / "set.jsonl"
    data.write_text(jsonl.dumps([Question("q", "When was the tower finished?", candidates)]))
    folder = Settings().gates_dir
    folder.mkdir(parents=True)
    gate = f'data = "{data}"\n[[require]]\nmeasure = "P@1"\nat_least = '
    (folder / "release.toml").write_text(gate + "1.0")
    assert as2("versions", "check", "cascade")[:2] == (0, "release: P@1 of cascade at least 1: 1.000, met\n")
    swapped = tuple(Candidate(c.id, c.text, 1 - c.label) for c in candidates)  # what no ranker gets right
    data.write_text(jsonl.dumps([Question("q", "When was the tower finished?", swapped)]))
    code, out, _ = as2("versions", "check", "cascade", "--json")
    [result] = json.loads(out)["gates"]
    assert code == 3 and not result["is_passed"] and result["checks"][0]["value"] == 0.0


def test_the_shipped_versions_are_listed_and_have_cards(as2, as2_json):
    listed = {v["name"]: v for v in as2_json("versions")["versions"]}
    assert listed["cascade"]["kind"] == "cascade" and listed["generative"]["kind"] == "generative"
    assert as2_json("versions", "list")["versions"][0]["name"] in listed
    assert as2_json("versions", "show", "cascade")["name"] == "cascade"
    assert "active" in {v["name"] for v in as2_json("rankers")["versions"]}


def test_the_active_version_is_named_without_making_a_home(home):
    assert version_directories() == {"active": MODELS_DIR / "cascade"}
    assert not home.exists()
