"""The kind of index of each target, chosen for a generation of a space, and the recall of its searches."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "index_choices",
        sa.Column("space", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("choice", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("space", "generation", "target", name=op.f("pk_index_choices")),
    )
