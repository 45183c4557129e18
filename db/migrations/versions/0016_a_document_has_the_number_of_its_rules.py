"""A document has the number of the rules that divided it into sentences."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("document", sa.Column("split_rules", sa.Integer(), nullable=False, server_default=sa.text("0")))
