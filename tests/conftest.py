"""Every test runs offline, on few threads, and away from the user's own data."""

from __future__ import annotations

import os
import tempfile

os.environ.update(
    OMP_NUM_THREADS="1",
    TOKENIZERS_PARALLELISM="false",
    HF_HUB_OFFLINE="1",
    AS2_HOME=tempfile.mkdtemp(prefix="as2-tests-"),  # a test that needs a home makes its own; this one guards .as2
)
for name in ("AS2_DATABASE_URL", "AS2_REDIS_URL", "AS2_DATA_DIR"):
    os.environ.pop(name, None)
