"""A question is in the label queues or not, and a run knows who asked.

Questions typed on Ask that carry no label leave the queues; all others stay. Those that came as a list were stored as
typed ones: they are told by their runs, none of which was asked for on Ask, and become "listed".
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from db.errors import DbError

revision = "0007"
down_revision = "0006"

QUESTION = sa.table("question", *map(sa.column, ("id", "origin", "queued")))
RUN = sa.table("run", sa.column("question_id"), sa.column("settings", sa.JSON()))
LABEL = sa.table("current_label", sa.column("question_id"))


def upgrade() -> None:
    op.add_column("question", sa.Column("queued", sa.Boolean(), nullable=False, server_default=sa.true()))
    _add_asker()
    by = sa.func.coalesce(RUN.c.settings["by"].as_string(), "ask")  # the first programs did not write it down
    was_asked = sa.exists().where(RUN.c.question_id == QUESTION.c.id, by == "ask")
    is_labelled = sa.exists().where(LABEL.c.question_id == QUESTION.c.id)
    change = sa.update(QUESTION).where(QUESTION.c.origin == "asked")
    op.execute(change.where(~was_asked).values(origin="listed"))
    op.execute(change.where(~is_labelled).values(queued=sa.false()))


def _add_asker() -> None:
    """SQLite makes the table anew for a constraint. With foreign keys on, that would cut the candidates off from their
    runs; `Database.migrating` has them off."""
    connection = op.get_bind()
    if connection.dialect.name == "sqlite" and connection.scalar(sa.text("PRAGMA foreign_keys")):
        raise DbError("this migration would part candidates from their runs; open the database by the program")
    with op.batch_alter_table("run") as run:
        run.add_column(sa.Column("annotator_id", sa.Integer(), nullable=True))
        run.create_foreign_key(op.f("fk_run_annotator_id"), "annotator", ["annotator_id"], ["id"], ondelete="SET NULL")
        run.create_index(op.f("ix_run_annotator_id"), ["annotator_id"], unique=False)
