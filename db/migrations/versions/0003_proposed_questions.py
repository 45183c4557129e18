"""Questions that a model proposes for sentences, until somebody accepts or rejects them."""

from __future__ import annotations

from db.migrations.tables import create_tables

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    create_tables(
        """proposal | id int, corpus_id int, sentence_id int, text text, log_p real, place int, state text, question_id
        int?, created time | id | corpus_id>corpus CASCADE, sentence_id>sentence CASCADE, question_id>question SET
        NULL | | corpus_id state, sentence_id, question_id | auto"""
    )
