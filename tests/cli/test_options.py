"""A command gets many options as one record."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from as2core.commands.options import bundle_options


@dataclass(frozen=True)
class Draw:
    seed: Annotated[int, typer.Option(help="Repeats a draw.")] = 0
    top_k: Annotated[int, typer.Option(min=1)] = 40


def test_the_fields_of_a_record_are_options_of_their_own_and_the_command_gets_the_record():
    calls = []

    def sample(text: str, draw: Draw, loud: bool = False) -> None:
        """Draw a text."""
        calls.append((text, draw, loud))

    cli = typer.Typer()
    cli.command()(bundle_options(sample))
    run = CliRunner().invoke
    assert run(cli, ["word", "--seed", "7", "--loud"]).exit_code == 0
    assert run(cli, ["word"]).exit_code == 0
    assert calls == [("word", Draw(seed=7), True), ("word", Draw(), False)]
    assert run(cli, ["word", "--top-k", "0"]).exit_code == 2
    text = run(cli, ["--help"], env={"COLUMNS": "100"}).output
    assert "Draw a text." in text and "--top-k" in text and "Repeats a draw." in text and "--draw" not in text


@pytest.mark.parametrize(
    "command",
    [
        "decide rr wo starter-dev --simulate",
        "generate questions -",
        "generate passages why --generator generative",
        "data build asnq++ in out",
        "train cascade starter-dev --out version",
        "adapt",
        "propose",
    ],
)
def test_a_seed_below_0_is_wrong_usage(as2, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AS2_HOME", str(tmp_path))
    code, out, err = as2(*command.split(), "--seed", "-1")
    assert (code, out) == (2, "") and "'--seed'" in err and "greater than or equal to 0" in err


@pytest.mark.parametrize("command", ["eval", "generate questions", "keys", "keys add", "labels import"])
def test_a_switch_is_shown_without_a_value(as2, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "140")
    code, out, _ = as2(*command.split(), "--help")
    assert code == 0 and "--json" in out and "--help" in out and "bool" not in out


def test_the_help_says_what_rankers_and_data_may_be(as2, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    _, out, _ = as2("eval", "--help")
    for word in ("active", "checkpoint", "onnx:model=DIR", "FILE.run", "http:url=URL", "handbook-", "labels:NAME"):
        assert word in out
