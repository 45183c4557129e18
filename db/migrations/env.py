"""Run by alembic with the connection that `db.session.Database.migrating` gives, inside its transaction."""

from __future__ import annotations

from alembic import context

from db.models import Base

connection = context.config.attributes["connection"]
# SQLite can roll DDL back; alembic only assumes it cannot
context.configure(connection=connection, target_metadata=Base.metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
