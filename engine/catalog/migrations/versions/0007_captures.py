"""Facts from the files of pictures and the pages beside them; large integers become text."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_EXACT = 2**53
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
    # Without a stamp, so that the next indexing reads the other facts from the files.
    op.execute(
        "INSERT INTO captures (item_id, stamp, modified_ns) "
        "SELECT id, '', modified_ns FROM items WHERE NOT deleted AND modified_ns > 0"
    )
    _write_large_integers_as_text()


def _write_large_integers_as_text() -> None:
    """Turn integers that a double rounds into text: earlier versions accepted them, and servers could not send them."""
    connection = op.get_bind()
    found = connection.execute(sa.text("SELECT id, attributes FROM items WHERE length(attributes) > 16"))
    changed = []
    for item, attributes in found:
        values = json.loads(attributes)
        if (text := json.dumps(_plain(values))) != json.dumps(values):
            changed.append({"id": item, "attributes": text})
    if changed:
        connection.execute(sa.text("UPDATE items SET attributes = :attributes WHERE id = :id"), changed)


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {name: _plain(one) for name, one in value.items()}
        case list():
            return [_plain(one) for one in value]
        case int() if abs(value) > _EXACT:
            return str(value)
    return value
