"""Words whose meaning the labels suggest and a person dismissed, one per line."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("corpus", sa.Column("dismissed_words", sa.Text(), nullable=False, server_default=sa.text("''")))
