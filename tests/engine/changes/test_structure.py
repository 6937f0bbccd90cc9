"""Pages by their source: links, images, Jaccard distances, and HTML as it is found."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.changes.structure import MOST_BYTES, Structure, jaccard, source_of, structure
from engine.errors import InvalidInputError

SETS = st.frozensets(st.sampled_from("abcdef"))


@given(SETS, SETS, SETS)
def test_jaccard_is_a_metric(one: frozenset[str], other: frozenset[str], third: frozenset[str]) -> None:
    assert (jaccard(one, other) == 0) == (one == other)
    assert jaccard(one, other) == jaccard(other, one)
    assert jaccard(one, third) <= jaccard(one, other) + jaccard(other, third) + 1e-12
    assert jaccard(one, other) <= 1


def test_links_and_images_are_read_as_browsers_read_them(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(
        b"<!doctype html><A HREF='/news/1'>x<a href=/news/2 >y</a><a name=z>no link</a><area href='/map'>"
        b"<img src=a.png><IMG SRC='b.png'/><img alt=none><!-- <a href='/hidden'> --><a href='\xff\xfe'>bytes"
        b"<script>var a = '<a href=/script>';</script><p><a href='/last'"
    )
    found = structure(page)
    assert {"/news/1", "/news/2", "/map"} <= found.links
    assert not found.links & {"/hidden", "/script"}
    assert found.images == {"a.png", "b.png"}


def test_distances_are_those_of_links_and_of_images() -> None:
    one = Structure(frozenset("abc"), frozenset("x"))
    other = Structure(frozenset("bcd"), frozenset("x"))
    assert one.distances(other) == (0.5, 0.0)


@pytest.mark.parametrize("name", ["shot.html", "shot.htm", "shot.png.html"])
def test_the_source_is_beside_the_picture(tmp_path: Path, name: str) -> None:
    picture = tmp_path / "shot.png"
    assert source_of(picture) is None
    (tmp_path / name).write_text("<p>")
    assert source_of(picture) == tmp_path / name


def test_a_page_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"page\.html"):
        structure(tmp_path / "page.html")
    large = tmp_path / "large.html"
    with large.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(InvalidInputError, match=r"large\.html"):
        structure(large)
