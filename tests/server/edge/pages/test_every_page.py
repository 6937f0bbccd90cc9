"""Every page keeps the browser to this server, and every form refuses requests that another site forged."""

import re
import socket
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

import httpx
import pytest
from browsing import Browsing
from open_homes import copy_home

from crossview.engine.collections.home import Home
from crossview.server.core.keys.keys import Keys
from crossview.server.edge.listen import RunningServer
from crossview.server.edge.pages.answer import local
from crossview.server.edge.pages.routes import PAGES
from crossview.server.wire.settings import ServerSettings

KEY = "pictures/dots/dots-00.jpg"
ADDRESSES = {
    "/": "/",
    "/login": "/login",
    "/c/{collection}": "/c/drawn",
    "/c/{collection}/more": "/c/drawn/more?of=items",
    "/c/{collection}/item": f"/c/drawn/item?key={KEY}",
    "/c/{collection}/why": f"/c/drawn/why?like={KEY}&key={KEY.replace('00', '01')}",
    "/c/{collection}/complete": "/c/drawn/complete?text=label+=+",
    "/c/{collection}/thumbnail": f"/c/drawn/thumbnail?key={KEY}",
    "/c/{collection}/thumbnails": f"/c/drawn/thumbnails?key={KEY}",
    "/pictures/{id}": "/pictures/none",
    "/c/{collection}/browse": "/c/drawn/browse?label=dots",
    "/c/{collection}/browse/more": "/c/drawn/browse/more?sort=-year",
    "/c/{collection}/adding": "/c/drawn/adding",
    "/c/{collection}/map": "/c/drawn/map",
    "/c/{collection}/map/points": "/c/drawn/map/points?id=1",
    "/c/{collection}/duplicates": "/c/drawn/duplicates",
    "/c/{collection}/audit": "/c/drawn/audit?space=raw",
    "/c/{collection}/changes": "/c/drawn/changes",
    "/c/{collection}/teach": "/c/drawn/teach",
    "/c/{collection}/teach/ask": "/c/drawn/teach/ask?notion=color",
    "/c/{collection}/teach/labels": "/c/drawn/teach/labels",
    "/c/{collection}/teach/attributes": "/c/drawn/teach/attributes",
    "/c/{collection}/teach/same": "/c/drawn/teach/same?view=color",
    "/c/{collection}/teach/train": "/c/drawn/teach/train",
    "/c/{collection}/teach/job": "/c/drawn/teach/job?id=none",
}
"""An address of each page."""
INLINE = re.compile(r"<(style|script)(?![^>]* src=)[^>]*>|\son[a-z]+=|\sstyle=|(src|href)=\"(?!/|#)")
"""Scripts and styles in the page itself, and addresses of other hosts."""
WITHOUT_END = {"br", "hr", "img", "input", "link", "meta", "source", "wbr", "col"}
ELEMENTS = """
html head title body header main footer nav section article aside div span h1 h2 h3 h4 p a ul ol li dl dt dd
figure figcaption form fieldset legend label button select option optgroup textarea datalist output progress
meter table caption thead tbody tr th td details summary dialog script template b i em strong small code kbd
pre bdi time mark canvas noscript search svg path circle rect line g text use symbol defs polyline polygon
"""
FORMS = sorted({page.path for page in PAGES if page.verb == "POST"})


class Elements(HTMLParser):
    """The elements of a page, each of HTML or SVG, and each with its end."""

    def __init__(self) -> None:
        super().__init__()
        self._open, self.faults = list[str](), list[str]()

    @classmethod
    def faults_of(cls, text: str) -> list[str]:
        """Return the faults in the elements of a page."""
        page = cls()
        page.feed(text)
        return [*page.faults, *(f"<{name}> has no end" for name in page._open)]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ELEMENTS.split() and tag not in WITHOUT_END:
            self.faults.append(f"<{tag}> is no element")
        if tag not in WITHOUT_END:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ELEMENTS.split() and tag not in WITHOUT_END:
            self.faults.append(f"<{tag}> is no element")

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"</{tag}> ends no element")


def address(path: str) -> str:
    """Return an address of a path."""
    return path.format(collection="drawn", id="none", hash="none", file="none")


def test_the_list_of_addresses_is_complete() -> None:
    assert {page.path for page in PAGES if page.verb == "GET"} == set(ADDRESSES)


@pytest.mark.parametrize("path", [*ADDRESSES.values(), "/c/none", "/nowhere", "/static/none/page.css"])
def test_a_page_allows_nothing_from_outside(browsing: Browsing, path: str) -> None:
    """It has no inline script or style, no other host and no frame; and no part of the page asks for any."""
    found = browsing.get(path)
    policy = dict(one.split(" ", 1) for one in found.headers["content-security-policy"].split("; "))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' blob:",
        "connect-src": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    }
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["x-frame-options"] == "DENY"
    assert found.headers["referrer-policy"] == "same-origin"
    assert found.headers["cross-origin-resource-policy"] == "same-origin"
    assert found.headers["cross-origin-opener-policy"] == "same-origin"
    assert "camera=()" in found.headers["permissions-policy"]
    assert "cache-control" in found.headers
    if found.headers["content-type"].startswith("text/html"):
        assert not INLINE.search(found.text)
        assert "Traceback" not in found.text
        assert Elements.faults_of(found.text) == []
    assert found.status_code < 500


@pytest.mark.parametrize("path", FORMS)
def test_a_form_needs_the_token_of_its_session(browsing: Browsing, path: str) -> None:
    """The token of another session is refused, and so is a form without a cookie."""
    with Browsing(browsing.base_url.port) as other:
        foreign = other.token
    own = browsing.token
    for token in ("", "x", foreign):
        assert browsing.post(address(path), data={"csrf": token}).status_code == 403
    assert httpx.post(browsing.base_url.join(address(path)), data={"csrf": own}, timeout=300).status_code == 403
    assert browsing.post(address(path), data={"csrf": own}).status_code != 403


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
    ids=str,
)
def test_a_form_refuses_other_origins(browsing: Browsing, path: str, headers: dict[str, str]) -> None:
    found = browsing.post(address(path), data={"csrf": browsing.token}, headers=headers)
    assert (found.status_code, "another site" in found.text) == (403, True)


def test_another_site_can_link_to_a_page_and_not_read_or_embed_it(browsing: Browsing) -> None:
    foreign = {"sec-fetch-site": "cross-site"}
    follow = {**foreign, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    first = browsing.get("/c/drawn?order=key", headers=follow)  # the browser sends no cookie of the session
    assert first.headers["refresh"] == "0; url=/c/drawn?order=key"
    assert list(browsing.cookies) == [f"crossview-{browsing.base_url.port}-again"]
    assert "dots" in browsing.get("/c/drawn?order=key", headers=follow).text  # never twice
    for other in (
        {**foreign, "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
        {**foreign, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
        {**foreign, "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"},
    ):
        assert browsing.get(ADDRESSES["/c/{collection}/thumbnail"], headers=other).status_code == 403


@pytest.mark.parametrize("path", ["//evil.example/x", "/%2f/evil.example", "/%5cevil.example", "///evil.example"])
def test_no_address_leads_to_another_host(browsing: Browsing, path: str) -> None:
    """It leads to none when the page loads again, when a key is requested, and afterwards."""
    follow = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    port = browsing.base_url.port
    with socket.create_connection(("127.0.0.1", port), 300) as plain:  # a client would change the address
        lines = [f"GET {path} HTTP/1.1", f"host: 127.0.0.1:{port}", "accept: text/html", "connection: close"]
        lines += [f"{name}: {value}" for name, value in follow.items()]
        plain.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b"".join(iter(lambda: plain.recv(1 << 16), b"")).decode()
    target = re.search(r"refresh: 0; url=(\S+)", answer)
    assert target is not None
    assert urlsplit(urljoin("http://home.example/", target[1])).netloc == "home.example"
    assert urlsplit(urljoin("http://home.example/", local(unquote(path)))).netloc == "home.example"


@pytest.mark.parametrize("path", ADDRESSES.values())
def test_a_foreign_host_gets_nothing(browsing: Browsing, path: str) -> None:
    found = browsing.get(path, headers={"host": "evil.example"})
    assert (found.status_code, "drawn" in found.text) == (403, False)


def test_without_a_key_nobody_sees_anything(home_with_keys: tuple[RunningServer, str]) -> None:
    """Pages lead to the form for a key, and pictures are refused; after the login all is there, until the logout."""
    running, secret = home_with_keys
    with Browsing(running.http_port) as client:
        for path, shown in ADDRESSES.items():
            found = client.get(shown)
            assert "dots" not in found.text
            assert path == "/login" or found.status_code in (303, 401) or path == "/pictures/{id}"
        assert client.get("/c/drawn").headers["location"] == "/login?next=%2Fc%2Fdrawn"
        picture = client.post("/pictures", content=b"picture", headers={"x-csrf-token": client.token})
        assert picture.status_code == 303
        assert client.submit("/login", key="cv_wrong", next="/").status_code == 401
        before = client.cookies[f"crossview-{running.http_port}"]
        client.log_in(secret)
        assert client.cookies[f"crossview-{running.http_port}"] != before
        assert KEY.rpartition("/")[2] in client.get("/c/drawn").text
        assert secret not in client.get("/").text
        assert client.post("/logout", data={"csrf": _token(client)}).status_code == 303
        assert client.get("/c/drawn").status_code == 303


def test_a_login_leads_to_this_site_alone(home_with_keys: tuple[RunningServer, str]) -> None:
    running, secret = home_with_keys
    for after in ("https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/\r\nx: y"):
        with Browsing(running.http_port) as client:
            assert client.submit("/login", key=secret, next=after).headers["location"] == "/"


def test_the_cookie_is_out_of_reach(browsing: Browsing) -> None:
    """Scripts, other sites, and servers on other ports of this machine cannot read it."""
    cookie = browsing.get("/").headers["set-cookie"]
    assert cookie.startswith(f"crossview-{browsing.base_url.port}=")
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")


def _token(client: Browsing) -> str:
    found = re.search(r'name="csrf" (?:content|value)="([0-9a-f]+)"', client.get("/").text)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def home_with_keys(home: Home, tmp_path_factory: pytest.TempPathFactory):
    """A server of a copy of the home that requires keys, and a key that may read."""
    copied = Home(tmp_path_factory.mktemp("keyed"))
    copy_home(home.path / "drawn", copied.path / "drawn")
    secret, _ = Keys(copied.path).create("ann", "read")
    with RunningServer(ServerSettings(home=copied.path, port=0, web=True)) as running:
        yield running, secret
