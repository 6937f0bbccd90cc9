"""Draws docs/gallery: nine states of the pages, wide and on a phone, light and dark.

Usage: python tools/screenshots.py HOME..., the homes of `crossview demo --keep`, and of its --notions, --attributes and
--camera; they are copied and stay as they are.
"""

import io
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parent.parent
OUT = ROOT / "docs/gallery"
NAME, NOTION = "demo", "texture"
LIKE = "like=pictures%2Fleaves%2Fleaves-19.jpg"
SIZES = {"wide": (1440, 900), "phone": (390, 844)}
THEMES = ("light", "dark")
Act = Callable[[Page], object]


def why(page: Page) -> None:
    """Open the explanation of the second result in texture."""
    page.locator('.tiles[data-list="0"] .tile .hit').nth(1).focus()
    page.keyboard.press("w")
    page.wait_for_selector("#why[open] .overlay")


def choose(page: Page) -> None:
    """Choose four items."""
    for number in (2, 3, 4, 6):
        page.locator(".choose input").nth(number).check(force=True)


def nothing(page: Page) -> None:
    """Leave the page as it is."""


STATES: dict[str, tuple[str, Act]] = {
    "home": ("/", nothing),
    "search": (f"/c/{NAME}?{LIKE}&lists=each&item=pictures%2Fleaves%2Fleaves-13.jpg", nothing),
    "compare": (f"/c/{NAME}?{LIKE}&compare=1&b-space=raw", nothing),
    "why": (f"/c/{NAME}?{LIKE}&view=sift&target=sift", why),
    "browse": (f"/c/{NAME}/browse", choose),
    "map": (f"/c/{NAME}/map", nothing),
    "question": (f"/c/{NAME}/teach/ask?notion={NOTION}&person=ann&kind=grid", nothing),
    "training": ("", nothing),
    "changes": ("/c/street-changes/changes", nothing),
}
"""An address for each state, and what to do there; the address of the training is found by training."""


def train(page: Page) -> str:
    """Make the map, answer questions, train a space, and return the address that compares it with the former one."""
    page.goto(f"/c/{NAME}/map")
    page.click("text=Make the map")
    page.wait_for_selector("#legend li", timeout=60_000)
    page.goto(f"/c/{NAME}/teach/ask?notion={NOTION}&person=ann")
    for number in range(12):
        page.locator(".choices .choice").first.click()
        page.wait_for_selector(f'[data-status]:has-text("{number + 1} answer")')
    page.goto(f"/c/{NAME}/teach/train")
    page.click("button:text-is('Train')")
    page.wait_for_selector(".decide", timeout=60_000)
    page.wait_for_selector(".job:not([data-runs])", timeout=60_000)
    return page.url


def shoot(browser: Any, address: str, states: dict[str, tuple[str, Act]]) -> None:
    """Write a picture for each state, size and theme."""
    for size, (width, height) in SIZES.items():
        for theme in THEMES:
            context = browser.new_context(
                base_url=address, viewport={"width": width, "height": height}, color_scheme=theme
            )
            page = context.new_page()
            for state, (path, act) in states.items():
                page.goto(path, wait_until="networkidle")
                act(page)
                page.wait_for_load_state("networkidle")
                page.wait_for_timeout(400)  # transitions end
                with Image.open(io.BytesIO(page.screenshot())) as shot:
                    shot.convert("RGB").save(OUT / f"{state}-{size}-{theme}.webp", quality=80, method=6)
            context.close()


def main(homes: list[Path]) -> None:
    """Draw the gallery from copies of homes."""
    sys.path.insert(0, str(ROOT))
    from crossview.server.edge.listen import RunningServer
    from crossview.server.wire.settings import ServerSettings

    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as driver:
        for home in homes:
            shutil.copytree(home, Path(scratch) / "home", dirs_exist_ok=True)
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with RunningServer(ServerSettings(home=Path(scratch) / "home", port=0, web=True)) as running:
            address = f"http://127.0.0.1:{running.http_port}"
            trained = train(browser.new_page(base_url=address))
            shoot(browser, address, STATES | {"training": (trained, nothing)})
        browser.close()


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
