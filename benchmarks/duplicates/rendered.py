"""Pages of ten kinds as a browser renders them: each kind has one layout, and each of its pages has other content."""

import base64
import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from numpy.random import Generator
from PIL import Image as Pillow

from benchmarks.frame.browser import browser_page

Render = Callable[[str, tuple[int, int]], Pillow.Image]
"""Draws HTML of a size."""
Markup = tuple[str, tuple[int, int]]
"""HTML and the width and height of its page, in pixels."""

_NAMES = ("Adler", "Brandt", "Castro", "Duval", "Egede", "Fontana", "Gruber", "Hansen", "Ionescu", "Jansson", "Kowal")
_GOODS = ("Screws M4", "Oak board", "Hinge 40", "Varnish", "Gloves", "Sandpaper", "Dowels", "Wood glue", "Clamp")
_TEXT = """the we send today later bring your key to office after lunch please call about new order and ask who takes
train home before rain starts nobody saw blue folder on second shelf near window thanks again"""
_WORDS = tuple(_TEXT.split())
_A4 = (595, 842)


def _pick(draws: Generator, words: tuple[str, ...], count: int = 1) -> str:
    return " ".join(draws.choice(words, count))


def _money(draws: Generator) -> str:
    return f"{draws.integers(1, 900)}.{draws.integers(100):02d}"


def invoice(draws: Generator) -> Markup:
    lines = "".join(
        f"<tr><td>{goods}<td align=right>{draws.integers(1, 30)}<td align=right>{_money(draws)}" for goods in _GOODS
    )
    return (
        f"<div style='padding:40px;font:13px serif'><h2 style='color:#275'>Holm & Daughters</h2><p>Invoice no. "
        f"{draws.integers(10**5, 10**6)}<p>{_pick(draws, _NAMES)}<table width=100% cellpadding=5>{lines}</table>"
        f"<h3 align=right>Total {_money(draws)}</h3></div>"
    ), _A4


def form(draws: Generator) -> Markup:
    boxes = "".join(
        f"<p><input type=checkbox {'checked' if draws.integers(2) else ''}> {word} {_WORDS[-place]}</p>"
        for place, word in enumerate(_WORDS[:16])
    )
    return f"<div style='padding:40px;font:15px sans-serif'><h3>Registration</h3>{boxes}</div>", _A4


def sheet(draws: Generator) -> Markup:
    rows = "".join("<tr>" + "".join(f"<td>{draws.integers(100)}" for _ in range(9)) for _ in range(22))
    return f"<table border=1 cellpadding=4 style='border-collapse:collapse;font:12px monospace'>{rows}</table>", (
        480,
        560,
    )


def slide(draws: Generator) -> Markup:
    points = "".join(f"<li>{_pick(draws, _WORDS, 5)}" for _ in range(4))
    return (
        "<div style='background:linear-gradient(#036,#069);color:#fff;height:450px;padding:40px;font:26px sans-serif;"
        f"box-sizing:border-box'><h3>Quarter {draws.integers(1, 5)}, {draws.integers(2001, 2030)}</h3>"
        f"<ul>{points}</ul></div>"
    ), (800, 450)


def ticket(draws: Generator) -> Markup:
    cells = "".join(
        f"<i style='float:left;width:6px;height:6px;background:{'#000' if bit else '#fff'}'></i>"
        for bit in draws.integers(0, 2, 576)
    )
    return (
        f"<div style='padding:20px;font:16px sans-serif'><b>Northern Railways</b><p>{_pick(draws, _NAMES)} to "
        f"{_pick(draws, _NAMES)}<p>Coach {draws.integers(1, 20)}, seat {draws.integers(1, 90)}"
        f"<div style='width:144px'>{cells}</div></div>"
    ), (420, 300)


def chat(draws: Generator) -> Markup:
    said = "".join(
        f"<div style='margin:8px {8 + 80 * mine}px;padding:8px;border-radius:9px;"
        f"background:{'#dcf8c6' if mine else '#fff'}'>{_pick(draws, _WORDS, 6)}</div>"
        for mine in (0, 1, 0, 0, 1, 0, 1, 1, 0)
    )
    return f"<div style='background:#ece5dd;height:740px;font:15px sans-serif'><h3>Family</h3>{said}</div>", (380, 740)


def icon(draws: Generator) -> Markup:
    hue, turn = draws.integers(0, 360), draws.integers(0, 360)
    return (
        f"<svg width=256 height=256><rect width=256 height=256 rx=48 fill='hsl({hue} 60% 50%)'/><g fill=white "
        f"transform='rotate({turn} 128 128)'><path d='M128 40 L190 {draws.integers(120, 220)} L66 200z'/>"
        f"<circle cx={draws.integers(60, 190)} cy=128 r={draws.integers(12, 40)} /></g></svg>"
    ), (256, 256)


def chart(draws: Generator) -> Markup:
    bars = "".join(
        f"<rect x={40 + 45 * place} y={300 - height} width=30 height={height} fill='#47a' />"
        for place, height in enumerate(draws.integers(20, 260, 10))
    )
    return (
        f"<svg width=520 height=340><text x=150 y=25>Visitors of {_pick(draws, _NAMES)}</text>{bars}"
        "<path d='M30 300 H510 M30 40 V300' stroke=black /></svg>"
    ), (520, 340)


def letter(draws: Generator) -> Markup:
    body = "".join(f"<p>{_pick(draws, _WORDS, 40)}" for _ in range(5))
    return f"<div style='padding:60px;font:14px/1.5 serif'>Dear {_pick(draws, _NAMES)},{body}</div>", _A4


def meme(draws: Generator, photograph: Pillow.Image) -> Markup:
    line = "position:absolute;width:100%;text-align:center;font:bold 28px sans-serif;color:#fff"
    stroke = "-webkit-text-stroke:1px #000"
    return (
        f"<img style='display:block' src='{_address(photograph)}'>"
        f"<div style='{line};{stroke};top:6px'>{_pick(draws, _WORDS, 3).upper()}</div>"
        f"<div style='{line};{stroke};bottom:6px'>{_pick(draws, _WORDS, 3).upper()}</div>"
    ), photograph.size


def gallery(picture: Pillow.Image) -> Markup:
    """Return a phone that shows a picture in a gallery."""
    return (
        "<div style='background:#111;color:#eee;height:920px;font:17px sans-serif'><div style='padding:14px'>12:38"
        "<span style='float:right'>LTE 74 %</span></div><div style='height:760px;display:flex;align-items:center'>"
        f"<img style='max-width:100%;max-height:100%;margin:auto' src='{_address(picture)}'></div>"
        "<div style='padding:14px;text-align:center'>Share &nbsp; Edit &nbsp; Delete</div></div>"
    ), (440, 920)


def _address(picture: Pillow.Image) -> str:
    """Return an address that holds a picture."""
    file = io.BytesIO()
    picture.convert("RGB").save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def scanned(page: Pillow.Image, draws: Generator) -> Pillow.Image:
    """Return a scan of a page: a little askew, on grey paper, with noise."""
    askew = page.convert("L").rotate(float(draws.uniform(-1, 1)), Pillow.Resampling.BICUBIC, fillcolor=255)
    levels = np.asarray(askew, np.float32) * 0.88 + 18 + draws.normal(0, 3, askew.size[::-1])
    return Pillow.fromarray(np.clip(levels, 0, 255).astype(np.uint8))


LAYOUTS: Mapping[str, Callable[[Generator], Markup]] = {
    layout.__name__: layout for layout in (invoice, form, sheet, slide, ticket, chat, icon, chart, letter)
}
"""Kinds of pages that need nothing but chance; memes need a photograph, and scans are those of letters."""


@contextmanager
def renderer() -> Iterator[Render]:
    """Yield a function that renders HTML in chromium."""
    with browser_page() as page:

        def render(html: str, size: tuple[int, int]) -> Pillow.Image:
            page.set_viewport_size({"width": size[0], "height": size[1]})
            page.set_content(f"<body style='margin:0;background:#fff'>{html}")
            return Pillow.open(io.BytesIO(page.screenshot())).convert("RGB")

        yield render
