"""An index of the tombstones of pictures by key, for pages of them."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_index(
        "ix_items_deleted_pictures",
        "items",
        ["key"],
        sqlite_where=sa.text("deleted IS 1 AND content_hash != ''"),
    )
