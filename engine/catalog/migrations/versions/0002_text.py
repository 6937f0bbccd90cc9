"""Items keep their text."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("items", sa.Column("text", sa.Text(), nullable=False, server_default=""))
