"""What can go wrong below the services, in words a person can act on."""


class DbError(Exception):
    """The database could not be opened, read or written."""


class DatabaseBusy(DbError):
    """Someone else held a lock for longer than the time-out."""


class DatabaseDamaged(DbError):
    """The file is no database of this program, or a part of it is damaged or missing."""


class DatabaseUnreachable(DbError):
    """The server of the database does not answer; the text says where it was looked for."""


class CommitUnknown(DatabaseUnreachable):
    """It went away while a transaction was committed: nobody knows whether it was."""


class DatabaseTooNew(DbError):
    """The database was migrated by a newer version of this program."""


class BadValue(DbError):
    """A value that no database holds: a whole number beyond 64 bits, or half of a pair of characters (a surrogate)."""
