"""What the workbench stores: the tables, the view of current labels, and a guard that keeps label events as written."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

CURRENT_LABEL = """
CREATE VIEW current_label AS
SELECT e.id, e.question_id, e.sentence_id, e.annotator_id, e.label, e.created
FROM label_event e
WHERE e.label <> 'withdrawn'
  AND e.id = (SELECT max(n.id) FROM label_event n
              WHERE n.question_id = e.question_id AND n.sentence_id = e.sentence_id AND n.annotator_id = e.annotator_id)
"""
SQLITE_GUARD = """
CREATE TRIGGER label_event_is_append_only BEFORE UPDATE ON label_event
BEGIN SELECT RAISE(ABORT, 'label events are append-only'); END
"""
POSTGRES_GUARD = """
CREATE FUNCTION refuse_label_event_update() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'label events are append-only'; END $$;
CREATE TRIGGER label_event_is_append_only BEFORE UPDATE ON label_event
FOR EACH ROW EXECUTE FUNCTION refuse_label_event_update()
"""


def upgrade() -> None:
    _documents()
    _versions()
    _questions()
    _labels()
    _jobs()
    op.execute(CURRENT_LABEL)
    op.execute(SQLITE_GUARD if op.get_bind().dialect.name == "sqlite" else POSTGRES_GUARD)


def _documents() -> None:
    op.create_table(
        "corpus",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_corpus")),
        sa.UniqueConstraint("name", name=op.f("uq_corpus_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "document",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("sentences", sa.Integer(), nullable=False),
        sa.Column("indexed", sa.Boolean(), nullable=False),
        sa.Column("updated", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpus.id"], name=op.f("fk_document_corpus_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_document")),
        sa.UniqueConstraint("corpus_id", "external_id", name=op.f("uq_document_corpus_id_external_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_document_corpus_id_indexed"), "document", ["corpus_id", "indexed"], unique=False)
    op.create_table(
        "sentence",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("document_id", sa.Integer(), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("paragraph", sa.Integer(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("text_key", sa.BigInteger(), nullable=False),
        sa.Column("retired", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpus.id"], name=op.f("fk_sentence_corpus_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["document_id"], ["document.id"], name=op.f("fk_sentence_document_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sentence")),
    )
    op.create_index(op.f("ix_sentence_corpus_id_external_id"), "sentence", ["corpus_id", "external_id"], unique=False)
    op.create_index(op.f("ix_sentence_corpus_id_text_key"), "sentence", ["corpus_id", "text_key"], unique=False)
    op.create_index(op.f("ix_sentence_document_id_position"), "sentence", ["document_id", "position"], unique=False)


def _versions() -> None:
    op.create_table(
        "model_version",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("parent", sa.Text(), nullable=True),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_version")),
        sa.UniqueConstraint("name", name=op.f("uq_model_version_name")),
    )
    op.create_table(
        "activation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("version_id", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reverted", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["version_id"], ["model_version.id"], name=op.f("fk_activation_version_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_activation")),
    )
    op.create_index(op.f("ix_activation_version_id"), "activation", ["version_id"], unique=False)
    op.create_table(
        "evaluation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("ranker_key", sa.Text(), nullable=False),
        sa.Column("ranker", sa.Text(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("data_hash", sa.Text(), nullable=False),
        sa.Column("setting", sa.Text(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluation")),
        sa.UniqueConstraint(
            "ranker_key", "data_hash", "setting", name=op.f("uq_evaluation_ranker_key_data_hash_setting")
        ),
    )


def _questions() -> None:
    op.create_table(
        "question",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("text_key", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("split", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpus.id"], name=op.f("fk_question_corpus_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_question")),
        sa.UniqueConstraint("corpus_id", "external_id", name=op.f("uq_question_corpus_id_external_id")),
    )
    op.create_index(op.f("ix_question_corpus_id_text_key"), "question", ["corpus_id", "text_key"], unique=False)
    op.create_table(
        "run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("question_id", sa.Integer(), nullable=False),
        sa.Column("version_id", sa.Integer(), nullable=False),
        sa.Column("generative_id", sa.Integer(), nullable=True),
        sa.Column("last_exit", sa.Integer(), nullable=False),
        sa.Column("threshold", sa.Double(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("seconds", sa.JSON(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["generative_id"], ["model_version.id"], name=op.f("fk_run_generative_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["question_id"], ["question.id"], name=op.f("fk_run_question_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["version_id"], ["model_version.id"], name=op.f("fk_run_version_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
    )
    op.create_index(op.f("ix_run_generative_id"), "run", ["generative_id"], unique=False)
    op.create_index(op.f("ix_run_question_id"), "run", ["question_id"], unique=False)
    op.create_index(op.f("ix_run_version_id"), "run", ["version_id"], unique=False)
    op.create_table(
        "candidate",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("question_id", sa.Integer(), nullable=False),
        sa.Column("sentence_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=True),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("retrieval_rank", sa.Integer(), nullable=True),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=True),
        sa.Column("cut_layer", sa.Integer(), nullable=True),
        sa.Column("cut_rank", sa.Integer(), nullable=True),
        sa.Column("cut_kept", sa.Integer(), nullable=True),
        sa.Column("cut_margin", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["question_id"], ["question.id"], name=op.f("fk_candidate_question_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_candidate_run_id"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(
            ["sentence_id"], ["sentence.id"], name=op.f("fk_candidate_sentence_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_candidate")),
        sa.UniqueConstraint("question_id", "sentence_id", name=op.f("uq_candidate_question_id_sentence_id")),
    )
    op.create_index(op.f("ix_candidate_run_id"), "candidate", ["run_id"], unique=False)
    op.create_index(op.f("ix_candidate_sentence_id"), "candidate", ["sentence_id"], unique=False)
    op.create_table(
        "score",
        sa.Column("candidate_id", sa.Integer(), nullable=False),
        sa.Column("version_id", sa.Integer(), nullable=False),
        sa.Column("exit", sa.Integer(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("probability", sa.Double(), nullable=True),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_id"], ["candidate.id"], name=op.f("fk_score_candidate_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["version_id"], ["model_version.id"], name=op.f("fk_score_version_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("candidate_id", "version_id", "exit", name=op.f("pk_score")),
    )
    op.create_index(op.f("ix_score_version_id"), "score", ["version_id"], unique=False)


def _labels() -> None:
    op.create_table(
        "annotator",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("imported", sa.Boolean(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_annotator")),
        sa.UniqueConstraint("name", name=op.f("uq_annotator_name")),
    )
    op.create_table(
        "label_event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("question_id", sa.Integer(), nullable=False),
        sa.Column("sentence_id", sa.Integer(), nullable=False),
        sa.Column("annotator_id", sa.Integer(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("undoes", sa.Integer(), nullable=True),
        sa.Column("shown_version", sa.Text(), nullable=False),
        sa.Column("shown_rank", sa.Integer(), nullable=True),
        sa.Column("scores_visible", sa.Boolean(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["annotator_id"], ["annotator.id"], name=op.f("fk_label_event_annotator_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["question_id"], ["question.id"], name=op.f("fk_label_event_question_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["sentence_id"], ["sentence.id"], name=op.f("fk_label_event_sentence_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["undoes"], ["label_event.id"], name=op.f("fk_label_event_undoes"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_label_event")),
        sa.UniqueConstraint("undoes", name=op.f("uq_label_event_undoes")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_label_event_annotator_id_id"), "label_event", ["annotator_id", "id"], unique=False)
    op.create_index(
        op.f("ix_label_event_question_id_sentence_id_annotator_id_id"),
        "label_event",
        ["question_id", "sentence_id", "annotator_id", "id"],
        unique=False,
    )
    op.create_index(op.f("ix_label_event_sentence_id"), "label_event", ["sentence_id"], unique=False)
    op.create_table(
        "lease",
        sa.Column("question_id", sa.Integer(), nullable=False),
        sa.Column("sentence_id", sa.Integer(), nullable=False),
        sa.Column("annotator_id", sa.Integer(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["annotator_id"], ["annotator.id"], name=op.f("fk_lease_annotator_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["question_id"], ["question.id"], name=op.f("fk_lease_question_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["sentence_id"], ["sentence.id"], name=op.f("fk_lease_sentence_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("question_id", "sentence_id", name=op.f("pk_lease")),
    )
    op.create_index(op.f("ix_lease_annotator_id"), "lease", ["annotator_id"], unique=False)
    op.create_index(op.f("ix_lease_sentence_id"), "lease", ["sentence_id"], unique=False)


def _jobs() -> None:
    op.create_table(
        "job",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("corpus_id", sa.Integer(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("progress", sa.Double(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("log", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("cancelling", sa.Boolean(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("heartbeat", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpus.id"], name=op.f("fk_job_corpus_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_job_corpus_id"), "job", ["corpus_id"], unique=False)
    op.create_index(op.f("ix_job_state"), "job", ["state"], unique=False)
    op.create_table(
        "job_event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_job_event_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_event")),
    )
    op.create_index(op.f("ix_job_event_job_id_id"), "job_event", ["job_id", "id"], unique=False)
