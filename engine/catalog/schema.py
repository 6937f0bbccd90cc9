"""The catalog's tables. Changing one means a new migration; a test holds the two together."""

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite counts up by itself only for a column that is spelled INTEGER, and keeps 64 bits in it.
Id = sa.Integer()

collection = sa.Table(
    "collection",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
    # The number of the last change; every change of an item, view or space takes the next one.
    sa.Column("sequence", sa.BigInteger, nullable=False),
    sa.Column("active_space", sa.Text, nullable=False),
    # Random, and another one after the catalog was restored from a copy: sequence numbers are those of one history.
    sa.Column("history", sa.Text, nullable=False, server_default=""),
    # The last change of the tombstones that were removed: who has followed less far begins anew.
    sa.Column("purged", sa.BigInteger, nullable=False, server_default="0"),
)

roots = sa.Table(
    "roots",
    metadata,
    sa.Column("alias", sa.Text, primary_key=True),
    sa.Column("path", sa.Text, nullable=False, unique=True),
)

items = sa.Table(
    "items",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("sequence", sa.BigInteger, nullable=False, index=True),
    # A tombstone keeps id, key and sequence, so that followers learn of the deletion.
    sa.Column("deleted", sa.Boolean, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("modified_ns", sa.BigInteger, nullable=False),
    sa.Column("content_hash", sa.Text, nullable=False),
    sa.Column("width", sa.Integer, nullable=False),
    sa.Column("height", sa.Integer, nullable=False),
    sa.Column("attributes", sa.JSON, nullable=False),
    # The key in Unicode normal form C where it is in another one; keys are equal if their normal forms are.
    sa.Column("normal_key", sa.Text, index=True),
    # Whether somebody chose the labels, be it none; those of a folder's name only fill in.
    sa.Column("labels_given", sa.Boolean, nullable=False, server_default=sa.false()),
    # Last, so that statements that do not ask for it need not read it.
    sa.Column("text", sa.Text, nullable=False, server_default=""),
    sqlite_autoincrement=True,  # ids are never reused, even that of the last item
)
live_key = sa.Index("uq_items_live_key", items.c.key, unique=True, sqlite_where=items.c.deleted.is_(False))
tombstones = sa.Index("ix_items_tombstones", items.c.sequence, sqlite_where=items.c.deleted.is_(True))
# Behind long texts the column itself would be slow to read.
given_labels = sa.Index("ix_items_labels_given", items.c.labels_given, sqlite_where=items.c.labels_given.is_(True))

labels = sa.Table(
    "labels",
    metadata,
    sa.Column("item_id", Id, sa.ForeignKey("items.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("label", sa.Text, primary_key=True, index=True),
)

thumbnails = sa.Table(
    "thumbnails",
    metadata,
    sa.Column("item_id", Id, sa.ForeignKey("items.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    sa.Column("jpeg", sa.LargeBinary, nullable=False),
)

# What the file of a picture, and the page beside it, said when they were last looked at.
captures = sa.Table(
    "captures",
    metadata,
    sa.Column("item_id", Id, sa.ForeignKey("items.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    # Changes whenever the file or the page does.
    sa.Column("stamp", sa.Text, nullable=False),
    sa.Column("modified_ns", sa.BigInteger, nullable=False),
    # Seconds since 1970, by EXIF data.
    sa.Column("taken", sa.BigInteger),
    # Hashes of addresses, 8 bytes each, ascending; null without a page.
    sa.Column("links", sa.LargeBinary),
    sa.Column("images", sa.LargeBinary),
)

views = sa.Table(
    "views",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("extractor", sa.Text, nullable=False),
    sa.Column("params", sa.JSON, nullable=False),
    sa.Column("dim", sa.Integer, nullable=False),
    # 0 until fitted; extractors that need no fitting start at 1.
    sa.Column("revision", sa.Integer, nullable=False),
)

view_revisions = sa.Table(
    "view_revisions",
    metadata,
    sa.Column("view_id", sa.Integer, sa.ForeignKey("views.id"), primary_key=True),
    sa.Column("revision", sa.Integer, primary_key=True),
    sa.Column("state", sa.LargeBinary, nullable=False),
)

rows = sa.Table(
    "rows",
    metadata,
    sa.Column("view_id", sa.Integer, sa.ForeignKey("views.id"), primary_key=True),
    sa.Column("item_id", Id, sa.ForeignKey("items.id", ondelete="CASCADE"), primary_key=True, index=True),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)

# Rows of earlier versions, which may be too large for distances in float32; later ones are refused.
suspect_rows = sa.Table(
    "suspect_rows",
    metadata,
    sa.Column("view_id", sa.Integer, sa.ForeignKey("views.id"), primary_key=True),
    sa.Column("item_id", Id, sa.ForeignKey("items.id", ondelete="CASCADE"), primary_key=True),
)

spaces = sa.Table(
    "spaces",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    # The generation that answers queries to this space.
    sa.Column("generation", sa.Integer, nullable=False),
)

generations = sa.Table(
    "generations",
    metadata,
    sa.Column("space", sa.Text, sa.ForeignKey("spaces.name"), primary_key=True),
    sa.Column("generation", sa.Integer, primary_key=True),
    sa.Column("created", sa.Text, nullable=False),
    # The collection's sequence that the training saw.
    sa.Column("sequence", sa.BigInteger, nullable=False),
    sa.Column("summary", sa.JSON, nullable=False),
    sa.Column("state", sa.LargeBinary, nullable=False),
)

# The index snapshots that belong to this catalog, by the random token that is in the file: one that was written by
# another history, or for another generation of the same number, has another.
snapshots = sa.Table(
    "snapshots",
    metadata,
    sa.Column("space", sa.Text, primary_key=True),
    sa.Column("generation", sa.Integer, primary_key=True),
    sa.Column("target", sa.Text, primary_key=True),
    sa.Column("token", sa.Text, nullable=False),
    # That the snapshot covers.
    sa.Column("sequence", sa.BigInteger, nullable=False),
)

# Distances up to which two items are the same, by generation of a space; of the raw views, by revision of the view.
thresholds = sa.Table(
    "thresholds",
    metadata,
    sa.Column("space", sa.Text, primary_key=True),
    sa.Column("generation", sa.Integer, primary_key=True),
    sa.Column("view", sa.Text, primary_key=True),
    sa.Column("target", sa.Text, primary_key=True),
    sa.Column("threshold", sa.JSON, nullable=False),
    # Fingerprints of the pairs that it was calibrated on.
    sa.Column("pairs", sa.LargeBinary, nullable=False),
)

# Labels in a notion of similarity, beside the item's own.
notion_labels = sa.Table(
    "notion_labels",
    metadata,
    sa.Column("item_id", Id, sa.ForeignKey("items.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("notion", sa.Text, primary_key=True),
    sa.Column("label", sa.Text, primary_key=True),
)

# What people answered, by the keys of items: an item may be deleted, and come again.
answers = sa.Table(
    "answers",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("person", sa.Text, nullable=False),
    sa.Column("notion", sa.Text, nullable=False, index=True),
    # "single" or "grid".
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("anchor", sa.Text, nullable=False),
    # Lists of keys: each of the first is nearer to the anchor than each of the second.
    sa.Column("near", sa.JSON, nullable=False),
    sa.Column("far", sa.JSON, nullable=False),
    sqlite_autoincrement=True,
)
