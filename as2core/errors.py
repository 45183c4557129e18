"""The errors by name. Every message says what is wrong and what to do."""

import errno

FULL_DISK = "the disk is full: free some space and try again"
_SIGNS = ("No space left on device", "unexpected pos ")  # the second: torch.save's, whose file is shorter than written


def is_disk_full(error: BaseException) -> bool:
    """Whether there was no room to write, also where safetensors or torch hides the system's error."""
    return getattr(error, "errno", None) == errno.ENOSPC or any(sign in str(error) for sign in _SIGNS)


class As2Error(Exception):
    """Base of the errors that a user can correct; the command line and the pages show its text."""


class UnknownRanker(As2Error):
    """No ranker of that name in the catalog, nor a version."""


class UnknownData(As2Error):
    """A data set that is neither a file nor the name of a shipped set."""


class BadSetting(As2Error):
    """A setting's value is not allowed."""


class UnreadableFile(As2Error):
    """A file that is not in the expected format."""


class DamagedModel(As2Error):
    """A model file is missing or its hash differs from the one in its card."""


class EndpointFailed(As2Error):
    """A reranker behind an HTTP address does not answer, or not as it should."""


class UnsupportedBackbone(As2Error):
    """An architecture that cannot be run layer by layer."""


class NotEnoughLabels(As2Error):
    """Training data too small or one-sided to learn from."""


class Cancelled(As2Error):
    """The caller asked a long-running call to stop."""
