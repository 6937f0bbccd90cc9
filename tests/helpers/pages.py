"""Drawn pages for tests: news that stays for hours, an advert that changes at every visit, and the rest still."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

SIDE = 160
NEWS, ADVERT = (10, 40, 90, 150), (100, 40, 150, 150)
"""Left, top, right and bottom of both blocks."""
START = datetime(2026, 3, 9, 6, 0)


@dataclass(frozen=True)
class DrawnPage:
    """A page visited every hour.

    Attributes:
        hours: the number of versions.
        seed: the seed of the drawings.
    """

    hours: int = 40
    seed: int = 0

    @property
    def news(self) -> list[int]:
        """Return the number of the news of each hour: one in four hours brings another."""
        arrives = np.random.default_rng([self.seed, 1]).random(self.hours) < 0.25
        return [int(number) for number in np.cumsum(arrives)]

    @property
    def important(self) -> list[bool]:
        """Return whether each version but the first shows other news than the one before."""
        return [earlier != later for earlier, later in zip(self.news, self.news[1:], strict=False)]

    def picture(self, hour: int) -> Image.Image:
        """Return the version of an hour."""
        image = Image.new("RGB", (SIDE, SIDE), "white")
        draw = ImageDraw.Draw(image)
        for line in range(6):
            draw.rectangle((10 + 25 * line, 10, 28 + 25 * line, 20), fill="navy")
        _scribble(draw, NEWS, [self.seed, 2, self.news[hour]])
        _scribble(draw, ADVERT, [self.seed, 3, hour])
        return image

    def time(self, hour: int) -> datetime:
        """Return when an hour's version was taken."""
        return START + timedelta(hours=hour)

    def html(self, hour: int) -> str:
        """Return the source of an hour's version."""
        advert = int(np.random.default_rng([self.seed, 3, hour]).integers(1_000_000))
        return (
            f'<a href="/news/{self.news[hour]}">News</a><a href="/menu">Menu</a>'
            f'<img src="/news-{self.news[hour]}.png">'
            f'<a href="https://adverts.example/{advert}"><img src="{advert}.png"></a>'
        )

    def name(self, hour: int) -> str:
        """Return the name of an hour's picture."""
        return f"{self.time(hour):%Y-%m-%dT%H-%M}.png"

    def save(self, folder: Path, html: bool = False, first: int = 0, last: int | None = None) -> list[Path]:
        """Write the versions of some hours into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        found = []
        for hour in range(first, self.hours if last is None else last):
            path = folder / self.name(hour)
            if html:
                path.with_suffix(".html").write_text(self.html(hour), encoding="utf-8")
            part = path.with_name(f".{path.name}")  # a process that watches the folder sees only whole pictures
            self.picture(hour).save(part)
            part.replace(path)
            found.append(path)
        return found


def _scribble(draw: ImageDraw.ImageDraw, box: tuple[int, int, int, int], seed: list[int]) -> None:
    """Fill a block with bars of one drawing."""
    generator = np.random.default_rng(seed)
    left, top, right, bottom = box
    for _ in range(25):
        x, y = int(generator.integers(left, right - 8)), int(generator.integers(top, bottom - 8))
        width, height = generator.integers(3, 30, size=2).tolist()
        grey = int(generator.integers(0, 200))
        draw.rectangle((x, y, min(x + width, right), min(y + height, bottom)), fill=(grey, grey, grey))
