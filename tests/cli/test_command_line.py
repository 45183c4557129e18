"""What holds for every command: one document with --json, one line for an error, an exit code that says which kind."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from as2core import cli, lookup
from as2core.errors import As2Error


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("Bread rises.\n\nThe iron tower was built in Paris.\nThe tower leans.\n")
    return path


def test_a_command_of_the_workbench_says_where_it_is_if_the_library_is_alone(as2, monkeypatch):
    assert "clone" not in as2("nosuch")[2]
    monkeypatch.setattr("as2core.cli.load_entry_points", lambda group: {})
    code, out, err = as2("ask", "Why?")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "No such command 'ask'" in err and "labels, versions and pages need a clone" in err


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["rank"], 2, "Missing argument 'QUESTION'"),
        (["nosuch"], 2, "No such command 'nosuch'"),
        (["labels"], 2, "Missing command"),
        (["rankers", "--nosuch"], 2, "No such option"),
        (
            ["eval", "bm25", "starter-dev", "--setting", "dirty"],
            2,
            "'dirty' is not one of 'raw', 'no-all-neg', 'clean'",
        ),
        (["eval", "bm25", "starter-dev", "--limit", "0"], 2, "--limit"),
        (["eval", "bm52", "starter-dev"], 1, "no ranker 'bm52'"),
        (["eval", "cascde:drop_ratio=0.5", "starter-dev"], 1, "drop_ratio=0.5'; did you mean cascade? known: "),
        (["eval", "bm25:k2=1", "starter-dev"], 1, "bm25 has no setting 'k2=1'"),
        (["eval", "bm25"], 2, "give a RANKER and DATA"),
        (["labels", "export", "-", "--format", "xml"], 2, "'xml' is not one of 'jsonl'"),
        (["labels", "import", "x", "--format", "xml"], 2, "'xml' is not one of 'auto'"),
        (["labels", "import", "x", "--split", "half"], 2, "'half' is not one of 'train'"),
        (["adapt", "--kind", "grand"], 2, "'grand' is not one of 'cascade'"),
        (["adapt", "--conflicts", "ours"], 2, "'ours' is not one of 'majority'"),
        (["versions", "export", "cascade", "x", "--to", "xml"], 2, "'xml' is not one of 'hf'"),
        (["eval", "bm25", "nowhere.jsonl"], 1, "nowhere.jsonl"),
        (["rank", "Why?", "--candidates", "nowhere.txt"], 1, "nowhere.txt"),
        (["transfer"], 1, "--data-dir"),
        (["transfer", "--data-dir", "nowhere"], 1, "nowhere"),
        (["transfer", "--data-dir", ".", "--recipe", "grand"], 1, "no recipe 'grand'"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_an_error_is_one_line_on_standard_error_and_a_code(as2, argv, code, said):
    found, out, err = as2(*argv)
    assert (found, out) == (code, "")
    assert err.startswith("as2: ") and err.count("\n") == 1 and err.endswith("\n")
    assert said in err


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        RuntimeError(f"Error while serializing: I/O error: {os.strerror(errno.ENOSPC)} (os error 28)"),
    ],
)
def test_a_full_disk_is_said_with_the_remedy(as2, texts, monkeypatch, error):
    def write(spec):
        raise error

    monkeypatch.setattr(cli, "load_ranker", write)
    message = "as2: the disk is full: free some space and try again\n"
    assert as2("rank", "Why?", "--candidates", texts) == (1, "", message)


def test_an_error_of_several_lines_is_told_in_one(as2, texts, monkeypatch):
    def broken(spec):
        raise As2Error("first\n  second")

    monkeypatch.setattr(cli, "load_ranker", broken)
    assert as2("rank", "Why?", "--candidates", texts) == (1, "", "as2: first second\n")


def test_a_ranker_runs_on_the_engine_of_the_environment(as2, texts, monkeypatch):
    monkeypatch.setenv("AS2_ENGINE", "steam")
    assert as2("rank", "Why?", "--candidates", texts) == (1, "", "as2: no engine 'steam'; known: auto, torch, onnx\n")


def test_an_unforeseen_error_is_one_line_too_and_says_how_to_see_more(as2, texts, monkeypatch):
    def broken(spec):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(cli, "load_ranker", broken)
    code, out, err = as2("rank", "Why?", "--candidates", texts)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "ZeroDivisionError" in err and "AS2_DEBUG=1" in err
    monkeypatch.setenv("AS2_DEBUG", "1")
    assert "Traceback" in as2("rank", "Why?", "--candidates", texts)[2]


def test_a_missing_library_is_named_with_the_remedy(as2, texts, monkeypatch):
    def broken(spec):
        raise ModuleNotFoundError("No module named 'onnx'", name="onnx")

    monkeypatch.setattr(cli, "load_ranker", broken)
    code, _, err = as2("rank", "Why?", "--candidates", texts)
    assert code == 1 and "'onnx'" in err and "pip install" in err


def test_what_a_library_prints_while_it_ranks_stays_out_of_the_json(as2, texts, monkeypatch):
    class Chatty:
        name = "chatty"

        def score(self, question, candidates):
            print("loading weights: 100%")
            return [float(len(c.text)) for c in candidates]

    monkeypatch.setattr(cli, "load_ranker", lambda spec: Chatty())
    code, out, err = as2("rank", "Why?", "--candidates", texts, "--json")
    assert code == 0 and "loading weights" in err
    assert [r["id"] for r in json.loads(out)["results"]] == ["1", "2", "0"]


def test_ctrl_c_says_stopped_and_nothing_else():
    command = [sys.executable, "-m", "as2core.cli", "rank", "Why?", "--candidates", "-", "--ranker", "wo"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_until_reading(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (130, "", "stopped\n")


def wait_until_reading(pid: int) -> None:
    """Until the process sleeps in a read of its standard input, a pipe nobody writes to."""
    process = Path(f"/proc/{pid}")
    for _ in range(600):
        if "pipe_read" in (process / "wchan").read_text() or (process / "syscall").read_text().startswith("0 0x0 "):
            return
        time.sleep(0.05)
    pytest.fail("the command never read its standard input")


def run_unread(*argv):
    """The command, with a reader of its standard output that is gone."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-m", "as2core.cli", *argv], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    return done


@pytest.mark.parametrize("argv", [("rankers",), ("rankers", "--json"), ("--version",)])
def test_a_reader_that_has_had_enough_is_no_error(argv):
    done = run_unread(*argv)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_reader_that_has_had_enough_changes_no_exit_code_and_no_file(tmp_path, options):
    gate, report = tmp_path / "gate.toml", tmp_path / "report.html"
    gate.write_text('[[require]]\nmeasure = "AP"\nat_least = 1.0\n')
    files = ("--report", str(report), "--gate", str(gate))
    done = run_unread("eval", "rr", "wo", "starter-dev", "--limit", "20", "--slices", *files, *options)
    assert done.returncode == 3 and b"the gate is not passed" in done.stderr
    assert "missed" in report.read_text()


def test_without_a_command_the_help_is_shown(as2):
    code, out, _ = as2()
    assert code == 0
    assert all(name in out for name in ("rank", "eval", "transfer", "rankers"))


def test_the_app_joins_by_its_entry_point(as2):
    assert all(name in as2("--help")[1] for name in ("ingest", "ask", "adapt", "labels", "versions", "worker"))
    assert as2("--help")[1].count(" Commands ") == 0  # each stands under the heading of its kind


def test_the_library_alone_has_its_commands_and_leaves_out_who_is_not_installed(monkeypatch, capsys):
    gone = lookup.importlib.metadata.EntryPoint("app", "no_such_package.cli:register", cli.COMMANDS)
    monkeypatch.setattr(lookup.importlib.metadata, "entry_points", lambda group: [gone])
    names = {c.name for c in cli.build().registered_commands}
    assert {"rank", "eval", "transfer", "rankers", "reproduce"} <= names and not {"ask", "ingest", "adapt"} & names
    assert capsys.readouterr().err == ""


def test_a_plugin_that_is_there_but_broken_is_told(monkeypatch, capsys):
    broken = lookup.importlib.metadata.EntryPoint("app", "json:no_such_function", cli.COMMANDS)
    monkeypatch.setattr(lookup.importlib.metadata, "entry_points", lambda group: [broken])
    cli.build()
    assert "json:no_such_function" in capsys.readouterr().err


def test_a_hub_that_cannot_be_reached_adds_no_line_of_its_own_for_each_retry():
    script = (
        "import logging, sys; from as2core import cli; cli.main(['--version']); "
        "from huggingface_hub.utils import logging as hub; print(hub.get_verbosity() >= logging.ERROR)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "True", done.stderr
