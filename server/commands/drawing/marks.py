"""Drawings of lines, dots, boxes and words, written as SVG, whose colours follow the page, and as PNG."""

import io
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from PIL import Image, ImageDraw

from crossview.engine.values.markup import Markup, element, visible
from crossview.server.commands.drawing.lettering import Colour, Lettering

Point = tuple[float, float]
COLOURS: dict[str, Colour] = {
    "ink": (24, 26, 25),
    "faint": (93, 98, 94),
    "grid": (222, 222, 218),
    "paper": (255, 255, 255),
    "accent": (10, 112, 104),
    "s0": (10, 112, 104),
    "s1": (208, 112, 10),
    "s2": (63, 98, 214),
    "s3": (194, 64, 138),
    "s4": (110, 110, 116),
    "s5": (125, 143, 0),
}
"""The colours of a PNG by role; pages define them in ``report.css``. Those of series differ for colour-blind people."""
SERIES = 6
"""Number of colours of series."""
SCALE, _SMOOTH = 2, 2
"""Pixels of a PNG for each unit, and pixels of its drawing for each of these."""


@dataclass(frozen=True)
class Line:
    """A line through points."""

    points: Sequence[Point]
    role: str
    width: float = 1.0
    dashed: bool = False


@dataclass(frozen=True)
class Dot:
    """A mark at a point: a disc, a square, a diamond or a triangle."""

    centre: Point
    role: str
    shape: int = 0
    radius: float = 3.5

    def corners(self) -> list[Point]:
        """Return the corners of a shape that is not a disc."""
        (x, y), r = self.centre, self.radius
        square = [(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)]
        diamond = [(x, y - 1.3 * r), (x + 1.3 * r, y), (x, y + 1.3 * r), (x - 1.3 * r, y)]
        triangle = [(x, y - 1.2 * r), (x + 1.2 * r, y + r), (x - 1.2 * r, y + r)]
        return ([], square, diamond, triangle)[self.shape % 4]


@dataclass(frozen=True)
class Box:
    """A filled rectangle; ``strength`` is its opacity, and ``title`` the text that a page shows above it."""

    corner: Point
    size: Point
    role: str
    strength: float = 1.0
    title: str = ""


@dataclass(frozen=True)
class Words:
    """Text at the left end, the middle or the right end of its base line; ``upright`` text reads upwards."""

    place: Point
    text: str
    role: str = "ink"
    size: int = 13
    anchor: str = "start"
    upright: bool = False


Mark = Line | Dot | Box | Words


@dataclass
class Drawing:
    """Marks on paper of a width and a height, in units of a pixel of a page."""

    width: float
    height: float
    title: str
    """A description of the drawing, for people who do not see it."""
    marks: list[Mark] = field(default_factory=list)

    def svg(self) -> Markup:
        """Return the drawing as an SVG element; its colours are classes of ``report.css``."""
        shape = {"viewBox": f"0 0 {self.width:g} {self.height:g}", "width": f"{self.width:g}", "role": "img"}
        marks = [_svg(mark) for mark in self.marks]
        return element("svg", element("title", self.title), marks, class_="drawing", **shape)

    def picture(self) -> Image.Image:
        """Return the drawing as a picture of ``SCALE`` pixels for each unit."""
        scale = SCALE * _SMOOTH
        large = Image.new("RGB", (round(self.width * scale), round(self.height * scale)), COLOURS["paper"])
        draw = ImageDraw.Draw(large)
        for mark in self.marks:
            _draw(large, draw, mark, scale)
        return large.resize((large.width // _SMOOTH, large.height // _SMOOTH), Image.Resampling.LANCZOS)


def png(drawings: Sequence[Drawing]) -> bytes:
    """Return a PNG of drawings, two beside each other."""
    pictures = [drawing.picture() for drawing in drawings]
    columns = [pictures[::2], pictures[1::2]]
    gap = 24 * SCALE
    widths = [max((picture.width for picture in column), default=0) for column in columns]
    heights = [max(picture.height for picture in pictures[row : row + 2]) for row in range(0, len(pictures), 2)]
    size = sum(widths) + gap * (2 + bool(widths[1])), sum(heights) + gap * (1 + len(heights))
    sheet = Image.new("RGB", size, COLOURS["paper"])
    for number, picture in enumerate(pictures):
        row, column = divmod(number, 2)
        sheet.paste(picture, (gap + column * (widths[0] + gap), gap * (row + 1) + sum(heights[:row])))
    data = io.BytesIO()
    sheet.save(data, format="PNG", optimize=True)
    return data.getvalue()


def width_of(text: str, size: int) -> float:
    """Return the width of a text in units."""
    return Lettering(ImageDraw.Draw(Image.new("RGB", (1, 1))), size).width(text)


def _svg(mark: Mark) -> Markup:
    match mark:
        case Line():
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in mark.points)
            dashes = "5 4" if mark.dashed else None
            look = {"class_": f"line {mark.role}", "stroke_width": f"{mark.width:g}", "stroke_dasharray": dashes}
            return element("polyline", points=points, **look)
        case Dot() if mark.shape % 4 == 0:
            x, y = mark.centre
            return element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{mark.radius:g}", class_=mark.role)
        case Dot():
            return element("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in mark.corners()), class_=mark.role)
        case Box():
            (x, y), (width, height) = mark.corner, mark.size
            place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{width:.1f}", "height": f"{height:.1f}"}
            title = element("title", mark.title) if mark.title else None
            strength = None if mark.strength == 1 else f"{mark.strength:.3f}"
            return element("rect", title, class_=mark.role, opacity=strength, **place)
        case Words():
            x, y = mark.place
            turn = f"rotate(-90 {x:.1f} {y:.1f})" if mark.upright else None
            letters: dict[str, Any] = {"font_size": mark.size, "text_anchor": mark.anchor, "transform": turn}
            return element("text", mark.text, x=f"{x:.1f}", y=f"{y:.1f}", class_=mark.role, **letters)


def _draw(picture: Image.Image, draw: ImageDraw.ImageDraw, mark: Mark, scale: int) -> None:
    match mark:
        case Line():
            points = [(x * scale, y * scale) for x, y in mark.points]
            for part in _dashes(points, 5 * scale) if mark.dashed else [points]:
                draw.line(part, COLOURS[mark.role], max(1, round(mark.width * scale)), joint="curve")
        case Dot() if mark.shape % 4 == 0:
            (x, y), r = mark.centre, mark.radius
            draw.ellipse([(side * scale) for side in (x - r, y - r, x + r, y + r)], COLOURS[mark.role])
        case Dot():
            draw.polygon([(x * scale, y * scale) for x, y in mark.corners()], COLOURS[mark.role])
        case Box():
            (x, y), (width, height) = mark.corner, mark.size
            paper = COLOURS["paper"]
            mixed = [
                round(under + (over - under) * mark.strength)
                for under, over in zip(paper, COLOURS[mark.role], strict=True)
            ]
            box = [x * scale, y * scale, (x + width) * scale - 1, (y + height) * scale - 1]
            draw.rectangle(box, (mixed[0], mixed[1], mixed[2]))
        case Words():
            _write(picture, draw, mark, scale)


def _write(picture: Image.Image, draw: ImageDraw.ImageDraw, mark: Words, scale: int) -> None:
    text = visible(mark.text)
    letters = Lettering(draw, mark.size * scale)
    width = letters.width(text)
    start = {"start": 0.0, "middle": width / 2, "end": width}[mark.anchor]
    x, y = mark.place[0] * scale, mark.place[1] * scale
    if not mark.upright:
        letters.line((x - start, y - letters.ascent()), text, COLOURS[mark.role])
        return
    height = 2 * mark.size * scale
    lettered = Image.new("RGBA", (max(1, round(width)), height), (*COLOURS["paper"], 0))
    Lettering(ImageDraw.Draw(lettered), mark.size * scale).line((0, 0), text, COLOURS[mark.role])
    turned = lettered.transpose(Image.Transpose.ROTATE_90)
    corner = round(x - letters.ascent()), round(y + start - width)
    picture.paste(turned, corner, turned)


def _dashes(points: Sequence[Point], length: float) -> list[list[Point]]:
    """Return the parts of a line through points that a dashed line shows."""
    parts: list[list[Point]] = []
    drawn, left = True, length
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        whole = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        done = 0.0
        while done < whole:
            step = min(left, whole - done)
            ends = [done / whole, (done + step) / whole]
            if drawn:
                parts.append([(x0 + (x1 - x0) * end, y0 + (y1 - y0) * end) for end in ends])
            done, left = done + step, left - step
            if left <= 0:
                drawn, left = not drawn, length
    return parts
