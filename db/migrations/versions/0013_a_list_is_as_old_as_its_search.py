"""When what a search of a corpus finds last changed: a list ranked before is made anew while nobody labelled it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("corpus", sa.Column("search_changed", sa.DateTime(timezone=True), nullable=True))
