"""Texts that are the words of labels, and change with them."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("items", sa.Column("text_from_labels", sa.Boolean(), nullable=False, server_default=sa.false()))
