"""A browser without scripts, and one with them: clients of the pages of a server."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest

CHROMIUM = shutil.which("chromium")
_PATIENCE = 300_000.0
"""Milliseconds of everything that a page waits for: only a page that hangs reaches them."""
_STAYS = """{
    const later = window.setTimeout;
    window.setTimeout = (work, delay, ...more) => delay >= 10_000 ? 0 : later(work, delay, ...more);
}"""
"""A notice, and the time to undo, do not end while a test waits; both end with the page."""
_TOKEN = re.compile(r'<meta name="csrf" content="([0-9a-f]{64})">')


class Browsing(httpx.Client):
    """A client of the pages at a port: it keeps the cookie, and ``submit`` adds the token of the session to a form."""

    def __init__(self, port: int | None, **options: Any) -> None:
        super().__init__(base_url=f"http://127.0.0.1:{port}", timeout=300, **options)
        self.headers["accept"] = "text/html"

    @property
    def token(self) -> str:
        """Return the token of the session."""
        found = _TOKEN.search(self.get("/login", follow_redirects=True).text)
        assert found is not None
        return found[1]

    def submit(self, path: str, **fields: object) -> httpx.Response:
        """Send a form as the page with the form does; a redirect is not followed."""
        return self.post(path, data={"csrf": self.token, **fields})

    def log_in(self, key: str) -> None:
        """Begin a session with a key."""
        assert self.submit("/login", key=key, next="/").status_code == 303


class Markup(HTMLParser):
    """Collects parts that pages never write: other elements, handlers, styles, scripts and foreign addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.read = ""
        """All that people read or hear."""

    def handle_data(self, data: str) -> None:
        self.read += data

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag in ("iframe", "object", "embed", "base", "style", "b") or (tag == "script" and not given.get("src")):
            self.wrong.append(tag)
        if (
            tag == "img"
            and "data-picture" not in given
            and not (given.get("src") or "").startswith(("/c/", "/pictures/"))
        ):
            self.wrong.append(f"img {given.get('src')}")
        self.read += "".join(given.get(name) or "" for name in ("alt", "title", "aria-label"))
        for name, value in attributes:
            address = name in ("href", "src", "action")
            outside = address and (not (value or "").startswith(("/", "#")) or (value or "").startswith(("//", "/\\")))
            if name.startswith("on") or name in ("style", "srcdoc") or outside:
                self.wrong.append(f"{tag} {name}={value}")


def _patient(context: Any) -> None:
    """Let the pages of a context wait for a busy machine."""
    context.set_default_timeout(_PATIENCE)
    context.add_init_script(_STAYS)


@contextmanager
def chromium() -> Iterator[Any]:
    """Debian's chromium, as Playwright drives it; the test is skipped without either."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"], timeout=_PATIENCE
        )
        browser.on("context", _patient)
        yield browser
        browser.close()


@contextmanager
def faultless(browser: Any, port: int | None, **options: Any) -> Iterator[Any]:
    """A page of which no request leaves the server, and which logs no error; with options of Playwright's contexts."""
    address = f"http://127.0.0.1:{port}"
    context = browser.new_context(**{"base_url": address, "viewport": {"width": 1440, "height": 900}, **options})
    page, faults = context.new_page(), []
    page.on(
        "console",
        lambda one: faults.append(f"{one.text} {one.location}") if one.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda one: None if one.url.startswith((f"{address}/", "blob:")) else faults.append(one.url))
    yield page
    context.close()
    assert faults == []


def until(page: Any, expression: str) -> None:
    """Wait until an expression is true; the policy of the pages forbids Playwright's own way, which is eval."""
    for _ in range(6_000):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never true: {expression}")


def axe_script() -> str:
    """The source of axe-core, which finds obstacles to people; the test is skipped without it."""
    root = Path(__file__).resolve().parents[2]
    for folder in (root, *root.parents):
        script = folder / "node_modules/axe-core/axe.min.js"
        if script.is_file():
            return script.read_text(encoding="utf-8")
    pytest.skip("axe-core is not installed: npm install --no-save --prefix . axe-core")
