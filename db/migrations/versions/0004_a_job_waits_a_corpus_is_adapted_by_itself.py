"""A job can wait for somebody who needs the machine, and a corpus can be adapted by itself: `automatic` says when."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("job", sa.Column("paused", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("corpus", sa.Column("automatic", sa.JSON(), nullable=True))
