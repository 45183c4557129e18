"""Who may see what others labelled: one rule, which every place asks.

Where several people are to label a pair, each is to judge for themselves: what the others said of it is hidden from a
reader until the reader's own label is in, or as many people as are wanted have labelled it. Where labels are given, on
Ask and Label, that holds for everyone. Elsewhere an admin, who settles the conflicts, sees all, as the command line
does. What came with a corpus nobody said here: it is not hidden, and hides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.labels.rules import find_rules
from app.workbench.people import ADMIN, has_role
from app.workbench.workbench import Workbench
from db.repositories import candidates as candidate_rows
from db.repositories import labels as label_rows
from db.repositories.pairs import Pair, group_by_pair, read_pair


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads the labels of a corpus. `overlap`: how many people's labels show a pair to those who did not label it;
    1 for who sees all."""

    annotator_id: int | None
    overlap: int

    @property
    def sees_all(self) -> bool:
        return self.overlap == 1

    def is_hidden(self, labels: Iterable[Row]) -> bool:
        """Whether what others said of a pair is, of which these are all labels."""
        people = {row.annotator_id for row in labels if not row.imported}
        return 0 < len(people) < self.overlap and self.annotator_id not in people

    def find_hidden_pairs(self, labels: Iterable[Row]) -> set[Pair]:
        """Of those that these, all labels of some questions, are on."""
        by_pair = {} if self.sees_all else group_by_pair(labels)
        return {pair for pair, of_pair in by_pair.items() if self.is_hidden(of_pair)}


def can_see_all(s: Session, annotator_id: int | None) -> bool:
    """Where no labels are given: an admin, and None, the command line."""
    return annotator_id is None or has_role(s, annotator_id, ADMIN)


def find_reader(s: Session, corpus_id: int, annotator_id: int | None, *, may_label: bool) -> Reader:
    """`annotator_id` None is the command line. `may_label`: where labels are given, by an admin too."""
    is_exempt = annotator_id is None or (not may_label and can_see_all(s, annotator_id))
    return Reader(annotator_id, 1 if is_exempt else find_rules(s, corpus_id).overlap)


def find_hidden_labels(wb: Workbench, corpus_id: int, by: int | None) -> set[tuple[str, str]]:
    """The texts (question, sentence) of the pairs whose labels are hidden from `by` where none are given."""
    with wb.read() as s:
        reader = find_reader(s, corpus_id, by, may_label=False)
        hidden = set() if reader.sees_all else reader.find_hidden_pairs(label_rows.list_labels_of_corpus(s, corpus_id))
        pairs = candidate_rows.list_candidate_rows(s, corpus_id, with_unlabelled=False) if hidden else ()
        return {(row.question, row.text) for row in pairs if read_pair(row) in hidden}
