"""What the labels of a pair come to, as SQL: the majority of people's counts, else that of imported ones; a tie is a
dispute. `app.labels.consensus.resolve_label` settles the same in Python, and tests/app/labels/test_outcomes.py holds
the two together."""

from __future__ import annotations

from sqlalchemy import ColumnElement, and_, case, func

from as2core.types import CORRECT, INCORRECT, UNSURE
from db.models import Annotator, CurrentLabel

CONFLICT = "disputed"


def sum_votes() -> ColumnElement[int]:
    """Correct less incorrect over the labels of a pair (rows of CurrentLabel joined with Annotator); NULL if nobody
    decided."""
    return func.coalesce(_surplus(is_imported=False), _surplus(is_imported=True))


def _surplus(*, is_imported: bool) -> ColumnElement[int]:
    of_them = Annotator.imported.is_(is_imported)
    correct, incorrect = (and_(CurrentLabel.label == label, of_them) for label in (CORRECT, INCORRECT))
    return func.sum(case((correct, 1), (incorrect, -1)))


def name_outcome(votes: ColumnElement[int]) -> ColumnElement[str]:
    """CORRECT, INCORRECT, UNSURE where nobody decided, CONFLICT; `votes` as of `sum_votes`."""
    return case((votes.is_(None), UNSURE), (votes > 0, CORRECT), (votes < 0, INCORRECT), else_=CONFLICT)
