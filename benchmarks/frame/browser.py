"""A page of chromium, for benchmarks that draw or measure pages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.frame.benchmark import MissingDataError


@contextmanager
def browser_page(**options: Any) -> Iterator[Any]:
    """Yield a page of chromium with options of Playwright's pages; MissingDataError without it."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright  # of the tools of development
    except ImportError:
        chromium = None
    if chromium is None:
        raise MissingDataError("this needs playwright and chromium: make .venv/.tools; apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage", "--window-size=1440,900"]
        )
        yield browser.new_page(**options)
        browser.close()
