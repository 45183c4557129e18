"""A ranker is added by one module: the catalog, the command line and the contract test find it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TOY = '''
import numpy as np

from as2core.rankers.specs import Entry


class ToyRanker:
    """The longer, the better."""

    name = "toy"

    def __init__(self, *, weight: float = 2.0):
        self.weight = weight

    def score(self, question, candidates):
        return np.array([self.weight * len(c.text) for c in candidates], dtype=np.float32)


RANKER = Entry("toy", "longer is better", "nobody 2026", ToyRanker)
'''


@pytest.fixture
def run(tmp_path):
    """Runs a program in whose `as2core.rankers` the toy's module is."""
    (tmp_path / "toy.py").write_text(TOY)
    begin = f"import sys, as2core.rankers; as2core.rankers.__path__.append({str(tmp_path)!r}); "

    def run(program):
        return subprocess.run([sys.executable, "-c", begin + program], cwd=ROOT, capture_output=True, text=True)

    return run


def test_one_module_puts_a_ranker_into_the_catalog_without_torch(run):
    done = run(
        "from as2core.rankers.catalog import CATALOG, get; print(sorted(CATALOG)[-3], get('toy:weight=3').weight, "
        "'torch' in sys.modules)"
    )
    assert done.stdout.split() == ["toy", "3.0", "False"], done.stderr


def test_the_command_line_lists_it_with_its_settings(run):
    done = run("from as2core import cli; sys.exit(cli.main(['rankers', '--json']))")
    toy = next(r for r in json.loads(done.stdout)["rankers"] if r["name"] == "toy")
    assert toy == {
        "name": "toy", "what": "longer is better", "paper": "nobody 2026", "trains": False, "settings": {"weight": 2.0}
    }  # fmt: skip


def test_the_contract_of_all_rankers_is_checked_for_it(run):
    contract = "tests/as2core/test_ranker_contract.py"
    done = run(f"import pytest; sys.exit(pytest.main(['-q', '-k', 'toy', '-p', 'no:cacheprovider', {contract!r}]))")
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.splitlines()[-1].split()[0]) >= 10  # passed
