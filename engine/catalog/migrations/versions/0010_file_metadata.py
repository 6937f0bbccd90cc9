"""Metadata of files: camera, time, keywords and so on, with the captures."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("captures", sa.Column("file", sa.JSON(), nullable=True))
