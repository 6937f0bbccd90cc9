"""Hits are grouped by copies of a picture: one of each, for any names of its files."""

from collections.abc import Iterator

import pytest
from photographs import COPIES, encoded, photograph

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
from crossview.engine.values.query import Query, SearchRequest

NEAR = ("resized", "recompressed", "mirrored", "greyscale")
OTHERS = 12


@pytest.fixture
def album(tmp_path) -> Iterator[Collection]:
    with Home(tmp_path / "home").create("album", ["color", "gist"]) as made:
        copies = [NewItem(f"7-{name}", image=encoded(COPIES[name](photograph(7)))) for name in NEAR]
        others = [NewItem(str(number), image=encoded(photograph(number))) for number in range(OTHERS)]
        made.items.put([*others, *copies, NewItem("7-same", image=encoded(photograph(7))), NewItem("words", text="no")])
        yield made


def found(collection: Collection, k: int = 50, **options) -> list[str]:
    query = Query("color", image=encoded(photograph(7)))
    (hits,) = collection.search(SearchRequest([query], k=k, targets=("color",), **options))
    return [hit.key for hit in hits.hits]


def test_of_copies_only_the_first_hit_stays(album: Collection) -> None:
    every = found(album)
    assert set(every) == {*map(str, range(OTHERS)), "7-same", *(f"7-{name}" for name in NEAR)}
    one_each = found(album, per="duplicate")
    assert {key.partition("-")[0] for key in one_each} == set(map(str, range(OTHERS)))
    assert len(one_each) == OTHERS
    assert one_each == [key for key in every if key in one_each]
    assert one_each[0] == every[0]


def test_k_hits_and_several_of_each(album: Collection) -> None:
    assert found(album, k=5, per="duplicate") == found(album, per="duplicate")[:5]
    assert len(found(album, per="duplicate", hits_per=3)) == OTHERS + 2


def test_judgements_come_before_fingerprints(album: Collection) -> None:
    album.duplicate_judgements.judge("7", "7-same", False, person="ann")
    album.duplicate_judgements.judge("0", "1", True, person="ann")
    one_each = found(album, per="duplicate")
    assert {"7", "7-same"} <= set(one_each)
    assert len({"0", "1"} & set(one_each)) == 1
