"""Distances up to which two items are the same, of generations of spaces."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "thresholds",
        sa.Column("space", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("view", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("threshold", sa.JSON(), nullable=False),
        sa.Column("pairs", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("space", "generation", "view", "target", name=op.f("pk_thresholds")),
    )
