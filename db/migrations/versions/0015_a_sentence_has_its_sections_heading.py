"""A sentence has its section's heading."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("sentence", sa.Column("heading", sa.Text(), nullable=False, server_default=sa.text("''")))
