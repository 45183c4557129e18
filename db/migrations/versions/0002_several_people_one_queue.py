"""What several people who label one corpus need: roles, acts, verdicts, flags, guidelines and second looks.

Everybody known so far becomes an annotator, and the first person an admin.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

FIRST_PERSON = """
UPDATE annotator SET role = 'admin'
WHERE id = (SELECT min(a.id) FROM annotator a WHERE a.imported = :no)
"""


def upgrade() -> None:
    _columns()
    _tables()
    op.get_bind().execute(sa.text(FIRST_PERSON), {"no": False})


def _columns() -> None:
    op.add_column("corpus", sa.Column("rules", sa.JSON(), nullable=True))
    op.add_column("annotator", sa.Column("role", sa.Text(), nullable=False, server_default="annotator"))
    op.add_column("annotator", sa.Column("subject", sa.Text(), nullable=True))
    op.create_index(op.f("ix_annotator_subject"), "annotator", ["subject"], unique=True)
    op.add_column("label_event", sa.Column("act", sa.Text(), nullable=False, server_default=sa.text("''")))
    op.add_column("label_event", sa.Column("control", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("label_event", sa.Column("arm", sa.Text(), nullable=False, server_default=sa.text("''")))
    op.add_column("label_event", sa.Column("model_says", sa.Boolean(), nullable=True))
    op.add_column("label_event", sa.Column("guideline", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("lease", sa.Column("control", sa.Boolean(), nullable=False, server_default=sa.false()))


def _tables() -> None:
    op.create_table(
        "verdict",
        sa.Column("id", sa.Integer(), primary_key=True),
        *_pair_and_person("verdict"),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
    )
    _indexes("verdict", ("question_id", "sentence_id", "id"), ("sentence_id",), ("annotator_id",))
    op.create_table(
        "flag",
        sa.Column("id", sa.Integer(), primary_key=True),
        *_pair_and_person("flag"),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("cleared", sa.DateTime(timezone=True), nullable=True),
    )
    _indexes("flag", ("question_id", "sentence_id"), ("sentence_id",), ("annotator_id",))
    op.create_table(
        "guideline",
        _owner("guideline", "corpus", primary_key=True),
        sa.Column("version", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("text", sa.Text(), nullable=False),
        _owner("guideline", "annotator"),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
    )
    _indexes("guideline", ("annotator_id",))
    op.create_table(
        "suspicion",
        _owner("suspicion", "question", primary_key=True),
        _owner("suspicion", "sentence", primary_key=True),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("doubt", sa.Double(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("looked", sa.DateTime(timezone=True), nullable=True),
    )
    _indexes("suspicion", ("sentence_id",))


def _pair_and_person(table: str) -> list[sa.Column]:
    return [_owner(table, other) for other in ("question", "sentence", "annotator")]


def _owner(table: str, other: str, *, primary_key: bool = False) -> sa.Column:
    key = sa.ForeignKey(f"{other}.id", name=op.f(f"fk_{table}_{other}_id"), ondelete="CASCADE")
    return sa.Column(f"{other}_id", sa.Integer(), key, nullable=False, primary_key=primary_key)


def _indexes(table: str, *columns: tuple[str, ...]) -> None:
    for names in columns:
        op.create_index(op.f(f"ix_{table}_{'_'.join(names)}"), table, list(names))
