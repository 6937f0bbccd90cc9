"""The HTML of a drawn page, and its pictures as SVG."""

from html import escape

import numpy as np

from benchmarks.changes.designs import Block
from benchmarks.changes.history import History, Shown

SIZE = 800
"""Width and height of a page, in pixels."""
_TEXT = (
    "river court plan harbour vote light engine school winter price museum doctor field bridge song market island "
    "story garden train budget storm player forest city report glass theatre minister science border coast festival "
    "energy farm union record trial water council film strike summit valley health bank match north team opens closes "
    "wins seeks finds warns delays returns rises falls begins ends after before over against near again"
)
_WORDS = _TEXT.split()
_NAMES = ("The Daily Thistle", "Northgate", "Evening Star", "Open Hall", "Meridian", "Granite Review")


def page(history: History, hour: int) -> str:
    """Return the HTML of a page in an hour; its pictures are beside it, in ``pictures/``."""
    parts = [_part(history, place, block, hour) for place, block in enumerate(history.blocks)]
    hue = _draw(history.seed, 1).integers(360)
    style = (
        f"body{{margin:0;width:{SIZE}px;height:{SIZE}px;position:relative;overflow:hidden;background:#fff;"
        "font-family:'DejaVu Sans',sans-serif;font-size:13px;line-height:1.25}"
        "div{position:absolute;box-sizing:border-box;overflow:hidden;padding:4px}"
        "a{color:#123;text-decoration:none;display:block;margin:2px 0}img{width:100%;height:100%;object-fit:fill}"
        "h1{font-size:26px;margin:2px 0}h2{font-size:20px;margin:2px 0}p{margin:3px 0}"
        f".masthead,.menu,.footer{{background:hsl({hue},45%,88%)}}.menu a{{display:inline-block;margin:0 9px}}"
    )
    title = escape(_NAMES[history.seed % len(_NAMES)])
    head = f"<head><meta charset=utf-8><title>{title}</title><style>{style}</style></head>"
    return f"<!doctype html><html>{head}<body>{''.join(parts)}</body></html>"


def pictures(history: History, hour: int) -> dict[str, str]:
    """Return the SVG of every picture that a page shows in an hour, by its file name."""
    drawings = {}
    for place, block in enumerate(history.blocks):
        content = history.shown(place, hour)
        if (name := _picture(block.kind, place, content)) is not None:
            drawings[name] = drawing(history.seed, name, block.kind in ("advert", "rotation"))
    return drawings


def drawing(seed: int, name: str, advert: bool) -> str:
    """Return a picture of shapes, as SVG; one of an advert has a large text."""
    draw = _draw(seed, *name.encode())
    hues = draw.integers(360, size=3)
    shapes = [
        f'<rect width="100" height="100" fill="hsl({hues[0]},{40 + draw.integers(40)}%,{35 + draw.integers(45)}%)"/>'
    ]
    for _ in range(draw.integers(5, 12)):
        x, y = draw.integers(100, size=2)
        width, height = draw.integers(8, 50, size=2)
        fill = f"hsl({hues[draw.integers(3)]},{30 + draw.integers(60)}%,{20 + draw.integers(65)}%)"
        if draw.random() < 0.5:
            shapes.append(f'<ellipse cx="{x}" cy="{y}" rx="{width / 2}" ry="{height / 2}" fill="{fill}"/>')
        else:
            turn = f'transform="rotate({draw.integers(90)} {x} {y})"'
            shapes.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}" {turn}/>')
    if advert:
        words = " ".join(draw.choice(_WORDS, 2)).upper()
        place = f'x="4" y="{30 + draw.integers(50)}"'
        shapes.append(f'<text {place} font-size="13" fill="#fff" font-family="DejaVu Sans">{words}</text>')
    opening = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100" preserveAspectRatio="none">'
    return f"{opening}{''.join(shapes)}</svg>"


def _part(history: History, place: int, block: Block, hour: int) -> str:
    content = history.shown(place, hour)
    where = f"left:{block.left}%;top:{block.top}%;width:{block.width}%;height:{block.height}%"
    return f'<div class="{block.kind}" style="{where}">{_content(history.seed, block.kind, place, content)}</div>'


def _content(seed: int, kind: str, place: int, content: Shown) -> str:
    name = _picture(kind, place, content)
    if kind == "story":
        head = f'<a href="/news/{content[0]}"><h1>{_sentence(seed, 7, content[0], 3)}</h1></a>'
        return f'{head}<p>{_sentence(seed, 24, content[0], 4)}</p><img src="pictures/{name}">'
    if kind in ("advert", "rotation", "gallery"):
        address = "/gallery" if kind == "gallery" else "https://adverts.example"
        return f'<a href="{address}/{place}/{content[0]}" style="height:100%"><img src="pictures/{name}"></a>'
    if kind == "headlines":
        lines = [
            f'<a href="/news/{number}">{_sentence(seed, 7, number, 3)}</a><p>{_sentence(seed, 10, number, 5)}</p>'
            for number in content
        ]
        return f"<h2>Latest</h2>{''.join(lines)}"
    if kind == "ranking":
        return "<h2>Most read</h2>" + "".join(
            f'<a href="/read/{number}">{_sentence(seed, 6, number, 6)}</a>' for number in content
        )
    if kind == "clock":
        return f"<h2>{content[0]:02}:00 &nbsp; {content[1] * 3 - 4}&deg;</h2>"
    if kind == "masthead":
        return f"<h1>{escape(_NAMES[seed % len(_NAMES)])}</h1>"
    if kind == "menu":
        return "".join(f'<a href="/section/{number}">{_sentence(seed, 1, number, 8)}</a>' for number in range(10))
    return f"<p>{_sentence(seed, 60, place, 9)}</p>"


def _picture(kind: str, place: int, content: Shown) -> str | None:
    """Return the file name of the picture of a block; None if the block has no picture."""
    if kind == "story":
        return f"story-{content[1]}.svg"
    if kind in ("advert", "rotation", "gallery"):
        return f"{kind}-{place}-{content[0]}.svg"
    return None


def _sentence(seed: int, words: int, number: int, what: int) -> str:
    return " ".join(_draw(seed, number, what).choice(_WORDS, words)).capitalize()


def _draw(seed: int, *numbers: int) -> np.random.Generator:
    return np.random.default_rng([seed, *numbers])
