"""What several people who label one corpus need: roles, acts, verdicts, flags, guidelines and second looks.

Everybody known so far becomes an annotator, and the first person an admin.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from db.migrations.tables import create_tables

revision = "0002"
down_revision = "0001"

FIRST_PERSON = """
UPDATE annotator SET role = 'admin'
WHERE id = (SELECT min(a.id) FROM annotator a WHERE a.imported = :no)
"""

TABLES = (
    """verdict | id int, question_id int, sentence_id int, annotator_id int, label text, note text, created time | id |
    question_id>question CASCADE, sentence_id>sentence CASCADE, annotator_id>annotator CASCADE | | question_id
    sentence_id id, sentence_id, annotator_id |""",
    """flag | id int, question_id int, sentence_id int, annotator_id int, note text, created time, cleared time? | id |
    question_id>question CASCADE, sentence_id>sentence CASCADE, annotator_id>annotator CASCADE | | question_id
    sentence_id, sentence_id, annotator_id |""",
    """guideline | corpus_id int, version int, text text, annotator_id int, created time | corpus_id version |
    corpus_id>corpus CASCADE, annotator_id>annotator CASCADE | | annotator_id |""",
    """suspicion | question_id int, sentence_id int, label text, doubt real, created time, looked time? | question_id
    sentence_id | question_id>question CASCADE, sentence_id>sentence CASCADE | | sentence_id |""",
)


def upgrade() -> None:
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
    create_tables(*TABLES)
    op.get_bind().execute(sa.text(FIRST_PERSON), {"no": False})
