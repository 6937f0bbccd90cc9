"""The search page in Debian's chromium: pictures, keys, sizes, accessibility, and nothing from outside."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import axe_script, chromium, faultless, until

from crossview.server.edge.listen import RunningServer

pytestmark = pytest.mark.long

KEY, OTHER = "pictures/dots/dots-00.jpg", "pictures/waves/waves-01.jpg"
DROP = """(data) => {
  const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
  const carried = new DataTransfer();
  carried.items.add(new File([bytes], "dropped.jpg", { type: "image/jpeg" }));
  for (const name of ["dragenter", "dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(name, { dataTransfer: carried, bubbles: true, cancelable: true }));
}"""
PASTE = """(data) => {
  const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
  const carried = new DataTransfer();
  carried.items.add(new File([bytes], "pasted.jpg", { type: "image/jpeg" }));
  document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: carried, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def page(browser: Any, site: RunningServer) -> Iterator[Any]:
    with faultless(browser, site.http_port) as opened:
        yield opened


def keys(page: Any, number: int = 0) -> list[str]:
    found: list[str] = page.eval_on_selector_all(
        f'.tiles[data-list="{number}"] > .tile', "tiles => tiles.map((one) => one.dataset.key)"
    )
    return found


def encoded(pictures: Path, name: str) -> str:
    import base64

    return base64.b64encode((pictures / name).read_bytes()).decode()


def test_a_dropped_a_pasted_and_a_chosen_picture_find_items(page: Any, pictures: Path) -> None:
    page.goto("/c/drawn")
    page.evaluate(DROP, encoded(pictures, "dots/dots-00.jpg"))
    page.wait_for_selector(".chip")
    assert (len(page.query_selector_all(".list")), keys(page)[0]) == (1, KEY)
    page.evaluate(PASTE, encoded(pictures, "waves/waves-01.jpg"))
    until(page, "document.querySelectorAll('.chip').length === 2")
    page.set_input_files("#files", pictures / "bricks/bricks-00.jpg")
    until(page, "document.querySelectorAll('.chip').length === 3")
    page.click(".chip .sign >> nth=1")
    page.wait_for_selector(".chip.against")
    page.reload()
    assert len(page.query_selector_all(".chip")) == 3
    page.set_input_files("#files", {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"no picture"})
    page.wait_for_selector(".notice")


def test_from_a_click_to_more_like_this_and_not_that(page: Any) -> None:
    page.goto("/c/drawn?order=key")
    page.click(f'.tile[data-key="{KEY}"] .hit')
    page.wait_for_selector(".chip")
    assert page.url.endswith(f"?like={KEY.replace('/', '%2F')}&order=key")
    tile = page.locator(f'.tile[data-key="{OTHER}"]').first
    tile.hover()
    tile.locator('[data-act="not-like"]').click()
    page.wait_for_selector(".chip.against")
    assert OTHER not in keys(page)
    address = page.url
    page.go_back()
    until(page, "document.querySelectorAll('.chip').length === 1")
    page.goto(address)  # a permanent link
    assert len(page.query_selector_all(".chip")) == 2


def test_the_keyboard_reaches_everything(page: Any) -> None:
    page.goto("/c/drawn?order=key")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "words"
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.closest('.tile').dataset.key") == sorted(keys(page))[1]
    page.keyboard.press("Enter")
    page.wait_for_selector(".chip")
    page.wait_for_selector(".list h2:has-text('Nearest first')")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("n")
    page.wait_for_selector(".chip.against")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("m")
    until(page, "document.querySelectorAll('.chip:not(.against)').length === 2")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("i")
    page.wait_for_selector("#panel:not([hidden]) .sheet")
    assert "item=" in page.url
    page.keyboard.press("Escape")
    page.wait_for_selector("#panel", state="hidden")
    page.keyboard.press("?")
    page.wait_for_selector("#help[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("#help", state="hidden")


def test_a_condition_is_completed(page: Any) -> None:
    page.goto("/c/drawn")
    page.click("#where")
    page.keyboard.type("lab")
    page.wait_for_selector("#completions li:has-text('label')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type("= w")
    page.wait_for_selector("#completions li:first-child:has-text('waves')")  # not the earlier list of all values
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    until(page, "location.search.includes('where')")
    until(page, "document.querySelectorAll('.tile').length === 6")
    assert {key.split("/")[1] for key in keys(page)} == {"waves"}


def test_an_explanation_is_drawn_over_both_pictures(page: Any) -> None:
    page.goto(f"/c/drawn?like={KEY}&view=sift&target=sift")
    page.focus(".tile .hit")
    page.keyboard.press("w")
    page.wait_for_selector("#why[open] .overlay circle")
    sides = page.query_selector_all("#why .overlay")
    assert [len(one.query_selector_all("circle.word")) > 0 for one in sides] == [True, True]
    page.keyboard.press("Escape")
    page.wait_for_selector("#why", state="hidden")


def test_a_link_of_another_site_leads_into_the_session(browser: Any, site: RunningServer, pictures: Path) -> None:
    """The browser hides the cookie from the first request, because of SameSite=Strict; the page asks again."""
    page = browser.new_context().new_page()
    page.goto(f"http://127.0.0.1:{site.http_port}/c/drawn")
    page.set_input_files("#files", pictures / "bricks/bricks-00.jpg")
    page.wait_for_selector(".chip")
    address = page.url
    page.goto(f"http://localhost:{site.http_port}/")
    page.evaluate("(to) => { document.querySelector('.brand').href = to; }", address)
    page.click(".brand")
    page.wait_for_url(address)
    page.wait_for_selector(".list")
    assert keys(page)[0] == "pictures/bricks/bricks-00.jpg"
    page.context.close()


def test_a_deletion_can_be_undone_for_a_while(page: Any) -> None:
    page.goto(f"/c/drawn?order=key&item={KEY}")
    page.click("[data-delete] button")
    page.wait_for_selector(f'.tile[data-key="{KEY}"]', state="hidden")
    page.click(".notice button")
    page.wait_for_selector(f'.tile[data-key="{KEY}"]', state="visible")
    page.reload()  # a reload would delete the pending items
    assert KEY in keys(page)


def test_further_results_come_while_people_scroll(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crossview.server.edge.pages.search_page.PAGE", 6)
    monkeypatch.setattr("crossview.server.edge.pages.search_requests.PAGE", 6)
    page.goto(f"/c/drawn?like={KEY}&lists=each")
    until(page, "document.querySelectorAll('.tile').length === 34")
    assert (len(set(keys(page))), len(set(keys(page, 1)))) == (17, 17)


def test_the_theme_stays(page: Any) -> None:
    page.goto("/")
    before = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.click("#theme")
    after = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.goto("/c/drawn")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == after != before


STATES = (
    "/",
    "/c/drawn",
    f"/c/drawn?like={KEY}",
    f"/c/drawn?like={KEY}&not-like={OTHER}&item={KEY}",
    f"/c/drawn?like={KEY}&compare=1&b-space=raw",
    "/c/drawn?where=label+%3D",
    f"/c/drawn/why?like={KEY}&key={OTHER}",
    "/c/none",
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_no_state_keeps_people_out(browser: Any, site: RunningServer, width: int, scheme: str) -> None:
    """axe-core finds no serious violation, nothing is wider than the window, and a page has at most 200 kB."""
    script = axe_script()
    context = browser.new_context(
        base_url=f"http://127.0.0.1:{site.http_port}",
        viewport={"width": width, "height": 844},
        color_scheme=scheme,
        bypass_csp=True,
    )
    page = context.new_page()
    sizes: list[int] = []
    page.on("response", lambda one: sizes.append(len(one.body())) if "thumbnail" not in one.url and one.ok else None)
    for path in STATES:
        sizes.clear()
        page.goto(path, wait_until="networkidle")
        assert sum(sizes) < 200_000, path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        page.evaluate(script)
        found = page.evaluate("axe.run()")
        serious = [
            (one["id"], [node["html"][:200] for node in one["nodes"]][:3])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], path
    context.close()


def test_a_page_without_scripts_still_searches(browser: Any, site: RunningServer) -> None:
    context = browser.new_context(base_url=f"http://127.0.0.1:{site.http_port}", java_script_enabled=False)
    page = context.new_page()
    page.goto("/c/drawn?order=key")
    page.click(f'a.hit[href*="{re.sub("/", "%2F", KEY)}"]')
    assert page.url.endswith("&order=key")
    assert page.locator(".list").count() == 1
    page.fill("#where", "label = waves")
    page.click(".ask button.primary")
    assert page.locator(".tile").count() == 6
    context.close()
