"""A label keeps the probability with which its question was drawn, where a decision between two rankers drew it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("label_event", sa.Column("chance", sa.Double(), nullable=True))
