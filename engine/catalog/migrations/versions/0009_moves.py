"""Items that follow their files: missing files, and new keys of moved ones."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "missing_files",
        sa.Column("item_id", _ID, autoincrement=False, nullable=False),
        sa.Column("since", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name=op.f("fk_missing_files_item_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("item_id", name=op.f("pk_missing_files")),
    )
    op.create_table(
        "renames",
        sa.Column("id", _ID, nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("former", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_renames")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_renames_sequence", "renames", ["sequence"])
