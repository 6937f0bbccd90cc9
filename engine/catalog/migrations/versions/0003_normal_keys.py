"""Keys in any Unicode form, chosen labels, and rows that may be too large."""

import unicodedata
from pathlib import PurePosixPath

import numpy as np
import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_SUSPECT = 1e15
"""Rows with larger values are listed; whether they are too large depends on the view's dimension."""


def upgrade() -> None:
    op.add_column("items", sa.Column("normal_key", sa.Text()))
    op.add_column("items", sa.Column("labels_given", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_index("ix_items_normal_key", "items", ["normal_key"])
    given = sa.text("labels_given IS true")
    op.create_index("ix_items_labels_given", "items", ["labels_given"], sqlite_where=given)
    op.create_table(
        "suspect_rows",
        sa.Column("view_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("view_id", "item_id", name=op.f("pk_suspect_rows")),
        sa.ForeignKeyConstraint(["view_id"], ["views.id"], op.f("fk_suspect_rows_view_id")),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], op.f("fk_suspect_rows_item_id"), ondelete="CASCADE"),
    )
    connection = op.get_bind()
    _note_normal_keys(connection)
    _note_given_labels(connection)
    _note_suspect_rows(connection)


def _note_normal_keys(connection: sa.Connection) -> None:
    for item, key in connection.execute(sa.text("SELECT id, key FROM items")).all():
        normal = unicodedata.normalize("NFC", key)
        if normal != key:
            statement = sa.text("UPDATE items SET normal_key = :normal WHERE id = :item")
            connection.execute(statement, {"normal": normal, "item": item})


def _note_given_labels(connection: sa.Connection) -> None:
    """Mark labels other than the name of the file's folder as chosen by a person."""
    query = "SELECT items.id, source, label FROM items JOIN labels ON labels.item_id = items.id"
    given = {
        item
        for item, source, label in connection.execute(sa.text(query))
        if not source or PurePosixPath(source).parent.name != label
    }
    for item in sorted(given):
        connection.execute(
            sa.text("UPDATE items SET labels_given = :given WHERE id = :item"), {"given": True, "item": item}
        )


def _note_suspect_rows(connection: sa.Connection) -> None:
    insert = sa.text("INSERT INTO suspect_rows (view_id, item_id) VALUES (:view, :item)")
    rows = connection.execution_options(yield_per=1000).execute(sa.text("SELECT view_id, item_id, data FROM rows"))
    suspect = [
        {"view": view, "item": item}
        for view, item, data in rows
        if not np.abs(np.frombuffer(data, "<f4")).max(initial=0.0) <= _SUSPECT
    ]
    if suspect:
        connection.execute(insert, suspect)
