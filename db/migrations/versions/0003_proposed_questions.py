"""Questions that a model proposes for sentences, until somebody accepts or rejects them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "proposal",
        sa.Column("id", sa.Integer(), primary_key=True),
        _to("corpus", ondelete="CASCADE"),
        _to("sentence", ondelete="CASCADE"),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("log_p", sa.Double(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        _to("question", ondelete="SET NULL", nullable=True),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_proposal_corpus_id_state"), "proposal", ["corpus_id", "state"])
    for other in ("sentence", "question"):
        op.create_index(op.f(f"ix_proposal_{other}_id"), "proposal", [f"{other}_id"])


def _to(other: str, *, ondelete: str, nullable: bool = False) -> sa.Column:
    key = sa.ForeignKey(f"{other}.id", name=op.f(f"fk_proposal_{other}_id"), ondelete=ondelete)
    return sa.Column(f"{other}_id", sa.Integer(), key, nullable=nullable)
