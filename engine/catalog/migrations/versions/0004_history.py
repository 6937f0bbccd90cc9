"""A token for the history that a catalog belongs to, those of its index snapshots, and an index of tombstones."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("collection", sa.Column("history", sa.Text(), nullable=False, server_default=""))
    op.add_column("collection", sa.Column("purged", sa.BigInteger(), nullable=False, server_default="0"))
    op.create_table(
        "snapshots",
        sa.Column("space", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("space", "generation", "target", name=op.f("pk_snapshots")),
    )
    dead = sa.text("deleted IS true")
    op.create_index("ix_items_tombstones", "items", ["sequence"], sqlite_where=dead)
    statement = sa.text("UPDATE collection SET history = :history")
    op.get_bind().execute(statement, {"history": secrets.token_hex(8)})
