"""A corpus has synonyms: lines of words and what they mean in its documents."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("corpus", sa.Column("synonyms", sa.Text(), nullable=False, server_default=sa.text("''")))
