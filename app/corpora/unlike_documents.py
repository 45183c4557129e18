"""Whether a document that comes again under its name is another one: no sentence of the stored text is in the new one.

Documents go by the names of their files, and two folders may both have a README.md. A table is judged as a whole: if a
row of it is as before, the others were edited. A deleted document has no sentences, so nothing can be lost with it.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from as2core.documents.sections import list_ends
from as2core.documents.table_cells import CELL_END
from as2core.types import Document, Sentence
from db.repositories import sentences as rows

UNLIKE = "another document of this name is there, without a sentence in common; it was kept"


def find_unlike(
    s: Session,
    documents: Sequence[Document],
    pieces: Mapping[str, Sequence[Sentence]],
    stored_ids: Mapping[str, int],
) -> set[str]:
    """The ids of those documents whose stored text is another one. `pieces`: their new sentences; `stored_ids`: the ids
    of their rows. A sentence that earlier releases stored without what announces it is in common, too."""
    present: dict[int, set[str]] = {stored_ids[d.id]: set() for d in documents}
    for row in rows.list_sentences(s, list(present)):
        present[row.document_id].add(_normalise(row.text))
    by_file: dict[str, list[Document]] = {}
    for d in documents:
        by_file.setdefault(d.source, []).append(d)
    unlike: set[str] = set()
    for of_file in by_file.values():
        old = set().union(*(present[stored_ids[d.id]] for d in of_file))
        texts = [" ".join(piece.text.split()) for d in of_file for piece in pieces[d.id]]
        new = {_normalise(part) for text in texts for part in (text, *list_ends(text))}
        if old.isdisjoint(new):
            unlike |= {d.id for d in of_file if present[stored_ids[d.id]]}
    return unlike


def _normalise(text: str) -> str:
    """Without the names of a table's columns, which earlier releases did not put before its cells."""
    cells = " ".join(text.split()).split(CELL_END)
    return CELL_END.join(cell.split(": ", 1)[-1] for cell in cells) if len(cells) > 1 else cells[0]
