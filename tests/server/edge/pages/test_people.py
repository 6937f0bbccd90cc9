"""The pages serve two people at once, a slow and a broken network, a phone, and a window of every width."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import chromium, faultless, until
from open_homes import copy_home

from crossview.engine.collections.home import Home
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

pytestmark = pytest.mark.long
KEY, OTHER = "pictures/dots/dots-00.jpg", "pictures/waves/waves-01.jpg"
SLOW = {"offline": False, "latency": 400, "downloadThroughput": 50_000, "uploadThroughput": 20_000}
"""A bad mobile connection: milliseconds, and bytes a second."""
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def own(home: Home, tmp_path: Path) -> Iterator[RunningServer]:
    """A server of a copy of the home, which a test may change."""
    copy_home(home.path / "drawn", tmp_path / "drawn")
    with RunningServer(ServerSettings(home=tmp_path, port=0, web=True)) as running:
        yield running


def test_two_people_answer_at_once_and_see_each_other(browser: Any, own: RunningServer) -> None:
    address = "/c/drawn/teach/ask?notion=both&person="
    with faultless(browser, own.http_port) as ann, faultless(browser, own.http_port) as ben:
        ann.goto(f"{address}ann")
        ben.goto(f"{address}ben")
        for number in range(3):
            for page in (ann, ben):
                page.locator(".choices .choice").first.click()
            for page in (ann, ben):
                page.wait_for_selector(f'[data-status]:has-text("{number + 1} answer")')
        ann.goto("/c/drawn/teach")
        shown = ann.locator(".card:has-text('both')").text_content()
        assert ("6 answers" in shown, "ann 3" in shown, "ben 3" in shown) == (True, True, True)


def test_an_item_that_another_person_deletes_is_gone_with_a_word(browser: Any, own: RunningServer) -> None:
    with faultless(browser, own.http_port) as ann:
        context = browser.new_context(base_url=f"http://127.0.0.1:{own.http_port}")
        ben = context.new_page()
        ann.goto(f"/c/drawn/browse?where=key+%3D+{KEY}")
        ben.goto("/c/drawn?order=key")
        ann.locator(".choose input").first.check(force=True)
        ann.click("[data-do=delete]")
        ann.goto("/")  # ends the time to undo
        ann.wait_for_load_state("networkidle")
        ben.click(f'.tile[data-key="{KEY}"] .hit')
        assert "no item" in ben.locator("[role=alert]").first.text_content()
        ben.go_back()
        ben.click(f'.tile[data-key="{OTHER}"] .hit')
        ben.wait_for_selector(".list h2:has-text('Nearest first')")
        context.close()


def test_on_a_slow_network_the_last_click_counts(browser: Any, site: RunningServer) -> None:
    with faultless(browser, site.http_port) as page:
        page.goto("/c/drawn?order=key")
        page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", SLOW)
        page.click(f'.tile[data-key="{KEY}"] .hit')
        assert page.evaluate("document.querySelector('main').getAttribute('aria-busy')") == "true"
        page.click(f'.tile[data-key="{OTHER}"] .hit')
        page.wait_for_selector(".chip")
        page.wait_for_load_state("networkidle")
        assert page.locator(".chip input").get_attribute("value") == OTHER
        assert page.evaluate("document.querySelector('main').getAttribute('aria-busy')") is None
        page.go_back()
        until(page, "!document.querySelector('.chip')")


def test_a_broken_network_is_named_and_nothing_is_lost(browser: Any, site: RunningServer) -> None:
    context = browser.new_context(base_url=f"http://127.0.0.1:{site.http_port}")
    page = context.new_page()
    page.goto(f"/c/drawn?like={KEY}")
    before = page.locator(".tile").count()
    context.set_offline(True)
    page.locator(".tile .hit").nth(3).click()
    page.wait_for_selector(".notice:has-text('cannot be reached')")
    assert (page.locator(".tile").count(), page.locator(".chip").count()) == (before, 1)
    context.set_offline(False)
    page.locator(".tile .hit").nth(3).click()
    until(page, f"document.querySelector('.chip input').value !== '{KEY}'")
    context.close()


def test_a_phone_refines_a_search_by_touch(browser: Any, site: RunningServer) -> None:
    with faultless(browser, site.http_port, **PHONE) as page:
        page.goto("/c/drawn?order=key")
        page.tap(f'.tile[data-key="{KEY}"] .hit')
        page.wait_for_selector(".chip")
        page.locator('.tiles[data-list="0"] .tile [data-act="item"]').nth(2).tap()
        page.wait_for_selector("#panel:not([hidden]) .sheet")
        page.locator('#panel [data-act="not-like"]').tap()
        page.wait_for_selector(".chip.against")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [320, 390, 768, 1440, 2560])
def test_no_page_is_wider_than_the_window(browser: Any, site: RunningServer, width: int) -> None:
    with faultless(browser, site.http_port, viewport={"width": width, "height": 844}) as page:
        for path in ("/", "/c/drawn", f"/c/drawn?like={KEY}", "/c/drawn/browse", "/c/drawn/teach"):
            page.goto(path, wait_until="networkidle")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def test_reduced_motion_and_names_from_right_to_left(browser: Any, site: RunningServer) -> None:
    with faultless(browser, site.http_port, reduced_motion="reduce", locale="he-IL") as page:
        page.goto("/c/drawn")
        assert page.evaluate("getComputedStyle(document.querySelector('.tile .picture')).transitionDuration") == "0s"
        assert page.locator(".tile bdi").count() == page.locator(".tile").count()
