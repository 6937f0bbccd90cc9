"""The pages for browsing in Debian's chromium: choosing, undoing, scrolling among many items, and the map."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import chromium, faultless, until

from crossview.engine.collections.home import Home
from crossview.engine.values.item import NewItem
from crossview.engine.values.map import MapRequest
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

pytestmark = pytest.mark.long
ITEMS = 1_500
CHOSEN = "Number(document.querySelector('[data-count]').textContent.replaceAll(',', '').match(/\\d*/)[0])"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, pictures: Path) -> Iterator[tuple[RunningServer, Home]]:
    """A server of a collection of many items, a few with a picture, and with a map."""
    made = Home(tmp_path_factory.mktemp("many"))
    rng = np.random.default_rng(0)
    picture = (pictures / "dots/dots-00.jpg").read_bytes()
    with made.create("many", views=("v=vectors:dim=4", "color")) as collection:
        rows = rng.normal(size=(ITEMS, 4))
        collection.items.put(
            [NewItem(f"a/{n:05}", rows={"v": row.tolist()}, labels=(f"l{n % 3}",)) for n, row in enumerate(rows)]
        )
        collection.items.put([NewItem(f"b/{n}", image=picture) for n in range(4)])
        collection.maps.make(MapRequest(space="raw", view="v", method="pca"))
    with RunningServer(ServerSettings(home=made.path, port=0, web=True)) as running:
        yield running, made


@pytest.fixture
def page(many: tuple[RunningServer, Home]) -> Iterator[Any]:
    with chromium() as browser, faultless(browser, many[0].http_port) as opened:
        yield opened


def test_far_pages_go_and_come_back_and_the_address_keeps_the_place(page: Any) -> None:
    page.goto("/c/many/browse")
    for _ in range(5_000):
        page.mouse.wheel(0, 3000)
        page.wait_for_timeout(60)
        if page.evaluate("document.querySelectorAll('.page').length") == 13:
            break
    until(page, "document.querySelectorAll('.page').length === 13 && !document.querySelector('.more')")
    until(page, "document.querySelector('.page').dataset.off === '1'")  # the first page is far away
    assert page.evaluate("document.querySelectorAll('.pick-tile').length") < ITEMS
    until(page, "new URLSearchParams(location.search).has('after')")
    page.reload()
    until(page, "document.querySelectorAll('.page').length > 1 && scrollY > 1000")
    page.evaluate("scrollTo(0, 0)")
    until(page, "document.querySelector('.pick-tile')?.dataset.key === 'a/00000'")


def test_keys_alone_choose_label_and_undo(page: Any, many: tuple[RunningServer, Home]) -> None:
    page.goto("/c/many/browse?folder=b/")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("x")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+X")
    until(page, f"{CHOSEN} === 3")
    page.keyboard.press("l")
    page.keyboard.type("mine")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('.notice')?.textContent.startsWith('3 items now have')")

    def mine() -> int:
        with many[1].open("many") as made:
            return sum("mine" in one.labels for one in made.items(limit=2 * ITEMS))

    assert mine() == 3
    page.click(".notice button")
    until(page, "[...document.querySelectorAll('.notice')].some((one) => one.textContent.includes('no longer'))")
    assert mine() == 0


def test_a_deletion_can_be_undone_until_the_page_closes(page: Any, many: tuple[RunningServer, Home]) -> None:
    page.goto("/c/many/browse?folder=b/")
    boxes = page.locator(".choose input")
    boxes.nth(0).click()
    page.click("[data-do=delete]")
    until(page, "document.querySelectorAll('.pick-tile:not([hidden])').length === 3")
    page.click(".notice button")
    until(page, "document.querySelectorAll('.pick-tile:not([hidden])').length === 4")
    boxes.nth(3).click()
    page.click("[data-do=delete]")
    page.goto("/c/many/browse?folder=a/")
    for _ in range(6_000):
        with many[1].open("many") as made:
            left = [one.key for one in made.items("key prefix b/")]
        if len(left) == 3:
            break
        page.wait_for_timeout(50)
    assert left == ["b/0", "b/1", "b/2"]


def test_a_lasso_chooses_what_is_inside(page: Any) -> None:
    page.goto("/c/many/map")
    until(page, "document.querySelectorAll('#legend li').length === 3")
    page.click("[data-tool=lasso]")
    box = page.locator("#map").bounding_box()
    left, top, right, bottom = box["x"] + 3, box["y"] + 3, box["x"] + box["width"] - 3, box["y"] + box["height"] - 3
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom)):
        page.mouse.move(x, y)
    page.mouse.up()
    until(page, f"document.querySelector('[data-count]').textContent.startsWith('{ITEMS:,}')")
    assert page.evaluate(CHOSEN) == ITEMS
    page.keyboard.press("Escape")
    until(page, "!document.querySelector('.chosen-bar.active')")
    page.focus("#map")
    page.keyboard.press("+")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('.chosen-bar.active')")
    assert 0 < page.evaluate(CHOSEN) < ITEMS  # those in the part that the map shows
