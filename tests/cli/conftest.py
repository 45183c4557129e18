"""The command line, run in this process."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache

import pytest

from as2core import cli
from as2core.rankers import catalog


@pytest.fixture
def as2(capsys):
    """`as2("rank", ...)` runs a command line: (exit code, standard output, standard error)."""

    def run(*argv: object) -> tuple[int, str, str]:
        code = cli.main([str(a) for a in argv])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def as2_json(as2):
    """The same with --json, which has to go well and print one document and nothing else; the document."""

    def run(*argv: object):
        code, out, err = as2(*argv, "--json")
        assert code == 0, err
        return json.loads(out)

    return run


@pytest.fixture(scope="session", autouse=True)
def shipped_models():
    """A shipped version is read once; every command would read it again, in a third of a second."""
    load_anew = catalog.load_version
    load_once = cache(load_anew)

    def load_version(directory):
        return deepcopy(load_once(directory)) if directory.parent == catalog.MODELS_DIR else load_anew(directory)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog, "load_version", load_version)
        yield


@pytest.fixture(scope="session")
def tiny_backbone(tmp_path_factory):
    """The folder of a tiny encoder."""
    from tiny_models import tiny_models

    folder = tmp_path_factory.mktemp("tiny")
    tiny_models(folder, ["the tower stands in paris", "rain and bread"])
    return folder / "backbone"
