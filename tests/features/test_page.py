"""Pages of the web: links, images, malformed ones, too large ones, and time in proportion to length."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossview.features.page import MAX_ADDRESSES, MAX_BYTES, PageError, addresses, read_page


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "page.html"


def test_links_and_images_are_read_as_browsers_read_them(page: Path) -> None:
    page.write_bytes(
        b"<!doctype html><A HREF='/news/1'>x<a href=/news/2 >y</a><a name=z>no link</a><area href='/map'>"
        b"<img src=a.png><IMG SRC='b.png'/><img alt=none><!-- <a href='/hidden'> --><a href='\xff\xfe'>bytes"
        b"<script>var a = '<a href=/script>';</script><p><a href='/last'"
    )
    found = addresses(page)
    assert {"/news/1", "/news/2", "/map"} <= found.links
    assert not found.links & {"/hidden", "/script"}
    assert found.images == {"a.png", "b.png"}


def test_order_and_number_of_mentions_do_not_count(page: Path) -> None:
    page.write_text("<a href=one><a href=two><img src=x>")
    first = read_page(page)
    page.write_text("<img src=x><img src=x><a href=two><a href=one><a href=two>")
    assert read_page(page) == first
    assert len(first.links) == 2
    assert list(first.links) == sorted(first.links)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "<a href=",
            "<",
            "<a ",
            "<div>",
            '<a href="',
            "&amp",
            "<!--",
            "<!-- -",
            "<table>",
            "<a><b><i><div>",
            "<font>",
        ),
        *("<svg>", "<![CDATA[", "<?", "</a", "<a><p></a>", "<table><a>", "<!", "<b><a>", "<select>", "<a x=1 y=2 "),
    ],
)
def test_time_is_in_proportion_to_length(page: Path, unit: str) -> None:
    """Eight times the length takes about eight times as long; comparing all with all would take sixty-four times."""

    def seconds(length: int) -> float:
        page.write_text((unit * (length // len(unit) + 1))[:length])
        return min(_timed(page) for _ in range(3))

    check_proportion(seconds, 50_000)


def test_many_attributes_of_one_element_take_no_longer(page: Path) -> None:
    def seconds(count: int) -> float:
        page.write_text("<a" + "".join(f" x{number}=1" for number in range(count)) + ">")
        return min(_timed(page) for _ in range(3))

    check_proportion(seconds, 10_000)


def check_proportion(seconds: Callable[[int], float], length: int) -> None:
    """Check that some measurement shows the proportion: comparing all with all never does, a busy machine seldom."""
    end = time.monotonic() + 120
    while seconds(8 * length) >= 24 * max(seconds(length), 1e-3):
        assert time.monotonic() < end


def _timed(page: Path) -> float:
    began = time.process_time()
    read_page(page)
    return time.process_time() - began


@given(st.text(alphabet="<>/a =\"'!-&;\x00\n]?", max_size=60) | st.binary(max_size=60))
def test_whatever_a_page_holds_is_read(tmp_path_factory: pytest.TempPathFactory, content: str | bytes) -> None:
    page = tmp_path_factory.getbasetemp() / "any.html"
    page.write_bytes(content.encode() if isinstance(content, str) else content)
    found = read_page(page)
    for hashes in (found.links, found.images):
        assert hashes == tuple(sorted(set(hashes)))


def test_what_is_too_large_is_refused(page: Path) -> None:
    with page.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(PageError, match="at most 2,000,000 bytes"):
        read_page(page)
    page.write_text("".join(f"<a href={number}>" for number in range(MAX_ADDRESSES + 1)))
    with pytest.raises(PageError, match="at most 10,000 different links, not 10,001"):
        read_page(page)


def test_what_is_no_file_is_refused(page: Path) -> None:
    """A wait for a named pipe would have no end."""
    with pytest.raises(PageError, match="No such file"):
        read_page(page)
    os.mkfifo(page)
    with pytest.raises(PageError, match="not a regular file"):
        read_page(page)
