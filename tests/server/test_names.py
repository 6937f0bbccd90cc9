import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossview.engine.values.errors import InvalidInputError
from crossview.server.wire.names import (
    collection_name,
    item_name,
    parse_collection,
    parse_item,
    parse_space,
    space_name,
)

SHORT = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,62}", fullmatch=True)


@given(SHORT, st.text(min_size=1))
def test_item_names_keep_any_key(collection: str, key: str) -> None:
    """A key may hold slashes, line ends and the words of other resource names."""
    assert parse_item(item_name(collection, key)) == (collection, key)


@given(SHORT, SHORT)
def test_names_come_back(collection: str, space: str) -> None:
    """Parsing undoes formatting."""
    assert parse_collection(collection_name(collection)) == collection
    assert parse_space(space_name(collection, space)) == (collection, space)


@given(st.text())
def test_any_text_parses_or_is_invalid_input(name: str) -> None:
    """No text makes a parser fail in another way."""
    for parse in (parse_collection, parse_item, parse_space):
        with contextlib.suppress(InvalidInputError):
            parse(name)


@pytest.mark.parametrize("name", ["", "pets", "collections/", "collections/a/b", "/collections/a", "collections/a\n"])
def test_malformed_collection_names_are_refused(name: str) -> None:
    """Only collections/COLLECTION is a collection."""
    with pytest.raises(InvalidInputError, match="collections/COLLECTION"):
        parse_collection(name)
