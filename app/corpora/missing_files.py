"""The documents of a corpus whose files are no longer in the folders that they can come from.

A document knows the path of its file within the folder that was ingested, not that folder. So one counts as missing if
none of the folders has a file of that path: it may come from another folder, and whoever deletes it has to look.
"""

from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath

from app.corpora.documents import DocumentView, list_documents
from app.workbench.workbench import Workbench
from as2core.documents.reading import SUFFIXES


def find_missing(wb: Workbench, corpus_id: int, folders: Sequence[Path], names: Collection[str]) -> list[DocumentView]:
    """Oldest first. `names`: of files that are there, as documents have them."""
    return [
        document
        for document in list_documents(wb, corpus_id, limit=None)
        if _is_file_name(document.source)
        and document.source not in names
        and not any(_exists(folder / document.source) for folder in folders)
    ]


def _is_file_name(source: str) -> bool:
    """Whether a folder can have brought it: documents that were imported with labels have no file."""
    path = PurePosixPath(source)
    return path.suffix.lower() in SUFFIXES and not path.is_absolute() and ".." not in path.parts


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that this system does not take
        return False
