"""Labels in a notion of similarity, and answers of people."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "notion_labels",
        sa.Column("item_id", _ID, nullable=False),
        sa.Column("notion", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name=op.f("fk_notion_labels_item_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("item_id", "notion", "label", name=op.f("pk_notion_labels")),
    )
    op.create_table(
        "answers",
        sa.Column("id", _ID, nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("notion", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("anchor", sa.Text(), nullable=False),
        sa.Column("near", sa.JSON(), nullable=False),
        sa.Column("far", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_answers")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_answers_notion", "answers", ["notion"])
