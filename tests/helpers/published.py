"""A collection of two views, published to an engine, and the comparison of the answers of both."""

from collections.abc import Sequence
from itertools import count
from os import getpid
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.publishing.collection import PublishedCollection
from crossview.engine.publishing.milvus import Milvus
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.publishing.publication import Publication, PublishRequest
from crossview.engine.publishing.publish import publish
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import HitList, Query, SearchRequest
from crossview.engine.values.recipe import DEFAULT, Recipe

WIDTHS = {"v": 6, "w": 4}
"""The views, and the widths of their rows."""
LABELS = "abcd"
_FAR = 4.0
"""Distance of the centres of the labels."""
_ROUNDING = 1e-3
"""Relative difference that distances of two programs may have."""
_NUMBERS = count()


def new_name() -> str:
    """Return a name that no other test publishes under."""
    return f"my-items-{getpid()}-{next(_NUMBERS)}"


def row(number: int, view: str, seed: int = 0) -> NDArray[np.float32]:
    """Return the row of the item with a number in a view: near the centre of its label."""
    random = np.random.default_rng([seed, number, *view.encode()])
    center = np.zeros(WIDTHS[view])
    center[number % len(LABELS)] = _FAR
    return (random.normal(size=WIDTHS[view]) + center).astype(np.float32)


def item(number: int, seed: int = 0) -> NewItem:
    """Return an item with a row in each view, and all fields that conditions test."""
    return NewItem(
        f"k/{number:03}",
        labels=(LABELS[number % len(LABELS)],),
        attributes={"n": number, "s": f"t{number % 7}", "deep": {"even": not number % 2}, "many": [number, number + 1]},
        text=f"item {number}",
        rows={view: row(number, view, seed) for view in WIDTHS},
    )


def taught(home: Home, spec: str = "", items: int = 120) -> Collection:
    """Make a collection, five of whose items lack the second view, and train a space in it; ``raw`` trains nothing."""
    made = home.create("taught", [f"{view}=vectors:dim={width}" for view, width in WIDTHS.items()])
    made.items.put([item(number) for number in range(items)])
    made.items.put([NewItem(f"half/{number}", rows={"v": row(number, "v", 1)}) for number in range(5)])
    if spec != "raw":
        made.train(Recipe(spec=spec or DEFAULT, views=tuple(WIDTHS), holdout=0.2))
    return made


class Published:
    """A collection and its publication; close it after use."""

    def __init__(self, collection: Collection, engine: Milvus, folder: Path, name: str = "") -> None:
        self.name = name or new_name()
        self.collection, self.engine, self.bundles = collection, engine, folder
        self.first = self.publish()
        self.published = self.opened()

    def __enter__(self) -> "Published":
        return self

    def __exit__(self, *_: object) -> None:
        self.published.close()

    def request(self, dry_run: bool = False) -> PublishRequest:
        """Return the request that publishes the collection."""
        return PublishRequest(to=str(self.bundles), engine=self.engine, name=self.name, dry_run=dry_run)

    def publish(self, dry_run: bool = False) -> Publication:
        """Publish the collection as it is now."""
        return publish(self.collection, self.request(dry_run))

    def opened(self) -> PublishedCollection:
        """Open the published collection."""
        return PublishedCollection(self.name, ObjectStorage(self.bundles), self.engine)

    def check(self, request: SearchRequest) -> Sequence[HitList]:
        """Check that both collections answer a search alike, and return the answer of the published one."""
        embedded, published = self.collection.search(request), self.published.search(request)
        check_alike(embedded, published)
        return published

    def check_all(self, numbers: Sequence[int], seed: int = 0) -> None:
        """Check searches near some items, in both directions."""
        for number in numbers:
            self.check(SearchRequest([Query(view, vector=row(number, view, seed) + 0.1) for view in WIDTHS]))


def check_alike(one: Sequence[HitList], other: Sequence[HitList]) -> None:
    """Check that two answers have the same hits, in an order that differs only among equal distances."""
    assert [(hits.query, hits.target, len(hits)) for hits in one] == [
        (hits.query, hits.target, len(hits)) for hits in other
    ]
    for left, right in zip(one, other, strict=True):
        distances = [hit.distance for hit in left]
        assert [hit.distance for hit in right] == pytest.approx(distances, rel=_ROUNDING, abs=_ROUNDING)
        farthest = distances[-1] * (1 - _ROUNDING) - _ROUNDING if distances else 0.0
        known = {hit.key: hit for hit in left}
        assert {hit.key for hit in left if hit.distance < farthest} <= {hit.key for hit in right}
        for hit in right:
            if hit.key in known:
                _check_same(known[hit.key], hit)
            else:
                assert hit.distance >= farthest


def _check_same(one: object, other: object) -> None:
    for name, value in vars(one).items():
        if name not in ("distance", "scores", "stored"):
            exact = not isinstance(value, float)
            expected = value if exact else pytest.approx(value, abs=1e-2)
            assert getattr(other, name) == expected, (name, one, other)
