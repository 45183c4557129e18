"""The five commands of docs/cascade-table-3.md, on a few questions and with a tiny RoBERTa."""

import gzip
import json
import re
import shlex
from pathlib import Path

import pytest

from as2core import cli
from as2core.experiments import cascade
from as2core.experiments.report.tables import CASCADE
from as2core.rankers.cascade import CascadeRanker

PAGE = Path(__file__).resolve().parents[3] / "docs" / "cascade-table-3.md"
THINGS = "tower bridge river iron steel city engineer winter".split()


def write_nq(path: Path, n: int) -> None:
    """A page with two paragraphs a question; the first one is the long answer, its year the short one."""
    lines = []
    for i in range(n):
        thing = THINGS[i % len(THINGS)]
        page = f"<P> The {thing} {i} was built in 1889 . It is long . </P> <P> People like music and bread . </P>"
        tokens = page.split(" ")
        end, year = tokens.index("</P>") + 1, tokens.index("1889")
        spans = {
            "long_answer": {"start_token": 0, "end_token": end},
            "short_answers": [{"start_token": year, "end_token": year + 1}],
            "yes_no_answer": "NONE",
        }
        record = {"example_id": i, "question_text": f"when was the {thing} {i} built", "document_text": page}
        lines.append(json.dumps({**record, "annotations": [spans]}))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(lines).encode()))


@pytest.mark.slow
def test_the_five_commands_make_the_table(tiny, backbone, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cascade, "get", lambda spec: CascadeRanker(backbone))  # for the grid on the shipped one
    write_nq(Path("nq/train.jsonl.gz"), 6)
    write_nq(Path("nq/dev.jsonl.gz"), 8)
    Path("sets/asnq").mkdir(parents=True)
    commands = re.findall(r"^\$ as2 (.+)$", PAGE.read_text(), re.M)
    assert len(commands) == 5
    for command in commands:
        words = command.replace("FacebookAI/roberta-base", tiny("roberta")).replace("--seeds 3", "--seeds 1")
        assert cli.main(shlex.split(words)) == 0, command
    text = Path("table3.md").read_text()
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in text.splitlines() if line.startswith("| ")}
    table = next(t for t in CASCADE if t.title == "Table 3: ASNQ")
    for name, _, figures in table.rows:
        assert f"| {figures[0]:.3f} | ".replace("0.", ".") in text and rows[name]
    section = text[text.index("Table 3: ASNQ.") : text.index("Table 3: GPD.")]
    assert "not run |" not in section and section.count(", 1 seed |") == 4 * len(table.rows)
    assert "ASNQ test" in text and "no all-neg" not in text
    assert {p.name for p in Path("sets/asnq").iterdir()} == {"train.tsv", "all.tsv", "dev.jsonl", "test.jsonl"}
