"""A model of the Hugging Face hub by name and commit: `org/name@COMMIT`.

A name alone is whatever its owner uploaded last, and may be another model tomorrow. With a commit it is the same for
good. A directory has no commits, and its name may hold an "@".
"""

from __future__ import annotations

import logging
import re

from as2core.files import is_folder

NEWEST = "main"
# a "[SEP]" that somebody wrote is a text's; as the special token it would divide question and candidate
PLAIN_TEXT = {"split_special_tokens": True}
NO_CODE = {"trust_remote_code": False}  # or transformers asks on the terminal whether to run a checkpoint's own Python
_COMMIT = re.compile(r"[0-9a-f]{40}")

log = logging.getLogger(__name__)


def split_revision(name: str) -> tuple[str, str]:
    """The directory or hub name, and the revision to load."""
    if is_folder(name):
        return name, NEWEST
    source, _, revision = name.partition("@")
    if not _COMMIT.fullmatch(revision):
        log.info("%s: the newest revision is taken; NAME@COMMIT (40 digits) is the same for good", source)
    return source, revision or NEWEST
