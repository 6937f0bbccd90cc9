"""Views by extractors of other packages, which can be missing."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column("views", sa.Column("packaged", sa.JSON(), nullable=True))
