"""Synonyms given by a file, and those that labels suggest."""

from __future__ import annotations

import json


def test_synonyms_are_given_by_a_file_and_said_with_the_answer(as2, as2_json, articles, tmp_path):
    as2("ingest", articles)
    code, out, err = as2("synonyms")
    assert (code, out) == (0, "") and "has no synonyms" in err
    (tmp_path / "house.txt").write_text("# ours\ncrumb, loaf => bread\n", encoding="utf-8")
    assert as2_json("synonyms", tmp_path / "house.txt")["synonyms"] == [["crumb", "bread"], ["loaf", "bread"]]
    assert as2("synonyms")[1] == "crumb, loaf => bread\n"
    assert as2_json("ask", "who baked the loaf?")["read"] == "who baked the loaf (bread)?"
    (tmp_path / "house.txt").write_text("loaf bread", encoding="utf-8")
    code, _, err = as2("synonyms", tmp_path / "house.txt")
    assert code == 1 and "line 1" in err and "word => meaning" in err
    (tmp_path / "house.txt").write_text("loaf => bread", encoding="utf-8")
    assert as2("synonyms", tmp_path / "house.txt")[1].startswith("documents: 1 synonym. Questions are read")
    (tmp_path / "house.txt").write_text("", encoding="utf-8")
    assert as2("synonyms", tmp_path / "house.txt")[1] == "documents has no synonyms any more: the file has none\n"


def test_synonyms_that_the_labels_suggest_are_printed_as_lines_of_a_file(as2, as2_json, tmp_path):
    rows = [
        {
            "qid": f"{word} {part}",
            "question": f"which {part} has the {word}",
            "candidates": [{"id": f"{kind} {part}", "text": f"{kind} {part}.", "label": 1}],
        }
        for word, kind in (("whale", "VX-90"), ("clerk", "VX-60"), ("toaster", "DR-12"))
        for part in ("belt", "pump", "fan", "valve")
    ]
    (tmp_path / "machines.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    assert as2("labels", "import", tmp_path / "machines.jsonl")[0] == 0
    of_machines = ("synonyms", "--corpus", "machines", "--from-labels")
    code, out, _ = as2(*of_machines)
    reason = "# 4 of the 4 answers to such questions have it: which belt has the whale"
    assert code == 0 and f"{reason}\nwhale => VX-90" in out
    whale = next(p for p in as2_json(*of_machines)["proposals"] if p["word"] == "whale")
    assert (whale["meaning"], whale["answers"], whale["questions"]) == ("VX-90", 4, 4)
    (tmp_path / "lines.txt").write_text(out, encoding="utf-8")
    as2("synonyms", tmp_path / "lines.txt", "--corpus", "machines")
    code, out, err = as2(*of_machines)
    assert (code, out) == (0, "") and "suggest no more synonyms" in err
    code, _, err = as2("synonyms", tmp_path / "lines.txt", "--from-labels")
    assert code == 1 and "give no FILE" in err
