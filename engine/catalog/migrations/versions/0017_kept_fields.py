"""Fields of items that were deleted while their files were missing."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "kept_fields",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_kept_fields")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_kept_fields_content_hash", "kept_fields", ["content_hash"])
