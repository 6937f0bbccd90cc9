"""The catalog's tables. Each change needs a new migration; a test compares both."""

import sqlalchemy as sa

metadata: sa.MetaData = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite assigns ids itself only in a column of type INTEGER, which has 64 bits.
Id: sa.Integer = sa.Integer()

collection: sa.Table = sa.Table(
    "collection",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    # The name at its creation; the name of the folder counts.
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
    # The number of the last change; every change of an item, view or space takes the next one.
    sa.Column("sequence", sa.BigInteger, nullable=False),
    sa.Column("active_space", sa.Text, nullable=False),
    # Random, and new after a restore from a copy: two states of different histories can have the same sequence number.
    sa.Column("history", sa.Text, nullable=False, server_default=""),
    # The last change whose tombstone was removed: a follower that is further behind must start again.
    sa.Column("purged", sa.BigInteger, nullable=False, server_default="0"),
)

roots: sa.Table = sa.Table(
    "roots",
    metadata,
    sa.Column("alias", sa.Text, primary_key=True),
    sa.Column("path", sa.Text, nullable=False, unique=True),
)

items: sa.Table = sa.Table(
    "items",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("sequence", sa.BigInteger, nullable=False, index=True),
    # A tombstone keeps id, key and sequence, so that followers see the deletion.
    sa.Column("deleted", sa.Boolean, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("modified_ns", sa.BigInteger, nullable=False),
    sa.Column("content_hash", sa.Text, nullable=False),
    sa.Column("width", sa.Integer, nullable=False),
    sa.Column("height", sa.Integer, nullable=False),
    sa.Column("attributes", sa.JSON, nullable=False),
    # The key in Unicode normal form C if the key is in another form; keys are equal if their normal forms are equal.
    sa.Column("normal_key", sa.Text, index=True),
    # Whether a person chose the labels, also no labels; the name of a folder never replaces a choice.
    sa.Column("labels_given", sa.Boolean, nullable=False, server_default=sa.false()),
    # Whether the text is the words of the labels rather than a person's.
    sa.Column("text_from_labels", sa.Boolean, nullable=False, server_default=sa.false()),
    # Last, because SQLite reads a row up to the last column that a statement uses, and texts are long.
    sa.Column("text", sa.Text, nullable=False, server_default=""),
    sqlite_autoincrement=True,  # ids are never reused, even that of the last item
)
live_key: sa.Index = sa.Index("uq_items_live_key", items.c.key, unique=True, sqlite_where=items.c.deleted.is_(False))
tombstones: sa.Index = sa.Index("ix_items_tombstones", items.c.sequence, sqlite_where=items.c.deleted.is_(True))


def is_deleted_picture(table: sa.FromClause) -> "sa.ColumnElement[bool]":
    """Return the condition of a tombstone of a picture, without parameters, so that SQLite can use its index."""
    return sa.and_(table.c.deleted.is_(True), table.c.content_hash != sa.literal_column("''"))


sa.Index("ix_items_deleted_pictures", items.c.key, sqlite_where=is_deleted_picture(items))
# An index, because reading the column itself would pass over long texts.
given_labels: sa.Index = sa.Index(
    "ix_items_labels_given", items.c.labels_given, sqlite_where=items.c.labels_given.is_(True)
)

labels: sa.Table = sa.Table(
    "labels",
    metadata,
    sa.Column("item_id", Id, sa.ForeignKey("items.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("label", sa.Text, primary_key=True, index=True),
)

thumbnails: sa.Table = sa.Table(
    "thumbnails",
    metadata,
    sa.Column("item_id", Id, sa.ForeignKey("items.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    sa.Column("jpeg", sa.LargeBinary, nullable=False),
)

# Larger pictures than the thumbnails, in a table of their own, because searches for duplicates read all thumbnails. A
# picture that is hardly larger than its thumbnail has none, nor one that an earlier version has indexed.
previews: sa.Table = sa.Table(
    "previews",
    metadata,
    sa.Column("item_id", Id, sa.ForeignKey("items.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    sa.Column("jpeg", sa.LargeBinary, nullable=False),
)

# The perceptual hashes of a thumbnail as it is, rotated and mirrored (features.fingerprint), 8 bytes for each of the 8
# orientations; derived data, which a reader makes again where it is missing.
fingerprints: sa.Table = sa.Table(
    "fingerprints",
    metadata,
    sa.Column("item_id", Id, sa.ForeignKey("items.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    sa.Column("codes", sa.LargeBinary, nullable=False),
)

# Facts from the file of a picture and from the page beside it, as of the last indexing.
captures: sa.Table = sa.Table(
    "captures",
    metadata,
    sa.Column("item_id", Id, sa.ForeignKey("items.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    # Changes with the file or the page.
    sa.Column("stamp", sa.Text, nullable=False),
    sa.Column("modified_ns", sa.BigInteger, nullable=False),
    # Seconds since 1970, from EXIF data.
    sa.Column("taken", sa.BigInteger),
    # Hashes of addresses, 8 bytes each, ascending; null without a page.
    sa.Column("links", sa.LargeBinary),
    sa.Column("images", sa.LargeBinary),
    # Metadata of the file by name, which conditions read as the attribute "file"; null without metadata.
    sa.Column("file", sa.JSON(none_as_null=True)),
)

views: sa.Table = sa.Table(
    "views",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("extractor", sa.Text, nullable=False),
    sa.Column("params", sa.JSON, nullable=False),
    sa.Column("dim", sa.Integer, nullable=False),
    # 0 until fitted; extractors that need no fitting start at 1.
    sa.Column("revision", sa.Integer, nullable=False),
    # Of an extractor of another package: the package, and what its class states. So it can be missing.
    sa.Column("packaged", sa.JSON(none_as_null=True)),
)

view_revisions: sa.Table = sa.Table(
    "view_revisions",
    metadata,
    sa.Column("view_id", sa.Integer, sa.ForeignKey("views.id"), primary_key=True),
    sa.Column("revision", sa.Integer, primary_key=True),
    sa.Column("state", sa.LargeBinary, nullable=False),
)

rows: sa.Table = sa.Table(
    "rows",
    metadata,
    sa.Column("view_id", sa.Integer, sa.ForeignKey("views.id"), primary_key=True),
    sa.Column("item_id", Id, sa.ForeignKey("items.id", ondelete="CASCADE"), primary_key=True, index=True),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)

# Rows of earlier versions, which may be too large for distances in float32; later versions refuse such rows.
suspect_rows: sa.Table = sa.Table(
    "suspect_rows",
    metadata,
    sa.Column("view_id", sa.Integer, sa.ForeignKey("views.id"), primary_key=True),
    sa.Column("item_id", Id, sa.ForeignKey("items.id", ondelete="CASCADE"), primary_key=True),
)

spaces: sa.Table = sa.Table(
    "spaces",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    # The generation that answers queries to this space.
    sa.Column("generation", sa.Integer, nullable=False),
)

generations: sa.Table = sa.Table(
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

# The index snapshots of this catalog. The random token is also in the file: a snapshot of another history, or of
# another generation with the same number, has another token.
snapshots: sa.Table = sa.Table(
    "snapshots",
    metadata,
    sa.Column("space", sa.Text, primary_key=True),
    sa.Column("generation", sa.Integer, primary_key=True),
    sa.Column("target", sa.Text, primary_key=True),
    sa.Column("token", sa.Text, nullable=False),
    # The change up to which the snapshot covers the catalog.
    sa.Column("sequence", sa.BigInteger, nullable=False),
)

# Distances up to which two items are the same, by generation of a space; for the raw space by revision of the view.
thresholds: sa.Table = sa.Table(
    "thresholds",
    metadata,
    sa.Column("space", sa.Text, primary_key=True),
    sa.Column("generation", sa.Integer, primary_key=True),
    sa.Column("view", sa.Text, primary_key=True),
    sa.Column("target", sa.Text, primary_key=True),
    sa.Column("threshold", sa.JSON, nullable=False),
    # Fingerprints of the calibration pairs.
    sa.Column("pairs", sa.LargeBinary, nullable=False),
)

# The kind of index of each target and the recall of its searches, by generation of a space; for the raw space by
# revision of the view. Targets without a row have the index of their vectors.
index_choices: sa.Table = sa.Table(
    "index_choices",
    metadata,
    sa.Column("space", sa.Text, primary_key=True),
    sa.Column("generation", sa.Integer, primary_key=True),
    sa.Column("target", sa.Text, primary_key=True),
    sa.Column("choice", sa.JSON, nullable=False),
)

# Maps: the places of items in a plane, by generation of a space; for the raw space by revision of the view.
maps: sa.Table = sa.Table(
    "maps",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("space", sa.Text, nullable=False),
    sa.Column("generation", sa.Integer, nullable=False),
    sa.Column("view", sa.Text, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    # "pca" or "tsne".
    sa.Column("method", sa.Text, nullable=False),
    # The text of the condition that its items fulfilled; empty for all items.
    sa.Column("condition", sa.Text, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
    # The seed, figures and bounds of the map.
    sa.Column("summary", sa.JSON, nullable=False),
    # Ids of items, and their places.
    sa.Column("state", sa.LargeBinary, nullable=False),
    sqlite_autoincrement=True,
)

# Labels in a notion of similarity, beside the item's own.
notion_labels: sa.Table = sa.Table(
    "notion_labels",
    metadata,
    sa.Column("item_id", Id, sa.ForeignKey("items.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("notion", sa.Text, primary_key=True),
    sa.Column("label", sa.Text, primary_key=True),
)

# Answers of people, by the keys of items, because an item can be deleted and indexed again under another id.
answers: sa.Table = sa.Table(
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
    # The feedback from whose judgements the answer was made; empty for the answer to a question.
    sa.Column("feedback", sa.Text, nullable=False, server_default=""),
    sqlite_autoincrement=True,
)

# Judgements of people in searches, by name of the feedback. The last judgement of a key counts; the earlier ones stay,
# so that undoing the last returns to them.
judgements: sa.Table = sa.Table(
    "judgements",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("person", sa.Text, nullable=False),
    sa.Column("feedback", sa.Text, nullable=False, index=True),
    sa.Column("key", sa.Text, nullable=False),
    # Below 0 for a counter-example.
    sa.Column("weight", sa.Float, nullable=False),
    sqlite_autoincrement=True,
)

# Items whose files were missing at the last search of their folder.
missing_files: sa.Table = sa.Table(
    "missing_files",
    metadata,
    sa.Column("item_id", Id, sa.ForeignKey("items.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    # When an indexing run first missed the file, ISO 8601 in UTC.
    sa.Column("since", sa.Text, nullable=False),
)

# New keys of items, because the states of spaces name their training items by keys.
renames: sa.Table = sa.Table(
    "renames",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    # The change in which the item got its new key; all renames of a change happen at once.
    sa.Column("sequence", sa.BigInteger, nullable=False, index=True),
    sa.Column("former", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sqlite_autoincrement=True,
)

# Judgements of people on pairs of pictures, by the keys of the items in their normal forms, the lesser first, because
# an item can be deleted and indexed again under another id. The last judgement of a pair counts; earlier ones stay.
pair_judgements: sa.Table = sa.Table(
    "pair_judgements",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("person", sa.Text, nullable=False),
    sa.Column("first", sa.Text, nullable=False),
    sa.Column("second", sa.Text, nullable=False),
    # Whether the two are the same photograph.
    sa.Column("same", sa.Boolean, nullable=False),
    sqlite_autoincrement=True,
)

# Labels, attributes and texts of items that were deleted while their files were missing, by the content of the files,
# which can come back.
kept_fields: sa.Table = sa.Table(
    "kept_fields",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("content_hash", sa.Text, nullable=False, index=True),
    sa.Column("fields", sa.JSON, nullable=False),
    sqlite_autoincrement=True,
)
