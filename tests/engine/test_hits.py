"""Hit lists are sequences that notebooks and tables show."""

import copy
import pickle
import sys
from types import SimpleNamespace

import pytest

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import NotFoundError, NotReadyError
from crossview.engine.values.hits import Hit, HitList

FIRST = Hit(key="<b>a</b>", distance=0.25, target="color", labels=("x&y",), attributes={"year": 2024}, text="<script>")
SECOND = Hit(key="b", distance=1.0, target="color", scores={"furry": 1.5})
FOUND = HitList(0, "color", (FIRST, SECOND))


def test_a_list_of_hits_is_a_sequence() -> None:
    assert len(FOUND) == 2
    assert list(FOUND) == [FIRST, SECOND]
    assert FOUND[0] is FIRST
    assert FOUND[-1] is SECOND
    assert not HitList(0, "", ())


def test_a_table_has_a_row_for_each_hit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attributes and scores are columns of their own."""
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    first, second = FOUND.to_pandas()
    assert (first["key"], first["distance"], first["attributes.year"]) == ("<b>a</b>", 0.25, 2024)
    assert (second["labels"], second["scores.furry"]) == ((), 1.5)


def test_a_table_without_pandas_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(NotReadyError, match="install it with: pip install pandas"):
        FOUND.to_pandas()


def test_what_users_wrote_is_escaped() -> None:
    """A key, a label or a text runs nothing in a notebook."""
    shown = HitList(0, "<i>", FOUND.hits)._repr_html_()
    assert "&lt;b&gt;a&lt;/b&gt;" in shown
    assert "x&amp;y" in shown
    assert not any(tag in shown for tag in ("<b>", "<script>", "<i>"))


def test_hits_without_thumbnails_are_shown_without() -> None:
    """A hit without one, or of a collection that is closed by now, is not an error."""

    def thumbnail(key: str) -> bytes:
        if key == "b":
            raise NotFoundError("none")
        return b"\xff\xd8\xff"

    shown = FOUND.illustrated(thumbnail)
    assert shown == FOUND
    assert shown._repr_html_().count("<img") == 1
    assert FOUND._repr_html_().count("<img") == 0


def test_thumbnails_are_read_of_an_open_collection_only() -> None:
    """A copy in another process compares equal, and holds no collection."""
    shown = FOUND.illustrated(lambda key: b"\xff\xd8\xff")
    for same in (copy.deepcopy(shown), pickle.loads(pickle.dumps(shown))):  # noqa: S301 - its own bytes
        assert same == FOUND
        assert "<img" not in same._repr_html_()


def test_a_long_list_is_shown_in_part() -> None:
    assert "and 10 more" in HitList(0, "", (SECOND,) * 60)._repr_html_()


def test_a_collection_and_a_home_say_what_they_are(home: Home) -> None:
    with home.create("some", ["v=vectors:dim=2"]) as made:
        assert repr(made) == "<crossview collection 'some': 0 items, views v, space raw>"
    assert repr(made) == "<crossview collection 'some', closed or deleted>"
    assert repr(home) == f"Home({str(home.path)!r})"
