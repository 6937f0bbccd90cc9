"""A person who is new to the page goes from the demo to a cross-view result, a refined search, and a taught notion."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import chromium

pytestmark = pytest.mark.long
CLICKS = {"across views": 3, "more like this, not like that": 6, "a taught notion": 15}
"""Maximum number of clicks; typing and choosing from an open list count one each."""
CROSSVIEW = Path(sys.executable).with_name("crossview")


class Visitor:
    """A person at a page, whose clicks are counted."""

    def __init__(self, page: Any) -> None:
        self.page, self.clicks = page, 0

    def click(self, selector: str) -> None:
        """Click the first element of a selector; hovering over an element does not count."""
        self.clicks += 1
        self.page.locator(selector).first.click()

    def choose(self, selector: str, value: str) -> None:
        """Open a list and choose from it."""
        self.clicks += 2
        self.page.locator(selector).first.select_option(value)

    def type(self, selector: str, text: str) -> None:
        """Click a field and type."""
        self.click(selector)
        self.page.keyboard.type(text)

    def shown(self, number: int = 0) -> list[str]:
        """Return the keys of a list of results."""
        found: list[str] = self.page.eval_on_selector_all(
            f'.tiles[data-list="{number}"] > .tile', "tiles => tiles.map((one) => one.dataset.key)"
        )
        return found


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address that the demo's printed command prints."""
    folder = tmp_path_factory.mktemp("first")
    done = subprocess.run(
        [CROSSVIEW, "demo", "--keep", "--out", "demo-out"], cwd=folder, capture_output=True, text=True, check=True
    )
    hint = re.search(r"^ +\S*crossview (open .*)", done.stdout, re.M)
    assert hint is not None
    environment = {**os.environ, "BROWSER": "true"}
    command = [CROSSVIEW, *shlex.split(hint[1].replace(" 8080 ", " 0 ")), "--no-browser"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        yield next(line for line in server.stdout if line.startswith("open ")).removeprefix("open ").strip()
        server.send_signal(signal.SIGINT)


@pytest.fixture
def visitor(address: str) -> Iterator[Visitor]:
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(address)
        yield Visitor(page)


def test_a_result_across_views_takes_three_clicks(visitor: Visitor) -> None:
    """The colours of a picture find it in the texture of others, in one list."""
    visitor.click(".tile .hit")
    visitor.page.wait_for_selector(".list h2:has-text('Nearest first')")
    visitor.choose("select[name=view]", "color")
    visitor.page.wait_for_url(re.compile("view=color"))
    visitor.page.wait_for_selector(".list p:has-text('Compared by colours and textures together.')")
    assert len(visitor.shown()) > 10
    assert visitor.clicks <= CLICKS["across views"]


def test_more_like_this_and_not_like_that_take_six_clicks(visitor: Visitor) -> None:
    visitor.click(".tile .hit")
    visitor.page.wait_for_selector(".chip")
    for number, act, chips in ((2, "like", 2), (4, "not-like", 3)):
        tile = f'.tiles[data-list="0"] > .tile:nth-child({number})'
        visitor.page.hover(tile)
        visitor.click(f'{tile} [data-act="{act}"]')
        visitor.page.wait_for_selector(f".chip:nth-child({chips})")
    unwanted = visitor.page.locator(".chip.against input").get_attribute("value")
    assert unwanted not in visitor.shown()
    assert visitor.clicks <= CLICKS["more like this, not like that"]


def test_a_taught_notion_takes_fifteen_clicks(visitor: Visitor) -> None:
    """They are eight answers, the training, and the space in use; the page names each next step."""
    page = visitor.page
    visitor.click(".tabs >> text=Teach")
    visitor.type("input[name=notion]", "color")
    visitor.click("text=Start")
    for number in range(8):
        visitor.click(".choices .choice")
        page.wait_for_selector(f'[data-status]:has-text("{number + 1} answer")')
    visitor.click("text=Train with them")
    visitor.click("button:text-is('Train')")
    visitor.click("text=Use it for searches")
    page.wait_for_selector(".space.active:has-text('taught')")
    assert visitor.clicks <= CLICKS["a taught notion"]
