"""What the workbench stores: the tables, the view of current labels, and a guard that keeps label events as written."""

from __future__ import annotations

from alembic import op

from db.migrations.tables import create_tables

revision = "0001"
down_revision = None

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


TABLES = (
    """corpus | id int, name text, digest text, created time | id | | name | | auto""",
    """document | id int, corpus_id int, external_id text, title text, source text, text text, digest text, sentences
    int, indexed bool, updated time | id | corpus_id>corpus CASCADE | corpus_id external_id | corpus_id indexed |
    auto""",
    """sentence | id int, corpus_id int, document_id int, external_id text, position int, paragraph int, start int, end
    int, text text, text_key bigint, retired bool | id | corpus_id>corpus CASCADE, document_id>document CASCADE | |
    corpus_id external_id, corpus_id text_key, document_id position |""",
    """model_version | id int, name text, kind text, parent text?, path text, note text, state text, metrics json,
    created time | id | | name | |""",
    """activation | id int, kind text, version_id int, reason text, created time, reverted time? | id |
    version_id>model_version CASCADE | | version_id |""",
    """evaluation | id int, ranker_key text, ranker text, data text, data_hash text, setting text, result json, created
    time | id | | ranker_key data_hash setting | |""",
    """question | id int, corpus_id int, external_id text, text text, text_key bigint, kind text, origin text, split
    text, created time | id | corpus_id>corpus CASCADE | corpus_id external_id | corpus_id text_key |""",
    """run | id int, question_id int, version_id int, generative_id int?, last_exit int, threshold real, settings json,
    seconds json, created time | id | generative_id>model_version SET NULL, question_id>question CASCADE,
    version_id>model_version CASCADE | | generative_id, question_id, version_id |""",
    """candidate | id int, question_id int, sentence_id int, run_id int?, ordinal int, retrieval_rank int?, origin
    text, external_id text?, cut_layer int?, cut_rank int?, cut_kept int?, cut_margin real? | id |
    question_id>question CASCADE, run_id>run SET NULL, sentence_id>sentence CASCADE | question_id sentence_id |
    run_id, sentence_id |""",
    """score | candidate_id int, version_id int, exit int, value real, probability real?, rank int | candidate_id
    version_id exit | candidate_id>candidate CASCADE, version_id>model_version CASCADE | | version_id |""",
    """annotator | id int, name text, imported bool, created time | id | | name | |""",
    """label_event | id int, question_id int, sentence_id int, annotator_id int, label text, undoes int?, shown_version
    text, shown_rank int?, scores_visible bool, queue text, created time | id | annotator_id>annotator CASCADE,
    question_id>question CASCADE, sentence_id>sentence CASCADE, undoes>label_event CASCADE | undoes | annotator_id
    id, question_id sentence_id annotator_id id, sentence_id | auto""",
    """lease | question_id int, sentence_id int, annotator_id int, holder text, queue text, token text, expires time |
    question_id sentence_id | annotator_id>annotator CASCADE, question_id>question CASCADE, sentence_id>sentence
    CASCADE | | annotator_id, sentence_id |""",
    """job | id int, kind text, corpus_id int?, state text, progress real, message text, settings json, result json,
    error text, log text, attempt int, attempts int, cancelling bool, worker text, heartbeat time?, created time,
    started time?, finished time? | id | corpus_id>corpus SET NULL | | corpus_id, state | auto""",
    """job_event | id int, job_id int, payload json, created time | id | job_id>job CASCADE | | job_id id |""",
)


def upgrade() -> None:
    create_tables(*TABLES)
    op.execute(CURRENT_LABEL)
    op.execute(SQLITE_GUARD if op.get_bind().dialect.name == "sqlite" else POSTGRES_GUARD)
