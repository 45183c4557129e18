"""Every system of the five papers: its name in the catalog, the paper's settings, and an independent oracle.

The table is in docs/techniques/as-the-papers.md, for people; here each of its rows is held to what it says.
"""

from __future__ import annotations

import ast
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from as2core.rankers.base import HasWeights
from as2core.rankers.catalog import get
from as2core.training.learners import suggest_settings

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/techniques/as-the-papers.md"
PAPERS = {"Cascade", "Structure", "Generation", "TandA", "Rerank"}


def rows() -> list[tuple[str, str, str, str, str]]:
    table = PAGE.read_text().partition("## Every system")[2]
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("| ")]
    return [tuple(c.strip("`") if i > 1 else c for i, c in enumerate(row)) for row in cells[1:]]


@pytest.fixture(scope="module")
def parts(tiny, tmp_path_factory):
    """A tiny one of each thing that stands in the table in capitals."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    checkpoint = tmp_path_factory.mktemp("checkpoint")
    AutoModelForSequenceClassification.from_pretrained(tiny(), num_labels=2).save_pretrained(checkpoint)
    AutoTokenizer.from_pretrained(tiny()).save_pretrained(checkpoint)
    bart = tmp_path_factory.mktemp("bart")
    from transformers import AutoModelForSeq2SeqLM

    AutoModelForSeq2SeqLM.from_pretrained(tiny("bart")).save_pretrained(bart)
    tokenizer = AutoTokenizer.from_pretrained(tiny("bart"))
    tokenizer.add_special_tokens({"bos_token": "[CLS]", "eos_token": "[SEP]"})
    tokenizer.save_pretrained(bart)
    vectors = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    vectors.write_text("tower 1 0\niron 0 1\n")
    return {
        "ROBERTA": tiny("roberta", 12), "BERT": tiny(), "GPT2": tiny("gpt2"), "BART": str(bart), "FILE": str(vectors),
        "CHECKPOINT": str(checkpoint),
    }  # fmt: skip


def test_the_table_has_systems_of_every_paper():
    assert {row[0] for row in rows()} == PAPERS and len(rows()) > 20


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]}: {row[1]}")
def test_a_system_is_in_the_catalog_trains_as_its_paper_says_and_has_an_oracle(row, parts):
    _, _, spec, settings, oracle = row
    ranker = get(re.sub("ROBERTA|BERT|GPT2|BART|FILE|CHECKPOINT", lambda m: parts[m[0]], spec))
    if settings:
        assert isinstance(ranker, HasWeights)
        suggested = asdict(suggest_settings(ranker))
        for pair in settings.split(", "):
            name, _, value = pair.partition("=")
            assert str(suggested[name]) == value, name
    path, _, test = oracle.partition("::")
    tree = ast.parse((ROOT / "tests/as2core" / path).read_text())
    assert test in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
