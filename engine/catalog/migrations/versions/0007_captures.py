"""What the files of pictures, and the pages beside them, said when they were last looked at."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "captures",
        sa.Column("item_id", _ID, autoincrement=False, nullable=False),
        sa.Column("stamp", sa.Text(), nullable=False),
        sa.Column("modified_ns", sa.BigInteger(), nullable=False),
        sa.Column("taken", sa.BigInteger(), nullable=True),
        sa.Column("links", sa.LargeBinary(), nullable=True),
        sa.Column("images", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name=op.f("fk_captures_item_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("item_id", name=op.f("pk_captures")),
    )
    # Without a stamp: what else the files say is read when they are indexed again.
    op.execute(
        "INSERT INTO captures (item_id, stamp, modified_ns) "
        "SELECT id, '', modified_ns FROM items WHERE NOT deleted AND modified_ns > 0"
    )
