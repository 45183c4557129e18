"""Tables in one line each, for migrations: they say what a table was like then, whatever `db.models` says now."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

TYPES: dict[str, sa.types.TypeEngine] = {
    "int": sa.Integer(),
    "bigint": sa.BigInteger(),
    "real": sa.Double(),
    "bool": sa.Boolean(),
    "text": sa.Text(),
    "json": sa.JSON(),
    "time": sa.DateTime(timezone=True),
}


def create_tables(*tables: str) -> None:
    """Each is `table | columns (a "?" may be null) | primary key | foreign keys | unique | indexes | AUTOINCREMENT on
    SQLite`."""
    for table in tables:
        _create_table(*table.split("|"))


def _create_table(name: str, columns: str, key: str, references: str, unique: str, indexes: str, auto: str) -> None:
    """Constraints are named as `db.models` names them."""
    name = name.strip()

    def items(text: str) -> list[list[str]]:
        return [item.split() for item in text.split(",") if item.strip()]

    elements: list[sa.schema.SchemaItem] = [
        sa.Column(column, TYPES[kind.removesuffix("?")], nullable=kind.endswith("?")) for column, kind in items(columns)
    ]
    for reference, *on_delete in items(references):
        column, _, table = reference.partition(">")
        fk = op.f(f"fk_{name}_{column}")
        elements.append(sa.ForeignKeyConstraint([column], [f"{table}.id"], name=fk, ondelete=" ".join(on_delete)))
    elements.append(sa.PrimaryKeyConstraint(*key.split(), name=op.f(f"pk_{name}")))
    for together in items(unique):
        elements.append(sa.UniqueConstraint(*together, name=op.f(f"uq_{name}_{'_'.join(together)}")))
    op.create_table(name, *elements, sqlite_autoincrement=bool(auto.strip()))
    for together in items(indexes):
        op.create_index(op.f(f"ix_{name}_{'_'.join(together)}"), name, together, unique=False)
