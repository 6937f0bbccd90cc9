"""Duplicates, suggested labels, sliders and changes work in Debian's chromium, by keys if they have keys."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import chromium, faultless, until
from open_homes import copy_home

from crossview.engine.collections.home import Home
from crossview.engine.values.item import ItemUpdate, NewItem
from crossview.engine.values.recipe import Recipe
from crossview.server.commands.demo.camera import VIEW, write_street
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

pytestmark = pytest.mark.long
WIDTHS = {"phone": 390, "wide": 1440}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture(params=WIDTHS)
def opened(
    browser: Any, home: Home, tmp_path: Path, pictures: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[Any, Home]]:
    """A page of a server on a copy of the home with copies of a picture, of either width; and the copy."""
    made = Home(copy_home(home.path / "drawn", tmp_path / "home" / "drawn").parent)
    with made.open("drawn") as collection:
        picture = (pictures / "dots/dots-00.jpg").read_bytes()
        collection.items.put([NewItem(f"copy-{number}", image=picture, labels=("dots",)) for number in range(2)])
    with (
        RunningServer(ServerSettings(home=made.path, port=0, web=True)) as running,
        faultless(browser, running.http_port, viewport={"width": WIDTHS[request.param], "height": 844}) as page,
    ):
        yield page, made


def keys(home: Home, where: str = "") -> list[str]:
    with home.open("drawn") as collection:
        return [one.key for one in collection.items(where)] if where else [one.key for one in collection.items()]


def test_duplicates_are_reviewed_by_keys(opened: tuple[Any, Home]) -> None:
    page, home = opened
    page.goto("/c/drawn/duplicates?find=1")
    page.wait_for_selector(".group")
    page.keyboard.press("j")
    page.keyboard.press("n")
    until(page, "document.querySelector('[data-reviewed]').textContent.startsWith('1 of')")
    page.keyboard.press("z")
    until(page, "document.querySelector('[data-reviewed]').textContent.startsWith('0 of')")
    before = keys(home)
    page.keyboard.press("d")
    until(page, "document.querySelector('[data-reviewed]').textContent.startsWith('1 of')")
    page.goto("/")  # ends the time to undo
    for _ in range(6_000):
        if len(keys(home)) < len(before):
            break
        page.wait_for_timeout(50)
    gone = set(before) - set(keys(home))
    assert gone <= {"copy-0", "copy-1", "pictures/dots/dots-00.jpg"}
    assert gone


def test_suggested_labels_are_accepted_rejected_and_taken_back(opened: tuple[Any, Home]) -> None:
    page, home = opened
    with home.open("drawn") as collection:
        some = [one.key for one in collection.items("label = waves")][:3]
        collection.items.update([ItemUpdate(key, labels=()) for key in some])
    page.goto("/c/drawn/teach/labels")
    page.locator("[data-hotkey=a]").first.focus()
    page.keyboard.press("a")
    until(page, "document.querySelector('.decided')?.textContent.startsWith('Accepted')")
    assert len(keys(home, "not label exists")) == 2
    page.keyboard.press("u")
    until(page, "document.querySelector('.decided')?.textContent.startsWith('Took back')")
    assert len(keys(home, "not label exists")) == 3
    page.locator("[data-hotkey=r]").first.focus()
    page.keyboard.press("r")
    until(page, "document.querySelectorAll('.suggestion').length === 2")
    page.locator("input[name=least]").fill("0")
    page.keyboard.press("Shift+A")
    until(page, "document.querySelector('.decided')?.textContent.startsWith('Accepted')")
    assert len(keys(home, "not label exists")) == 1


def test_results_follow_a_slider_and_the_address_keeps_it(opened: tuple[Any, Home]) -> None:
    page, home = opened
    with home.open("drawn") as collection:
        collection.train(Recipe(spec="attributes", views=("color",)), space="moods")
    page.goto("/c/drawn/teach/attributes?space=moods&like=pictures%2Fdots%2Fdots-01.jpg")
    before = page.locator("#results").inner_html()
    page.locator("input[type=range]").first.focus()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    until(page, "location.search.includes('by.')")
    assert page.locator("#results").inner_html() != before
    assert page.locator("output").first.text_content() == "+1.5"
    page.reload()
    assert page.locator("output").first.text_content() == "+1.5"


def test_the_threshold_counts_pairs_while_it_moves(opened: tuple[Any, Home]) -> None:
    page, _ = opened
    page.goto("/c/drawn/teach/same?view=color")
    page.click("text=Calibrate by labels")
    page.wait_for_selector(".pair-card")
    counts = []
    for value in ("1", "99"):
        page.locator("input[type=range][name=at]").fill(value)
        counts.append(page.locator(".pair-card:not(.under)").count())
    assert counts[0] > counts[1]
    assert page.locator("[data-count=recall]").text_content().endswith("%")


def test_a_wipe_shows_the_picture_before_and_after(opened: tuple[Any, Home], tmp_path: Path) -> None:
    page, home = opened
    write_street(tmp_path / "street", hours=36)
    with home.create("street", [VIEW]) as collection:
        collection.index([tmp_path / "street"])
    page.goto("/c/street/changes?all=1")
    page.locator(".change input[type=range]").first.fill("20")
    assert page.locator(".change").first.evaluate("one => one.style.getPropertyValue('--wipe')") == "20%"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
