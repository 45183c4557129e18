"""torch's threads sleep while they wait, unless somebody set it otherwise."""

import os
import subprocess
import sys

import pytest

from as2core.system.threads import OTHER_VARIABLES, WAIT_POLICY

PRINT = f"import as2core, os, sys; print(os.environ.get({WAIT_POLICY!r}), 'torch' in sys.modules)"


@pytest.mark.parametrize(
    ("environment", "policy"),
    [
        ({}, "PASSIVE"),
        ({WAIT_POLICY: "ACTIVE"}, "ACTIVE"),
        ({"GOMP_SPINCOUNT": "1000"}, "None"),
        ({"KMP_BLOCKTIME": "200"}, "None"),
    ],
)
def test_importing_the_library_sets_the_policy_before_torch_is_there_and_leaves_what_is_set(environment, policy):
    own = {k: v for k, v in os.environ.items() if k not in (WAIT_POLICY, *OTHER_VARIABLES)}
    command = [sys.executable, "-c", PRINT]
    out = subprocess.run(command, env=own | environment, capture_output=True, text=True, check=True, timeout=120).stdout
    assert out.split() == [policy, "False"]
