from alembic import command
from alembic.config import Config
from sqlalchemy import text

from db.repositories import labels, people
from db.session import MIGRATIONS, Database, open_database

FILLED = (
    "INSERT INTO corpus (id, name, digest, created) VALUES (1, 'rivers', '', :now)",
    "INSERT INTO document VALUES (1, 1, 'rhine', 'Rhine', '', 'It is long.', 'd', 1, :yes, :now)",
    "INSERT INTO sentence VALUES (1, 1, 1, 'rhine-0', 0, 0, 0, 11, 'It is long.', 1, :no)",
    "INSERT INTO question VALUES (1, 1, 'q', 'How long is it?', 1, '', 'asked', '', :now)",
    "INSERT INTO annotator VALUES (1, 'starter', :yes, :now), (2, 'ann', :no, :now), (3, 'bob', :no, :now)",
    "INSERT INTO label_event VALUES (1, 1, 1, 2, 'correct', NULL, 'cascade', 1, :yes, 'tops', :now)",
)


def test_a_database_of_the_first_revision_keeps_its_labels_and_its_first_person_becomes_an_admin(tmp_path, now):
    url = f"sqlite:///{tmp_path / 'old.db'}"
    old = Database(url)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with old.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    with old.engine.begin() as connection:
        for statement in FILLED:
            connection.execute(text(statement), {"now": now.isoformat(sep=" "), "yes": True, "no": False})
    old.close()
    new = open_database(url)
    with new.read() as s:
        [label] = labels.labels_of_corpus(s, 1)
        event = labels.newest_event(s, 1, 1, 2)
        roles = [(p.name, p.role) for p in people.people(s)]
    new.close()
    assert (label.annotator, label.label) == ("ann", "correct")
    assert (event.shown_version, event.act, event.control, event.arm, event.guideline) == ("cascade", "", False, "", 0)
    assert roles == [("ann", "admin"), ("bob", "annotator")]
