"""Items are found by the paths of their files, in any Unicode form, and in time in proportion to items and names."""

import unicodedata
from collections.abc import Iterable

import numpy as np
import pytest

from crossview.engine.catalog.catalog import Catalog
from crossview.engine.catalog.items import Items
from crossview.engine.catalog.lookup import named_keys
from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem

NFC, NFD = (unicodedata.normalize(form, "été.png") for form in ("NFC", "NFD"))


@pytest.fixture
def made(home: Home):
    with home.create("made", ["v=vectors:dim=2"]) as opened:
        opened.items.put_vectors("v", [f"top/{NFC}", "other/a.png", "top/a.png", "bare"], np.zeros((4, 2), np.float32))
        opened.items.put([NewItem("bare", text="x", source=f"/photos/{NFD}")])
        yield opened


def catalog(made: Collection) -> Catalog:
    return made._opened.catalog


def test_a_path_below_any_root_names_an_item(made: Collection) -> None:
    with catalog(made).read() as tx:
        found = named_keys(tx, ["a.png", NFC, NFD, "bare", "top/a.png", f"/photos/{NFC}", "none.png"])
    assert {name: sorted(keys) for name, keys in found.items()} == {
        "a.png": ["other/a.png", "top/a.png"],
        NFC: [f"top/{NFC}"],
        NFD: [f"top/{NFC}"],
        "bare": ["bare"],
        "top/a.png": ["top/a.png"],
        f"/photos/{NFC}": ["bare"],
    }


def test_folders_and_names_are_not_multiplied(made: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand of each are a thousand keys to look up, not a million."""
    made.items.put_vectors("v", [f"folder{number}/x" for number in range(1_000)], np.zeros((1_000, 2), np.float32))
    looked_up: list[str] = []
    ids_of = Items.ids_of

    def counted(self: Items, keys: Iterable[str]) -> dict[str, int]:
        found = list(keys)
        looked_up.extend(found)
        return ids_of(self, found)

    monkeypatch.setattr(Items, "ids_of", counted)
    with catalog(made).read() as tx:
        assert named_keys(tx, [f"no{number}" for number in range(1_000)]) == {}
    assert len(looked_up) <= 1_000
