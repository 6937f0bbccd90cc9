"""Judgements of people in searches, and the answers that were made from them."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "judgements",
        sa.Column("id", _ID, nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("feedback", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("weight", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judgements")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_judgements_feedback", "judgements", ["feedback"])
    op.add_column("answers", sa.Column("feedback", sa.Text(), nullable=False, server_default=""))
