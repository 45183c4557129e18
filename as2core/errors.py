"""What can go wrong, by name. Every message says what was wrong and what to do."""


class As2Error(Exception):
    """Base of the errors a user can mend; the command line and the pages show its text in one line."""


class UnknownRanker(As2Error):
    """No ranker of that name in the catalog, nor a version."""


class UnknownData(As2Error):
    """A data set that is neither a file nor the name of a shipped set."""


class BadSetting(As2Error):
    """A setting's value is outside what it may be."""


class UnreadableFile(As2Error):
    """A file whose content cannot be read as what it should be."""


class DamagedModel(As2Error):
    """A model file is missing or its hash differs from the one in its card."""


class UnsupportedBackbone(As2Error):
    """An architecture that cannot be walked layer by layer."""


class NotEnoughLabels(As2Error):
    """Training data too small or one-sided to learn from."""


class Cancelled(As2Error):
    """The caller asked a long-running call to stop."""
