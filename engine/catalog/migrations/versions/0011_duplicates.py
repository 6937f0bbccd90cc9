"""Fingerprints of pictures, and the judgements of people on pairs of them."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "fingerprints",
        sa.Column("item_id", _ID, autoincrement=False, nullable=False),
        sa.Column("codes", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name=op.f("fk_fingerprints_item_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("item_id", name=op.f("pk_fingerprints")),
    )
    op.create_table(
        "pair_judgements",
        sa.Column("id", _ID, nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("first", sa.Text(), nullable=False),
        sa.Column("second", sa.Text(), nullable=False),
        sa.Column("same", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pair_judgements")),
        sqlite_autoincrement=True,
    )
