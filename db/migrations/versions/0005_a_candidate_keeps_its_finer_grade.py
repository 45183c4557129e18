"""A candidate that came with a finer grade than correct or incorrect keeps it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("candidate", sa.Column("grade", sa.Integer(), nullable=True))
