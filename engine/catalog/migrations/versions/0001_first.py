"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

Id = sa.Integer()


def upgrade() -> None:
    _create_collection()
    _create_items()
    _create_views()
    _create_spaces()


def _create_collection() -> None:
    op.create_table(
        "collection",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("active_space", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_collection")),
    )
    op.create_table(
        "roots",
        sa.Column("alias", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("alias", name=op.f("pk_roots")),
        sa.UniqueConstraint("path", name=op.f("uq_roots_path")),
    )


def _create_items() -> None:
    op.create_table(
        "items",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("modified_ns", sa.BigInteger(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("attributes", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_items")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_items_sequence"), "items", ["sequence"], unique=False)
    op.create_index("uq_items_live_key", "items", ["key"], unique=True, sqlite_where=sa.text("deleted IS 0"))
    op.create_table(
        "labels",
        sa.Column("item_id", Id, nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name=op.f("fk_labels_item_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("item_id", "label", name=op.f("pk_labels")),
    )
    op.create_index(op.f("ix_labels_label"), "labels", ["label"], unique=False)
    op.create_table(
        "thumbnails",
        sa.Column("item_id", Id, autoincrement=False, nullable=False),
        sa.Column("jpeg", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name=op.f("fk_thumbnails_item_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("item_id", name=op.f("pk_thumbnails")),
    )


def _create_views() -> None:
    op.create_table(
        "views",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("extractor", sa.Text(), nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("dim", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_views")),
        sa.UniqueConstraint("name", name=op.f("uq_views_name")),
    )
    op.create_table(
        "view_revisions",
        sa.Column("view_id", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["view_id"], ["views.id"], name=op.f("fk_view_revisions_view_id")),
        sa.PrimaryKeyConstraint("view_id", "revision", name=op.f("pk_view_revisions")),
    )
    op.create_table(
        "rows",
        sa.Column("view_id", sa.Integer(), nullable=False),
        sa.Column("item_id", Id, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name=op.f("fk_rows_item_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["view_id"], ["views.id"], name=op.f("fk_rows_view_id")),
        sa.PrimaryKeyConstraint("view_id", "item_id", name=op.f("pk_rows")),
    )
    op.create_index(op.f("ix_rows_item_id"), "rows", ["item_id"], unique=False)


def _create_spaces() -> None:
    op.create_table(
        "spaces",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_spaces")),
    )
    op.create_table(
        "generations",
        sa.Column("space", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("summary", sa.JSON(), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["space"], ["spaces.name"], name=op.f("fk_generations_space")),
        sa.PrimaryKeyConstraint("space", "generation", name=op.f("pk_generations")),
    )
