"""torch's threads sleep while they wait for each other, instead of spinning.

OpenMP's default is to spin, which is quickest on cores that nothing else uses. Where another program takes a core, the
others burn theirs until it comes back, and a training takes several times as long. A worker beside its app is always
such a case. The number of threads, and so every result, stays the same.
"""

import os

WAIT_POLICY = "OMP_WAIT_POLICY"
OTHER_VARIABLES = ("GOMP_SPINCOUNT", "KMP_BLOCKTIME")  # of GNU's and of Intel's runtime, for the same


def stop_spinning() -> None:
    """For this process and those it starts; before torch is imported. What somebody has set already stays."""
    if not any(name in os.environ for name in OTHER_VARIABLES):
        os.environ.setdefault(WAIT_POLICY, "PASSIVE")
